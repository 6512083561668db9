//===- FeatureKernel.cpp - random operations on rows and sequences --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation takes one of the last values; the last few of all are results.
//
//===----------------------------------------------------------------------===//

#include "unittests/differential/Writer.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::differential;

namespace {

class FeatureMaker {
public:
  explicit FeatureMaker(Random &random)
      : random(random), arguments(kernel, random), w(random, "%") {}

  Kernel make(bool withScan);

private:
  const Term &pick() {
    // Recent ones, so that operations follow each other.
    int64_t first = std::max<int64_t>(0, int64_t(values.size()) - 3);
    return values[random.between(first, int64_t(values.size()) - 1)];
  }
  Term parameter(Shape features, double scale = 1) {
    return arguments.floats({}, std::move(features), scale);
  }
  std::string withType(const Term &x) { return x.name + " : " + x.type(); }

  Term makeFeatures(Term x);
  std::optional<Term> makeSequence(const Term &x);
  Term makePosition(const Term &x);
  Term makeLinear(const Term &x);
  Term makeRecurrence(const Term &x);
  Term makeScan(const Term &x);

  Random &random;
  Kernel kernel;
  Arguments arguments;
  Writer w;
  std::vector<Term> values;
  Term lengths, pairLengths;
};

} // namespace

/// A product, perhaps with a bias and an epilogue.
Term FeatureMaker::makeLinear(const Term &x) {
  Shape weight = {random.between(1, 40)};
  if (random.percent(20))
    weight = {random.between(1, 4), random.between(1, 12)};
  weight.append(x.features.begin(), x.features.end());
  Term input = w.limit(x, 20), bias;
  Term matrix = parameter(weight, 0.4);
  bool hasBias = random.percent(50);
  if (hasBias)
    bias = parameter(Shape(ArrayRef(weight).drop_back(x.features.size())));
  Term result = w.linear(input, matrix, hasBias ? &bias : nullptr);
  if (random.percent(40))
    return result;
  // The same as an epilogue.
  Writer body(random, "%s");
  Term sum{"%sum", {}, {}, "f32", result.bound}, element{"%element", {}, {}};
  Term made = w.limit(sum, 1e30);
  if (random.percent(70))
    made = body.unary(body.limit(sum, 100));
  std::string elements;
  if (random.percent(50)) {
    Term more = result;
    more.bound = 3.5;
    if (random.percent(50))
      more = parameter(result.features);
    else
      more = arguments.floats(result.axes, result.features);
    elements = withType(more);
    made = body.binary(made, element);
  }
  size_t begin = w.text.rfind("  " + result.name + " = ");
  std::string operation = w.text.substr(begin);
  size_t types = operation.find(
      " : ",
      operation.find(" bias(") == operation.npos ? 0 : operation.find(")"));
  operation.insert(types, " epilogue(" + elements + ") {\n^bb0(%sum: f32" +
                              (elements.empty() ? "" : ", %element: f32") +
                              "):\n" + body.text + "  attn.yield " + made.name +
                              " : f32\n  }");
  w.text.resize(begin);
  w.text += operation;
  result.bound = made.bound;
  result.isSmooth = made.isSmooth;
  return result;
}

Term FeatureMaker::makeFeatures(Term x) {
  int64_t last = x.last();
  switch (random.between(0, 13)) {
  case 0:
  case 1:
  case 2:
    return makeLinear(x);
  case 3: {
    Term weight = parameter({last}), bias = parameter({last});
    Term result = x;
    result.bound = 4 * std::sqrt(double(last)) + 4;
    x = w.limit(x, 100);
    if (random.percent(50))
      return w.define(result,
                      "attn.layer_norm " + x.name + " weight(" +
                          withType(weight) + ") bias(" + withType(bias) +
                          ") epsilon 1.0e-2 : " + x.type() + " -> " + x.type());
    return w.define(result,
                    "attn.rms_norm " + x.name + " weight(" + withType(weight) +
                        ") epsilon 1.0e-2 : " + x.type() + " -> " + x.type());
  }
  case 4: {
    Term result = w.unary("attn.softmax", w.limit(x, 60), 1);
    result.isSmooth = false;
    return result;
  }
  case 5: {
    if (!x.isSmooth)
      return w.unary(x);
    kernel.hasHardmax = true;
    Term result = w.unary("attn.hardmax", x, 1);
    result.isSmooth = false;
    return result;
  }
  case 6: {
    int64_t pieces = random.between(2, 4);
    while (last % pieces)
      --pieces;
    Term result = x;
    result.features.back() = last / pieces;
    return w.define(result, "attn.maxout " + x.name + " pieces " +
                                std::to_string(pieces) + " : " + x.type() +
                                " -> " + result.type());
  }
  case 7: {
    int64_t size = x.features.front(), start = random.between(0, size - 1);
    return w.slice(x, start, random.between(start + 1, size));
  }
  case 8: {
    if (x.last() > 40)
      return w.slice(x, 0, 1);
    Term other = x;
    for (const Term &value : values)
      if (value.axes == x.axes && random.percent(50) &&
          ArrayRef(value.features).drop_back() ==
              ArrayRef(x.features).drop_back())
        other = value;
    return w.concat({x, other});
  }
  case 9: {
    int64_t size = 2 * random.between(1, 12);
    bool isInteger = random.percent(70);
    Term position = isInteger ? arguments.integers(x.axes, {}, 0, 60)
                              : arguments.floats(x.axes, {}, 4);
    std::string layout = random.pick({"interleaved", "halves"});
    if (last % 2 == 0 && random.percent(60)) {
      Term result = x;
      result.bound *= 1.5;
      return w.define(result, "attn.rotary " + x.name + " position(" +
                                  withType(position) + ") " + layout +
                                  " base 1.0e4 : " + x.type() + " -> " +
                                  x.type());
    }
    Term result = x;
    result.features = {size};
    result.bound = 1;
    // Cosines of small angles are 1 in f32.
    result.isSmooth = false;
    return w.define(result, "attn.sinusoid " + position.name + " " + layout +
                                " steps " + std::to_string(size / 2) + ".0 : " +
                                position.type() + " -> " + result.type());
  }
  case 10: {
    int64_t entries = random.between(1, 9);
    Shape features = {random.between(1, 20)};
    bool isEmbedding = random.percent(50);
    Term index =
        arguments.integers(x.axes, {}, isEmbedding ? -1 : 0, entries - 1);
    kernel.arguments.back().isIndex = true;
    Term table = parameter({entries, features[0]});
    Term result = x;
    result.features = features;
    result.bound = 3.5;
    std::string operands =
        isEmbedding ? "attn.embed " + index.name + ", " + table.name
                    : "attn.lookup " + table.name + "[" + index.name + "]";
    std::string types = isEmbedding ? index.type() + ", " + table.type()
                                    : table.type() + ", " + index.type();
    return w.define(result, operands + " : " + types + " -> " + result.type());
  }
  case 11: {
    // A weight for each of the first features, or more features.
    if (x.features.size() == 1 && last <= 12) {
      Term other = arguments.floats(x.axes, {random.between(1, 9)});
      Term left = x, result = x;
      result.features.push_back(other.last());
      left = w.limit(left, 20);
      result.bound = left.bound * 3.5;
      return w.define(result, "attn.outer " + left.name + ", " + other.name +
                                  " : " + left.type() + ", " + other.type() +
                                  " -> " + result.type());
    }
    Term scale = parameter(x.features);
    return w.binary(w.limit(x, 30), w.broadcast(scale, x));
  }
  default: {
    Term result = w.unary(x);
    for (const Term &value : values)
      if (value.axes == x.axes && value.features == x.features &&
          random.percent(30))
        return w.binary(result, value);
    if (random.percent(20)) {
      // One or the other number: compared as inputs give them.
      Term one = arguments.floats(x.axes, x.features),
           other = arguments.floats(x.axes, x.features);
      kernel.arguments[kernel.arguments.size() - 1].exact = true;
      kernel.arguments[kernel.arguments.size() - 2].exact = true;
      Term condition =
          w.compare(random.pick({"olt", "oge", "une"}), one, other);
      return w.select(condition, result, one);
    }
    return result;
  }
  }
}

Term FeatureMaker::makePosition(const Term &x) {
  Term position = x;
  position.features.clear();
  position.element = "i32";
  position.bound = 300;
  position = w.define(position, "attn.position " + withType(x) + " -> " +
                                    position.type());
  Term number = w.limit(w.toFloat(position), 20);
  return w.broadcast(number, x);
}

/// None where `x` is no sequence on the axis of the lengths.
std::optional<Term> FeatureMaker::makeSequence(const Term &x) {
  if (x.axes.size() < 2)
    return std::nullopt;
  bool isPair = x.axes[1] == Axis::Pair;
  const Term &own = isPair ? pairLengths : lengths;
  Term result = x;
  auto sequence = [&](const std::string &op) {
    return w.define(result, "attn." + op + " " + x.name + " lengths(" +
                                own.name + ") : " + x.type() + " -> " +
                                result.type());
  };
  switch (random.between(0, 5)) {
  case 0:
    return sequence("reverse");
  case 1:
    result.axes.pop_back();
    return sequence(random.pick({"first", "last", "mean", "mean"}));
  case 2: {
    int64_t outputs = random.between(1, 24), taps = random.between(1, 5);
    if (x.features.size() > 1)
      return std::nullopt;
    int64_t stride = isPair ? 1 : random.between(1, 2);
    Term input = w.limit(x, 20);
    Term weight = parameter({outputs, x.last(), taps}, 0.4),
         bias = parameter({outputs});
    if (stride == 2)
      result.axes[1] = Axis::Pair;
    result.features = {outputs};
    result.bound = std::sqrt(double(x.last() * taps)) * input.bound * 0.7 + 4;
    result.isSmooth = true;
    return w.define(result, "attn.conv1d " + input.name + " lengths(" +
                                own.name + ") weight(" + withType(weight) +
                                ") bias(" + withType(bias) + ") stride " +
                                std::to_string(stride) + " : " + input.type() +
                                " -> " + result.type());
  }
  case 3:
    if (isPair || x.features.size() > 1)
      return std::nullopt;
    result.axes[1] = Axis::Pair;
    result.features = {2 * x.last()};
    return sequence("pairs");
  case 4:
    return w.binary("arith.addf", x, makePosition(x), x.bound + 20);
  default:
    return std::nullopt;
  }
}

/// A layer along a sequence, or a step of one.
Term FeatureMaker::makeRecurrence(const Term &from) {
  Term x = w.limit(from, 10);
  int kind = int(random.between(0, 2)); // rnn, gru, lstm
  int64_t gates = kind == 0 ? 1 : kind == 1 ? 3 : 4;
  int64_t units = random.between(1, 24), inputs = x.last();
  Term weights[] = {parameter({gates * units, inputs}, 0.4),
                    parameter({gates * units, units}, 0.4),
                    parameter({gates * units}, 0.5),
                    parameter({gates * units}, 0.5)};
  std::string names, types;
  for (const Term &weight : weights) {
    names += (names.empty() ? "" : ", ") + weight.name;
    types += (types.empty() ? "" : ", ") + weight.type();
  }
  std::string reset =
      kind == 1 ? std::string(" reset ") + random.pick({"after", "before"})
                : "";
  std::string all = reset + " weights(" + names + " : " + types + ")";
  Term result = x;
  result.features = {units};
  result.bound = 1;
  result.isSmooth = false;
  std::string op = "attn." + std::string(kind == 0   ? "rnn"
                                         : kind == 1 ? "gru"
                                                     : "lstm");
  if (x.axes.size() == 1) {
    Term hidden = arguments.floats(x.axes, {units}, 0.5),
         cell = arguments.floats(x.axes, {units}, 0.5);
    result.bound = 4;
    std::string operands = " " + x.name + ", " + hidden.name,
                own = x.type() + ", " + hidden.type();
    if (kind < 2)
      return w.define(result, op + "_cell" + operands + all + " : " + own +
                                  " -> " + result.type());
    Term pair = w.define(result, "");
    w.text.resize(w.text.rfind("  " + pair.name + " = "));
    w.text += "  " + pair.name + ":2 = " + op + "_cell" + operands + ", " +
              cell.name + all + " : " + own + ", " + cell.type() + " -> " +
              result.type() + ", " + result.type() + "\n";
    pair.name += random.pick({"#0", "#1"});
    return pair;
  }
  kernel.hasScan = true;
  std::string lengthsOf =
      x.axes[1] == Axis::Pair ? pairLengths.name : lengths.name;
  std::string text = op + (random.percent(40) ? " reverse " : " ") + x.name +
                     " lengths(" + lengthsOf + ")" + all + " : " + x.type() +
                     " -> " + result.type();
  if (kind < 2)
    return w.define(result, text);
  Term pair = w.define(result, "");
  w.text.resize(w.text.rfind("  " + pair.name + " = "));
  w.text += "  " + pair.name + ":2 = " + text + ", " + result.type() + "\n";
  pair.name += random.pick({"#0", "#1"});
  pair.bound = 20;
  return pair;
}

/// A recurrence that no layer has: a gate between the state and what is made of
/// it and the input.
Term FeatureMaker::makeScan(const Term &from) {
  kernel.hasScan = true;
  Term x = w.limit(from, 10);
  int64_t units = random.between(1, 24);
  Term now = x;
  now.axes.pop_back();
  now.name = "%now";
  Term state = now;
  state.name = "%state";
  state.features = {units};
  state.bound = 4;
  Shape weight = {units};
  weight.append(x.features.begin(), x.features.end());
  Term input = parameter(weight, 0.4),
       recurrent = parameter({units, units}, 0.4), bias = parameter({units});
  Writer body(random, "%r");
  Term sum = body.linear(now, input, random.percent(50) ? &bias : nullptr);
  sum = body.binary("arith.addf", sum, body.linear(state, recurrent, nullptr),
                    30);
  Term fresh = body.unary(random.pick({"math.tanh", "attn.sigmoid"}), sum, 1);
  if (random.percent(50)) {
    Term gate = body.unary(
        "attn.sigmoid",
        body.linear(state, parameter({units, units}, 0.4), nullptr), 1);
    Term difference = body.binary("arith.subf", fresh, state, 5);
    fresh = body.binary("arith.addf", state,
                        body.binary("arith.mulf", gate, difference, 5), 4);
  }
  std::string initial;
  if (random.percent(50)) {
    Term start = arguments.floats({Axis::Row}, {units});
    initial = " initial(" + withType(start) + ")";
  }
  Term result = x;
  result.features = {units};
  result.bound = 4;
  result.isSmooth = false;
  std::string own = x.axes[1] == Axis::Pair ? pairLengths.name : lengths.name;
  return w.define(result, std::string("attn.scan ") +
                              (random.percent(40) ? "reverse " : "") +
                              withType(x) + " lengths(" + own + ")" + initial +
                              " {\n^bb0(%now: " + now.type() +
                              ", %state: " + state.type() + "):\n" + body.text +
                              "  attn.yield " + withType(fresh) + "\n  } -> " +
                              result.type());
}

Kernel FeatureMaker::make(bool withScan) {
  bool isSequence = withScan || random.percent(60);
  int size = int(random.between(0, 99));
  arguments.numKeys = size < 6    ? random.between(0, 1)
                      : size < 80 ? random.between(2, 12)
                                  : random.between(13, 40);
  arguments.numRows = arguments.numSources = random.between(1, 7);
  if (isSequence) {
    kernel.lengths = 0;
    lengths = arguments.integers({Axis::Row}, {}, 0, arguments.numKeys);
    pairLengths = lengths;
    pairLengths = w.define(pairLengths,
                           "attn.strided_length " + lengths.name + " stride 2");
  }
  std::vector<Axis> axes = {Axis::Row};
  if (isSequence)
    axes.push_back(Axis::Key);
  int numInputs = int(random.between(1, 2));
  for (int i = 0; i < numInputs; ++i) {
    Shape features = {random.between(1, 40)};
    if (random.percent(20))
      features = {random.between(1, 5), random.between(1, 10)};
    values.push_back(arguments.floats(axes, features));
  }
  int64_t numOperations = random.between(1, 8);
  int64_t recurrent = withScan ? random.between(0, numOperations - 1) : -1;
  for (int64_t n = 0; n < numOperations; ++n) {
    Term x = pick();
    int64_t elements = 1;
    for (int64_t feature : x.features)
      elements *= feature;
    if (n == recurrent) {
      if (x.axes.size() < 2)
        x = values.front();
      if (x.features.size() > 1)
        x = makeLinear(x);
      if (x.features.size() == 1)
        values.push_back(random.percent(60) ? makeRecurrence(x) : makeScan(x));
      continue;
    }
    std::optional<Term> made;
    if (random.percent(30))
      made = makeSequence(x);
    else if (x.axes.size() == 1 && x.features.size() == 1 && random.percent(6))
      made = makeRecurrence(x);
    if (!made)
      made = elements > 200 ? makeLinear(x) : makeFeatures(x);
    values.push_back(w.limit(*made, 1000));
  }
  if (random.percent(15))
    arguments.addSpecialNumbers();
  int64_t numResults = std::min<int64_t>(random.between(1, 3), numOperations);
  std::string parameters, names, types;
  for (const Term &value : ArrayRef(values).take_back(numResults)) {
    kernel.results.push_back({value.name, value.type(), value.axes});
    names += (names.empty() ? "" : ", ") + value.name;
    types += (types.empty() ? "" : ", ") + value.type();
  }
  for (const Argument &argument : kernel.arguments)
    parameters +=
        (parameters.empty() ? "" : ", ") + argument.name + ": " + argument.type;
  kernel.text = "func.func @f(" + parameters + ") -> (" + types + ") {\n" +
                w.text + "  return " + names + " : " + types + "\n}\n";
  return std::move(kernel);
}

Kernel differential::makeFeatures(Random &random) {
  return FeatureMaker(random).make(/*withScan=*/false);
}

Kernel differential::makeScan(Random &random) {
  return FeatureMaker(random).make(/*withScan=*/true);
}
