//===- search.h - greedy, beam, sampled and forced decoding ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R15, R16 and R18 to R20 of the semantics over any Backend.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SEARCH_H
#define ATTN_RUNTIME_SEARCH_H

#include "runtime/backend.h"
#include "runtime/constraints.h"
#include "runtime/distribution.h"
#include "runtime/sampling.h"
#include "runtime/scoring.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// When a beam search ends before nothing lives. "Finished" are hypotheses that
/// grow no more.
enum class StopRule {
  /// As many as the beam is wide are finished, and no live hypothesis can beat
  /// the worst of them (R16).
  Bound,
  /// `patience` times the width of the beam are finished, rounded.
  Count,
  /// The best continuation of some step was an end token, and `nbest` are
  /// finished.
  Top,
  /// As many as the beam is wide are finished, and the best continuation of
  /// this step, scored at its own length, does not beat the worst of them.
  Estimate
};

/// What becomes of the places of continuations that end.
enum class Refill {
  Always, ///< The next best live on in them (R16).
  Next,   ///< They are empty for a step.
  Never   ///< They stay empty: the beam shrinks.
};

/// Which weights an alignment has.
constexpr int32_t averageOfHeads = -1, allHeads = -2;

struct SearchOptions {
  size_t beam = 1;
  /// Hypotheses to return, or samples.
  size_t nbest = 1;
  Scoring scoring;
  Constraints constraints;
  /// Instead of a search: `beam` is not used then.
  Sampling sampling;
  StopRule stop = StopRule::Bound;
  double patience = 1; ///< Greater than 0.
  Refill refill = Refill::Always;
  /// Whether the last token that the maximum length permits is the end token,
  /// whatever its probability.
  bool endAtMaximum = false;
  bool wantAlignment = false;
  /// The number of a head, or one of the constants above.
  int32_t alignmentHead = averageOfHeads;
  /// Whether to tell the most attended source word of each token.
  bool wantAttended = false;
};

/// What a model emits.
struct SearchTarget {
  int64_t vocabularySize = 0;
  int32_t start = -1; ///< What precedes the first token; -1: a zero vector.
  int32_t end = -1;   ///< -1: nothing ends a hypothesis but its length.
};

struct SearchSentence {
  /// As the encoder takes it, see TokenIds.
  TokenIds source;
  /// Tokens that a hypothesis emits at most, its end token included.
  int64_t maxLength = 0;
  /// Forced decoding: the tokens to emit, an end token included.
  std::optional<TokenIds> forced;
  /// Tokens to emit before the search begins, at most `maxLength`. An end token
  /// is the last of them. Not with `forced`.
  TokenIds prefix;
  /// Memory positions, from the first on, that are words of the source.
  int64_t words = 0;
  /// By which random numbers are drawn.
  uint64_t number = 0;
};

struct Hypothesis {
  TokenIds tokens; ///< What was emitted, an end token included.
  std::vector<double> wordLogprobs;
  double logprob = 0; ///< Their sum, S.
  double score = 0;
  bool finished = false; ///< Whether the end token was emitted.
  int64_t memoryPositions = 0;
  int64_t heads = 1;
  /// [tokens, memory positions, heads], or empty.
  std::vector<float> alignment;
  /// [tokens] The word of the source with the largest weight (averaged over
  /// heads, the first of equals), -1 if there is none; or empty.
  std::vector<int32_t> attended;
};

struct SearchResult {
  std::string error; ///< Empty, or why there are no hypotheses.
  /// The best first; samples in the order of their numbers.
  std::vector<Hypothesis> hypotheses;
};

/// Decodes a batch of sentences; a result does not depend on the others. False
/// and a message if the backend fails, for whichever sentence it does.
bool search(Backend &backend, const SearchTarget &target,
            const std::vector<SearchSentence> &sentences,
            const SearchOptions &options, std::vector<SearchResult> &results,
            std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_SEARCH_H
