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

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

Expr Translator::getBias(Operation *op, Value bias, Expr lane, Expr block) {
  if (!bias)
    return 0.0f;
  ArrayRef<int64_t> features = getFeatures(op->getResult(0).getType());
  // A schedule may take more outputs together than there are. A part of a bias
  // may be given, where few outputs are wanted.
  Expr last = static_cast<int>(llvm::product_of(features)) - 1;
  if (auto given = parameters.find(bias);
      given != parameters.end() && features.size() == 1)
    last = given->second.dim(0).extent() - 1;
  Place place = unflatten(hl::min(block * numLanes + lane, last), features);
  if (pairVars)
    place.insert(place.end(), pairVars->begin(), pairVars->end());
  return at(bias, place);
}

Translator::Product Translator::multiplyNumbers(
    Operation *op, Value weight, Value bias, int64_t numInputs,
    const std::function<Expr(Expr, const Place &)> &input) {
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
      // All values of a region over pairs have the pair's place.
      if (pairVars)
        place.insert(place.end(), axes.begin(), axes.end());
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
  product(vars) = getBias(op, bias, lane, block);
  RDom k(0, static_cast<int>(numInputs));
  product(place) =
      math.fma(input(k, outer), getWeight(lane, block, k), product(place));
  addStage(product, Stage::Kind::Product, 2, axes.size(), {k.x});

  return [product](Expr lane, Expr block, const Place &axes) -> Expr {
    Place place = {lane, block};
    place.insert(place.end(), axes.begin(), axes.end());
    return product(place);
  };
}

/// A number of 32 bits, from its bytes.
static Expr loadWord(const std::function<Expr(Expr)> &byte, Expr first) {
  Expr word;
  for (int i = 0; i < 4; ++i) {
    Expr part = hl::cast<uint32_t>(byte(first + i)) << (8 * i);
    word = word.defined() ? word | part : part;
  }
  return word;
}

Translator::Product Translator::multiplyBytes(Operation *op, Value weight,
                                              Value bias, Value input,
                                              int64_t numInputs) {
  // See lowering/cpu/QuantizedProduct.h: of rows the scale, then bytes from the
  // third word on; of weights scales, corrections, then words.
  constexpr int bytes = 4, first = 2;
  hl::ImageParam rows = parameters.find(input)->second,
                 weights = parameters.find(weight)->second;
  std::vector<Var> axes = getAxisVars(op->getResult(0).getType());
  auto rowByte = [=](const Place &axes) {
    return [=](Expr byte) -> Expr {
      Place place = {byte};
      place.insert(place.end(), axes.begin(), axes.end());
      return rows(place);
    };
  };
  auto lastBlock = [=](Expr block) {
    return hl::min(block, weights.dim(2).extent() - 1);
  };
  Var lane("lane"), block("block");
  Func sums(nameOf("product"));
  std::vector<Var> vars = {lane, block};
  vars.insert(vars.end(), axes.begin(), axes.end());
  Place place(vars.begin(), vars.end()), outer(axes.begin(), axes.end());
  sums(vars) = 0;
  RDom k(0, bytes, 0, static_cast<int>((numInputs + bytes - 1) / bytes));
  Expr number = rowByte(outer)((k.y + first) * bytes + k.x);
  Expr factor = hl::reinterpret<int8_t>(
      Expr(weights(lane * bytes + k.x, k.y + first, lastBlock(block))));
  sums(place) += hl::cast<int32_t>(number) * hl::cast<int32_t>(factor);
  int stage = addStage(sums, Stage::Kind::Product, 2, axes.size(), {k.y});
  kernel.stages[stage].bytes = k.x;
  kernel.stages[stage].hasBytes = true;
  // A vector of words, as a sum of its bytes like the others.
  auto loadVector = [&](StringRef name, int vector) {
    Func words(nameOf(name));
    words(lane, block) = hl::cast<uint32_t>(0);
    RDom byte(0, bytes);
    Expr loaded = weights(lane * bytes + byte, vector, lastBlock(block));
    words(lane, block) += hl::cast<uint32_t>(loaded)
                          << hl::cast<uint32_t>(byte * 8);
    int stage = addStage(words, Stage::Kind::Words, 2, 0);
    kernel.stages[stage].bytes = byte.x;
    kernel.stages[stage].hasBytes = true;
    return words;
  };
  Func scales = loadVector("scales", 0),
       corrections = loadVector("corrections", 1);
  return [=, this](Expr lane, Expr block, const Place &axes) -> Expr {
    Place place = {lane, block};
    place.insert(place.end(), axes.begin(), axes.end());
    Expr scale = hl::reinterpret<float>(Expr(scales(lane, block))) *
                 hl::reinterpret<float>(loadWord(rowByte(axes), 0));
    Expr sum =
        sums(place) + hl::reinterpret<int32_t>(Expr(corrections(lane, block)));
    return math.fma(hl::cast<float>(sum), scale,
                    getBias(op, bias, lane, block));
  };
}

LogicalResult Translator::finishProduct(Operation *op, const Product &product,
                                        Region *epilogue, ValueRange extra) {
  Value result = op->getResult(0);
  std::vector<Var> axes = getAxisVars(result.getType());
  // The epilogue is elementwise, on values that have all of the result's
  // dimensions. The sum is not, though it may be written out there: its bias
  // belongs to where the product stands.
  auto outerPairs = pairVars;
  auto getSum = [=, this](const Place &place) -> Expr {
    llvm::SaveAndRestore restore(pairVars, outerPairs);
    Place features(place.begin(), place.end() - axes.size());
    Expr output = flatten(features, getFeatures(result.getType()));
    return product(output % numLanes, output / numLanes,
                   Place(place.end() - axes.size(), place.end()));
  };
  if (!epilogue || epilogue->empty()) {
    define(result, getSum);
    return success();
  }
  Block &body = epilogue->front();
  std::vector<Var> all = getVars(result);
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
  int64_t numInputs = getNumFeatureElements(input.getType());
  Product product =
      forms.contains(input)
          ? multiplyBytes(op, op.getWeight(), op.getBias(), input, numInputs)
          : multiplyNumbers(op, op.getWeight(), op.getBias(), numInputs,
                            [=, this](Expr k, const Place &axes) {
                              Place place = unflatten(k, inputs);
                              place.insert(place.end(), axes.begin(),
                                           axes.end());
                              return at(input, place);
                            });
  return finishProduct(op, product, &op.getEpilogue(), op.getElements());
}

LogicalResult Translator::translate(Conv1dOp op) {
  int width = getFeatures(op.getWeight().getType()).back();
  int stride = op.getStride();
  Expr positions = getAxisSize(op.getInput(), 1);
  Value lengths = op.getLengths(), input = op.getInput();
  auto getLength = [=, this](const Place &axes) {
    return at(lengths, {axes.back()});
  };
  Product product = multiplyNumbers(
      op, op.getWeight(), op.getBias(),
      getFeatures(op.getWeight().getType())[1] * width,
      [=, this](Expr k, const Place &axes) {
        Expr position = axes[0] * stride + k % width - (width - 1) / 2;
        Place place = {hl::clamp(position, 0, positions - 1), axes[1]};
        // A sequence of numbers has no features.
        if (!getFeatures(input.getType()).empty())
          place.insert(place.begin(), k / width);
        Expr element = at(input, place);
        return hl::select(position >= 0 && position < getLength(axes), element,
                          0.0f);
      });
  if (failed(finishProduct(op, product, nullptr, {})))
    return failure();
  // Padding has zeros (R10).
  Element sums = elements[op.getResult()];
  define(op.getResult(), [&](const Place &place) {
    Place axes(place.end() - 2, place.end());
    return hl::select(axes[0] * stride < getLength(axes), sums(place), 0.0f);
  });
  return success();
}
