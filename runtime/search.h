//===- search.h - greedy, beam and forced decoding ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R15, R16, R19 and R20 of the semantics over any Backend.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SEARCH_H
#define ATTN_RUNTIME_SEARCH_H

#include "runtime/backend.h"
#include "runtime/distribution.h"
#include "runtime/scoring.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

struct SearchOptions {
  size_t beam = 1;
  size_t nbest = 1;
  Scoring scoring;
  int64_t minLength = 0;
  bool wantAlignment = false;
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
};

struct Hypothesis {
  TokenIds tokens; ///< What was emitted, an end token included.
  std::vector<double> wordLogprobs;
  double logprob = 0; ///< Their sum, S.
  double score = 0;
  bool finished = false; ///< Whether the end token was emitted.
  int64_t memoryPositions = 0;
  std::vector<float> alignment; ///< [tokens, memory positions], or empty.
};

struct SearchResult {
  std::string error; ///< Empty, or why there are no hypotheses.
  std::vector<Hypothesis> hypotheses; ///< The best first.
};

/// Decodes a batch of sentences; a result does not depend on the others. False
/// and a message if the backend fails, for whichever sentence it does.
bool search(Backend &backend, const SearchTarget &target,
            const std::vector<SearchSentence> &sentences,
            const SearchOptions &options, std::vector<SearchResult> &results,
            std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_SEARCH_H
