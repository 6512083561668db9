//===- PairSides.cpp - what values of a pair depend on --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/PairSides.h"

#include "lowering/graph/PairInputs.h"

using namespace mlir;
using namespace mlir::attn;

PairSides::PairSides(PairOpInterface op, Block &block) {
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    Sides value;
    bool key = op.indexes(index, PairOpInterface::Key);
    bool source = op.indexes(index, PairOpInterface::Source);
    bool row = op.indexes(index, PairOpInterface::Row);
    if (key)
      (source ? value.shared : value.own) = true;
    else if (source)
      value.source = true;
    else if (row)
      value.query = true;
    sides[block.getArgument(index)] = value;
  }
  sides[getPositionArgument(block, QueryPosition)] = {.query = true};
  sides[getPositionArgument(block, QueryLength)] = {.query = true};
  // A position of the memory by itself says nothing about whose memory it is;
  // it follows the kind of memory that the operation reads.
  bool shared = false;
  for (unsigned i = 0; i < op.getInputs().size(); ++i)
    shared |= op.indexes(i, PairOpInterface::Source) &&
              op.indexes(i, PairOpInterface::Key);
  Sides key;
  (shared ? key.shared : key.own) = true;
  sides[getPositionArgument(block, KeyPosition)] = key;
  sides[getPositionArgument(block, MemoryLength)] = {.source = true};
  for (Operation &inner : block) {
    Sides value;
    for (Value operand : inner.getOperands())
      value = value | sides.lookup(operand);
    for (Value result : inner.getResults())
      sides[result] = value;
  }
}

bool PairSides::canLift(Value value) const {
  if (isa<BlockArgument>(value))
    return true;
  Operation *definition = value.getDefiningOp();
  // A weight or a table has no axes.
  auto isConstant = [&](Value operand) {
    return (*this)[operand].isConstant();
  };
  if (auto linear = dyn_cast<LinearOp>(definition))
    if (!isConstant(linear.getWeight()) ||
        (linear.getBias() && !isConstant(linear.getBias())))
      return false;
  // An index outside of its table matters only where the position is readable
  // (R2, R20); before the read nobody knows which are.
  if (isa<LookupOp>(definition))
    return false;
  if (auto norm = dyn_cast<LayerNormOp>(definition))
    if (!isConstant(norm.getWeight()) || !isConstant(norm.getBias()))
      return false;
  if (auto norm = dyn_cast<RmsNormOp>(definition))
    if (!isConstant(norm.getWeight()))
      return false;
  return llvm::all_of(definition->getOperands(),
                      [&](Value operand) { return canLift(operand); });
}
