//===- Nests.h - loops around each other that are one -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_NESTS_H
#define ATTN_LOWERING_GPU_NESTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {

/// Whether this is a loop whose iterations do not depend on each other.
bool isParallel(Operation *op);
/// Whether it is one, or has one in it.
bool hasParallel(Operation *op);

/// The loops from `outermost` on that are one: the bounds of the inner ones are
/// known outside, and between them stands nothing that touches memory.
SmallVector<scf::ForOp> collectNest(scf::ForOp outermost);

/// Runs `body` for the outermost loop of each nest of the programs, in order.
/// It may move and erase nests before that one.
void forEachNest(ModuleOp module, function_ref<void(scf::ForOp)> body);
/// The outermost loops of the nests that stand before an operation in its
/// block, the nearest first.
SmallVector<scf::ForOp> collectNestsBefore(Operation *op);

/// Whether two loops have the same bounds; `anyStep`: though not the same
/// steps.
bool haveSameBounds(scf::ForOp a, scf::ForOp b, bool anyStep = false);

/// How long an iteration's piece is, as the body of a loop of pieces computes
/// it (see piecesAttrName), or null.
arith::MinUIOp getPieceLength(scf::ForOp loop);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_NESTS_H
