//===- ScheduleOps.h - what schedules of kernels are made of ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of MLIR's transform dialect for the loops of kernels, see
// LoopTransforms.h.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_SCHEDULEOPS_H
#define ATTN_LOWERING_CPU_SCHEDULEOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/IR/TransformTypes.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "lowering/cpu/ScheduleOps.h.inc"

namespace mlir::attn {

/// Lets schedules be parsed and run: these operations, and those of MLIR for
/// loops and for cleaning up.
void registerScheduleOps(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_SCHEDULEOPS_H
