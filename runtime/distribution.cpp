//===- distribution.cpp - from logits to log-probabilities ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/distribution.h"
#include "runtime/float_math.h"

#include <algorithm>
#include <limits>

#pragma STDC FP_CONTRACT OFF

namespace attn {

double logSumExp(const float *logits, int64_t size) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // 16 lanes and a tree, whatever the width of the machine's vectors (R21).
  constexpr int64_t lanes = 16;
  float maximum = -std::numeric_limits<float>::infinity();
  bool number = true;
  for (int64_t i = 0; i < size; ++i) {
    number &= logits[i] == logits[i];
    maximum = logits[i] > maximum ? logits[i] : maximum;
  }
  if (!number || maximum == std::numeric_limits<float>::infinity())
    return nan;
  if (maximum == -std::numeric_limits<float>::infinity())
    return -infinity;

  double top = maximum;
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += portableExp(static_cast<double>(logits[i + lane]) - top);
  for (; i < size; ++i)
    sums[i % lanes] += portableExp(static_cast<double>(logits[i]) - top);
  for (int64_t half = lanes / 2; half; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      sums[lane] += sums[lane + half];
  return top + portableLog(sums[0]);
}

bool BestContinuations::offer(int32_t beam, double total, const float *logits,
                              int64_t size, double logSum) {
  bool any = false;
  for (int64_t token = 0; token < size; ++token) {
    double logprob = static_cast<double>(logits[token]) - logSum;
    if (!(logprob > -std::numeric_limits<double>::infinity()))
      continue;
    any = true;
    Continuation next{total + logprob, logprob, beam,
                      static_cast<int32_t>(token)};
    if (heap.size() < most) {
      heap.push_back(next);
      std::push_heap(heap.begin(), heap.end());
    } else if (next < heap.front()) {
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = next;
      std::push_heap(heap.begin(), heap.end());
    }
  }
  return any;
}

const std::pmr::vector<Continuation> &BestContinuations::sorted() {
  std::sort(heap.begin(), heap.end());
  return heap;
}

} // namespace attn
