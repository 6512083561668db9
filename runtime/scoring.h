//===- scoring.h - by what hypotheses are compared
//---------------------------===//
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
  enum class Kind {
    None,   ///< S
    Length, ///< S / n^alpha
    Gnmt    ///< S / ((5 + n) / 6)^alpha
  };
  Kind kind = Kind::None;
  double alpha = 1.0;  ///< At least 0, so that the bound below is one.
  double coverage = 0; ///< Weight of the coverage penalty, at least 0.

  /// The score of a hypothesis of `emitted` tokens, its end token included,
  /// without the coverage penalty.
  double score(double logprob, int64_t emitted) const {
    double n = static_cast<double>(emitted);
    if (kind == Kind::None || emitted == 0)
      return logprob;
    return logprob / portablePow(kind == Kind::Gnmt ? (5 + n) / 6 : n, alpha);
  }

  /// The best score that a live hypothesis can still reach: S can only fall, a
  /// negative number is divided by the most at the maximum length, and the
  /// coverage penalty is at best 0 (R16).
  double bound(double logprob, int64_t maximumLength) const {
    return score(logprob, maximumLength);
  }

  /// The coverage penalty of weights summed over the emitted tokens, of each
  /// memory position the sum `before` plus the weight `last` (may be null).
  /// Positions that were never attended are skipped.
  double coveragePenalty(const double *before, const float *last,
                         int64_t positions) const {
    double penalty = 0;
    for (int64_t i = 0; i < positions; ++i) {
      double sum = before[i] + (last ? static_cast<double>(last[i]) : 0.0);
      if (sum > 0 && sum < 1)
        penalty += portableLog(sum);
    }
    return coverage * penalty;
  }
};

} // namespace attn

#endif // ATTN_RUNTIME_SCORING_H
