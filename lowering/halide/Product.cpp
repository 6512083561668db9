//===- Product.cpp - products with packed weights -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight lies in blocks of 16 outputs, [N / 16, K, 16] with zeros beyond N.
// Each output is summed in the order of its inputs, whatever the number of rows
// (R13). A weight that is not packed (one that another operation makes) is
// read as it is.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/halide/Translator.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

LogicalResult
Translator::multiply(Operation *op, Value weight, Value bias, int64_t numInputs,
                     const std::function<Expr(Expr, const Place &)> &input,
                     Region *epilogue, ValueRange extra) {
  Value result = op->getResult(0);
  ArrayRef<int64_t> features = getFeatures(result.getType());
  int64_t numOutputs = getNumFeatureElements(result.getType());
  ArrayRef<int64_t> weightFeatures = getFeatures(weight.getType());
  std::vector<Var> axes = getAxisVars(result.getType());

  auto getWeight = [&](Expr lane, Expr block, Expr k) -> Expr {
    auto form = forms.find(weight);
    if (form == forms.end()) {
      Expr output =
          hl::min(block * numLanes + lane, static_cast<int>(numOutputs) - 1);
      // The weight's features: those of the result, then those of the input.
      std::vector<Expr> place =
          unflatten(k, weightFeatures.drop_front(features.size()));
      std::vector<Expr> outputs = unflatten(output, features);
      place.insert(place.end(), outputs.begin(), outputs.end());
      return at(weight, place);
    }
    hl::ImageParam packed = parameters.find(weight)->second;
    // A schedule may take more blocks together than there are.
    Expr element = packed(lane, k, hl::min(block, packed.dim(2).extent() - 1));
    if (form->second == "bf16")
      return hl::reinterpret<float>(hl::cast<uint32_t>(element) << 16);
    return element;
  };

  Var lane("lane"), block("block");
  Func product(nameOf("product"));
  std::vector<Var> vars = {lane, block};
  vars.insert(vars.end(), axes.begin(), axes.end());
  Place place(vars.begin(), vars.end()), outer(axes.begin(), axes.end());
  product(vars) = 0.0f;
  RDom k(0, static_cast<int>(numInputs));
  product(place) =
      math.fma(input(k, outer), getWeight(lane, block, k), product(place));
  addStage(product, Stage::Kind::Product, 2, axes.size(), {k.x});

  // The epilogue is elementwise, on values that have all of the result's
  // dimensions.
  auto getSum = [=, this](const Place &place) -> Expr {
    Place features(place.begin(), place.end() - axes.size());
    Expr output = flatten(features, getFeatures(result.getType()));
    Place inner = {output % numLanes, output / numLanes};
    inner.insert(inner.end(), place.end() - axes.size(), place.end());
    Expr sum = product(inner);
    return bias ? sum + at(bias, features) : sum;
  };
  if (!epilogue || epilogue->empty()) {
    define(result, getSum);
    return success();
  }
  Block &body = epilogue->front();
  std::vector<Var> all = getVars(result);
  auto outerPairs = pairVars;
  pairVars = all;
  elements[body.getArgument(0)] = getSum;
  for (auto [argument, value] :
       llvm::zip(body.getArguments().drop_front(), extra)) {
    bool perRow = getNumAxes(value.getType()) != 0;
    elements[argument] = [=, this, value = value](const Place &place) {
      return at(value, perRow
                           ? place
                           : Place(place.begin(), place.end() - axes.size()));
    };
  }
  LogicalResult translated = translate(body);
  pairVars = outerPairs;
  if (failed(translated))
    return failure();
  Value yielded = body.getTerminator()->getOperand(0);
  define(result, [&](const Place &place) { return at(yielded, place); });
  return success();
}

LogicalResult Translator::translate(LinearOp op) {
  Value input = op.getInput();
  ArrayRef<int64_t> inputs = getFeatures(input.getType());
  return multiply(
      op, op.getWeight(), op.getBias(),
      getNumFeatureElements(op.getInput().getType()),
      [=, this](Expr k, const Place &axes) {
        Place place = unflatten(k, inputs);
        place.insert(place.end(), axes.begin(), axes.end());
        return at(input, place);
      },
      &op.getEpilogue(), op.getElements());
}

LogicalResult Translator::translate(Conv1dOp op) {
  int width = getFeatures(op.getWeight().getType()).back();
  int stride = op.getStride();
  Expr positions = getAxisSize(op.getInput(), 1);
  Value lengths = op.getLengths(), input = op.getInput();
  auto getLength = [=, this](const Place &axes) {
    return at(lengths, {axes.back()});
  };
  if (failed(multiply(
          op, op.getWeight(), op.getBias(),
          getFeatures(op.getWeight().getType())[1] * width,
          [=, this](Expr k, const Place &axes) {
            Expr position = axes[0] * stride + k % width - (width - 1) / 2;
            Expr element =
                at(input,
                   {k / width, hl::clamp(position, 0, positions - 1), axes[1]});
            return hl::select(position >= 0 && position < getLength(axes),
                              element, 0.0f);
          },
          nullptr, {})))
    return failure();
  // Padding has zeros (R10).
  Element sums = elements[op.getResult()];
  define(op.getResult(), [&](const Place &place) {
    Place axes(place.end() - 2, place.end());
    return hl::select(axes[0] * stride < getLength(axes), sums(place), 0.0f);
  });
  return success();
}
