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

/// A block of the scores of a query and head, that becomes one of weights.
struct ScoreRow {
  Buffer scores;            ///< f32 [..., positions]: -inf where masked.
  Buffer weights;           ///< The same, to be written.
  SmallVector<Value> place; ///< The indices before that of the position.
  /// The positions from `begin` on, a multiple of `numLanes`, to `end`.
  Value begin, end;
  /// The score of one position more, before the others, or null.
  Value sink;
};

/// What is known of the blocks before, where a row is normalised block by block
/// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018):
/// f32 [...], at the place of the row.
struct RunningRow {
  Buffer maxima; ///< The largest score so far; -inf before the first block.
  Buffer totals; ///< The sum of exponentials below it; 0 before the first.
  /// Written: what the sums over earlier blocks, and over this block, are
  /// multiplied by when they are added.
  Buffer scales, ownScales;
  Value isFirst, isLast; ///< Whether the block is the first, the last.
};

/// Whether a row can be normalised block by block. Others need all of it.
bool isOnline(Normalizer normalizer);

/// What makes of a sum of exponentials below `from` one below `to`, which is
/// not less: 1 where both are -inf.
Value emitRescaling(Emitter &emitter, Value from, Value to);

/// Whether scores (a number, or one in each lane) are of positions that can be
/// read: not -inf, NaN included.
Value isReadable(Emitter &emitter, Value scores);

/// Emits what writes the weights of a block; answers the largest score so far,
/// -inf where nothing is readable. `running` is used where `isOnline`: weights
/// are those of the whole row in the last block, and not divided by the total
/// before. Reductions run over lanes of positions in one fixed order (R21).
Value emitNormalizer(Emitter &emitter, Normalizer normalizer,
                     const ScoreRow &row, const RunningRow &running);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_NORMALIZERS_H
