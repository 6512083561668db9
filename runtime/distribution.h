//===- distribution.h - from logits to log-probabilities ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_DISTRIBUTION_H
#define ATTN_RUNTIME_DISTRIBUTION_H

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace attn {

/// How many chunks of ATTN_CHUNK logits a row has.
int64_t chunkCount(int64_t size);

/// log(sum(exp(logits))), of what each chunk of a row says: `maxima`, the
/// largest logit that is a number (-FLT_MAX if there is none larger), and
/// `sums`, the sum of the exponentials of the chunk's logits less that maximum.
/// The order of the additions depends on the size alone, so a row has one
/// result wherever it stands (R13), and on every machine (R21). NaN where a
/// logit is NaN or +inf (R20); -inf where every logit is -inf.
double logSumExp(const float *maxima, const float *sums, int64_t count);

/// The same of logits, whose chunks it sums up as generated code does
/// (lowering/cpu/OutputLayer.cpp), to the bit.
double logSumExp(const float *logits, int64_t size);

/// The `count` best logits of a row, in order; the lower token of equals comes
/// first. What there is not, because others are NaN or -inf, is token -1 with a
/// logit of -inf.
void findBest(const float *logits, int64_t size, int64_t count, float *best,
              int32_t *tokens);

/// One way to continue one of a sentence's hypotheses by one token.
struct Continuation {
  double total = 0;   ///< S of the hypothesis, this token included.
  double logprob = 0; ///< of this token.
  int32_t beam = 0;   ///< The hypothesis, by its rank in the step before.
  int32_t token = 0;

  /// R16: the larger S, then the lower beam, then the lower token id.
  bool operator<(const Continuation &other) const {
    if (total != other.total)
      return total > other.total;
    if (beam != other.beam)
      return beam < other.beam;
    return token < other.token;
  }
};

/// Keeps the best of many continuations.
class BestContinuations {
public:
  explicit BestContinuations(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : heap(memory) {}

  /// Makes room to keep so many.
  void reserve(size_t limit) { heap.reserve(limit); }

  /// Forgets what it has, to keep at most `limit`.
  void reset(size_t limit) {
    most = limit;
    heap.clear();
  }

  /// Offers the best continuations of a hypothesis, as `findBest` finds them;
  /// hypotheses in ascending order. False where there are none at all.
  bool offer(int32_t beam, double total, const float *best,
             const int32_t *tokens, int64_t count, double logSum);

  /// The best, in order; until the next `reset`.
  const std::pmr::vector<Continuation> &sorted();

private:
  size_t most = 0;
  std::pmr::vector<Continuation> heap; ///< The worst on top.
};

} // namespace attn

#endif // ATTN_RUNTIME_DISTRIBUTION_H
