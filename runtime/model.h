//===- model.h - an opened model that decodes sentences -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MODEL_H
#define ATTN_RUNTIME_MODEL_H

#include "attn/attn.h"
#include "runtime/backend.h"
#include "runtime/description.h"
#include "runtime/search.h"
#include "runtime/workers.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A kind of failure and its message.
struct Failure {
  attn_status status = ATTN_OK;
  std::string message;

  bool failed() const { return status != ATTN_OK; }
};

/// A sentence to decode: what each input of the encoder is given and, for
/// forced decoding, ids of the target, all without end tokens; or ids of a
/// prefix of the target, which an end token ends. A sentence that failed
/// already keeps its failure.
struct SourceSentence {
  explicit SourceSentence(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : prefix(memory), ownShortlist(memory) {}

  /// The caller's, until the sentence is decoded.
  SourceSpan source;
  std::optional<TokenIds> forced;
  /// The forced target of a model that emits features, where `forced` has a
  /// value.
  InputSource forcedFrames{};
  TokenIds prefix;
  /// What its hypotheses may be made of, where the options say that there is
  /// such a list: one that `finishShortlist` has made, which others may have,
  /// too, or `ownShortlist`.
  Shortlist shortlist{};
  TokenIds ownShortlist;
  /// By which random numbers are drawn. Its place among the sentences, if not
  /// given.
  std::optional<uint64_t> number;
  Failure failure;
};

struct DecodeOptions {
  DecodeOptions() = default;
  explicit DecodeOptions(std::pmr::memory_resource *memory) : search(memory) {}

  SearchOptions search;
  double maxLengthFactor = 2;
  int64_t maxLengthOffset = 10;
  size_t batchSize = 32;
  Workers workers;
  Interrupt *interrupt = nullptr; ///< May be null; asked by each worker.
  /// Computes instead of the model's own, which it has the form of; may be
  /// null.
  Backend *backend = nullptr;
};

struct DecodeResult {
  explicit DecodeResult(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : hypotheses(memory) {}

  Failure failure;
  std::pmr::vector<Hypothesis> hypotheses;
};

/// What a call of `decode` is given at most.
struct CallLimits {
  size_t sentences = 1;
  size_t sourceLength = 0; ///< Positions of any input, without an end token.
  size_t targetLength = 0; ///< of forced targets and of prefixes.
  bool forced = false;
};

/// How a call of `decode` is divided, and the memory that it takes.
struct CallPlan {
  size_t batch = 1;     ///< Sentences that are computed together at most.
  size_t workers = 1;   ///< Tasks that run at once.
  size_t emitted = 0;   ///< Tokens of a hypothesis at most.
  size_t workBytes = 0; ///< Of each worker's arena.
  /// What the call takes of its own arena, and what each sentence does.
  size_t callBytes = 0, sentenceBytes = 0;
};

/// Where a call of `decode` works.
struct CallMemory {
  /// Outlives the results.
  Arena &call;
  /// The same, for several threads; results are made in it.
  SharedMemory &results;
  /// Where workers work, `workBytes` for each; null: on the heap.
  char *work = nullptr;
};

/// A description and a backend that computes what is described. Thread-safe.
class Model {
public:
  /// Null and a failure where the description asks for what is not supported.
  static std::unique_ptr<Model> create(Description description,
                                       std::unique_ptr<Backend> backend,
                                       Failure &failure);

  const Description &description() const { return *about; }
  /// The same, for those who outlive the model.
  std::shared_ptr<const Description> sharedDescription() const { return about; }
  bool hasEncoder() const { return !about->inputs.empty(); }
  /// Null for an input of features.
  const Vocabulary *inputVocabulary(size_t number) const {
    const Input &input = about->inputs[number];
    return input.isTokens()
               ? &about->vocabularies[static_cast<size_t>(input.vocabulary)]
               : nullptr;
  }
  /// Whether the model adds an end token to some input.
  bool addsEnd() const;
  Backend &decoder() const { return *backend; }

  /// Checks what a sentence that is not empty has for each input, and adds the
  /// end tokens. False and a message where something is wrong.
  bool finishSource(std::span<InputSource> source, std::string &error) const;

  /// Puts tokens of the target in order, each once, and adds the end token.
  /// False and a message where they are no shortlist.
  bool finishShortlist(TokenIds &tokens, std::string &error) const;

  /// The input whose tokens are the memory positions of the alignment, if there
  /// is one: features are no words, and an encoder that shortens sequences has
  /// other positions.
  std::optional<size_t> alignedInput() const {
    return about->alignment ? wordsOn(about->alignment->axis) : std::nullopt;
  }

  /// The same of the positions that the model emits, if it does.
  std::optional<size_t> pointedInput() const {
    return emits(Target::Kind::Positions) ? wordsOn(about->target.axis)
                                          : std::nullopt;
  }
  bool emits(Target::Kind kind) const { return about->emits(kind); }
  /// How many positions a sentence has that the model may emit, an end token
  /// included. `source` is what the encoder takes.
  int64_t targetPositions(SourceSpan source) const {
    size_t input = axisInput(about->axes, about->target.axis);
    return axisLength(about->axes, about->target.axis,
                      static_cast<int64_t>(source[input].length));
  }

  /// Divides a call. `plan` has the memory too if `withMemory`: then it throws
  /// std::bad_alloc where that is more than can be, and is false, with a
  /// failure, where it cannot be known.
  bool plan(const DecodeOptions &options, const CallLimits &limits,
            bool withMemory, CallPlan &plan, Failure &failure) const;

  /// Decodes sentences, some of similar length at a time. The result of a
  /// sentence does not depend on the others; results stand in the order of the
  /// sentences, which are used up. False if `options.interrupt` says so. The
  /// plan is that of these options and of limits that hold.
  bool decode(std::span<SourceSentence> sentences, const DecodeOptions &options,
              const CallPlan &plan, const CallMemory &memory,
              std::span<DecodeResult> results) const;

  /// The same, on the heap.
  std::vector<DecodeResult> decode(std::vector<SourceSentence> sentences,
                                   const DecodeOptions &options) const;

private:
  Model() = default;
  /// The input whose tokens are the positions of an axis, if there is one.
  std::optional<size_t> wordsOn(int32_t axis) const;
  bool prepare(SourceSentence &sentence, const DecodeOptions &options,
               InputSource *source, SearchSentence &prepared,
               DecodeResult &result) const;
  bool prepareForced(TokenIds forced, const SearchTarget &target,
                     SearchSentence &prepared, std::string &error) const;
  SearchTarget searchTarget() const;
  /// Whether ids are tokens of the target, or positions of the target's memory
  /// of a sentence; if not, a message.
  bool checkTarget(TokenSpan ids, const SearchTarget &target,
                   std::string &error) const;

  std::shared_ptr<const Description> about;
  std::unique_ptr<Backend> backend;
  mutable Pool pool; ///< The threads of its calls, but for those at once.
};

} // namespace attn

#endif // ATTN_RUNTIME_MODEL_H
