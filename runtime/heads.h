//===- heads.h - the average of several heads -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_HEADS_H
#define ATTN_RUNTIME_HEADS_H

#include <cstdint>

namespace attn {

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

} // namespace attn

#endif // ATTN_RUNTIME_HEADS_H
