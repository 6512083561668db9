//===- Operations.cpp - what passes ask of operations ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/Operations.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

bool attn::isCostlyFunction(Operation *op) {
  return isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::FmaOp,
              math::FloorOp, math::CeilOp>(op);
}

void attn::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
