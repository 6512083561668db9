//===- loops.cpp - an additive read as plain loops ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiled read is compared with. Built with -ffast-math, once without
// and once with a library of vector functions.
//
//===----------------------------------------------------------------------===//

#include "bench/workers/loops.h"

#include <algorithm>
#include <cmath>

namespace attn::bench::LOOPS {

/// A rational function of degree 9 over 8 that is tanh to some 6 units in the
/// last place: the cheapest tanh with one division that is any good.
static inline float rationalTanh(float x) {
  x = std::min(std::max(x, -9.02f), 9.02f);
  float y = x * x;
  float p = 0x1.c9a246p-27f;
  p = p * y + 0x1.5954d4p-16f;
  p = p * y + 0x1.c9f814p-9f;
  p = p * y + 0x1.120438p-3f;
  p = p * y + 0x1.ffffffp-1f;
  float q = 0x1.a0b764p-21f;
  q = q * y + 0x1.584182p-12f;
  q = q * y + 0x1.a7df06p-6f;
  q = q * y + 0x1.de5766p-2f;
  q = q * y + 1.0f;
  return x * p / q;
}

template <typename Tanh>
static inline void readWith(const Read &read, Tanh tanh) {
  for (int s = 0; s < read.sentences; ++s) {
    const float *query = read.queries + s * read.features;
    const float *keys = read.keys + s * read.positions * read.features;
    const float *values = read.values + s * read.positions * read.features;
    float *context = read.contexts + s * read.features;
    float *scores = read.scores;
    float maximum = -1e30f, sum = 0;
    for (int t = 0; t < read.positions; ++t) {
      const float *key = keys + t * read.features;
      float score = 0;
      for (int i = 0; i < read.features; ++i)
        score += read.weights[i] * tanh(query[i] + key[i]);
      scores[t] = score;
      maximum = std::max(maximum, score);
    }
    for (int t = 0; t < read.positions; ++t)
      sum += scores[t] = std::exp(scores[t] - maximum);
    std::fill(context, context + read.features, 0.0f);
    for (int t = 0; t < read.positions; ++t) {
      float weight = scores[t] / sum;
      const float *value = values + t * read.features;
      for (int i = 0; i < read.features; ++i)
        context[i] += weight * value[i];
    }
  }
}

void additiveRead(const Read &read) {
  readWith(read, [](float x) { return std::tanh(x); });
}

void additiveReadRational(const Read &read) { readWith(read, rationalTanh); }

void touch(const Read &read) {
  size_t count = size_t(read.sentences) * read.positions * read.features;
  float sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += read.keys[i];
  for (size_t i = 0; i < count; ++i)
    sum += read.values[i];
  read.contexts[0] = sum;
}

} // namespace attn::bench::LOOPS
