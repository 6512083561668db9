//===- scoring.h - by what hypotheses are compared ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SCORING_H
#define ATTN_RUNTIME_SCORING_H

#include "runtime/float_math.h"

#include <cstdint>

namespace attn {

/// Turns S, the sum of log-probabilities, into a score (R15).
struct Scoring {
  enum class Kind { None, Length };
  Kind kind = Kind::None;
  double alpha = 1.0; ///< At least 0, so that the bound below is one.

  /// The score of a hypothesis of `emitted` tokens, its end token included.
  double score(double logprob, int64_t emitted) const {
    if (kind == Kind::None || emitted == 0)
      return logprob;
    return logprob / portablePow(static_cast<double>(emitted), alpha);
  }

  /// The best score that a live hypothesis can still reach: S can only fall,
  /// and a negative number is divided by the most at the maximum length (R16).
  double bound(double logprob, int64_t maximumLength) const {
    return score(logprob, maximumLength);
  }
};

} // namespace attn

#endif // ATTN_RUNTIME_SCORING_H
