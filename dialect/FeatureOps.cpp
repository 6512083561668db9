//===- FeatureOps.cpp - operations on features ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"

using namespace mlir;
using namespace mlir::attn;

/// Fails with "expected NAME of type EXPECTED, but got ACTUAL" unless equal.
static LogicalResult expectType(Operation *op, StringRef name, Type expected,
                                Type actual) {
  if (expected == actual)
    return success();
  return op->emitOpError("expected ")
         << name << " of type " << expected << ", but got " << actual;
}

LogicalResult BroadcastOp::verify() {
  Type input = getInput().getType(), result = getResult().getType();
  unsigned inputAxes = getNumAxes(input), resultAxes = getNumAxes(result);
  if (getElementTypeOrSelf(input) != getElementTypeOrSelf(result))
    return emitOpError("expected one element type, but got ")
           << input << " and " << result;
  if (inputAxes > resultAxes)
    return emitOpError("expected a result with at least the axes of ")
           << input << ", but got " << result;
  if (getNumFeatureElements(input) != 1 &&
      !isPrefix(getFeatures(input), getFeatures(result)))
    return emitOpError("expected features that are a prefix of those of ")
           << result << " or a single number, but got " << input;
  if (inputAxes == resultAxes)
    return getLike() ? emitOpError("expected no 'like', because the operand "
                                   "has all axes of the result")
                     : success();
  if (!getLike())
    return emitOpError("expected 'like' for the axes that the operand lacks");
  if (getNumAxes(getLike().getType()) != resultAxes)
    return emitOpError("expected 'like' with the axes of ")
           << result << ", but got " << getLike().getType();
  return success();
}

LogicalResult EmbedOp::verify() {
  Type table = getTable().getType(), tokens = getTokens().getType();
  if (getNumAxes(table) != 0 || getFeatures(table).size() < 1 ||
      !getFeatures(tokens).empty())
    return emitOpError("expected tokens without features and a table without "
                       "axes, but got ")
           << tokens << " and " << table;
  return expectType(*this, "a result",
                    getValueType(getNumAxes(tokens),
                                 getFeatures(table).drop_front(),
                                 getElementTypeOrSelf(table)),
                    getResult().getType());
}

LogicalResult LookupOp::verify() {
  Type table = getTable().getType(), index = getIndex().getType();
  if (getNumAxes(table) != 0 || getFeatures(table).empty() ||
      !getFeatures(index).empty())
    return emitOpError("expected an index without features and a table without "
                       "axes, but got ")
           << index << " and " << table;
  return expectType(*this, "a result",
                    getValueType(getNumAxes(index),
                                 getFeatures(table).drop_front(),
                                 getElementTypeOrSelf(table)),
                    getResult().getType());
}

LogicalResult LinearOp::verify() {
  Type input = getInput().getType(), weight = getWeight().getType();
  ArrayRef<int64_t> contracted = getFeatures(input), all = getFeatures(weight);
  if (getNumAxes(weight) != 0 ||
      (getBias() && getNumAxes(getBias().getType()) != 0))
    return emitOpError("expected a weight and a bias without axes");
  if (contracted.size() > all.size() ||
      all.take_back(contracted.size()) != contracted)
    return emitOpError("expected a weight whose last dimensions are the "
                       "features of ")
           << input << ", but got " << weight;
  ArrayRef<int64_t> features = all.drop_back(contracted.size());
  if (getBias() && getFeatures(getBias().getType()) != features)
    return emitOpError("expected a bias of type ")
           << getValueType(0, features, getElementTypeOrSelf(weight))
           << ", but got " << getBias().getType();
  Type result = getResult().getType();
  for (Value element : getElements())
    if (element.getType() != result &&
        element.getType() != withNumAxes(result, 0))
      return emitOpError("expected an epilogue over values of type ")
             << result << ", with or without axes, but got "
             << element.getType();
  return expectType(*this, "a result", withFeatures(input, features), result);
}

LogicalResult LinearOp::verifyRegions() {
  size_t numElements = getElements().size();
  if (getEpilogue().empty())
    return numElements == 0
               ? success()
               : emitOpError("expected an epilogue for the operands of one");
  Block &block = getEpilogue().front();
  Type f32 = Float32Type::get(getContext());
  if (block.getNumArguments() != numElements + 1 ||
      llvm::any_of(block.getArgumentTypes(),
                   [&](Type type) { return type != f32; }))
    return emitOpError("expected an epilogue of ")
           << numElements + 1 << " arguments of type f32";
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || TypeRange(yield.getValues().getTypes()) != TypeRange(f32))
    return emitOpError("expected an epilogue that yields one f32");
  for (Operation &inner : block.without_terminator())
    if (!isElementwise(&inner) && !inner.hasTrait<OpTrait::ConstantLike>()) {
      InFlightDiagnostic diagnostic = emitOpError(
          "expected an epilogue of elementwise operations on scalars");
      diagnostic.attachNote(inner.getLoc())
          << "'" << inner.getName() << "' is not";
      return diagnostic;
    }
  return success();
}

LogicalResult MatmulOp::verify() {
  Type lhs = getLhs().getType(), rhs = getRhs().getType();
  ArrayRef<int64_t> left = getFeatures(lhs), right = getFeatures(rhs);
  if (getNumAxes(lhs) != 0 || getNumAxes(rhs) != 0 || right.size() != 2 ||
      left.empty() || left.back() != right[getTransposed() ? 1 : 0])
    return emitOpError("expected matrices without axes that can be "
                       "multiplied, but got ")
           << lhs << " and " << rhs;
  SmallVector<int64_t> features(left.drop_back());
  features.push_back(right[getTransposed() ? 0 : 1]);
  return expectType(*this, "a result", withFeatures(lhs, features),
                    getResult().getType());
}

LogicalResult DotOp::verify() {
  Type operand = getLhs().getType();
  if (getFeatures(operand).empty())
    return emitOpError("expected operands with a feature, but got ") << operand;
  return expectType(*this, "a result",
                    withFeatures(operand, getFeatures(operand).drop_back()),
                    getResult().getType());
}

LogicalResult OuterOp::verify() {
  Type lhs = getLhs().getType(), rhs = getRhs().getType();
  if (getNumAxes(lhs) != getNumAxes(rhs))
    return emitOpError("expected operands on the same axes, but got ")
           << lhs << " and " << rhs;
  ArrayRef<int64_t> right = getFeatures(rhs);
  if (right.empty() || !isPrefix(right.drop_back(), getFeatures(lhs)))
    return emitOpError("expected features of the right operand, without the "
                       "last, that are a prefix of the left's, but got ")
           << lhs << " and " << rhs;
  SmallVector<int64_t> features(getFeatures(lhs));
  features.push_back(right.back());
  return expectType(*this, "a result", withFeatures(rhs, features),
                    getResult().getType());
}

int64_t ConcatOp::getFeatureNumber() {
  if (std::optional<uint64_t> feature = getFeature())
    return static_cast<int64_t>(*feature);
  return static_cast<int64_t>(getFeatures(getResult().getType()).size()) - 1;
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least one operand");
  Type first = getInputs().front().getType();
  SmallVector<int64_t> features(getFeatures(first));
  if (features.empty())
    return emitOpError("expected operands with a feature, but got ") << first;
  if (getFeature() && *getFeature() >= features.size())
    return emitOpError("expected a feature of ")
           << first << ", but got number " << *getFeature();
  int64_t number = getFeatureNumber();
  if (number >= static_cast<int64_t>(features.size()))
    return expectType(*this, "a result", first, getResult().getType());
  int64_t size = 0;
  for (Value input : getInputs()) {
    SmallVector<int64_t> shape(getFeatures(input.getType()));
    if (shape.size() == features.size()) {
      size += shape[number];
      shape[number] = features[number];
    }
    if (getNumAxes(input.getType()) != getNumAxes(first) || shape != features)
      return emitOpError("expected operands that agree in all but ")
             << (getFeature() ? "one" : "the last") << " feature, but got "
             << first << " and " << input.getType();
  }
  features[number] = size;
  return expectType(*this, "a result", withFeatures(first, features),
                    getResult().getType());
}

LogicalResult SliceOp::verify() {
  Type input = getInput().getType();
  ArrayRef<int64_t> features = getFeatures(input);
  uint64_t number = getFeature();
  if (number > 0 && number >= features.size())
    return emitOpError("expected a feature of ")
           << input << ", but got number " << number;
  int64_t start = getStart(), stop = getStop();
  if (features.empty() || start < 0 || stop <= start || stop > features[number])
    return emitOpError("expected a range within ")
           << (number == 0 ? "the first feature" : "the feature") << " of "
           << input << ", but got [" << start << " : " << stop << "]";
  if (getDrop() && (stop != start + 1 || number != 0))
    return emitOpError("expected a range of one element of the first feature "
                       "to drop, but got [")
           << start << " : " << stop << "]";
  SmallVector<int64_t> shape(features);
  if (getDrop())
    shape.erase(shape.begin() + number);
  else
    shape[number] = stop - start;
  return expectType(*this, "a result", withFeatures(input, shape),
                    getResult().getType());
}

LogicalResult MaxoutOp::verify() {
  Type input = getInput().getType();
  ArrayRef<int64_t> features = getFeatures(input);
  int64_t pieces = getPieces();
  if (features.empty() || pieces < 1 || features.back() % pieces != 0)
    return emitOpError("expected pieces that divide the last feature of ")
           << input << ", but got " << pieces;
  SmallVector<int64_t> shape(features);
  shape.back() /= pieces;
  return expectType(*this, "a result", withFeatures(input, shape),
                    getResult().getType());
}

LogicalResult RankOp::verify() {
  Builder builder(getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  const std::tuple<StringRef, Type, Value> values[] = {
      {"logits", getValueType(2, {}, f32), getLogits()},
      {"best logits", getValueType(2, {}, f32), getBest()},
      {"their tokens", getValueType(2, {}, i32), getTokens()},
      {"a first token", getValueType(0, {}, i32), getFirst()},
      {"sums", getValueType(1, {2}, f32), getSums()}};
  for (auto [name, type, value] : values)
    if (failed(expectType(*this, name, type, value.getType())))
      return failure();
  return success();
}

/// Checks the parameters of a norm over the last feature.
static LogicalResult verifyNorm(Operation *op, Type input, Type result,
                                ValueRange parameters) {
  if (getFeatures(input).empty())
    return op->emitOpError("expected an operand with a feature, but got ")
           << input;
  Type expected = getValueType(0, getFeatures(input).take_back(),
                               getElementTypeOrSelf(input));
  for (Value parameter : parameters)
    if (failed(expectType(op, "a parameter", expected, parameter.getType())))
      return failure();
  return expectType(op, "a result", input, result);
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput().getType(), getResult().getType(),
                    {getWeight(), getBias()});
}

LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, getInput().getType(), getResult().getType(),
                    {getWeight()});
}

LogicalResult SinusoidOp::verify() {
  Type position = getPosition().getType(), result = getResult().getType();
  ArrayRef<int64_t> features = getFeatures(result);
  if (!getFeatures(position).empty() || features.size() != 1 ||
      features[0] % 2 != 0 || getNumAxes(position) != getNumAxes(result))
    return emitOpError("expected a position without features and a result that "
                       "appends one even feature, but got ")
           << position << " and " << result;
  return success();
}

LogicalResult RotaryOp::verify() {
  Type input = getInput().getType(), position = getPosition().getType();
  ArrayRef<int64_t> features = getFeatures(input);
  if (features.empty() || features.back() % 2 != 0 ||
      !getFeatures(position).empty() ||
      getNumAxes(position) != getNumAxes(input))
    return emitOpError("expected an even last feature and a position without "
                       "features, but got ")
           << input << " and " << position;
  return expectType(*this, "a result", input, getResult().getType());
}
