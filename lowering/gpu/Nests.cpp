//===- Nests.cpp - loops around each other that are one -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Nests.h"

#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
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

static void forEachNest(Block &block, function_ref<void(scf::ForOp)> body) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isParallel(&op)) {
      body(cast<scf::ForOp>(op));
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        forEachNest(inner, body);
  }
}

void attn::forEachNest(ModuleOp module, function_ref<void(scf::ForOp)> body) {
  for (auto program : module.getOps<func::FuncOp>())
    if (program->hasAttr(programAttrName))
      ::forEachNest(program.front(), body);
}

SmallVector<scf::ForOp> attn::collectNestsBefore(Operation *op) {
  SmallVector<scf::ForOp> nests;
  while ((op = op->getPrevNode()))
    if (isParallel(op))
      nests.push_back(cast<scf::ForOp>(op));
  return nests;
}

static bool isEqual(Value a, Value b) {
  return isEqualConstantIntOrValue(getAsOpFoldResult(a), getAsOpFoldResult(b));
}

bool attn::haveSameBounds(scf::ForOp a, scf::ForOp b, bool anyStep) {
  return isEqual(a.getLowerBound(), b.getLowerBound()) &&
         isEqual(a.getUpperBound(), b.getUpperBound()) &&
         (anyStep || isEqual(a.getStep(), b.getStep()));
}

arith::MinUIOp attn::getPieceLength(scf::ForOp loop) {
  if (!loop->hasAttr(piecesAttrName))
    return {};
  for (Operation *user : loop.getInductionVar().getUsers()) {
    auto left = dyn_cast<arith::SubIOp>(user);
    if (!left || left.getRhs() != loop.getInductionVar() ||
        !isEqual(left.getLhs(), loop.getUpperBound()))
      continue;
    for (Operation *length : left->getUsers())
      if (auto least = dyn_cast<arith::MinUIOp>(length))
        if (isEqual(least.getLhs() == left.getResult() ? least.getRhs()
                                                       : least.getLhs(),
                    loop.getStep()))
          return least;
  }
  return {};
}
