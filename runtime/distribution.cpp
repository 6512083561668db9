//===- distribution.cpp - from logits to log-probabilities ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/distribution.h"
#include "runtime/compiled_model.h"
#include "runtime/float_math.h"

#include <algorithm>
#include <cstring>
#include <limits>

#pragma STDC FP_CONTRACT OFF

namespace attn {

namespace {

/// 16 lanes and a tree, whatever the width of the machine's vectors (R21).
constexpr int64_t laneCount = 16;
using Lanes = float __attribute__((vector_size(laneCount * sizeof(float))));
using Bits = int32_t __attribute__((vector_size(laneCount * sizeof(int32_t))));

constexpr float lowest = std::numeric_limits<float>::lowest();

/// Code that is worth speed, but not twice its size.
#define ATTN_ONCE __attribute__((noinline))

/// `count` numbers, and `rest` in the other lanes.
inline void load(const float *from, int64_t count, float rest, Lanes &to) {
  to = Lanes{} + rest;
  if (count >= laneCount)
    memcpy(&to, from, sizeof(to));
  else
    memcpy(&to, from, static_cast<size_t>(count) * sizeof(float));
}

/// The largest number, and `lowest` at least; NaN is none.
ATTN_ONCE float findMaximum(const float *numbers, int64_t size) {
  Lanes maximum = Lanes{} + lowest, next;
  for (int64_t i = 0; i < size; i += laneCount) {
    load(numbers + i, size - i, lowest, next);
    maximum = next > maximum ? next : maximum;
  }
  return *std::max_element(reinterpret_cast<const float *>(&maximum),
                           reinterpret_cast<const float *>(&maximum) +
                               laneCount);
}

/// Adds the exponentials of numbers less a maximum to their lanes, each times
/// its factor, if there are any. Where a number is missing in the last lanes,
/// these keep their sums.
ATTN_ONCE void addExponentials(const float *numbers, const float *factors,
                               int64_t size, float maximum, Lanes &sums) {
  Lanes x, factor = Lanes{} + 1.0f;
  for (int64_t i = 0; i < size; i += laneCount) {
    load(numbers + i, size - i, lowest, x);
    if (factors)
      load(factors + i, size - i, 0, factor);
    // 2^(n + f) with |f| <= 1/2: adding `shift` rounds to an integer that then
    // stands in the low bits. What is below 2^-126 does not matter beside the
    // maximum. The polynomial minimises the largest relative error.
    constexpr float shift = 0x1.8p23f;
    x = (x - maximum) * 0x1.715476p0f;
    x = x < -126.0f ? Lanes{} - 126.0f : x;
    Lanes shifted = x + shift;
    Lanes f = x - (shifted - shift);
    Lanes p = f * 0x1.5a5592p-10f + 0x1.3ce8b0p-7f;
    p = p * f + 0x1.c6bad0p-5f;
    p = p * f + 0x1.ebf9cap-3f;
    p = p * f + 0x1.62e426p-1f;
    p = p * f + 1.0f;
    Bits power;
    memcpy(&power, &shifted, sizeof(power));
    power = (power << 23) + 0x3f800000;
    memcpy(&shifted, &power, sizeof(power));
    p = p * shifted * factor;
    if (size - i < laneCount) {
      constexpr Bits index = {0, 1, 2,  3,  4,  5,  6,  7,
                              8, 9, 10, 11, 12, 13, 14, 15};
      p = index < static_cast<int32_t>(size - i) ? p : Lanes{};
    }
    sums += p;
  }
}

ATTN_ONCE float addLanes(Lanes &sums) {
  for (int64_t half = laneCount / 2; half; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      sums[lane] += sums[lane + half];
  return sums[0];
}

ATTN_ONCE double finish(float top, Lanes &sums) {
  float sum = addLanes(sums);
  if (sum != sum)
    return std::numeric_limits<double>::quiet_NaN();
  if (top == lowest)
    return -std::numeric_limits<double>::infinity();
  return static_cast<double>(top) + portableLog(static_cast<double>(sum));
}

} // namespace

int64_t chunkCount(int64_t size) {
  return (size + ATTN_CHUNK - 1) / ATTN_CHUNK;
}

ATTN_ONCE double logSumExp(const float *maxima, const float *sums,
                           int64_t count) {
  float top = findMaximum(maxima, count);
  Lanes merged = {};
  addExponentials(maxima, sums, count, top, merged);
  return finish(top, merged);
}

ATTN_ONCE double logSumExp(const float *logits, int64_t size) {
  float top = findMaximum(logits, size);
  Lanes merged = {};
  // Chunks are merged lane by lane, a lane each.
  for (int64_t from = 0; from < size;) {
    float maxima[laneCount], sums[laneCount];
    int64_t chunk = 0;
    for (; chunk < laneCount && from < size; ++chunk, from += ATTN_CHUNK) {
      int64_t count = std::min<int64_t>(size - from, ATTN_CHUNK);
      maxima[chunk] = findMaximum(logits + from, count);
      Lanes own = {};
      addExponentials(logits + from, nullptr, count, maxima[chunk], own);
      sums[chunk] = addLanes(own);
    }
    addExponentials(maxima, sums, chunk, top, merged);
  }
  return finish(top, merged);
}

ATTN_ONCE void findBest(const float *logits, int64_t size, int64_t count,
                        float *best, int32_t *tokens) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    best[i] = none;
    tokens[i] = -1;
  }
  Lanes x;
  for (int64_t i = 0; i < size; i += laneCount) {
    load(logits + i, size - i, none, x);
    Bits better = x > best[count - 1];
    int32_t any = 0;
    for (int64_t lane = 0; lane < laneCount; ++lane)
      any |= better[lane];
    for (int64_t at = i; any && at < std::min(size, i + laneCount); ++at) {
      float logit = logits[at];
      if (!(logit > best[count - 1]))
        continue;
      // Behind its equals.
      int64_t place = count - 1;
      for (; place > 0 && logit > best[place - 1]; --place) {
        best[place] = best[place - 1];
        tokens[place] = tokens[place - 1];
      }
      best[place] = logit;
      tokens[place] = static_cast<int32_t>(at);
    }
  }
}

bool BestContinuations::offer(int32_t beam, double total, const float *best,
                              const int32_t *tokens, int64_t count,
                              double logSum) {
  for (int64_t i = 0; i < count && tokens[i] >= 0; ++i) {
    double logprob = static_cast<double>(best[i]) - logSum;
    Continuation next{total + logprob, logprob, beam, tokens[i]};
    if (heap.size() < most) {
      heap.push_back(next);
      std::push_heap(heap.begin(), heap.end());
    } else if (next < heap.front()) {
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = next;
      std::push_heap(heap.begin(), heap.end());
    }
  }
  return count > 0 && tokens[0] >= 0;
}

const std::pmr::vector<Continuation> &BestContinuations::sorted() {
  std::sort(heap.begin(), heap.end());
  return heap;
}

} // namespace attn
