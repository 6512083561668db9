//===- c_api.cpp - the C interface over any opened model ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "runtime/guard.h"
#include "runtime/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

using namespace attn;

struct attn_model {
  std::unique_ptr<Model> model;
  attn_model_info info;
  std::vector<attn_vocabulary> vocabularies;
  std::vector<std::vector<const char *>> tokens; ///< By vocabulary.
};

namespace {

struct ResultHypothesis {
  attn_hypothesis view;
  Hypothesis data;
  std::vector<std::string> texts;
  std::vector<const char *> tokens;
};

struct SentenceResult {
  attn_result view;
  std::string message;
  std::vector<ResultHypothesis> hypotheses;
};

} // namespace

struct attn_results {
  std::vector<SentenceResult> sentences;
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
  info.has_encoder = model->hasEncoder();
  info.has_alignment = description.alignment.has_value();
  info.source_has_end = model->hasEncoder() && description.inputs[0].end;
  info.vocabulary_count = description.vocabularies.size();
  info.source_vocabulary =
      model->hasEncoder() ? description.inputs[0].vocabulary : -1;
  info.target_vocabulary = description.target.vocabulary;
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
  handle->model = std::move(model);
  return handle.release();
}

/// Reads one sentence of a caller's. False and a message on failure.
static bool readSentence(const attn_sentences &sentences, size_t number,
                         const Vocabulary &vocabulary, TokenIds &ids,
                         std::string &error) {
  size_t length = sentences.lengths[number];
  if (!length)
    return true;
  if (sentences.ids) {
    if (!sentences.ids[number]) {
      error = "expected token ids, but got null";
      return false;
    }
    ids.assign(sentences.ids[number], sentences.ids[number] + length);
    return true;
  }
  std::vector<std::string_view> words;
  for (size_t i = 0; i < length; ++i) {
    if (!sentences.tokens[number] || !sentences.tokens[number][i]) {
      error = "expected tokens, but got null";
      return false;
    }
    words.push_back(sentences.tokens[number][i]);
  }
  return vocabulary.lookUp(words, ids, error);
}

/// Whether sentences are given as they must be; if not, a message.
static bool checkSentences(const attn_sentences &sentences, const char *what,
                           std::string &error) {
  if (sentences.count && !sentences.lengths) {
    error = std::string("expected lengths of ") + what + ", but got null";
    return false;
  }
  bool any = false;
  for (size_t i = 0; i < sentences.count; ++i)
    any |= sentences.lengths[i] != 0;
  if (any && !sentences.tokens == !sentences.ids) {
    error = std::string("expected one of tokens and ids of ") + what +
            ", but got " + (sentences.tokens ? "both" : "none");
    return false;
  }
  return true;
}

/// Reads sequences that are banned. False and a message on failure.
static bool readBanned(const attn_sentences &banned,
                       const Vocabulary &vocabulary,
                       std::vector<TokenIds> &sequences, std::string &error) {
  for (size_t i = 0; i < banned.count; ++i) {
    TokenIds &sequence = sequences.emplace_back();
    std::string where = "banned sequence " + std::to_string(i + 1) + ": ";
    if (!readSentence(banned, i, vocabulary, sequence, error)) {
      error = where + error;
      return false;
    }
    if (sequence.empty()) {
      error = where + "expected at least one token, but got none";
      return false;
    }
    for (size_t t = 0; t < sequence.size(); ++t) {
      // Whoever bans a word that does not exist does not mean the unknown one.
      if (!banned.ids && vocabulary.find(banned.tokens[i][t]) < 0) {
        error = where + "expected words of vocabulary " +
                quote(vocabulary.name()) + ", but got " +
                quote(banned.tokens[i][t]) + " as word " +
                std::to_string(t + 1);
        return false;
      }
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
  if (!given.sampling && (given.nbest < 1 || given.nbest > given.beam))
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
  if (given.batch_size < 1)
    return fail("a batch_size of at least 1", std::to_string(given.batch_size));
  if (given.forced && given.prefixes)
    return fail("one of forced targets and prefixes", "both");

  const Description &description = model.description();
  int64_t heads = description.alignment ? description.alignment->heads : 0;
  if ((given.want_alignment || given.coverage > 0 || given.replace_unknown) &&
      !heads)
    return fail("a model with an alignment",
                quote(description.model) + ", which has none");
  if (given.replace_unknown && !model.alignsWords())
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
      given.sampling == 1, given.temperature,
      static_cast<int64_t>(std::min<size_t>(given.top_k, INT32_MAX)),
      given.top_p, given.seed};
  search.stop = static_cast<StopRule>(given.stop);
  search.patience = given.patience;
  search.refill = static_cast<Refill>(given.refill);
  search.endAtMaximum = given.end_at_maximum;
  search.wantAlignment = given.want_alignment;
  search.alignmentHead = given.alignment_head;
  search.wantAttended = given.replace_unknown;
  options.maxLengthFactor = given.max_length_factor;
  options.maxLengthOffset = given.max_length_offset;
  options.batchSize = given.batch_size;
  return true;
}

/// Makes what was found readable through the C interface. `sourceWord` tells a
/// word of the sentence by its number.
template <typename SourceWord>
static void fillResult(DecodeResult found, const Vocabulary &vocabulary,
                       SourceWord sourceWord, SentenceResult &result) {
  result.message = std::move(found.failure.message);
  result.view = {sizeof(attn_result), found.failure.status,
                 found.failure.failed() ? result.message.c_str() : nullptr,
                 found.hypotheses.size()};
  result.hypotheses.resize(found.hypotheses.size());
  for (size_t i = 0; i < found.hypotheses.size(); ++i) {
    ResultHypothesis &to = result.hypotheses[i];
    to.data = std::move(found.hypotheses[i]);
    const Hypothesis &data = to.data;
    // An empty sentence has a finished hypothesis without any token.
    size_t emitted = data.tokens.size();
    size_t length = emitted - (data.finished && emitted ? 1 : 0);
    for (size_t t = 0; t < length; ++t) {
      bool replaces = !data.attended.empty() && data.attended[t] >= 0 &&
                      data.tokens[t] == vocabulary.marks().unknown;
      to.texts.push_back(
          replaces ? sourceWord(static_cast<size_t>(data.attended[t]))
                   : vocabulary.tokens()[static_cast<size_t>(data.tokens[t])]);
    }
    for (const std::string &text : to.texts)
      to.tokens.push_back(text.c_str());
    attn_hypothesis &view = to.view;
    view.struct_size = sizeof(view);
    view.length = length;
    view.ids = data.tokens.data();
    view.tokens = to.tokens.data();
    view.emitted = emitted;
    view.word_logprobs = data.wordLogprobs.data();
    view.logprob = data.logprob;
    view.score = data.score;
    view.finished = data.finished;
    view.memory_positions = static_cast<size_t>(data.memoryPositions);
    view.alignment = data.alignment.empty() ? nullptr : data.alignment.data();
    view.heads = static_cast<size_t>(data.heads);
  }
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
    attn_sentences sources = {}, targets = {}, prefixes = {}, banned = {};
    attn_decode_options given = attn_default_decode_options();
    auto copySentences = [&](attn_sentences &to, const attn_sentences *from,
                             const char *what) {
      return !from ||
             (copyOptions(&to, sizeof(to), from, "attn_sentences", message) &&
              checkSentences(to, what, message));
    };
    if ((options && !copyOptions(&given, sizeof(given), options,
                                 "attn_decode_options", message)) ||
        !copySentences(sources, sentences, "sentences") ||
        !copySentences(targets, given.forced, "forced targets") ||
        !copySentences(prefixes, given.prefixes, "prefixes") ||
        !copySentences(banned, given.banned, "banned sequences"))
      return fail(ATTN_ERROR_ARGUMENT, message);
    const Vocabulary &target = model->model->description().targetVocabulary();
    DecodeOptions search;
    if (!readOptions(given, *model->model, search, message) ||
        !readBanned(banned, target, search.search.constraints.banned, message))
      return fail(ATTN_ERROR_OPTION, message);
    for (auto [what, some, count] :
         {std::tuple("forced targets", given.forced, targets.count),
          std::tuple("prefixes", given.prefixes, prefixes.count)})
      if (some && count != sources.count)
        return fail(ATTN_ERROR_OPTION,
                    std::string("expected as many ") + what +
                        " as sentences, " + std::to_string(sources.count) +
                        ", but got " + std::to_string(count));

    // A model without an encoder knows no source words; the model reports it.
    const Vocabulary *source = model->model->sourceVocabulary();
    std::vector<SourceSentence> all(sources.count);
    for (size_t i = 0; i < sources.count; ++i) {
      if (!readSentence(sources, i, source ? *source : target, all[i].source,
                        message))
        all[i].failure = {ATTN_ERROR_INPUT, message};
      if (given.forced &&
          !readSentence(targets, i, target, all[i].forced.emplace(), message))
        all[i].failure = {ATTN_ERROR_INPUT, "forced target: " + message};
      if (given.prefixes &&
          !readSentence(prefixes, i, target, all[i].prefix, message))
        all[i].failure = {ATTN_ERROR_INPUT, "prefix: " + message};
      if (given.sentence_numbers)
        all[i].number = given.sentence_numbers[i];
    }
    std::vector<DecodeResult> found = model->model->decode(all, search);
    auto results = std::make_unique<attn_results>();
    results->sentences.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i)
      fillResult(
          std::move(found[i]), target,
          [&](size_t word) -> std::string {
            // As it was given: in the vocabulary it may be unknown.
            if (sources.tokens)
              return sources.tokens[i][word];
            return source->tokens()[static_cast<size_t>(all[i].source[word])];
          },
          results->sentences[i]);
    return results.release();
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
  const auto &hypotheses = results->sentences[sentence].hypotheses;
  return rank < hypotheses.size() ? &hypotheses[rank].view : nullptr;
}

static void freeResults(attn_results *results) { delete results; }

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
  api.clear_error = clearError;
  return api;
}
