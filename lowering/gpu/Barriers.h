//===- Barriers.h - where lanes of a group wait -----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_BARRIERS_H
#define ATTN_LOWERING_GPU_BARRIERS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

/// Puts a `gpu.barrier` wherever a lane of a group may read what another one
/// wrote, or write what another one reads or wrote. Vectors still stand for
/// lanes: lane i has element i, and what is one number is written by the first
/// lane and read by all.
void placeBarriers(gpu::GPUFuncOp kernel);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_BARRIERS_H
