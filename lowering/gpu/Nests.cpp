//===- Nests.cpp - loops around each other that are one -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Nests.h"

#include "lowering/cpu/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isParallel(Operation *op) {
  return isa<scf::ForOp>(op) && op->hasAttr(parallelAttrName);
}

bool attn::hasParallel(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isParallel(inner) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<scf::ForOp> attn::collectNest(scf::ForOp outermost) {
  SmallVector<scf::ForOp> nest = {outermost};
  while (true) {
    scf::ForOp inner;
    for (Operation &op : nest.back().getBody()->without_terminator()) {
      if (isParallel(&op) && !inner)
        inner = cast<scf::ForOp>(op);
      else if (!isMemoryEffectFree(&op))
        return nest;
    }
    if (!inner || llvm::any_of(inner.getOperands(), [&](Value bound) {
          return outermost->isAncestor(bound.getParentBlock()->getParentOp());
        }))
      return nest;
    nest.push_back(inner);
  }
}
