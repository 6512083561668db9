//===- backend.h - what decoding needs of a model -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search knows a model only through this interface. Compiled code and the
// reference evaluator both implement it, so both decode by the same rules.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BACKEND_H
#define ATTN_RUNTIME_BACKEND_H

#include "runtime/arena.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attn {

struct Workers;

using TokenIds = std::pmr::vector<int32_t>;

using TokenSpan = std::span<const int32_t>;

/// The tokens that hypotheses of a sentence may be made of: ascending, each
/// once. Empty: there is no list, and all may stand.
using Shortlist = TokenSpan;

/// The place of a token in a list, or -1; without a list, the token itself.
int32_t findInShortlist(Shortlist list, int32_t token);

/// What a sentence has for one input of the encoder: tokens or features.
/// Belongs to whoever asks for a decoding, until that is there.
struct InputSource {
  size_t length = 0;
  /// [length] The end token included where the model's input carries one; until
  /// then there is room for it.
  int32_t *ids = nullptr;
  /// [length, features of the input] Dense.
  const float *features = nullptr;
};

/// One sentence as the model's encoder takes it: what it has for each input,
/// some of it not empty (R20 keeps empty sentences away from the model).
/// Without an encoder there is nothing.
using SourceSpan = std::span<const InputSource>;

/// A step for a set of live hypotheses, "rows". All arrays have `rows`
/// elements, unless they say otherwise.
struct StepRequest {
  int64_t rows = 0;
  /// The token before, or the position before: -1 where the decoder starts
  /// from a zero vector.
  const int32_t *tokens = nullptr;
  /// [rows, features] Instead, where features are emitted: those before. Null:
  /// zeros.
  const float *frames = nullptr;
  /// The number of tokens emitted so far.
  const int32_t *positions = nullptr;
  /// The sentence of the batch that the row belongs to. Ascending.
  const int32_t *sentences = nullptr;
  /// The row of the step before that this row continues. In the first step of
  /// a batch: the sentence, whose first states the row starts from.
  const int32_t *parents = nullptr;
  /// If not 0: so many of each row's best logits, and what is needed to
  /// normalise them, are all that is wanted of its logits. A decoding may
  /// answer with all of them nevertheless.
  int64_t best = 0;
  /// Whether the weights of the alignment are wanted. A decoding may answer
  /// with them nevertheless.
  bool weights = true;
  /// Who may share the work of the step; or null. Nothing depends on it.
  const Workers *workers = nullptr;
};

/// What a step yields. The memory belongs to the decoding and stays valid
/// until its next step.
struct StepResult {
  /// [rows, columns], not normalised: over the target's vocabulary, or over
  /// memory positions; what lies behind a sentence's own means nothing.
  const float *logits = nullptr;
  int64_t columns = 0; ///< 0: as many as the target's vocabulary has.
  /// Instead of logits: [rows, `best` of the request] the best of them and
  /// their tokens, as findBest finds them, and [rows, 2, chunks] what
  /// logSumExp takes, maxima and sums.
  const float *best = nullptr;
  const int32_t *bestTokens = nullptr;
  const float *chunks = nullptr;
  /// Instead of logits, where features are emitted: [rows, columns] the
  /// features, and [rows] the logit of the probability that they are the last.
  const float *frames = nullptr;
  const float *stop = nullptr;
  /// [rows, memory positions, heads]: the weights of the alignment read, or
  /// null where the model has none.
  const float *weights = nullptr;
  int64_t memoryPositions = 0; ///< of the batch's longest memory.
  int64_t heads = 1;
};

/// The value of a name of the spec for one sentence or row, without padding.
/// Lives as long as the call it is handed to.
struct ObservedValue {
  const char *name = nullptr;
  bool isInteger = false; ///< i32, else f32.
  std::span<const size_t> shape;
  const void *data = nullptr; ///< Dense.
};
using ObserveFunction = std::function<void(const ObservedValue &)>;

/// Given targets, all positions at once. A row is a sentence.
struct ForceRequest {
  int64_t rows = 0;
  int64_t positions = 0; ///< of the longest target.
  /// [rows, positions] The token before each position, as in StepRequest. What
  /// stands behind a row's own length is any id of the vocabulary.
  const int32_t *tokens = nullptr;
  const int32_t *lengths = nullptr;   ///< [rows]
  const int32_t *sentences = nullptr; ///< [rows]
};

/// A batch of encoded sentences that is being decoded. Used by one thread.
class Decoding {
public:
  virtual ~Decoding() = default;
  /// Advances the rows by one token. False and a message on failure.
  virtual bool step(const StepRequest &request, StepResult &result,
                    std::string &error) = 0;
  /// Says before the first step that only the tokens of a list of each sentence
  /// can follow, and answers of which tokens there will be logits: ascending,
  /// of each list at least all. `bestTokens` are places among these. Empty: of
  /// all tokens, nevertheless. What the lists refer to lives as long as the
  /// decoding. Allocates.
  virtual Shortlist useShortlists(std::span<const Shortlist>) { return {}; }
  /// Whether there is `force`.
  virtual bool canForce() const { return false; }
  /// What the steps of given targets would yield, to the bit. Rows of the
  /// result are those of the request times positions. Allocates.
  virtual bool force(const ForceRequest &, StepResult &, std::string &error) {
    error = "expected a model that takes whole targets";
    return false;
  }
  /// The memory positions of one sentence (columns of its alignment), 0 where
  /// the model has no alignment.
  virtual int64_t memoryLength(int64_t sentence) const = 0;
  /// Shows what the encoder made of the names of the spec for a sentence, or
  /// the last step for a row of it.
  virtual void observe(bool ofStep, int64_t number,
                       const ObserveFunction &show) const {
    (void)ofStep, (void)number, (void)show;
  }
};

/// Ends a decoding, which lies in an arena or on the heap.
struct DecodingDeleter {
  bool inArena = false;

  DecodingDeleter() = default;
  explicit DecodingDeleter(bool inArena) : inArena(inArena) {}
  template <typename T> DecodingDeleter(std::default_delete<T>) {}

  void operator()(Decoding *decoding) const {
    if (inArena)
      decoding->~Decoding();
    else
      delete decoding;
  }
};
using DecodingPtr = std::unique_ptr<Decoding, DecodingDeleter>;

/// The most that a decoding has to do with.
struct DecodingLimits {
  int64_t sentences = 0;
  int64_t sourceLength = 0; ///< Positions of any input, see InputSource.
  int64_t rows = 0;         ///< of a step.
  int64_t steps = 0; ///< Tokens of a hypothesis. 0 where that is not known.
  int64_t best = 0;  ///< See StepRequest.
};

/// An opened model. Thread-safe: `encode` may be called concurrently.
class Backend {
public:
  virtual ~Backend() = default;
  /// Runs the encoder over a batch of sentences. Null and a message on failure.
  /// The decoding lies in `memory`, which is to live longer, and makes room
  /// for `steps` steps of `rows` rows; more need more. How many steps there
  /// will be matters where `memory` is bounded only.
  virtual DecodingPtr encode(std::span<const SourceSpan> sentences,
                             int64_t rows, int64_t steps, Arena &memory,
                             std::string &error) = 0;
  /// Whether hypotheses read their own past, so that memory grows with steps.
  virtual bool hasPast() const { return false; }
  /// What a decoding takes of an arena at most. Throws std::bad_alloc where
  /// that is more than can be. Empty where the backend uses the heap.
  virtual std::optional<size_t> memoryBytes(const DecodingLimits &) const {
    return std::nullopt;
  }
};

} // namespace attn

#endif // ATTN_RUNTIME_BACKEND_H
