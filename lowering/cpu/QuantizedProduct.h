//===- QuantizedProduct.h - matrix products of bytes ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantised weights and rows are arrays of words of 32 bits:
//
//   weights [N / 16, 2 + K / 4, 16], i32: for each block of 16 outputs a vector
//     of scales (f32), one of corrections (-128 times the sum of the weights),
//     and for every 4 inputs a vector with 4 weights in each word, the first in
//     its lowest byte.
//   rows [M, words], i32: the scale (f32), and from the third or fifth word on
//     numbers of 8 or 16 bits, as ByteDot takes them.
//
// N / 16 and K / 4 are rounded up; beyond N and K stand zeros. The layout of
// weights is the same for all processors.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_QUANTIZEDPRODUCT_H
#define ATTN_LOWERING_CPU_QUANTIZEDPRODUCT_H

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Precision.h"

namespace mlir::attn {

/// Sums of this many products of bytes fit into 32 bits.
inline constexpr int64_t maxQuantizedInputs =
    std::numeric_limits<int32_t>::max() / (127 * 127);

/// The shape of the quantised weights of `numOutputs` x `numInputs`.
SmallVector<int64_t> getQuantizedWeightShape(int64_t numOutputs,
                                             int64_t numInputs);
/// The words of a quantised row.
int64_t getQuantizedRowSize(int64_t numInputs, ByteDot dot);

/// Quantises packed weights: (packed [N / 16, K, 16], weights).
func::FuncOp getOrCreateWeightQuantizer(ModuleOp module);
/// Quantises rows: (M x K, rows).
func::FuncOp getOrCreateRowQuantizer(ModuleOp module,
                                     const ProductOptions &options);
/// The sums of 16 outputs of a row, a block of weights, each times its scales
/// and added to `start`. Loops over the inputs have the name `inputs`; `end` is
/// their bound, the second size of `weights`, which all of them share.
Value emitQuantizedDot(Emitter &emitter, ByteDot dot, Value rows, Value row,
                       Value weights, Value block, Value end, Value start);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_QUANTIZEDPRODUCT_H
