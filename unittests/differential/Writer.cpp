//===- Writer.cpp - writes random operations ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/differential/Writer.h"

#include <cmath>
#include <cstdio>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::differential;
using reference::Tensor;

std::string differential::typeOf(const std::vector<Axis> &axes,
                                 ArrayRef<int64_t> features,
                                 const std::string &element) {
  if (axes.empty() && features.empty())
    return element;
  std::string type = "tensor<";
  for (size_t i = 0; i < axes.size(); ++i)
    type += "?x";
  for (int64_t size : features)
    type += std::to_string(size) + "x";
  return type + element + ">";
}

std::string Term::type() const { return typeOf(axes, features, element); }

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

int64_t Arguments::getSize(Axis axis) const {
  switch (axis) {
  case Axis::Row:
    return numRows;
  case Axis::Source:
    return numSources;
  case Axis::Query:
    return numQueries;
  case Axis::Key:
    return numKeys;
  case Axis::Pair:
    return (numKeys + 1) / 2;
  }
  return 0;
}

Tensor &Arguments::add(Term &value) {
  value.name = "%a" + std::to_string(kernel.arguments.size());
  kernel.arguments.push_back({value.name, value.type(), value.axes, {}});
  Tensor &tensor = kernel.arguments.back().value;
  tensor.width = value.element == "f32" ? 0 : value.element == "i32" ? 32 : 1;
  int64_t count = 1;
  for (Axis axis : value.axes)
    tensor.shape.push_back(getSize(axis));
  tensor.shape.append(value.features.begin(), value.features.end());
  for (int64_t size : tensor.shape)
    count *= size;
  tensor.data.resize(count);
  return tensor;
}

Term Arguments::floats(std::vector<Axis> axes, Shape features, double scale) {
  Term value{"", std::move(axes), std::move(features)};
  value.bound = 3.5 * scale;
  for (double &number : add(value).data)
    number = static_cast<float>(random.normal() * scale);
  return value;
}

Term Arguments::integers(std::vector<Axis> axes, Shape features, int64_t low,
                         int64_t high) {
  Term value{"", std::move(axes), std::move(features), "i32"};
  value.bound = double(std::max(std::abs(low), std::abs(high)));
  for (double &number : add(value).data)
    number = double(random.between(low, high));
  return value;
}

Term Arguments::booleans(std::vector<Axis> axes, Shape features) {
  Term value{"", std::move(axes), std::move(features), "i1"};
  for (double &number : add(value).data)
    number = random.percent(70);
  return value;
}

void Arguments::addSpecialNumbers() {
  for (Argument &argument : kernel.arguments) {
    reference::Tensor &tensor = argument.value;
    if (tensor.width || argument.axes.empty() || tensor.data.empty() ||
        !random.percent(40))
      continue;
    double special = random.pick({std::nan(""), std::nan(""), double(INFINITY),
                                  double(-INFINITY), 12.0});
    tensor.data[random.between(0, tensor.size() - 1)] = special;
    kernel.hasInfinity |= std::isinf(special);
  }
}

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

Term Writer::define(Term like, const std::string &operation) {
  like.name = prefix + std::to_string(next++);
  text += "  " + like.name + " = " + operation + "\n";
  return like;
}

Term Writer::unary(const std::string &op, const Term &x, double bound) {
  Term result = define(x, op + " " + x.name + " : " + x.type());
  result.bound = bound;
  return result;
}

Term Writer::binary(const std::string &op, const Term &x, const Term &y,
                    double bound) {
  Term result = define(x, op + " " + x.name + ", " + y.name + " : " + x.type());
  result.bound = bound;
  result.isSmooth = x.isSmooth || y.isSmooth;
  return result;
}

/// As the parser wants it.
static std::string writeNumber(double number) {
  if (std::isinf(number))
    return number < 0 ? "0xFF800000" : "0x7F800000";
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%.9e", number);
  return buffer;
}

Term Writer::constant(double number, const Term &like) {
  Term whole{"", {}, like.features};
  std::string literal = writeNumber(number);
  if (!like.features.empty())
    literal = "dense<" + literal + ">";
  Term result =
      define(whole, "arith.constant " + literal + " : " + whole.type());
  result.bound = std::abs(number);
  result.isSmooth = false;
  return like.axes.empty() ? result : broadcast(result, like);
}

Term Writer::integer(int64_t number) {
  Term result{"", {}, {}, "i32"};
  result.bound = std::abs(double(number));
  return define(result, "arith.constant " + std::to_string(number) + " : i32");
}

Term Writer::compare(const std::string &predicate, const Term &x,
                     const Term &y) {
  Term result = x;
  result.element = "i1";
  return define(
      result, std::string(x.element == "f32" ? "arith.cmpf " : "arith.cmpi ") +
                  predicate + ", " + x.name + ", " + y.name + " : " + x.type());
}

Term Writer::select(const Term &condition, const Term &x, const Term &y) {
  Term result = x;
  result.bound = std::max(x.bound, y.bound);
  std::string types = condition.type() == "i1" ? "" : condition.type() + ", ";
  return define(result, "arith.select " + condition.name + ", " + x.name +
                            ", " + y.name + " : " + types + x.type());
}

Term Writer::toFloat(const Term &x) {
  Term result = x;
  result.element = "f32";
  return define(result, "arith.sitofp " + x.name + " : " + x.type() + " to " +
                            result.type());
}

Term Writer::broadcast(const Term &x, const Term &like) {
  if (x.axes == like.axes && x.features == like.features)
    return x;
  Term result = like;
  result.element = x.element;
  result.bound = x.bound;
  result.isSmooth = x.isSmooth;
  std::string more = x.axes.size() == like.axes.size()
                         ? ""
                         : " like(" + like.name + " : " + like.type() + ")";
  return define(result, "attn.broadcast " + x.name + more + " : " + x.type() +
                            " -> " + result.type());
}

Term Writer::dot(const Term &x, const Term &y) {
  Term result = x;
  result.features.pop_back();
  // Sums of random products seldom are larger than this.
  result.bound = std::sqrt(double(x.last())) * x.bound * y.bound;
  result.isSmooth = true;
  return define(result, "attn.dot " + x.name + ", " + y.name + " : " +
                            x.type() + " -> " + result.type());
}

Term Writer::linear(const Term &x, const Term &weight, const Term *bias) {
  Term result = x;
  result.features.assign(weight.features.begin(),
                         weight.features.end() - x.features.size());
  int64_t inputs = 1;
  for (int64_t size : x.features)
    inputs *= size;
  result.bound = std::sqrt(double(inputs)) * x.bound * weight.bound / 2 +
                 (bias ? bias->bound : 0);
  result.isSmooth = true;
  return define(
      result,
      "attn.linear " + x.name + ", " + weight.name +
          (bias ? " bias(" + bias->name + " : " + bias->type() + ")" : "") +
          " : " + x.type() + ", " + weight.type() + " -> " + result.type());
}

Term Writer::slice(const Term &x, int64_t start, int64_t stop, bool drop) {
  Term result = x;
  if (drop)
    result.features.erase(result.features.begin());
  else
    result.features.front() = stop - start;
  return define(result, "attn.slice " + x.name + "[" + std::to_string(start) +
                            " : " + std::to_string(stop) + "] " +
                            (drop ? "drop " : "") + ": " + x.type() + " -> " +
                            result.type());
}

Term Writer::concat(ArrayRef<Term> values, std::optional<int64_t> feature) {
  Term result = values.front();
  int64_t at = feature ? *feature : int64_t(result.features.size()) - 1;
  result.features[at] = 0;
  std::string names, types;
  for (const Term &value : values) {
    result.features[at] += value.features[at];
    result.bound = std::max(result.bound, value.bound);
    result.isSmooth &= value.isSmooth;
    names += (names.empty() ? "" : ", ") + value.name;
    types += (types.empty() ? "" : ", ") + value.type();
  }
  return define(result,
                "attn.concat " + names +
                    (feature ? " feature " + std::to_string(*feature) : "") +
                    " : " + types + " -> " + result.type());
}

Term Writer::limit(const Term &x, double bound) {
  if (x.bound <= bound)
    return x;
  // A power of two, so that the limited number is as exact.
  double factor = std::exp2(std::floor(std::log2(bound / x.bound)));
  return binary("arith.mulf", x, constant(factor, x), x.bound * factor);
}

Term Writer::unary(const Term &x) {
  auto roughly = [](Term value) {
    value.isSmooth = false;
    return value;
  };
  switch (random.between(0, 11)) {
  case 0:
  case 1:
    return roughly(unary("math.tanh", x, 1));
  case 2:
    return roughly(unary("attn.sigmoid", x, 1));
  case 3: {
    Term small = limit(x, 6);
    return roughly(unary("math.exp", small, std::exp(small.bound)));
  }
  case 4: {
    Term positive = unary("math.absf", x, x.bound);
    positive = binary("arith.addf", positive, constant(0.5, x), x.bound + 0.5);
    return roughly(unary("math.log", positive, std::log(x.bound + 2)));
  }
  case 5: {
    Term positive = unary("math.absf", x, x.bound);
    positive =
        binary("arith.addf", positive, constant(0.125, x), x.bound + 0.125);
    return roughly(unary("math.sqrt", positive, std::sqrt(x.bound + 1)));
  }
  case 6:
    return roughly(unary("math.erf", x, 1));
  case 7:
    return unary("arith.negf", x, x.bound);
  case 8: {
    Term small = limit(x, 30);
    return roughly(
        binary("arith.mulf", small, small, small.bound * small.bound));
  }
  case 9: {
    double number = double(random.between(-16, 16)) / 8;
    return roughly(binary(random.pick({"arith.maximumf", "arith.minimumf"}), x,
                          constant(number, x),
                          std::max(std::abs(number), x.bound)));
  }
  case 10: {
    double number = double(random.between(-16, 16)) / 8;
    return binary("arith.addf", x, constant(number, x),
                  x.bound + std::abs(number));
  }
  default: {
    double number = random.pick({-2.0, -1.0, 0.25, 0.5, 1.5, 3.0});
    return binary("arith.mulf", x, constant(number, x),
                  x.bound * std::abs(number));
  }
  }
}

Term Writer::binary(const Term &x, const Term &y) {
  switch (random.between(0, 7)) {
  case 0:
  case 1:
    return binary("arith.addf", x, y, x.bound + y.bound);
  case 2:
    return binary("arith.subf", x, y, x.bound + y.bound);
  case 3:
  case 4: {
    Term first = limit(x, 30), second = limit(y, 30);
    return binary("arith.mulf", first, second, first.bound * second.bound);
  }
  case 5:
    return binary(random.pick({"arith.maximumf", "arith.minimumf"}), x, y,
                  std::max(x.bound, y.bound));
  default: {
    Term divisor = unary("math.absf", y, y.bound);
    divisor = binary("arith.addf", divisor, constant(1, y), y.bound + 1);
    return binary("arith.divf", x, divisor, x.bound);
  }
  }
}
