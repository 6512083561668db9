//===- Normalizers.h - code that turns scores into weights ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_NORMALIZERS_H
#define ATTN_LOWERING_CPU_NORMALIZERS_H

#include "lowering/cpu/Emitter.h"

namespace mlir::attn {

/// One row of scores that becomes one of weights: that of a query and head.
struct ScoreRow {
  Buffer scores;  ///< f32 [heads, positions]: -inf where masked.
  Buffer weights; ///< The same, to be written.
  Value head;
  /// The positions from `begin` on, a multiple of `numLanes`, to `end`.
  Value begin, end;
  /// The score of one position more, before the others, or null.
  Value sink;
};

/// Whether scores (a number, or one in each lane) are of positions that can be
/// read: not -inf, NaN included.
Value isReadable(Emitter &emitter, Value scores);

/// Emits what writes the weights of a row; answers the largest score, -inf
/// where nothing is readable. Reductions run over lanes of positions in one
/// fixed order (R21).
Value emitNormalizer(Emitter &emitter, Normalizer normalizer,
                     const ScoreRow &row);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_NORMALIZERS_H
