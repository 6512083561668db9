//===- attn.hpp - compiled attention models in C++ ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attn.h for C++17 and later: the same two levels, with objects that give back
// what they hold and errors that are thrown. Header only; everything goes
// through the table of a compiled library, so one program can use any number
// of models.
//
//   #include "g2p.h"
//   #include <attn/attn.hpp>
//
//   attn::Model model(attn_model_g2p());
//   attn::Results results = model.decode({{"k", "n", "i", "t"}}, {.beam = 5});
//   std::cout << results[0].best().text() << '\n';
//
// (`{.beam = 5}` is C++20; in C++17 make an `attn::DecodeOptions` and set its
// members.)
//
// Ownership, threads and the meaning of every option are those of attn.h. A
// `Model` may be used by any number of threads at once.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTN_HPP
#define ATTN_ATTN_HPP

#include "attn/attn.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace attn {

using OpenOptions = attn_open_options;
using DecodeOptions = attn_decode_options;
using EncodeOptions = attn_encode_options;
using Limits = attn_limits;
using ModelInfo = attn_model_info;
using Token = attn_token;
using Member = attn_member;
using InputInfo = attn_input;

/// Token ids of a sentence.
using Ids = std::vector<std::int32_t>;
/// Words of a sentence.
using Words = std::vector<std::string>;
/// [positions, width of the input] Features of a sentence.
using Features = std::vector<float>;

/// What sentences have for one input of a model. Refers to what it is made of.
class Input {
public:
  Input(const std::vector<Words> &sentences) : words(&sentences) {}
  Input(const std::vector<Ids> &sentences) : ids(&sentences) {}
  Input(const std::vector<Features> &sentences) : features(&sentences) {}

  // One of these is not null.
  const std::vector<Words> *words = nullptr;
  const std::vector<Ids> *ids = nullptr;
  const std::vector<Features> *features = nullptr;
};

/// Something that can run models, see `attn_device`.
struct AvailableDevice {
  std::string name; ///< As OpenOptions::device takes it.
  std::string description;
  std::uint64_t memory = 0; ///< Bytes.
};

/// What a function of the library failed with.
class Error : public std::runtime_error {
public:
  Error(attn_status status, const std::string &message)
      : std::runtime_error(message), code(status) {}

  attn_status status() const noexcept { return code; }

private:
  attn_status code;
};

/// An array that belongs to something else, and lives as long as that does.
template <typename T> class View {
public:
  View() = default;
  View(const T *data, std::size_t size) : first(data), count(size) {}

  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T *data() const { return first; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](std::size_t i) const { return first[i]; }

private:
  const T *first = nullptr;
  std::size_t count = 0;
};

namespace detail {

/// Receives errors, and throws them.
class ErrorGuard {
public:
  explicit ErrorGuard(const attn_api &api) : api(api) {}
  ~ErrorGuard() { api.clear_error(&error); }
  ErrorGuard(const ErrorGuard &) = delete;
  ErrorGuard &operator=(const ErrorGuard &) = delete;

  operator attn_error *() { return &error; }
  /// What a function returned; throws where that says failure.
  template <typename T> T check(T result) const {
    if (!result)
      throw Error(error.status, error.message ? error.message : "no message");
    return result;
  }

private:
  const attn_api &api;
  attn_error error = ATTN_ERROR_INIT;
};

/// Sentences as the C interface takes them, for one input or for several.
/// Refers to those given.
class Sentences {
public:
  /// `info` tells of an input of features; may be null for others.
  void add(const Input &input, const InputInfo *info = nullptr) {
    One &own = all.emplace_back();
    if (input.words) {
      for (const Words &words : *input.words) {
        std::vector<const char *> &text = own.texts.emplace_back();
        for (const std::string &word : words)
          text.push_back(word.c_str());
        own.lengths.push_back(text.size());
      }
      for (const std::vector<const char *> &text : own.texts)
        own.tokens.push_back(text.data());
    } else if (input.ids) {
      for (const Ids &ids : *input.ids) {
        own.lengths.push_back(ids.size());
        own.ids.push_back(ids.data());
      }
    } else {
      std::size_t width = info ? info->width : 1;
      for (const Features &features : *input.features) {
        if (features.size() % width)
          throw Error(ATTN_ERROR_ARGUMENT,
                      "expected a multiple of " + std::to_string(width) +
                          " numbers as features, but got " +
                          std::to_string(features.size()));
        own.lengths.push_back(features.size() / width);
        own.features.push_back(features.data());
      }
    }
    views.push_back({sizeof(attn_sentences), own.lengths.size(),
                     own.lengths.data(),
                     input.words ? own.tokens.data() : nullptr,
                     input.ids ? own.ids.data() : nullptr,
                     input.features ? own.features.data() : nullptr});
  }
  Sentences() = default;
  explicit Sentences(const Input &input) { add(input); }
  Sentences(const Sentences &) = delete;
  Sentences &operator=(const Sentences &) = delete;

  const attn_sentences *view() const { return views.data(); }

private:
  /// What is given for one input. Its arrays stay where they are when it moves.
  struct One {
    std::vector<std::vector<const char *>> texts;
    std::vector<std::size_t> lengths;
    std::vector<const char *const *> tokens;
    std::vector<const std::int32_t *> ids;
    std::vector<const float *> features;
  };
  std::vector<One> all;
  std::vector<attn_sentences> views;
};

/// Hands tokens to a function that may throw.
template <typename Told> class TokenCall {
public:
  TokenCall(Told &told, DecodeOptions &options)
      : told(told), cancelled(options.cancelled),
        cancelledContext(options.cancelled_context) {
    options.on_token = [](void *self, const attn_token *token) {
      return static_cast<TokenCall *>(self)->tell(*token);
    };
    options.cancelled = [](void *self) {
      return static_cast<TokenCall *>(self)->isCancelled();
    };
    options.on_token_context = options.cancelled_context = this;
  }
  TokenCall(const TokenCall &) = delete;
  TokenCall &operator=(const TokenCall &) = delete;

  /// Throws what the function has thrown.
  void check() const {
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  int tell(const attn_token &token) noexcept {
    try {
      return !failed && told(token) ? 0 : 1;
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failed.exchange(true))
        thrown = std::current_exception();
      return 1;
    }
  }
  int isCancelled() const {
    return failed || (cancelled && cancelled(cancelledContext));
  }

  Told &told;
  attn_cancelled_function cancelled;
  void *cancelledContext;
  std::mutex mutex;
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;
};

/// Visits what `parent[i]` answers, for each i below `parent.size()`.
template <typename Parent> class IndexIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = decltype(std::declval<const Parent &>()[0]);
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  IndexIterator(const Parent *parent, std::size_t at)
      : parent(parent), at(at) {}
  value_type operator*() const { return (*parent)[at]; }
  IndexIterator &operator++() {
    ++at;
    return *this;
  }
  IndexIterator operator++(int) {
    IndexIterator before = *this;
    ++at;
    return before;
  }
  bool operator==(const IndexIterator &other) const { return at == other.at; }
  bool operator!=(const IndexIterator &other) const { return at != other.at; }

private:
  const Parent *parent;
  std::size_t at;
};

} // namespace detail

/// One translation of one sentence; part of `Results`.
class Hypothesis {
public:
  explicit Hypothesis(const attn_hypothesis *hypothesis) : view(hypothesis) {}

  /// Tokens without the end token.
  std::size_t size() const { return view->length; }
  View<std::int32_t> ids() const { return {view->ids, view->length}; }
  View<const char *> tokens() const { return {view->tokens, view->length}; }
  /// The tokens with something between them.
  std::string text(std::string_view between = " ") const {
    std::string result;
    for (std::size_t i = 0; i < view->length; ++i) {
      if (i)
        result += between;
      result += view->tokens[i];
    }
    return result;
  }
  double score() const { return view->score; }
  double logprob() const { return view->logprob; }
  /// Of each emitted token, the end token included.
  View<double> wordLogprobs() const {
    return {view->word_logprobs, view->emitted};
  }
  /// Whether the end token was emitted; if not, it is cut.
  bool finished() const { return view->finished != 0; }

  /// [memory positions, heads] Weights by which an emitted token was produced;
  /// empty where alignments were not asked for.
  View<float> alignment(std::size_t token) const {
    if (!view->alignment || token >= view->emitted)
      return {};
    std::size_t width = view->memory_positions * view->heads;
    return {view->alignment + token * width, width};
  }

  /// [size, frame size] What a model of features emits, and the probability
  /// after each that it is the last; empty for others.
  View<float> frames(std::size_t frameSize) const {
    return {view->frames, view->frames ? view->emitted * frameSize : 0};
  }
  View<double> stopProbabilities() const {
    return {view->stop_probabilities,
            view->stop_probabilities ? view->emitted : 0};
  }
  /// Whether it ended because the alignment stood still.
  bool stalled() const { return view->stalled != 0; }

  const attn_hypothesis &raw() const { return *view; }

private:
  const attn_hypothesis *view;
};

class Results;

/// What became of one sentence; part of `Results`. A range of hypotheses, the
/// best first, which is empty where the sentence failed.
class Result {
public:
  using iterator = detail::IndexIterator<Result>;

  bool ok() const { return view().status == ATTN_OK; }
  attn_status status() const { return view().status; }
  /// Why there are no hypotheses; empty where there are some.
  std::string message() const {
    return view().message ? view().message : std::string();
  }

  std::size_t size() const { return view().hypothesis_count; }
  Hypothesis operator[](std::size_t rank) const {
    return Hypothesis(api->hypothesis(results, sentence, rank));
  }
  /// Throws what the sentence failed with.
  Hypothesis best() const {
    if (!ok())
      throw Error(status(), message());
    return (*this)[0];
  }
  iterator begin() const { return {this, 0}; }
  iterator end() const { return {this, size()}; }

private:
  friend class Results;
  Result(const attn_api *api, const attn_results *results, std::size_t sentence)
      : api(api), results(results), sentence(sentence) {}
  const attn_result &view() const { return *api->result(results, sentence); }

  const attn_api *api;
  const attn_results *results;
  std::size_t sentence;
};

/// What became of the sentences of a call, in their order.
class Results {
public:
  using iterator = detail::IndexIterator<Results>;

  std::size_t size() const { return api->result_count(results.get()); }
  Result operator[](std::size_t sentence) const {
    return Result(api, results.get(), sentence);
  }
  /// Throws std::out_of_range where there is no such sentence.
  Result at(std::size_t sentence) const {
    if (sentence >= size())
      throw std::out_of_range("expected a sentence below " +
                              std::to_string(size()) + ", but got " +
                              std::to_string(sentence));
    return (*this)[sentence];
  }
  iterator begin() const { return {this, 0}; }
  iterator end() const { return {this, size()}; }

  const attn_results *raw() const { return results.get(); }

private:
  friend class Model;
  Results(const attn_api *api, attn_results *results)
      : api(api), results(results, api->free_results) {}

  const attn_api *api;
  std::unique_ptr<attn_results, void (*)(attn_results *)> results;
};

/// What a step yields; valid until the next step of its decoding.
class Step {
public:
  std::size_t rows() const { return view->rows; }
  std::int32_t sentence(std::size_t row) const { return view->sentences[row]; }
  /// Logits of the next token of a row, or of the positions of its sentence.
  View<float> logits(std::size_t row) const {
    return {view->logits + row * view->vocabulary_size,
            view->choices[static_cast<std::size_t>(sentence(row))]};
  }
  /// The next features of a row, of a model that emits them; and the logit of
  /// the probability that they are the last.
  View<float> frame(std::size_t row, std::size_t frameSize) const {
    return {view->frames + row * frameSize, frameSize};
  }
  float stop(std::size_t row) const { return view->stop[row]; }
  /// The log-probabilities of the next token of a row.
  std::vector<double> logprobs(std::size_t row) const {
    View<float> from = logits(row);
    double sum = api->log_sum_exp(from.data(), from.size());
    std::vector<double> result;
    result.reserve(from.size());
    for (float logit : from)
      result.push_back(static_cast<double>(logit) - sum);
    return result;
  }
  /// [memory positions of the row's sentence, heads]; empty where the model has
  /// no alignment.
  View<float> weights(std::size_t row) const {
    if (!view->weights)
      return {};
    std::size_t own =
        view->memory_lengths[static_cast<std::size_t>(sentence(row))];
    return {view->weights + row * view->memory_positions * view->heads,
            own * view->heads};
  }

  const attn_step_result &raw() const { return *view; }

private:
  friend class Decoding;
  Step(const attn_api *api, const attn_step_result *view)
      : api(api), view(view) {}

  const attn_api *api;
  const attn_step_result *view;
};

/// Sentences that are decoded step by step, by a search of one's own. Used by
/// one thread at a time; its model lives longer.
class Decoding {
public:
  /// The first step: a row for each sentence, or for those given, in ascending
  /// order.
  Step first(const Ids &sentences) {
    return step(sentences.size(), sentences.data(), nullptr);
  }
  Step first() { return step(count, nullptr, nullptr); }
  /// Continues rows of the step before: row i continues row `parents[i]` with
  /// `tokens[i]`.
  Step next(const Ids &parents, const Ids &tokens) {
    if (parents.size() != tokens.size())
      throw Error(ATTN_ERROR_ARGUMENT, "expected as many parents as tokens, " +
                                           std::to_string(tokens.size()) +
                                           ", but got " +
                                           std::to_string(parents.size()));
    return step(tokens.size(), parents.data(), tokens.data());
  }
  /// Continues all rows of the step before, or the first of them.
  Step next(const Ids &tokens) {
    return step(tokens.size(), nullptr, tokens.data());
  }
  /// The same of a model that emits features: [rows, frame size].
  Step next(const std::vector<float> &frames, std::size_t rows) {
    return step(rows, nullptr, nullptr, frames.data());
  }

private:
  friend class Model;
  Decoding(const attn_api *api, attn_decoding *decoding, std::size_t sentences)
      : api(api), decoding(decoding, api->free_decoding), count(sentences) {}

  Step step(std::size_t rows, const std::int32_t *parents,
            const std::int32_t *tokens, const float *frames = nullptr) {
    detail::ErrorGuard error(*api);
    attn_step_request request = {sizeof(request), rows, parents, tokens,
                                 frames};
    return Step(api, error.check(api->step(decoding.get(), &request, error)));
  }

  const attn_api *api;
  std::unique_ptr<attn_decoding, void (*)(attn_decoding *)> decoding;
  std::size_t count;
};

/// One vocabulary of a model. Ids are the places of tokens.
class Vocabulary {
public:
  explicit Vocabulary(const attn_vocabulary *vocabulary) : view(vocabulary) {}

  std::string_view name() const { return view->name; }
  View<const char *> tokens() const { return {view->tokens, view->size}; }
  std::size_t size() const { return view->size; }
  const char *operator[](std::size_t id) const { return view->tokens[id]; }
  std::int32_t start() const { return view->start; }
  std::int32_t end() const { return view->end; }
  std::int32_t unknown() const { return view->unknown; }
  std::int32_t padding() const { return view->padding; }

private:
  const attn_vocabulary *view;
};

/// An open model.
class Model {
public:
  /// Opens the model of a library, whose function `attn_model_<name>` returns
  /// its table. Throws Error, for a library of another version too.
  explicit Model(const attn_api *api, const OpenOptions &options = {})
      : api(checked(api)), model(nullptr, api->close) {
    detail::ErrorGuard error(*api);
    model.reset(error.check(api->open(&options, error)));
  }
  /// With the weights of a file.
  Model(const attn_api *api, const std::string &weightsPath)
      : Model(api, withWeights(weightsPath)) {}

  /// The devices that a library can run on. Throws Error where no driver can
  /// tell.
  static std::vector<AvailableDevice> listDevices(const attn_api *api) {
    std::vector<AvailableDevice> devices;
    detail::ErrorGuard error(*checked(api));
    std::size_t count = api->list_devices(
        [](void *context, const attn_device *device) {
          static_cast<std::vector<AvailableDevice> *>(context)->push_back(
              {device->name, device->description, device->memory});
        },
        &devices, error);
    const attn_error *problem = error;
    error.check(count || problem->status == ATTN_OK);
    return devices;
  }

  const ModelInfo &info() const { return *api->info(model.get()); }
  std::string_view name() const { return info().name; }
  /// That of the first input. Throws Error where that is no input of tokens.
  Vocabulary sourceVocabulary() const {
    return vocabulary(info().source_vocabulary);
  }
  Vocabulary targetVocabulary() const {
    return vocabulary(info().target_vocabulary);
  }

  /// An input of the encoder, below `info().input_count`.
  const InputInfo &input(std::size_t number) const {
    const InputInfo *found = api->input(model.get(), number);
    if (!found)
      throw Error(ATTN_ERROR_ARGUMENT, "expected an input below " +
                                           std::to_string(info().input_count) +
                                           ", but got " +
                                           std::to_string(number));
    return *found;
  }

  /// Decodes sentences. Throws Error where the call fails; what is wrong with
  /// one sentence is thrown by its `best()`.
  Results decode(const std::vector<Words> &sentences,
                 const DecodeOptions &options = {}) const {
    return decodeInputs({sentences}, options);
  }
  Results decodeIds(const std::vector<Ids> &sentences,
                    const DecodeOptions &options = {}) const {
    return decodeInputs({sentences}, options);
  }
  /// The same for a model with several inputs, or with features: what the
  /// sentences have for each input.
  Results decodeInputs(const std::vector<Input> &inputs,
                       const DecodeOptions &options = {}) const {
    detail::Sentences sentences;
    addAll(inputs, sentences);
    detail::ErrorGuard error(*api);
    return Results(api, error.check(api->decode(model.get(), sentences.view(),
                                                &options, error)));
  }
  /// Decodes sentences, and calls `told` with each Token as it is emitted; it
  /// answers whether the hypothesis goes on. See attn_decode_options::on_token
  /// for the order, and for the threads that may call it at once. What it
  /// throws ends the call and is thrown from here.
  template <typename Told>
  Results stream(const std::vector<Words> &sentences, Told told,
                 DecodeOptions options = {}) const {
    detail::TokenCall<Told> call(told, options);
    try {
      Results results = decode(sentences, options);
      call.check();
      return results;
    } catch (const Error &) {
      call.check();
      throw;
    }
  }
  /// What the model says about given targets: forced decoding.
  Results score(const std::vector<Words> &sentences,
                const std::vector<Words> &targets,
                DecodeOptions options = {}) const {
    return scoreInputs({sentences}, targets, options);
  }
  Results scoreInputs(const std::vector<Input> &inputs,
                      const std::vector<Words> &targets,
                      DecodeOptions options = {}) const {
    detail::Sentences forced{Input(targets)};
    options.forced = forced.view();
    return decodeInputs(inputs, options);
  }

  /// The bytes of DecodeOptions::buffer, see attn_api::memory_plan.
  std::size_t memoryPlan(const Limits &limits,
                         const DecodeOptions &options = {}) const {
    detail::ErrorGuard error(*api);
    return error.check(api->memory_plan(model.get(), &options, &limits, error));
  }

  /// Encodes sentences to decode them step by step.
  Decoding encode(const std::vector<Words> &sentences,
                  const EncodeOptions &options = {}) const {
    return encodeInputs({sentences}, options);
  }
  Decoding encodeIds(const std::vector<Ids> &sentences,
                     const EncodeOptions &options = {}) const {
    return encodeInputs({sentences}, options);
  }
  Decoding encodeInputs(const std::vector<Input> &inputs,
                        const EncodeOptions &options = {}) const {
    detail::Sentences sentences;
    addAll(inputs, sentences);
    detail::ErrorGuard error(*api);
    return Decoding(api,
                    error.check(api->encode(model.get(), sentences.view(),
                                            &options, error)),
                    sentences.view()->count);
  }
  /// The bytes of EncodeOptions::buffer, see attn_api::encode_memory.
  std::size_t encodeMemory(std::size_t sentences, std::size_t sourceLength,
                           std::size_t rows, std::size_t steps = 0) const {
    detail::ErrorGuard error(*api);
    return error.check(api->encode_memory(model.get(), sentences, sourceLength,
                                          rows, steps, error));
  }

  /// This model as one of DecodeOptions::ensemble; lives longer than the call.
  Member member(double weight = 1) const {
    Member result;
    result.api = api;
    result.model = model.get();
    result.weight = weight;
    return result;
  }

  const attn_model *raw() const { return model.get(); }

private:
  static const attn_api *checked(const attn_api *api) {
    if (!api)
      throw Error(ATTN_ERROR_ARGUMENT,
                  "expected the table of a library, but got null");
    if (api->version != ATTN_API_VERSION)
      throw Error(ATTN_ERROR_MODEL, "expected a library with version " +
                                        std::to_string(ATTN_API_VERSION) +
                                        " of the interface, but got version " +
                                        std::to_string(api->version));
    if (api->struct_size < sizeof(attn_api))
      throw Error(ATTN_ERROR_MODEL,
                  "expected a library with a table of at least " +
                      std::to_string(sizeof(attn_api)) +
                      " bytes, but got one of " +
                      std::to_string(api->struct_size) +
                      ": it is older than the header");
    return api;
  }
  static OpenOptions withWeights(const std::string &path) {
    OpenOptions options;
    options.weights_path = path.c_str();
    return options;
  }
  Vocabulary vocabulary(std::int32_t number) const {
    const attn_vocabulary *found =
        number < 0
            ? nullptr
            : api->vocabulary(model.get(), static_cast<std::size_t>(number));
    if (!found)
      throw Error(ATTN_ERROR_ARGUMENT,
                  "expected a model whose first input is tokens");
    return Vocabulary(found);
  }
  /// Without an encoder there is one, of empty sentences.
  void addAll(const std::vector<Input> &inputs,
              detail::Sentences &sentences) const {
    std::size_t expected = info().input_count ? info().input_count : 1;
    if (inputs.size() != expected)
      throw Error(ATTN_ERROR_ARGUMENT,
                  "expected sentences for " + std::to_string(expected) +
                      " inputs, but got " + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sentences.add(inputs[i], api->input(model.get(), i));
  }

  const attn_api *api;
  std::unique_ptr<attn_model, void (*)(attn_model *)> model;
};

} // namespace attn

#endif // ATTN_ATTN_HPP
