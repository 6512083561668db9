//===- Parameters.cpp - what parameters alone determine -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/Parameters.h"

#include "dialect/Axes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isParameterOnly(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || getNumAxes(value.getType()) != 0)
    return false;
  if (isa<GetParameterOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return isPure(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), isParameterOnly);
}

void attn::moveParametersToStart(Block &block) {
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.getNumResults() != 1 || !isParameterOnly(op.getResult(0)))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&block, block.begin());
    last = &op;
  }
}

std::string attn::getSpecName(Value value) {
  llvm::SetVector<Value> seen;
  std::string names;
  auto add = [&](StringRef name) {
    names += (names.empty() ? "" : ", ") + name.str();
  };
  // What is made of parameters is called by them, anything else by the spec.
  seen.insert(value);
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (auto parameter = dyn_cast_or_null<GetParameterOp>(op))
      add(parameter.getParameter());
    else if (isParameterOnly(seen[i]))
      seen.insert_range(op->getOperands());
    else if (auto name = seen[i].getLoc()->findInstanceOf<NameLoc>())
      add(name.getName());
  }
  return names;
}
