//===- Epilogue.cpp - what follows a product in its function --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Epilogue.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

static bool hasEpilogue(LinearOp linear) {
  return linear && !linear.getEpilogue().empty();
}

std::string attn::describeEpilogue(LinearOp linear) {
  std::string text;
  if (!hasEpilogue(linear))
    return text;
  llvm::raw_string_ostream os(text);
  for (Value element : linear.getElements())
    os << (getNumAxes(element.getType()) == 0 ? "row " : "rows ");
  DenseMap<Value, unsigned> numbers;
  Block &block = linear.getEpilogue().front();
  for (BlockArgument argument : block.getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : block) {
    os << op.getName() << op.getAttrDictionary() << '(';
    for (Value operand : op.getOperands()) {
      auto number = numbers.find(operand);
      // Folding moves constants out of the region.
      if (number == numbers.end())
        os << operand.getDefiningOp()->getAttrDictionary() << ',';
      else
        os << number->second << ',';
    }
    os << ')';
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
  }
  return text;
}

SmallVector<Type> attn::getEpilogueOperandTypes(LinearOp linear) {
  SmallVector<Type> types;
  if (!hasEpilogue(linear))
    return types;
  Type f32 = Float32Type::get(linear.getContext());
  for (Value element : linear.getElements())
    types.push_back(MemRefType::get(
        SmallVector<int64_t>(getNumAxes(element.getType()) == 0 ? 1 : 2,
                             ShapedType::kDynamic),
        f32));
  return types;
}

Value attn::applyEpilogue(Emitter &emitter, LinearOp linear,
                          ValueRange elements, Value sums, Value row,
                          Value firstOutput, Value mask) {
  if (!hasEpilogue(linear))
    return sums;
  ImplicitLocOpBuilder &b = emitter.getBuilder();
  auto lanes = VectorType::get({numLanes}, b.getF32Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(lanes));
  Block &block = linear.getEpilogue().front();
  emitter.bindScalar(block.getArgument(0), sums);
  for (auto [argument, element] :
       llvm::zip(block.getArguments().drop_front(), elements)) {
    SmallVector<Value> place = {firstOutput};
    if (cast<MemRefType>(element.getType()).getRank() == 2)
      place.insert(place.begin(), row);
    emitter.bindScalar(argument, vector::MaskedLoadOp::create(
                                     b, lanes, element, place, mask, none));
  }
  return emitter.evaluate(block.getTerminator()->getOperand(0),
                          {.axes = {}, .features = {}, .isVector = true});
}
