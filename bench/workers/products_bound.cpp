//===- products_bound.cpp - what a matrix product takes at least ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Either reads the weights and does nothing with them, or does as many fused
// multiply-adds and reads nothing: whichever takes longer.
//
//===----------------------------------------------------------------------===//

#include "worker.h"

#include <cstring>

using namespace attn::bench;

namespace {

#ifdef __AVX512F__
typedef float Vector __attribute__((vector_size(64)));
#else
typedef float Vector __attribute__((vector_size(32)));
#endif
constexpr std::size_t lanes = sizeof(Vector) / sizeof(float);
/// Enough of them that none waits for another.
constexpr std::size_t chains = 12;

/// Keeps a value, without a store.
template <typename T> void keep(T &value) { asm volatile("" : "+x"(value)); }

void read(const float *numbers, std::size_t count) {
  Vector sums[chains] = {};
  for (std::size_t i = 0; i + chains * lanes <= count; i += chains * lanes)
    for (std::size_t j = 0; j < chains; ++j) {
      Vector vector;
      std::memcpy(&vector, numbers + i + j * lanes, sizeof(vector));
      sums[j] += vector;
    }
  for (Vector &sum : sums)
    keep(sum);
}

void multiply(std::size_t count) {
  Vector sums[chains] = {}, factor = {}, summand = {};
  keep(factor);
  keep(summand);
  for (std::size_t i = 0; i < count; i += chains * lanes)
    for (Vector &sum : sums) {
      sum = sum * factor + summand;
      keep(sum);
    }
}

} // namespace

int main() {
  return serve([&](const Request &request) -> Prepared {
    std::size_t size = request.count("inputs") * request.count("outputs");
    std::size_t count = size * request.count("rows");
    auto weights = std::make_shared<Array>(size, 2);
    std::function<void()> reads = [=] { read(weights->data(), size); };
    std::function<void()> multiplies = [=] { multiply(count); };
    bool memory = medianTime(reads, 0.02) > medianTime(multiplies, 0.02);
    return {memory ? reads : multiplies, weights->data(), 0};
  });
}
