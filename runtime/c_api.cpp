//===- c_api.cpp - the C interface over any opened model ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "runtime/device.h"
#include "runtime/ensemble.h"
#include "runtime/guard.h"
#include "runtime/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

using namespace attn;

struct attn_results {
  attn_results() : shared(memory) {}
  attn_results(void *buffer, size_t size)
      : inBuffer(true), memory(buffer, size), shared(memory) {}

  /// What became of one sentence, with what the interface shows of it.
  struct Sentence {
    attn_result view;
    attn_hypothesis *hypotheses;
  };

  bool inBuffer = false;
  /// All that the results have, and all that the call has besides workers.
  Arena memory;
  SharedMemory shared;
  /// Tokens are text of its vocabularies.
  std::shared_ptr<const Description> description;
  std::span<DecodeResult> found;
  std::span<Sentence> sentences;

  ~attn_results() {
    for (DecodeResult &result : found)
      result.~DecodeResult();
  }
};

/// What stands in an error when there is no memory for a message.
static char noMemoryForMessage[] = "expected enough memory, but got none";

void attn::clearError(attn_error *error) {
  if (!error)
    return;
  if (error->message != noMemoryForMessage)
    free(error->message);
  error->status = ATTN_OK;
  error->message = nullptr;
}

void attn::setError(attn_error *error, attn_status status,
                    const char *message) {
  if (!error)
    return;
  clearError(error);
  error->status = status;
  error->message = strdup(message);
  if (!error->message)
    error->message = noMemoryForMessage;
}

void attn::setCaught(attn_error *error) {
  try {
    throw;
  } catch (const DeviceError &exception) {
    setError(error, exception.status, exception.what());
  } catch (const std::bad_alloc &) {
    setError(error, ATTN_ERROR_MEMORY, "expected enough memory, but got none");
  } catch (const std::exception &exception) {
    // std::length_error, for one, is a size that no memory has.
    setError(error, ATTN_ERROR_INTERNAL, exception.what());
  } catch (...) {
    setError(error, ATTN_ERROR_INTERNAL, "unknown exception");
  }
}

bool attn::copyOptions(void *to, size_t size, const void *from,
                       const char *name, std::string &error) {
  size_t given;
  memcpy(&given, from, sizeof(given));
  if (given < sizeof(size_t) || given > 1 << 16) {
    error = std::string("expected struct_size of ") + name + " to be " +
            std::to_string(size) + ", but got " + std::to_string(given);
    return false;
  }
  // A newer caller may set what this library does not know: that must not be
  // dropped silently.
  const char *bytes = static_cast<const char *>(from);
  for (size_t i = size; i < given; ++i)
    if (bytes[i]) {
      error = std::string("expected only options of ") + name +
              " that this library knows, but got a value at byte " +
              std::to_string(i);
      return false;
    }
  memcpy(to, from, given < size ? given : size);
  return true;
}

attn_model *attn::wrapModel(std::unique_ptr<Model> model) {
  auto handle = std::make_unique<attn_model>();
  const Description &description = model->description();
  attn_model_info &info = handle->info;
  info.struct_size = sizeof(info);
  info.name = description.model.c_str();
  info.precision = description.precision.c_str();
  info.has_encoder = model->hasEncoder();
  info.has_alignment = description.alignment.has_value();
  info.source_has_end = model->hasEncoder() && description.inputs[0].end;
  info.vocabulary_count = description.vocabularies.size();
  info.source_vocabulary =
      model->hasEncoder() ? description.inputs[0].vocabulary : -1;
  info.target_vocabulary =
      model->emits(Target::Kind::Tokens) ? description.target.vocabulary : -1;
  info.target = static_cast<attn_target>(description.target.kind);
  info.frame_size = static_cast<size_t>(description.target.width());
  info.alignment_heads = description.alignment
                             ? static_cast<size_t>(description.alignment->heads)
                             : 0;
  info.parameter_count = 0;
  for (const Parameter &parameter : description.parameters) {
    uint64_t count = 1;
    for (int64_t size : parameter.shape)
      count *= static_cast<uint64_t>(size);
    info.parameter_count += count;
  }
  for (const Vocabulary &vocabulary : description.vocabularies) {
    std::vector<const char *> &tokens = handle->tokens.emplace_back();
    for (const std::string &token : vocabulary.tokens())
      tokens.push_back(token.c_str());
    const Marks &marks = vocabulary.marks();
    handle->vocabularies.push_back(
        {sizeof(attn_vocabulary), vocabulary.name().c_str(), tokens.size(),
         tokens.data(), marks.start, marks.end, marks.unknown, marks.padding});
  }
  info.input_count = description.inputs.size();
  std::optional<size_t> aligned = model->alignedInput();
  info.aligned_input = aligned ? static_cast<int32_t>(*aligned) : -1;
  handle->inputs.resize(description.inputs.size());
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const Input &input = description.inputs[i];
    handle->inputs[i] = {sizeof(attn_input),
                         input.name.c_str(),
                         input.vocabulary,
                         input.end,
                         input.shape.size(),
                         input.shape.data(),
                         static_cast<size_t>(input.width()),
                         description.inputOver(input)};
  }
  handle->model = std::move(model);
  return handle.release();
}

/// Writes the ids of one sentence of a caller's, as many as it is long. False
/// and a message on failure.
static bool readSentence(const attn_sentences &sentences, size_t number,
                         const Vocabulary &vocabulary, int32_t *ids,
                         std::string &error) {
  size_t length = sentences.lengths[number];
  if (!length)
    return true;
  if (sentences.ids) {
    if (!sentences.ids[number]) {
      error = "expected token ids, but got null";
      return false;
    }
    std::copy_n(sentences.ids[number], length, ids);
    return true;
  }
  if (!sentences.tokens[number]) {
    error = "expected tokens, but got null";
    return false;
  }
  return vocabulary.lookUp({sentences.tokens[number], length}, ids, error);
}

/// The same, into a vector.
static bool readSentence(const attn_sentences &sentences, size_t number,
                         const Vocabulary &vocabulary, TokenIds &ids,
                         std::string &error) {
  // An end token may follow.
  if (sentences.lengths[number])
    ids.reserve(sentences.lengths[number] + 1);
  ids.resize(sentences.lengths[number]);
  return readSentence(sentences, number, vocabulary, ids.data(), error);
}

/// Whether sentences are given as they must be; if not, a message about `what`,
/// which is the input where it is null. Without an input they are tokens.
static bool checkSentences(const attn_sentences &sentences, const char *what,
                           const Input *input, std::string &error) {
  bool isTokens = !input || input->isTokens();
  auto fail = [&](const char *expected, const char *found) {
    error = std::string("expected ") + expected + " of " +
            (what ? what : "input " + quote(input->name)) + ", but got " +
            found;
    return false;
  };
  if (sentences.count && !sentences.lengths)
    return fail("lengths", "null");
  bool any = false;
  for (size_t i = 0; i < sentences.count; ++i)
    any |= sentences.lengths[i] != 0;
  if (!any)
    return true;
  bool tokens = sentences.tokens, ids = sentences.ids;
  if (!isTokens && (tokens || ids || !sentences.features))
    return fail("features", tokens ? "tokens" : ids ? "ids" : "none");
  if (isTokens && sentences.features)
    return fail("tokens or ids", "features");
  return !isTokens || tokens != ids ||
         fail("one of tokens and ids", tokens ? "both" : "none");
}

attn_sentences SourceSentences::operator[](size_t input) const {
  attn_sentences sentences = {};
  memcpy(&sentences, first + input * stride,
         std::min(stride, sizeof(sentences)));
  return sentences;
}

bool SourceSentences::read(const Model &model, const attn_sentences *given,
                           std::string &error) {
  const std::vector<Input> &about = model.description().inputs;
  first = reinterpret_cast<const char *>(given);
  inputs = std::max<size_t>(about.size(), 1);
  memcpy(&stride, first, sizeof(stride));
  for (size_t i = 0; i < inputs; ++i) {
    attn_sentences one = {};
    if (!copyOptions(&one, sizeof(one), first + i * stride, "attn_sentences",
                     error) ||
        !checkSentences(one, inputs == 1 ? "sentences" : nullptr,
                        about.empty() ? nullptr : &about[i], error))
      return false;
    if (one.struct_size != stride || one.count != count()) {
      bool size = one.struct_size != stride;
      error = std::string("expected equal ") +
              (size ? "struct_size" : "count") + " for all inputs, " +
              std::to_string(size ? stride : count()) + ", but got " +
              std::to_string(size ? one.struct_size : one.count) +
              " for input " + quote(about[i].name);
      return false;
    }
  }
  return true;
}

size_t SourceSentences::longest() const {
  size_t longest = 0;
  for (size_t i = 0; i < inputs; ++i) {
    attn_sentences sentences = (*this)[i];
    for (size_t s = 0; s < sentences.count; ++s)
      longest = std::max(longest, sentences.lengths[s]);
  }
  return longest;
}

void attn::takeSource(const Model &model, size_t longest, Layout &layout) {
  size_t inputs = model.description().inputs.size();
  layout.take<InputSource>(inputs);
  for (size_t i = 0; i < inputs; ++i)
    layout.take<int32_t>(longest + 1);
}

bool SourceSentences::read(const Model &model, size_t number, Arena &memory,
                           std::span<InputSource> &source,
                           std::string &error) const {
  const Description &description = model.description();
  size_t length = (*this)[0].lengths[number];
  if (!model.hasEncoder() && length) {
    error = "expected an empty sentence for " + quote(description.model) +
            ", which has no encoder, but got " + std::to_string(length) +
            " tokens";
    return false;
  }
  Layout layout(memory);
  size_t count = description.inputs.size();
  source = {layout.take<InputSource>(count), count};
  for (size_t i = 0; i < count; ++i) {
    const Input &input = description.inputs[i];
    attn_sentences given = (*this)[i];
    InputSource &own = source[i];
    own = {given.lengths[number], nullptr, nullptr};
    bool good = true;
    if (input.isTokens()) {
      own.ids =
          layout.take<int32_t>(own.length + 1); // An end token may follow.
      good = readSentence(given, number, *model.inputVocabulary(i), own.ids,
                          error);
    } else if (own.length) {
      own.features = given.features[number];
      good = own.features;
      if (!good)
        error = "expected features, but got null";
    }
    if (!good) {
      if (inputs > 1)
        error = "input " + quote(input.name) + ": " + error;
      return false;
    }
  }
  return true;
}

/// The same for what the model emits: tokens, or positions as numbers.
static bool readTarget(const attn_sentences &sentences, size_t number,
                       const Description &description, TokenIds &ids,
                       std::string &error) {
  if (description.emits(Target::Kind::Tokens))
    return readSentence(sentences, number, description.targetVocabulary(), ids,
                        error);
  if (sentences.ids || !sentences.lengths[number] || !sentences.tokens[number])
    return readSentence(sentences, number, description.targetVocabulary(), ids,
                        error);
  for (size_t i = 0; i < sentences.lengths[number]; ++i) {
    const char *text = sentences.tokens[number][i];
    int32_t position = -1;
    if (text) {
      const char *end = text + strlen(text);
      auto [stop, problem] = std::from_chars(text, end, position);
      if (problem != std::errc() || stop != end || position < 0)
        position = -1;
    }
    if (position < 0) {
      error = "expected the number of a position, but got " +
              (text ? quote(text) : "null") + " as word " +
              std::to_string(i + 1);
      return false;
    }
    ids.push_back(position);
  }
  return true;
}

/// Whether words that were given are those that were meant: whoever bans or
/// lists a word that does not exist does not mean the unknown one. If not, a
/// message.
static bool checkWords(const attn_sentences &sentences, size_t number,
                       const Vocabulary &vocabulary, std::string &error) {
  for (size_t i = 0; !sentences.ids && i < sentences.lengths[number]; ++i)
    if (const char *word = sentences.tokens[number][i];
        vocabulary.find(word) < 0) {
      error = "expected words of vocabulary " + quote(vocabulary.name()) +
              ", but got " + quote(word) + " as word " + std::to_string(i + 1);
      return false;
    }
  return true;
}

/// Reads one of the lists of tokens. False and a message on failure.
static bool readShortlist(const attn_sentences &lists, size_t number,
                          const Model &model, TokenIds &ids,
                          std::string &error) {
  const Vocabulary &vocabulary = model.description().targetVocabulary();
  if (readSentence(lists, number, vocabulary, ids, error) &&
      checkWords(lists, number, vocabulary, error) &&
      model.finishShortlist(ids, error))
    return true;
  error = "shortlist: " + error;
  return false;
}

/// Reads sequences that are banned. False and a message on failure.
static bool readBanned(const attn_sentences &banned,
                       const Description &description,
                       std::pmr::vector<TokenIds> &sequences,
                       std::string &error) {
  sequences.reserve(banned.count);
  for (size_t i = 0; i < banned.count; ++i) {
    TokenIds &sequence = sequences.emplace_back();
    std::string where = "banned sequence " + std::to_string(i + 1) + ": ";
    if (!readTarget(banned, i, description, sequence, error)) {
      error = where + error;
      return false;
    }
    if (sequence.empty()) {
      error = where + "expected at least one token, but got none";
      return false;
    }
    if (!description.emits(Target::Kind::Tokens))
      continue; // Which positions there are depends on the sentence.
    const Vocabulary &vocabulary = description.targetVocabulary();
    if (!checkWords(banned, i, vocabulary, error)) {
      error = where + error;
      return false;
    }
    for (size_t t = 0; t < sequence.size(); ++t) {
      if (sequence[t] < 0 || sequence[t] >= vocabulary.size()) {
        error = where + "expected token ids of vocabulary " +
                quote(vocabulary.name()) + ", 0 to " +
                std::to_string(vocabulary.size() - 1) + ", but got " +
                std::to_string(sequence[t]);
        return false;
      }
    }
  }
  return true;
}

/// The number of an enumerator, which a caller in C may have made of any.
template <typename Enum> static int numberOf(const Enum &value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  memcpy(&number, &value, sizeof(number));
  return number;
}

/// Checks options and makes them the search's. False and a message on failure.
static bool readOptions(const attn_decode_options &given, const Model &model,
                        DecodeOptions &options, std::string &error) {
  auto fail = [&](const std::string &expected, const std::string &found) {
    error = "expected " + expected + ", but got " + found;
    return false;
  };
  auto atLeast = [&](const char *name, double value, double minimum) {
    return (value >= minimum && !std::isinf(value)) ||
           fail(std::string(name) + " of at least " + formatNumber(minimum),
                formatNumber(value));
  };
  auto positive = [&](const char *name, double value) {
    return (value > 0 && !std::isinf(value)) ||
           fail(std::string(name) + " greater than 0", formatNumber(value));
  };
  auto isFlag = [&](const char *name, int value) {
    return value == 0 || value == 1 ||
           fail(std::string(name) + " to be 0 or 1", std::to_string(value));
  };
  auto isKnown = [&](const char *name, int value, int last) {
    return (value >= 0 && value <= last) ||
           fail(std::string("a known ") + name, std::to_string(value));
  };
  constexpr size_t most = 65536;
  if (given.beam < 1 || given.beam > most)
    return fail("a beam of 1 to 65536", std::to_string(given.beam));
  if (!isFlag("sampling", given.sampling))
    return false;
  if (given.sampling && given.beam != 1)
    return fail("a beam of 1 with sampling", std::to_string(given.beam));
  if (given.sampling && (given.nbest < 1 || given.nbest > most))
    return fail("1 to 65536 samples", std::to_string(given.nbest));
  if (!isFlag("alternatives", given.alternatives))
    return false;
  if (given.alternatives && given.sampling)
    return fail("one of alternatives and sampling", "both");
  if (given.alternatives &&
      (given.nbest < 1 || given.nbest > most / given.beam))
    return fail("1 to " + std::to_string(most / given.beam) +
                    " alternatives with a beam of " +
                    std::to_string(given.beam),
                std::to_string(given.nbest));
  if (!given.sampling && !given.alternatives &&
      (given.nbest < 1 || given.nbest > given.beam))
    return fail("nbest to be at least 1 and at most the beam",
                std::to_string(given.nbest) + " with a beam of " +
                    std::to_string(given.beam));
  if (!isKnown("normalization", numberOf(given.normalization),
               ATTN_NORMALIZE_GNMT) ||
      !isKnown("stop rule", numberOf(given.stop), ATTN_STOP_ESTIMATE) ||
      !isKnown("refill", numberOf(given.refill), ATTN_REFILL_NEVER) ||
      !atLeast("an alpha", given.alpha, 0) ||
      !atLeast("a max_length_factor", given.max_length_factor, 0) ||
      !atLeast("a coverage", given.coverage, 0) ||
      !positive("a repetition_penalty", given.repetition_penalty) ||
      !positive("a temperature", given.temperature) ||
      !positive("a patience", given.patience) ||
      !isFlag("want_alignment", given.want_alignment) ||
      !isFlag("replace_unknown", given.replace_unknown) ||
      !isFlag("end_at_maximum", given.end_at_maximum))
    return false;
  if (given.max_length_offset < 0)
    return fail("a max_length_offset of at least 0",
                std::to_string(given.max_length_offset));
  if (given.min_length < 0)
    return fail("a min_length of at least 0", std::to_string(given.min_length));
  if (given.no_repeat_ngram < 0)
    return fail("a no_repeat_ngram of at least 0",
                std::to_string(given.no_repeat_ngram));
  if (!(given.top_p > 0 && given.top_p <= 1))
    return fail("a top_p greater than 0 and at most 1",
                formatNumber(given.top_p));
  if (!(given.epsilon >= 0 && given.epsilon < 1))
    return fail("an epsilon of at least 0 and less than 1",
                formatNumber(given.epsilon));
  if (given.batch_size < 1)
    return fail("a batch_size of at least 1", std::to_string(given.batch_size));
  if (given.threads < 1 || given.threads > Workers::most)
    return fail("1 to " + std::to_string(Workers::most) + " threads",
                std::to_string(given.threads));
  if (given.forced && given.prefixes)
    return fail("one of forced targets and prefixes", "both");
  if (given.on_token && !given.forced && given.beam != 1)
    return fail("a beam of 1 with on_token", std::to_string(given.beam));

  if (!(given.stop_threshold >= 0 && given.stop_threshold <= 1))
    return fail("a stop_threshold of 0 to 1",
                formatNumber(given.stop_threshold));
  if (given.stall < 0)
    return fail("a stall of at least 0", std::to_string(given.stall));

  const Description &description = model.description();
  int64_t heads = description.alignment ? description.alignment->heads : 0;
  if (given.stall && !heads)
    return fail("a model with an alignment to stall",
                quote(description.model) + ", which has none");
  if (model.emits(Target::Kind::Features)) {
    const std::pair<const char *, bool> unused[] = {
        {"a beam", given.beam > 1},
        {"sampling", given.sampling},
        {"alternatives", given.alternatives},
        {"on_token", given.on_token},
        {"an ensemble", given.ensemble_size > 0},
        {"a normalization", given.normalization != ATTN_NORMALIZE_NONE},
        {"a coverage", given.coverage > 0},
        {"prefixes", given.prefixes},
        {"banned sequences", given.banned && given.banned->count},
        {"shortlists", given.shortlists},
        {"no_repeat_ngram", given.no_repeat_ngram},
        {"a repetition_penalty", given.repetition_penalty != 1},
        {"end_at_maximum", given.end_at_maximum}};
    for (auto [name, isGiven] : unused)
      if (isGiven)
        return fail("decoding without " + std::string(name) +
                        ", because a model that emits features is not searched",
                    "it for " + quote(description.model));
  }
  if (given.shortlists && !model.emits(Target::Kind::Tokens))
    return fail("a model that emits tokens with shortlists",
                quote(description.model));
  if ((given.want_alignment || given.coverage > 0 || given.replace_unknown) &&
      !heads)
    return fail("a model with an alignment",
                quote(description.model) + ", which has none");
  if (given.replace_unknown && !model.emits(Target::Kind::Tokens))
    return fail("a model that emits tokens to replace unknown words",
                quote(description.model));
  if (given.replace_unknown && !model.alignedInput())
    return fail("an alignment with the words of the source to replace unknown "
                "words",
                "another one of model " + quote(description.model));
  if (given.replace_unknown &&
      description.targetVocabulary().marks().unknown < 0)
    return fail("a target vocabulary with an unknown token",
                quote(description.targetVocabulary().name()) +
                    ", which has none");
  if (given.want_alignment &&
      (given.alignment_head < ATTN_HEADS_ALL || given.alignment_head >= heads))
    return fail("an alignment_head of 0 to " + std::to_string(heads - 1) +
                    ", ATTN_HEADS_AVERAGE or ATTN_HEADS_ALL",
                std::to_string(given.alignment_head));

  SearchOptions &search = options.search;
  search.beam = given.beam;
  search.nbest = given.nbest;
  search.scoring.kind = static_cast<Scoring::Kind>(given.normalization);
  search.scoring.alpha = given.alpha;
  search.scoring.coverage = given.coverage;
  search.constraints.minLength = given.min_length;
  search.constraints.noRepeatNgram = given.no_repeat_ngram;
  search.constraints.repetitionPenalty = given.repetition_penalty;
  search.sampling = {
      given.sampling == 1,
      given.temperature,
      static_cast<int64_t>(std::min<size_t>(given.top_k, INT32_MAX)),
      given.top_p,
      given.seed,
      given.epsilon};
  search.alternatives = given.alternatives;
  search.shortlists = given.shortlists;
  search.stop = static_cast<StopRule>(given.stop);
  search.patience = given.patience;
  search.refill = static_cast<Refill>(given.refill);
  search.endAtMaximum = given.end_at_maximum;
  search.wantAlignment = given.want_alignment;
  search.alignmentHead = given.alignment_head;
  search.wantAttended = given.replace_unknown;
  search.stopThreshold = given.stop_threshold;
  search.stallLimit = given.stall;
  options.maxLengthFactor = given.max_length_factor;
  options.maxLengthOffset = given.max_length_offset;
  options.batchSize = given.batch_size;
  options.workers = {given.threads, given.parallel, given.parallel_context};
  return true;
}

/// The caller's options of one call, checked as far as structures go.
struct Request {
  attn_decode_options given = attn_default_decode_options();
  SourceSentences sources;
  attn_sentences targets = {}, prefixes = {}, banned = {}, shortlists = {};
};

/// Copies what the caller gives. False and a message on failure.
static bool readRequest(const Model &model, const attn_sentences *sentences,
                        const attn_decode_options *options, Request &request,
                        std::string &message) {
  Input frames; // What a model emits is given like an input.
  auto copySentences = [&](attn_sentences &to, const attn_sentences *from,
                           const char *what, bool areFrames = false) {
    return !from ||
           (copyOptions(&to, sizeof(to), from, "attn_sentences", message) &&
            checkSentences(to, what, areFrames ? &frames : nullptr, message));
  };
  attn_decode_options &given = request.given;
  return (!options || copyOptions(&given, sizeof(given), options,
                                  "attn_decode_options", message)) &&
         (!sentences || request.sources.read(model, sentences, message)) &&
         copySentences(request.targets, given.forced, "forced targets",
                       model.emits(Target::Kind::Features)) &&
         copySentences(request.prefixes, given.prefixes, "prefixes") &&
         copySentences(request.banned, given.banned, "banned sequences") &&
         copySentences(request.shortlists, given.shortlists, "shortlists");
}

/// Copies what decodes together with a model. False and a message on failure.
static bool readMembers(const attn_decode_options &given, const Model &model,
                        std::vector<attn_member> &members, std::string &error) {
  if (!given.ensemble_size)
    return true;
  if (!given.ensemble) {
    error = "expected an ensemble of " + std::to_string(given.ensemble_size) +
            ", but got null";
    return false;
  }
  if (given.buffer) {
    error = "expected no buffer for an ensemble, whose members work on the "
            "heap, but got one";
    return false;
  }
  const char *place = reinterpret_cast<const char *>(given.ensemble);
  for (size_t i = 0; i < given.ensemble_size; ++i) {
    attn_member &member = members.emplace_back(attn_default_member());
    if (!copyOptions(&member, sizeof(member), place, "attn_member", error) ||
        !checkMember(model, member, error)) {
      error = "member " + std::to_string(i + 1) + " of the ensemble: " + error;
      return false;
    }
    // As far apart as their maker has them.
    place += given.ensemble->struct_size;
  }
  return true;
}

/// What is to be known of a call beforehand.
struct CallSizes {
  CallLimits limits;
  bool prefixed = false;
  bool shortlisted = false;
  size_t shortlistLength = 0; ///< As given.
  size_t wordBytes = 0;       ///< of a word that may stand for an unknown one.
};

/// The input whose words are shown, if there is one.
static std::optional<size_t> shownInput(const Model &model,
                                        bool replacesUnknown) {
  return replacesUnknown ? model.alignedInput() : model.pointedInput();
}

static CallSizes findSizes(const Model &model, const Request &request) {
  CallSizes sizes;
  sizes.limits.sentences = request.sources.count();
  sizes.limits.sourceLength = request.sources.longest();
  sizes.limits.forced = request.given.forced;
  sizes.prefixed = request.given.prefixes;
  sizes.shortlisted = request.given.shortlists;
  auto longest = [](const attn_sentences &sentences, size_t &length) {
    for (size_t i = 0; i < sentences.count; ++i)
      length = std::max(length, sentences.lengths[i]);
  };
  longest(request.targets, sizes.limits.targetLength);
  longest(request.prefixes, sizes.limits.targetLength);
  longest(request.shortlists, sizes.shortlistLength);
  std::optional<size_t> shown =
      shownInput(model, request.given.replace_unknown);
  if (!shown)
    return sizes;
  attn_sentences words = request.sources[*shown];
  for (size_t i = 0; words.tokens && i < words.count; ++i)
    for (size_t t = 0; t < words.lengths[i]; ++t)
      if (words.tokens[i] && words.tokens[i][t])
        sizes.wordBytes = std::max(sizes.wordBytes, strlen(words.tokens[i][t]));
  return sizes;
}

/// Tells the text of emitted tokens.
struct TokenTexts {
  /// Room for the number of a position.
  using Number = char[16];

  attn_sentences sources;   ///< Of the input whose words are shown.
  const Vocabulary *source; ///< May be null: then nobody asks for words.
  const Vocabulary &target;
  bool ofPositions, ofFrames;

  const char *vocabularyText(int32_t token) const {
    return target.tokens()[static_cast<size_t>(token)].c_str();
  }
  /// The word of a source that stands for an unknown token or at a position, as
  /// it was given: in the vocabulary it may be unknown. The number of a
  /// position without one. Null for other tokens.
  const char *replacement(size_t sentence, int32_t token, int32_t attended,
                          Number &number) const {
    if (!ofPositions && (attended < 0 || token != target.marks().unknown))
      return nullptr;
    size_t word = static_cast<size_t>(ofPositions ? token : attended);
    if (ofPositions && (!source || word >= sources.lengths[sentence])) {
      *std::to_chars(number, number + sizeof(number) - 1, token).ptr = 0;
      return number;
    }
    if (sources.tokens)
      return sources.tokens[sentence][word];
    size_t id = static_cast<size_t>(sources.ids[sentence][word]);
    return source->tokens()[id].c_str();
  }
};

/// Tells the caller what is emitted. Where sentences are decoded a second time,
/// because others failed, they tell no token again.
class CallerListener final : public TokenListener {
public:
  /// How much of a hypothesis was told.
  struct Told {
    size_t count = 0;
    bool stopped = false;
  };
  /// How many of them a call has.
  static size_t count(const attn_decode_options &options, size_t sentences) {
    size_t each = options.forced ? 1 : options.nbest, count;
    if (__builtin_mul_overflow(sentences, options.on_token ? each : 0, &count))
      throwOutOfMemory();
    return count;
  }

  CallerListener(const attn_decode_options &options, const TokenTexts &texts,
                 size_t sentences, Arena &memory)
      : options(options), texts(texts) {
    size_t size = count(options, sentences);
    told = Layout(memory).take<Told>(size);
    std::fill_n(told, size, Told());
  }

  bool emitted(const EmittedToken &token) override {
    Told &before = told[token.sentence * (options.forced ? 1 : options.nbest) +
                        token.hypothesis];
    if (token.position < before.count)
      return !(before.stopped && token.position + 1 == before.count);
    before.count = token.position + 1;
    TokenTexts::Number number;
    const char *text =
        texts.replacement(token.sentence, token.token, token.attended, number);
    attn_token view = {
        sizeof(view),     token.sentence,
        token.hypothesis, token.position,
        token.token,      text ? text : texts.vocabularyText(token.token),
        token.logprob,    token.last,
        token.ends};
    before.stopped = options.on_token(options.on_token_context, &view) != 0;
    return !before.stopped;
  }

private:
  const attn_decode_options &options;
  const TokenTexts &texts;
  Told *told;
};

/// The bytes of buffer for a call that is divided as a plan says.
struct CallBytes {
  size_t front; ///< Of what is not of workers.
  size_t total; ///< All, and what may have to be skipped at the beginning.

  /// Throws std::bad_alloc where that is more than can be.
  CallBytes(const Model &model, const DecodeOptions &options,
            const Request &request, const CallSizes &sizes,
            const CallPlan &plan);
};

static void takeRepeated(size_t count, const Layout &one, Layout &layout) {
  size_t bytes;
  if (__builtin_mul_overflow(count, one.bytes(), &bytes))
    throwOutOfMemory();
  layout.takeBytes(bytes);
}

CallBytes::CallBytes(const Model &model, const DecodeOptions &options,
                     const Request &request, const CallSizes &sizes,
                     const CallPlan &plan) {
  size_t sentences = sizes.limits.sentences;
  const attn_sentences &banned = request.banned;
  Layout all;
  all.take<CallerListener::Told>(
      CallerListener::count(request.given, sentences));
  all.take<attn_results>(1);
  all.take<SourceSentence>(sentences);
  all.take<DecodeResult>(sentences);
  all.take<attn_results::Sentence>(sentences);
  all.takeBytes(plan.callBytes);
  all.take<TokenIds>(banned.count);
  for (size_t i = 0; i < banned.count; ++i)
    all.take<int32_t>(banned.lengths[i] + 1);

  size_t hypotheses = sizes.limits.forced ? 1 : options.search.nbest;
  Layout word, hypothesis, sentence;
  if (!model.emits(Target::Kind::Tokens))
    word.takeBytes(16); // The number of a position.
  if (std::optional<size_t> shown =
          shownInput(model, options.search.wantAttended)) {
    // The caller's, or the vocabulary's where he gives ids.
    size_t longest = sizes.wordBytes;
    longest = std::max(longest, model.inputVocabulary(*shown)->longestToken());
    word.takeBytes(longest + 1);
  }
  hypothesis.take<const char *>(plan.emitted);
  takeRepeated(plan.emitted, word, hypothesis);
  takeSource(model, sizes.limits.sourceLength, sentence);
  if (sizes.limits.forced || sizes.prefixed)
    sentence.take<int32_t>(sizes.limits.targetLength + 1);
  if (sizes.shortlisted) {
    // One for all, and one for each, which may take the prefix in.
    all.take<int32_t>(sizes.shortlistLength + 1);
    sentence.take<int32_t>(sizes.shortlistLength + 1 +
                           (sizes.prefixed ? sizes.limits.targetLength : 0));
  }
  sentence.takeBytes(plan.sentenceBytes);
  sentence.take<attn_hypothesis>(hypotheses);
  takeRepeated(hypotheses, hypothesis, sentence);
  takeRepeated(sentences, sentence, all);
  front = all.bytes();

  Layout worker;
  worker.takeBytes(plan.workBytes);
  takeRepeated(plan.workers, worker, all);
  all.takeBytes(Arena::alignment - 1);
  total = all.bytes();
}

/// Gives the tokens of a hypothesis their text; texts that are not the
/// vocabulary's are copied.
static const char *const *fillTokens(const Hypothesis &hypothesis,
                                     size_t length, size_t sentence,
                                     const TokenTexts &texts, Arena &memory) {
  Layout layout(memory);
  const char **tokens = layout.take<const char *>(length);
  for (size_t t = 0; t < length; ++t) {
    const TokenIds &attended = hypothesis.attended;
    TokenTexts::Number number;
    int32_t token = hypothesis.tokens[t];
    const char *word = texts.replacement(
        sentence, token, attended.empty() ? -1 : attended[t], number);
    if (word) {
      size_t size = strlen(word) + 1;
      word = static_cast<char *>(memcpy(layout.takeBytes(size), word, size));
    }
    tokens[t] = word ? word : texts.vocabularyText(token);
  }
  return tokens;
}

/// Makes what was found readable through the C interface.
static void fillResult(const DecodeResult &found, size_t sentence,
                       const TokenTexts &texts, Arena &memory,
                       attn_results::Sentence &result) {
  bool failed = found.failure.failed();
  result.view = {sizeof(attn_result), found.failure.status,
                 failed ? found.failure.message.c_str() : nullptr,
                 found.hypotheses.size()};
  result.hypotheses =
      failed ? nullptr
             : Layout(memory).take<attn_hypothesis>(found.hypotheses.size());
  for (size_t i = 0; i < found.hypotheses.size(); ++i) {
    const Hypothesis &data = found.hypotheses[i];
    // An empty sentence has a finished hypothesis without any token.
    bool ofFrames = texts.ofFrames;
    size_t emitted = ofFrames ? data.stops.size() : data.tokens.size();
    size_t length = emitted - (!ofFrames && data.finished && emitted ? 1 : 0);
    attn_hypothesis &view = result.hypotheses[i];
    view.struct_size = sizeof(view);
    view.length = length;
    view.ids = ofFrames ? nullptr : data.tokens.data();
    view.tokens =
        ofFrames ? nullptr : fillTokens(data, length, sentence, texts, memory);
    view.emitted = emitted;
    view.word_logprobs = ofFrames ? nullptr : data.wordLogprobs.data();
    view.frames = ofFrames ? data.frames.data() : nullptr;
    view.stop_probabilities = ofFrames ? data.stops.data() : nullptr;
    view.stalled = data.stalled;
    view.logprob = data.logprob;
    view.score = data.score;
    view.finished = data.finished;
    view.memory_positions = static_cast<size_t>(data.memoryPositions);
    view.alignment = data.alignment.empty() ? nullptr : data.alignment.data();
    view.heads = static_cast<size_t>(data.heads);
  }
}

/// Asks the caller whether to give up.
class CallerInterrupt final : public Interrupt {
public:
  explicit CallerInterrupt(const attn_decode_options &options)
      : cancelled(options.cancelled), context(options.cancelled_context) {}

  bool raised() override { return cancelled && cancelled(context) != 0; }

private:
  attn_cancelled_function cancelled;
  void *context;
};

static void freeResults(attn_results *results) {
  if (!results)
    return;
  if (results->inBuffer)
    results->~attn_results();
  else
    delete results;
}

using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

/// Reads a call's sentences into its memory. `shared` is the shortlist of all
/// of them, if they share one.
static std::span<SourceSentence> readSources(const Model &model,
                                             const Request &request,
                                             Shortlist shared, Arena &memory) {
  const Description &description = model.description();
  size_t count = request.sources.count();
  SourceSentence *all = Layout(memory).take<SourceSentence>(count);
  std::string message;
  for (size_t i = 0; i < count; ++i) {
    SourceSentence &sentence = *new (all + i) SourceSentence(&memory);
    std::span<InputSource> source;
    if (!request.sources.read(model, i, memory, source, message))
      sentence.failure = {ATTN_ERROR_INPUT, message};
    sentence.source = source;
    if (request.given.forced && model.emits(Target::Kind::Features)) {
      sentence.forced.emplace(&memory);
      sentence.forcedFrames.length = request.targets.lengths[i];
      if (sentence.forcedFrames.length)
        sentence.forcedFrames.features = request.targets.features[i];
      if (sentence.forcedFrames.length && !sentence.forcedFrames.features)
        sentence.failure = {ATTN_ERROR_INPUT,
                            "forced target: expected features, but got null"};
    } else if (request.given.forced &&
               !readTarget(request.targets, i, description,
                           sentence.forced.emplace(&memory), message))
      sentence.failure = {ATTN_ERROR_INPUT, "forced target: " + message};
    if (request.given.prefixes &&
        !readTarget(request.prefixes, i, description, sentence.prefix, message))
      sentence.failure = {ATTN_ERROR_INPUT, "prefix: " + message};
    sentence.shortlist = shared;
    if (request.given.shortlists && shared.empty()) {
      TokenIds &own = sentence.ownShortlist;
      own.reserve(request.shortlists.lengths[i] + 1 + sentence.prefix.size());
      if (!readShortlist(request.shortlists, i, model, own, message))
        sentence.failure = {ATTN_ERROR_INPUT, message};
      sentence.shortlist = own;
    }
    if (request.given.sentence_numbers)
      sentence.number = request.given.sentence_numbers[i];
  }
  return {all, count};
}

/// Results without anything in them, in the caller's buffer if there is one.
/// Null and a failure where that is too small.
static Results makeResults(const Model &model, const Request &request,
                           const DecodeOptions &options, CallPlan &plan,
                           char *&work, Failure &failure) {
  const attn_decode_options &given = request.given;
  CallSizes sizes = findSizes(model, request);
  Results results(nullptr, freeResults);
  if (!given.buffer) {
    model.plan(options, sizes.limits, /*withMemory=*/false, plan, failure);
    results.reset(new attn_results());
    return results;
  }
  if (!model.plan(options, sizes.limits, /*withMemory=*/true, plan, failure))
    return results;
  CallBytes bytes(model, options, request, sizes, plan);
  if (given.buffer_size < bytes.total) {
    failure = {ATTN_ERROR_MEMORY,
               "expected a buffer of at least " + std::to_string(bytes.total) +
                   " bytes, but got " + std::to_string(given.buffer_size)};
    return results;
  }
  void *place = given.buffer;
  size_t size = given.buffer_size;
  size_t own = Arena::blockBytes(sizeof(attn_results));
  std::align(Arena::alignment, own, place, size);
  char *first = static_cast<char *>(place);
  results.reset(new (place) attn_results(first + own, bytes.front - own));
  work = first + bytes.front;
  return results;
}

static attn_results *decode(const attn_model *model,
                            const attn_sentences *sentences,
                            const attn_decode_options *options,
                            attn_error *error) {
  return guarded(error, [&]() -> attn_results * {
    auto fail = [&](attn_status status, const std::string &message) {
      setError(error, status, message.c_str());
      return nullptr;
    };
    std::string message;
    if (!model || !sentences)
      return fail(ATTN_ERROR_ARGUMENT,
                  "expected a model and sentences, but got null");
    Request request;
    if (!readRequest(*model->model, sentences, options, request, message))
      return fail(ATTN_ERROR_ARGUMENT, message);
    size_t count = request.sources.count();
    DecodeOptions planned;
    if (!readOptions(request.given, *model->model, planned, message))
      return fail(ATTN_ERROR_OPTION, message);
    for (auto [what, some, others] :
         {std::tuple("forced targets", request.given.forced,
                     request.targets.count),
          std::tuple("prefixes", request.given.prefixes,
                     request.prefixes.count)})
      if (some && others != count)
        return fail(ATTN_ERROR_OPTION,
                    std::string("expected as many ") + what +
                        " as sentences, " + std::to_string(count) +
                        ", but got " + std::to_string(others));
    size_t lists = request.shortlists.count;
    if (request.given.shortlists && lists != 1 && lists != count)
      return fail(ATTN_ERROR_OPTION,
                  "expected one shortlist or as many as sentences, " +
                      std::to_string(count) + ", but got " +
                      std::to_string(lists));
    std::vector<attn_member> members;
    if (!readMembers(request.given, *model->model, members, message))
      return fail(ATTN_ERROR_OPTION, message);
    CallPlan plan;
    char *work = nullptr;
    Failure failure;
    Results results =
        makeResults(*model->model, request, planned, plan, work, failure);
    if (!results)
      return fail(failure.status, failure.message);
    Arena &memory = results->memory;
    CallerInterrupt interrupt(request.given);
    std::optional<size_t> shown =
        shownInput(*model->model, request.given.replace_unknown);
    TokenTexts texts{request.sources[shown.value_or(0)],
                     shown ? model->model->inputVocabulary(*shown) : nullptr,
                     model->model->description().targetVocabulary(),
                     model->model->emits(Target::Kind::Positions),
                     model->model->emits(Target::Kind::Features)};
    CallerListener listener(request.given, texts, count, memory);
    DecodeOptions search(&memory);
    search.interrupt = &interrupt;
    if (request.given.on_token)
      search.search.listener = &listener;
    EnsembleBackend ensemble(*model->model, members);
    if (!members.empty())
      search.backend = &ensemble;
    if (!readOptions(request.given, *model->model, search, message) ||
        !readBanned(request.banned, model->model->description(),
                    search.search.constraints.banned, message))
      return fail(ATTN_ERROR_OPTION, message);
    TokenIds shared(&memory);
    if (request.given.shortlists && lists == 1 &&
        !readShortlist(request.shortlists, 0, *model->model, shared, message))
      return fail(ATTN_ERROR_OPTION, message);

    std::span<SourceSentence> all =
        readSources(*model->model, request, shared, memory);
    DecodeResult *found = Layout(memory).take<DecodeResult>(all.size());
    for (size_t i = 0; i < all.size(); ++i)
      new (found + i) DecodeResult(&results->shared);
    results->found = {found, all.size()};
    bool done = model->model->decode(
        all, search, plan, {memory, results->shared, work}, results->found);
    for (SourceSentence &sentence : all)
      sentence.~SourceSentence();
    if (!done)
      return fail(ATTN_CANCELLED, "cancelled by the caller");

    results->description = model->model->sharedDescription();
    results->sentences = {
        Layout(memory).take<attn_results::Sentence>(all.size()), all.size()};
    for (size_t i = 0; i < all.size(); ++i)
      fillResult(found[i], i, texts, memory, results->sentences[i]);
    return results.release();
  });
}

static size_t memoryPlan(const attn_model *model,
                         const attn_decode_options *options,
                         const attn_limits *limits, attn_error *error) {
  return guarded(error, [&]() -> size_t {
    auto fail = [&](attn_status status, const std::string &message) {
      setError(error, status, message.c_str());
      return 0;
    };
    std::string message;
    if (!model)
      return fail(ATTN_ERROR_ARGUMENT, "expected a model, but got null");
    Request request;
    attn_limits given = attn_default_limits();
    attn_decode_options copy = attn_default_decode_options();
    if (options && !copyOptions(&copy, sizeof(copy), options,
                                "attn_decode_options", message))
      return fail(ATTN_ERROR_ARGUMENT, message);
    bool forced = copy.forced, prefixed = copy.prefixes,
         shortlisted = copy.shortlists;
    copy.forced = copy.prefixes = copy.shortlists = nullptr;
    if (!readRequest(*model->model, nullptr, &copy, request, message) ||
        (limits &&
         !copyOptions(&given, sizeof(given), limits, "attn_limits", message)))
      return fail(ATTN_ERROR_ARGUMENT, message);
    DecodeOptions search;
    if (!readOptions(request.given, *model->model, search, message))
      return fail(ATTN_ERROR_OPTION, message);
    if (request.given.ensemble_size)
      return fail(ATTN_ERROR_OPTION,
                  "expected a plan without an ensemble, whose members work on "
                  "the heap, but got one with " +
                      std::to_string(request.given.ensemble_size) + " members");
    CallSizes sizes;
    sizes.limits.sentences = given.sentences;
    sizes.limits.sourceLength = given.source_length;
    sizes.limits.targetLength = given.target_length;
    sizes.limits.forced = forced;
    sizes.prefixed = prefixed;
    sizes.shortlisted = search.search.shortlists = shortlisted;
    sizes.shortlistLength = given.shortlist_length;
    sizes.wordBytes = given.word_bytes;
    CallPlan plan;
    Failure failure;
    if (!model->model->plan(search, sizes.limits, /*withMemory=*/true, plan,
                            failure))
      return fail(failure.status, failure.message);
    return CallBytes(*model->model, search, request, sizes, plan).total;
  });
}

static void closeModel(attn_model *model) { delete model; }

static const attn_model_info *info(const attn_model *model) {
  return &model->info;
}

static const attn_vocabulary *vocabulary(const attn_model *model,
                                         size_t number) {
  return number < model->vocabularies.size() ? &model->vocabularies[number]
                                             : nullptr;
}

static const attn_input *input(const attn_model *model, size_t number) {
  return number < model->inputs.size() ? &model->inputs[number] : nullptr;
}

static size_t resultCount(const attn_results *results) {
  return results->sentences.size();
}

static const attn_result *result(const attn_results *results, size_t sentence) {
  return sentence < results->sentences.size()
             ? &results->sentences[sentence].view
             : nullptr;
}

static const attn_hypothesis *hypothesis(const attn_results *results,
                                         size_t sentence, size_t rank) {
  if (sentence >= results->sentences.size())
    return nullptr;
  const attn_results::Sentence &of = results->sentences[sentence];
  return rank < of.view.hypothesis_count ? &of.hypotheses[rank] : nullptr;
}

attn_api attn::modelApi() {
  attn_api api = {};
  api.version = ATTN_API_VERSION;
  api.struct_size = sizeof(api);
  api.close = closeModel;
  api.info = info;
  api.vocabulary = vocabulary;
  api.decode = decode;
  api.result_count = resultCount;
  api.result = result;
  api.hypothesis = hypothesis;
  api.free_results = freeResults;
  api.memory_plan = memoryPlan;
  api.clear_error = clearError;
  api.input = input;
  addStepApi(api);
  return api;
}
