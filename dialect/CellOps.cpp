//===- CellOps.cpp - recurrent cells and layers ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"

using namespace mlir;
using namespace mlir::attn;

/// Checks the weights of a cell with `gates` row blocks (R12).
template <typename CellOp>
static LogicalResult verifyWeights(CellOp op, Type input, Type hidden,
                                   int64_t gates) {
  ArrayRef<int64_t> x = getFeatures(input), h = getFeatures(hidden);
  if (x.size() != 1 || h.size() != 1)
    return op.emitOpError("expected an input and a state of one feature "
                          "dimension, but got ")
           << input << " and " << hidden;
  auto check = [&](StringRef name, Value value,
                   ArrayRef<int64_t> shape) -> LogicalResult {
    if (getNumAxes(value.getType()) == 0 &&
        getFeatures(value.getType()) == shape)
      return success();
    return op.emitOpError("expected ")
           << name << " of type "
           << getValueType(0, shape, getElementTypeOrSelf(value))
           << ", but got " << value.getType();
  };
  if (failed(check("weight_ih", op.getWeightIh(), {gates * h[0], x[0]})) ||
      failed(check("weight_hh", op.getWeightHh(), {gates * h[0], h[0]})) ||
      failed(check("bias_ih", op.getBiasIh(), {gates * h[0]})) ||
      failed(check("bias_hh", op.getBiasHh(), {gates * h[0]})))
    return failure();
  return success();
}

/// Checks that a state keeps its type, or that a layer keeps its axes.
static LogicalResult verifyState(Operation *op, Type expected, Type actual) {
  if (expected == actual)
    return success();
  return op->emitOpError("expected a result of type ")
         << expected << ", but got " << actual;
}

LogicalResult GruCellOp::verify() {
  if (failed(
          verifyWeights(*this, getInput().getType(), getHidden().getType(), 3)))
    return failure();
  return verifyState(*this, getHidden().getType(), getResult().getType());
}

LogicalResult LstmCellOp::verify() {
  if (failed(verifyWeights(*this, getInput().getType(), getHidden().getType(),
                           4)) ||
      failed(verifyState(*this, getHidden().getType(), getCell().getType())) ||
      failed(
          verifyState(*this, getHidden().getType(), getNewHidden().getType())))
    return failure();
  return verifyState(*this, getHidden().getType(), getNewCell().getType());
}

LogicalResult RnnCellOp::verify() {
  if (failed(
          verifyWeights(*this, getInput().getType(), getHidden().getType(), 1)))
    return failure();
  return verifyState(*this, getHidden().getType(), getResult().getType());
}

/// Checks a layer: a sequence in, a sequence of states on the same axis out.
template <typename LayerOp>
static LogicalResult verifyLayer(LayerOp op, Type result, int64_t gates) {
  Type input = op.getInput().getType();
  if (getNumAxes(input) != 2)
    return op.emitOpError("expected a sequence, but got ") << input;
  if (failed(verifyWeights(op, input, result, gates)))
    return failure();
  return verifyState(op, withNumAxes(result, 2), result);
}

LogicalResult GruOp::verify() {
  return verifyLayer(*this, getResult().getType(), 3);
}

LogicalResult LstmOp::verify() {
  if (failed(verifyLayer(*this, getHidden().getType(), 4)))
    return failure();
  return verifyState(*this, getHidden().getType(), getCell().getType());
}

LogicalResult RnnOp::verify() {
  return verifyLayer(*this, getResult().getType(), 1);
}
