//===- Frame.cpp - the values of a block while it is evaluated ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Frame.h"
#include "dialect/Axes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

Frame::Frame(Block &block, Environment &environment, const Frame *outer)
    : environment(environment), outer(outer) {
  for (BlockArgument argument : block.getArguments())
    slots.try_emplace(argument);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    for (Value result : op.getResults())
      slots.try_emplace(result);
    instructions.push_back({&op, KernelTable::get().lookup(&op),
                            op.hasTrait<OpTrait::ConstantLike>()});
  }
}

const Tensor &Frame::get(Value value) const {
  auto place = slots.find(value);
  if (place == slots.end()) {
    assert(outer && "expected a value of this block or of one around it");
    return outer->get(value);
  }
  return place->second.bound ? *place->second.bound : place->second.own;
}

LogicalResult Frame::run() {
  for (const Instruction &instruction : instructions) {
    if (instruction.isConstant && hasConstants)
      continue;
    if (!instruction.kernel)
      return fail(instruction.op, "cannot be evaluated");
    if (failed(instruction.kernel(instruction.op, *this)))
      return failure();
  }
  hasConstants = true;
  return success();
}

LogicalResult Frame::fail(Operation *op, const Twine &message) {
  environment.error =
      ("'" + op->getName().getStringRef() + "' " + message).str();
  return failure();
}

ArrayRef<int64_t> reference::getAxes(const Frame &frame, Value value) {
  return ArrayRef(frame.get(value).shape)
      .take_front(getNumAxes(value.getType()));
}

static LogicalResult observe(ObserveOp op, Frame &frame) {
  if (frame.environment.observe)
    frame.environment.observe(op, frame.get(op.getValue()));
  return success();
}

static LogicalResult detach(DetachOp op, Frame &frame) {
  frame.own(op.getResult()) = frame.get(op.getInput());
  return success();
}

KernelTable::KernelTable() {
  add<DetachOp, detach>();
  add<ObserveOp, observe>();
  addArithmeticKernels(*this);
  addFeatureKernels(*this);
  addCellKernels(*this);
  addSequenceKernels(*this);
  addPairKernels(*this);
  addReadKernel(*this);
}

const KernelTable &KernelTable::get() {
  static const KernelTable table;
  return table;
}
