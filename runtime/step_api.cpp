//===- step_api.cpp - the C interface, step by step -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands a Backend out to searches that are not ours, and lets nothing through
// to it that it does not expect.
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "runtime/float_math.h"
#include "runtime/guard.h"

#include <algorithm>
#include <climits>

using namespace attn;

namespace {

/// What is known of the rows of a step.
struct Rows {
  int32_t *sentences = nullptr;
  int32_t *positions = nullptr;
};

struct Arrays {
  SourceSpan *sources = nullptr;   ///< [sentences]
  size_t *choices = nullptr;       ///< [sentences]
  size_t *memoryLengths = nullptr; ///< [sentences]
  /// [rows] What the backend is asked.
  int32_t *tokens = nullptr, *parents = nullptr;
  Rows now, before;

  void takeSources(size_t sentences, Layout &layout) {
    sources = layout.take<SourceSpan>(sentences);
    choices = layout.take<size_t>(sentences);
    memoryLengths = layout.take<size_t>(sentences);
  }
  void takeRows(size_t rows, Layout &layout) {
    tokens = layout.take<int32_t>(rows);
    parents = layout.take<int32_t>(rows);
    for (Rows *some : {&now, &before}) {
      some->sentences = layout.take<int32_t>(rows);
      some->positions = layout.take<int32_t>(rows);
    }
  }
};

} // namespace

struct attn_decoding {
  explicit attn_decoding(const Model &model) : model(model) {}
  attn_decoding(const Model &model, void *buffer, size_t size)
      : model(model), inBuffer(true), memory(buffer, size) {}

  bool prepareRows(const attn_step_request &request, std::string &error);
  const attn_step_result *step(const attn_step_request &request,
                               attn_error *error);

  const Model &model;
  bool inBuffer = false;
  Arena memory;
  DecodingPtr decoding;
  size_t sentences = 0;
  Arrays arrays;
  size_t capacity = 0; ///< Rows that there is room for.
  size_t rows = 0;     ///< of the step before.
  size_t steps = 0;    ///< made so far.
  /// Steps that there is room for, where the buffer limits them.
  size_t stepLimit = SIZE_MAX;
  bool started = false;
  bool failed = false;
  attn_step_result result = {};
};

/// The bytes of buffer for a decoding: some at its beginning may have to be
/// skipped. 0 where the model's code does not work in buffers.
static size_t neededBytes(const Model &model, const DecodingLimits &limits) {
  std::optional<size_t> work = model.decoder().memoryBytes(limits);
  if (!work)
    return 0;
  size_t sentences = static_cast<size_t>(limits.sentences), bytes;
  Layout layout, source;
  Arrays arrays;
  layout.take<attn_decoding>(1);
  takeSource(model, static_cast<size_t>(limits.sourceLength), source);
  if (__builtin_mul_overflow(source.bytes(), sentences, &bytes))
    throwOutOfMemory();
  layout.takeBytes(bytes);
  arrays.takeSources(sentences, layout);
  arrays.takeRows(static_cast<size_t>(limits.rows), layout);
  layout.takeBytes(*work);
  layout.takeBytes(1);
  return layout.bytes();
}

/// What makes rows of a step of the rows it continues. False and a message, and
/// nothing has changed, where that cannot be.
bool attn_decoding::prepareRows(const attn_step_request &request,
                                std::string &error) {
  auto fail = [&](const std::string &expected, const std::string &found) {
    error = "expected " + expected + ", but got " + found;
    return false;
  };
  if (!request.rows || request.rows > INT32_MAX)
    return fail("1 to " + std::to_string(INT32_MAX) + " rows",
                std::to_string(request.rows));
  if (memory.isBounded() && request.rows > capacity)
    return fail("at most " + std::to_string(capacity) +
                    " rows, which the buffer was made for",
                std::to_string(request.rows));
  if (steps >= stepLimit)
    return fail("at most " + std::to_string(stepLimit) +
                    " steps, which the buffer was made for",
                "another");
  const std::optional<LengthLimit> &limit = model.description().target.limit;
  if (limit && static_cast<int64_t>(steps) >= limit->length)
    return fail(limit->describe("steps"), "another");
  bool emitsFrames = model.emits(Target::Kind::Features);
  const void *chosen = request.tokens, *other = request.frames;
  if (emitsFrames)
    std::swap(chosen, other);
  if ((started && !chosen) || other)
    return fail(emitsFrames ? "frames" : "tokens",
                other ? (emitsFrames ? "tokens" : "frames") : "null");
  if (!started && chosen)
    return fail(emitsFrames ? "no frames in the first step"
                            : "no tokens in the first step",
                "some");
  if (request.rows > capacity) {
    Arrays grown = arrays;
    Layout layout(memory);
    size_t room = std::max(request.rows, 2 * capacity);
    grown.takeRows(room, layout);
    std::copy_n(arrays.before.sentences, rows, grown.before.sentences);
    std::copy_n(arrays.before.positions, rows, grown.before.positions);
    arrays = grown;
    capacity = room;
  }

  const Rows &before = arrays.before, &now = arrays.now;
  size_t parentCount = started ? rows : sentences;
  for (size_t i = 0; i < request.rows; ++i) {
    auto ofRow = [&](const char *what) {
      return what + std::string(" of row ") + std::to_string(i);
    };
    int32_t parent =
        request.parents ? request.parents[i] : static_cast<int32_t>(i);
    if (parent < 0 || static_cast<size_t>(parent) >= parentCount)
      return fail(ofRow(started ? "a parent" : "a sentence") + " of 0 to " +
                      std::to_string(parentCount - 1) +
                      (started ? ", the rows of the step before"
                               : ", the sentences that were encoded"),
                  std::to_string(parent));
    int32_t sentence = started ? before.sentences[parent] : parent;
    if (i && sentence < now.sentences[i - 1])
      return fail("rows in the order of their sentences",
                  "row " + std::to_string(i) + " of sentence " +
                      std::to_string(sentence) + " after one of sentence " +
                      std::to_string(now.sentences[i - 1]));
    int32_t token = started && !emitsFrames ? request.tokens[i]
                                            : model.description().target.start;
    size_t choices = arrays.choices[sentence];
    if (started && !emitsFrames &&
        (token < 0 || static_cast<size_t>(token) >= choices))
      return fail(
          ofRow(model.emits(Target::Kind::Tokens) ? "a token" : "a position") +
              " of 0 to " + std::to_string(choices - 1),
          std::to_string(token));
    arrays.tokens[i] = token;
    arrays.parents[i] = parent;
    now.sentences[i] = sentence;
    now.positions[i] = started ? before.positions[parent] + 1 : 0;
  }
  return true;
}

const attn_step_result *attn_decoding::step(const attn_step_request &request,
                                            attn_error *error) {
  std::string message;
  if (failed) {
    setError(
        error, ATTN_ERROR_ARGUMENT,
        "expected a decoding of which no step has failed, but got another");
    return nullptr;
  }
  if (!prepareRows(request, message)) {
    setError(error, ATTN_ERROR_ARGUMENT, message.c_str());
    return nullptr;
  }
  StepRequest asked;
  asked.rows = static_cast<int64_t>(request.rows);
  asked.tokens = arrays.tokens;
  asked.frames = request.frames;
  asked.positions = arrays.now.positions;
  asked.sentences = arrays.now.sentences;
  asked.parents = arrays.parents;
  StepResult answer;
  FloatingPointScope floatingPoint;
  failed = true;
  if (!decoding->step(asked, answer, message)) {
    setError(error, ATTN_ERROR_INPUT, message.c_str());
    return nullptr;
  }
  failed = false;
  started = true;
  ++steps;
  rows = request.rows;
  result.struct_size = sizeof(result);
  result.rows = rows;
  result.vocabulary_size = 0;
  if (answer.logits)
    result.vocabulary_size = static_cast<size_t>(
        answer.columns ? answer.columns
                       : model.description().targetVocabulary().size());
  result.choices = arrays.choices;
  result.frames = answer.frames;
  result.stop = answer.stop;
  result.logits = answer.logits;
  result.sentences = arrays.now.sentences;
  result.memory_positions = static_cast<size_t>(answer.memoryPositions);
  result.heads = static_cast<size_t>(answer.heads);
  result.weights = answer.weights;
  result.memory_lengths = arrays.memoryLengths;
  std::swap(arrays.now, arrays.before);
  return &result;
}

/// The limits of so many sentences. False and a message where they are too
/// large.
static bool findLimits(const Model &model, size_t sentences, size_t longest,
                       size_t rows, size_t steps, DecodingLimits &limits,
                       std::string &error) {
  size_t end = model.addsEnd() ? 1 : 0;
  rows = rows ? rows : sentences;
  if (sentences > INT32_MAX || longest >= INT32_MAX || rows > INT32_MAX ||
      steps > INT32_MAX) {
    error =
        "expected sentences, tokens, rows and steps of less than 2147483648";
    return false;
  }
  limits = {static_cast<int64_t>(sentences),
            static_cast<int64_t>(longest + end), static_cast<int64_t>(rows),
            static_cast<int64_t>(steps)};
  return true;
}

static void freeDecoding(attn_decoding *decoding) {
  if (!decoding)
    return;
  if (decoding->inBuffer)
    decoding->~attn_decoding();
  else
    delete decoding;
}

/// A decoding of sentences which have been checked. Null and an error on
/// failure.
static attn_decoding *encodeSentences(const Model &model,
                                      const SourceSentences &sentences,
                                      const attn_encode_options &options,
                                      attn_error *error) {
  std::string message;
  auto fail = [&](attn_status status, const std::string &text) {
    setError(error, status, text.c_str());
    return nullptr;
  };
  DecodingLimits limits;
  const size_t count = sentences.count();
  if (!findLimits(model, count, sentences.longest(), options.rows,
                  options.steps, limits, message))
    return fail(ATTN_ERROR_OPTION, message);
  std::unique_ptr<attn_decoding, void (*)(attn_decoding *)> decoding(
      nullptr, freeDecoding);
  if (options.buffer) {
    size_t needed = neededBytes(model, limits);
    if (!needed)
      return fail(ATTN_ERROR_UNSUPPORTED,
                  "expected a compiled model on the CPU to use a buffer");
    if (options.buffer_size < needed)
      return fail(ATTN_ERROR_MEMORY,
                  "expected a buffer of at least " + std::to_string(needed) +
                      " bytes, but got " + std::to_string(options.buffer_size));
    size_t size = options.buffer_size;
    void *place = options.buffer;
    size_t own = Arena::blockBytes(sizeof(attn_decoding));
    std::align(Arena::alignment, own, place, size);
    decoding.reset(new (place) attn_decoding(
        model, static_cast<char *>(place) + own, size - own));
  } else {
    decoding.reset(new attn_decoding(model));
  }

  Layout layout(decoding->memory);
  Arrays &arrays = decoding->arrays;
  arrays.takeSources(count, layout);
  arrays.takeRows(static_cast<size_t>(limits.rows), layout);
  decoding->sentences = count;
  decoding->capacity = static_cast<size_t>(limits.rows);
  if (options.buffer && model.decoder().hasPast())
    decoding->stepLimit = options.steps;

  for (size_t i = 0; i < count; ++i) {
    std::span<InputSource> source;
    bool good = sentences.read(model, i, decoding->memory, source, message);
    if (good && model.hasEncoder() &&
        std::all_of(source.begin(), source.end(), [](const InputSource &input) {
          return input.length == 0;
        })) {
      good = false;
      message = "expected at least one token, but got none";
    }
    if (!good || !model.finishSource(source, message))
      return fail(ATTN_ERROR_INPUT,
                  "sentence " + std::to_string(i) + ": " + message);
    arrays.sources[i] = source;
  }
  FloatingPointScope floatingPoint;
  decoding->decoding =
      model.decoder().encode({arrays.sources, count}, limits.rows, limits.steps,
                             decoding->memory, message);
  if (!decoding->decoding)
    return fail(ATTN_ERROR_INPUT, message);
  for (size_t i = 0; i < count; ++i)
    arrays.choices[i] = static_cast<size_t>(
        model.emits(Target::Kind::Positions)
            ? model.targetPositions(arrays.sources[i])
            : model.description().targetVocabulary().size());
  for (size_t i = 0; i < count; ++i)
    arrays.memoryLengths[i] = static_cast<size_t>(
        decoding->decoding->memoryLength(static_cast<int64_t>(i)));
  return decoding.release();
}

static attn_decoding *encode(const attn_model *model,
                             const attn_sentences *sentences,
                             const attn_encode_options *options,
                             attn_error *error) {
  return guarded(error, [&]() -> attn_decoding * {
    auto fail = [&](const std::string &message) {
      setError(error, ATTN_ERROR_ARGUMENT, message.c_str());
      return nullptr;
    };
    if (!model || !sentences)
      return fail("expected a model and sentences, but got null");
    std::string message;
    SourceSentences given;
    attn_encode_options how = attn_default_encode_options();
    if ((options && !copyOptions(&how, sizeof(how), options,
                                 "attn_encode_options", message)) ||
        !given.read(*model->model, sentences, message))
      return fail(message);
    if (!given.count())
      return fail("expected at least one sentence, but got none");
    return encodeSentences(*model->model, given, how, error);
  });
}

static size_t encodeMemory(const attn_model *model, size_t sentences,
                           size_t sourceLength, size_t rows, size_t steps,
                           attn_error *error) {
  return guarded(error, [&]() -> size_t {
    std::string message;
    if (!model || !sentences) {
      setError(error, ATTN_ERROR_ARGUMENT,
               "expected a model and at least one sentence, but got none");
      return 0;
    }
    DecodingLimits limits;
    if (!findLimits(*model->model, sentences, sourceLength, rows, steps, limits,
                    message)) {
      setError(error, ATTN_ERROR_OPTION, message.c_str());
      return 0;
    }
    size_t needed = neededBytes(*model->model, limits);
    if (!needed)
      setError(error, ATTN_ERROR_UNSUPPORTED,
               "expected a compiled model on the CPU to plan for");
    return needed;
  });
}

static const attn_step_result *step(attn_decoding *decoding,
                                    const attn_step_request *request,
                                    attn_error *error) {
  return guarded(error, [&]() -> const attn_step_result * {
    std::string message;
    attn_step_request given = {};
    if (!decoding || !request)
      message = "expected a decoding and a request, but got null";
    else if (copyOptions(&given, sizeof(given), request, "attn_step_request",
                         message))
      return decoding->step(given, error);
    setError(error, ATTN_ERROR_ARGUMENT, message.c_str());
    return nullptr;
  });
}

static double rowLogSumExp(const float *logits, size_t size) {
  FloatingPointScope floatingPoint;
  return logSumExp(logits, static_cast<int64_t>(size));
}

static size_t observe(const attn_decoding *decoding, int ofStep, size_t number,
                      attn_observe_function show, void *context,
                      attn_error *error) {
  return guarded(error, [&]() -> size_t {
    auto fail = [&](const std::string &message) {
      setError(error, ATTN_ERROR_ARGUMENT, message.c_str());
      return 0;
    };
    if (!decoding || !show)
      return fail("expected a decoding and a function, but got null");
    if (ofStep && (!decoding->started || decoding->failed))
      return fail("expected a step to observe, but got none");
    size_t count = ofStep ? decoding->rows : decoding->sentences;
    if (number >= count)
      return fail("expected a number below " + std::to_string(count) +
                  ", but got " + std::to_string(number));
    size_t values = 0;
    decoding->decoding->observe(
        ofStep, static_cast<int64_t>(number), [&](const ObservedValue &value) {
          attn_observation shown = {};
          shown.struct_size = sizeof(shown);
          shown.name = value.name;
          shown.rank = value.shape.size();
          shown.shape = value.shape.data();
          if (value.isInteger)
            shown.integers = static_cast<const int32_t *>(value.data);
          else
            shown.floats = static_cast<const float *>(value.data);
          show(context, &shown);
          ++values;
        });
    return values;
  });
}

void attn::addStepApi(attn_api &api) {
  api.encode = encode;
  api.encode_memory = encodeMemory;
  api.step = step;
  api.free_decoding = freeDecoding;
  api.log_sum_exp = rowLogSumExp;
  api.observe = observe;
}
