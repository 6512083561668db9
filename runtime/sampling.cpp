//===- sampling.cpp - draw tokens at random, the same everywhere
//-------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sampling.h"
#include "runtime/float_math.h"

#include <algorithm>
#include <limits>

#pragma STDC FP_CONTRACT OFF

namespace attn {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xd2511f53) * counter[0];
    uint64_t b = uint64_t(0xcd9e8d57) * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

double uniformNumber(uint64_t seed, uint64_t sentence, uint32_t sample,
                     uint32_t step) {
  std::array<uint32_t, 4> bits =
      philox({static_cast<uint32_t>(sentence),
              static_cast<uint32_t>(sentence >> 32), sample, step},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  uint64_t number = (uint64_t(bits[1]) << 32 | bits[0]) >> 11;
  return static_cast<double>(number) * 0x1p-53;
}

bool Sampler::prepare(const Sampling &sampling, const float *logits,
                      int64_t size) {
  tokens.clear();
  cumulative.clear();
  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < size; ++i)
    maximum = std::max(maximum, logits[i]);
  if (maximum == -std::numeric_limits<float>::infinity())
    return false;

  auto weight = [&](int64_t token) {
    double difference =
        static_cast<double>(logits[token]) - static_cast<double>(maximum);
    return portableExp(difference / sampling.temperature);
  };
  double sum = 0;
  auto add = [&](int32_t token) {
    sum += weight(token);
    tokens.push_back(token);
    cumulative.push_back(sum);
  };
  auto total = [&] {
    double all = 0;
    for (int64_t i = 0; i < size; ++i)
      all += weight(i);
    return all;
  };
  auto dropUnlikely = [&] {
    if (sampling.epsilon <= 0)
      return true;
    // The most likely have weight 1.
    double least = std::min(sampling.epsilon * total(), 1.0);
    size_t kept = 0;
    sum = 0;
    for (int32_t token : tokens)
      if (weight(token) >= least) {
        sum += weight(token);
        tokens[kept] = token;
        cumulative[kept++] = sum;
      }
    tokens.resize(kept);
    cumulative.resize(kept);
    return true;
  };
  bool allTokens = sampling.topK <= 0 || sampling.topK >= size;
  if (allTokens && sampling.topP >= 1) {
    for (int64_t i = 0; i < size; ++i)
      add(static_cast<int32_t>(i));
    return dropUnlikely();
  }

  // The most likely on top, the lower id on ties.
  auto behind = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] < logits[b] : a > b;
  };
  heap.clear();
  for (int64_t i = 0; i < size; ++i)
    heap.push_back(static_cast<int32_t>(i));
  std::make_heap(heap.begin(), heap.end(), behind);
  auto addBest = [&] {
    std::pop_heap(heap.begin(), heap.end(), behind);
    add(heap.back());
    heap.pop_back();
  };
  if (allTokens) {
    double enough = sampling.topP * total();
    do
      addBest();
    while (sum < enough && !heap.empty());
    return dropUnlikely();
  }
  for (int64_t i = 0; i < sampling.topK; ++i)
    addBest();
  auto reached = std::lower_bound(cumulative.begin(), cumulative.end(),
                                  sampling.topP * sum);
  cumulative.erase(reached + 1, cumulative.end());
  tokens.resize(cumulative.size());
  return dropUnlikely();
}

int32_t Sampler::draw(double uniform) const {
  double total = cumulative.back();
  auto place =
      std::upper_bound(cumulative.begin(), cumulative.end(), uniform * total);
  // Should the product be rounded up: the last token that has any weight.
  if (place == cumulative.end())
    place = std::lower_bound(cumulative.begin(), cumulative.end(), total);
  return tokens[static_cast<size_t>(place - cumulative.begin())];
}

} // namespace attn
