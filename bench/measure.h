//===- measure.h - times of several candidates in one run -------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCH_MEASURE_H
#define ATTN_BENCH_MEASURE_H

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace attn::bench {

/// The median time of each candidate in microseconds. Candidates take turns, so
/// that a machine that others use at the same time is unfair to none.
inline std::vector<double>
measure(const std::vector<std::function<void()>> &candidates, int rounds) {
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto start = std::chrono::steady_clock::now();
      candidates[i]();
      std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - start;
      times[i].push_back(time.count());
    }
  std::vector<double> medians;
  for (std::vector<double> &own : times) {
    std::nth_element(own.begin(), own.begin() + own.size() / 2, own.end());
    medians.push_back(own[own.size() / 2]);
  }
  return medians;
}

} // namespace attn::bench

#endif // ATTN_BENCH_MEASURE_H
