//===- SequenceOps.cpp - operations on sequences --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"

using namespace mlir;
using namespace mlir::attn;

/// Checks that `input` is a sequence and `result` has the expected type.
static LogicalResult verifySequence(Operation *op, Type input, Type expected,
                                    Type result) {
  if (getNumAxes(input) != 2)
    return op->emitOpError("expected a sequence, but got ") << input;
  if (expected != result)
    return op->emitOpError("expected a result of type ")
           << expected << ", but got " << result;
  return success();
}

LogicalResult ReverseOp::verify() {
  Type input = getInput().getType();
  return verifySequence(*this, input, input, getResult().getType());
}

LogicalResult FirstOp::verify() {
  Type input = getInput().getType();
  return verifySequence(*this, input, withNumAxes(input, 1),
                        getResult().getType());
}

LogicalResult LastOp::verify() {
  Type input = getInput().getType();
  return verifySequence(*this, input, withNumAxes(input, 1),
                        getResult().getType());
}

LogicalResult MeanOp::verify() {
  Type input = getInput().getType();
  return verifySequence(*this, input, withNumAxes(input, 1),
                        getResult().getType());
}

LogicalResult PairsOp::verify() {
  Type input = getInput().getType();
  SmallVector<int64_t> features(getFeatures(input));
  if (features.empty())
    return emitOpError("expected a sequence with a feature, but got ") << input;
  features.back() *= 2;
  return verifySequence(*this, input, withFeatures(input, features),
                        getResult().getType());
}

LogicalResult StridedLengthOp::verify() {
  if (getStride() < 1)
    return emitOpError("expected a positive stride, but got ") << getStride();
  return success();
}

LogicalResult Conv1dOp::verify() {
  Type input = getInput().getType();
  ArrayRef<int64_t> weight = getFeatures(getWeight().getType());
  ArrayRef<int64_t> features = getFeatures(input);
  if (getStride() < 1)
    return emitOpError("expected a positive stride, but got ") << getStride();
  if (weight.size() != 3 || features.size() > 1 ||
      weight[1] != getNumFeatureElements(input) ||
      getFeatures(getBias().getType()) != weight.take_front())
    return emitOpError("expected a weight [N, X, width] and a bias [N] for an "
                       "input of ")
           << getNumFeatureElements(input) << " features, but got "
           << getWeight().getType() << " and " << getBias().getType();
  return verifySequence(*this, input, withFeatures(input, weight.take_front()),
                        getResult().getType());
}

LogicalResult PositionOp::verify() {
  Type like = getLike().getType();
  return verifySequence(*this, like,
                        getValueType(2, {}, IntegerType::get(getContext(), 32)),
                        getResult().getType());
}

LogicalResult ToRowsOp::verify() {
  if (getNumAxes(getInput().getType()) == 0)
    return emitOpError("expected a value with a row axis, but got ")
           << getInput().getType();
  return success();
}

LogicalResult PastOp::verify() {
  Type input = getInput().getType();
  Type expected = withNumAxes(input, 2);
  if (getNumAxes(input) != 1 || getResult().getType() != expected)
    return emitOpError("expected one value per row and a result of type ")
           << expected << ", but got " << input << " and "
           << getResult().getType();
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  SmallVector<Type> arguments;
  for (Value input : getInputs()) {
    if (getNumAxes(input.getType()) != 2)
      return emitOpError("expected a sequence, but got ") << input.getType();
    arguments.push_back(withNumAxes(input.getType(), 1));
  }
  SmallVector<Type> states;
  for (Type result : getResultTypes()) {
    if (getNumAxes(result) != 2)
      return emitOpError("expected a sequence of states, but got ") << result;
    states.push_back(withNumAxes(result, 1));
  }
  arguments.append(states);
  Block &body = getBody().front();
  if (TypeRange(body.getArgumentTypes()) != TypeRange(arguments))
    return emitOpError("expected a body of the inputs at one position and the "
                       "states, that is (")
           << arguments << "), but got (" << body.getArgumentTypes() << ")";
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getOperandTypes() != TypeRange(states))
    return emitOpError("expected a body that yields the states (")
           << states << "), but got (" << yield.getOperandTypes() << ")";
  if (!getInitial().empty() && getInitial().getTypes() != TypeRange(states))
    return emitOpError("expected initial states (")
           << states << "), but got (" << getInitial().getTypes() << ")";
  return success();
}
