//===- Bfloat16.h - numbers of 16 bits ------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_BFLOAT16_H
#define ATTN_LOWERING_CPU_BFLOAT16_H

#include "lowering/cpu/Emitter.h"

namespace mlir::attn {

/// A function that rounds packed weights to the nearest bfloat16, ties to even:
/// (packed [N / 16, K, 16], the same shape of bf16, as i16).
func::FuncOp getOrCreateWeightRounder(ModuleOp module);

/// 16 lanes of bf16, as i16, as f32.
Value emitExtension(ImplicitLocOpBuilder &b, Value numbers);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_BFLOAT16_H
