//===- heads.h - which heads an alignment has -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_HEADS_H
#define ATTN_RUNTIME_HEADS_H

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace attn {

/// Which weights an alignment has, instead of the number of a head.
constexpr int32_t averageOfHeads = -1, allHeads = -2;

/// The heads of an alignment, of so many that the model has.
inline size_t keptHeads(int32_t choice, int64_t heads) {
  return choice == allHeads ? static_cast<size_t>(heads) : 1;
}

/// Averages weights [positions, heads] over the heads.
inline void averageHeads(const float *weights, int64_t positions, int64_t heads,
                         float *result) {
  for (int64_t position = 0; position < positions; ++position) {
    const float *one = weights + position * heads;
    float sum = one[0];
    for (int64_t head = 1; head < heads; ++head)
      sum += one[head];
    result[position] = heads == 1 ? sum : sum / static_cast<float>(heads);
  }
}

/// Appends what an alignment has of weights [positions, heads], of which
/// `average` [positions] is the average where that is chosen.
inline void keepHeads(const float *weights, const float *average,
                      int64_t positions, int64_t heads, int32_t choice,
                      std::pmr::vector<float> &kept) {
  if (choice == averageOfHeads)
    kept.insert(kept.end(), average, average + positions);
  else if (choice == allHeads)
    kept.insert(kept.end(), weights, weights + positions * heads);
  else
    for (int64_t position = 0; position < positions; ++position)
      kept.push_back(weights[position * heads + choice]);
}

} // namespace attn

#endif // ATTN_RUNTIME_HEADS_H
