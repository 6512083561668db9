//===- Rounding.cpp - what products multiply at a precision ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/differential/Rounding.h"

#include "dialect/Attn.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::differential;

/// The nearest integer, an even one if two are as near.
double Rounding::toInteger(double number) {
  // Much more than rounding to f32 moves a number of up to 256, and small
  // enough that few numbers are so near.
  constexpr double distance = 0x1p-9;
  switch (nudge) {
  case Nudge::None:
    return std::nearbyint(number);
  case Nudge::Up:
    return std::nearbyint(number + distance);
  case Nudge::Down:
    return std::nearbyint(number - distance);
  case Nudge::Random:
    return std::nearbyint(number + distance * random.pick({-1.0, 1.0}));
  }
  llvm_unreachable("all ways are covered");
}

double Rounding::toBfloat16(double number) {
  if (!std::isfinite(number) || number == 0)
    return number;
  // Eight bits, the first of which is not stored.
  int exponent;
  double fraction = std::frexp(number, &exponent);
  return std::ldexp(toInteger(std::ldexp(fraction, 8)), exponent - 8);
}

void Rounding::quantize(MutableArrayRef<double> row) {
  // In f32, as compiled code has it (lowering/cpu/QuantizedProduct.cpp).
  float largest = 0;
  for (double number : row)
    if (!std::isfinite(number))
      largest = std::numeric_limits<float>::infinity();
    else
      largest = std::max(largest, static_cast<float>(std::abs(number)));
  if (!std::isfinite(largest)) {
    std::fill(row.begin(), row.end(), std::nan(""));
    return;
  }
  float inverse = largest >= 0x1p-119f ? 127 / largest : 0;
  double scale = static_cast<double>(largest) / 127;
  for (double &number : row)
    // The largest is not near to the middle of two.
    number = scale * std::clamp(toInteger(static_cast<float>(number) * inverse),
                                -127., 127.);
}

void Rounding::round(Operation *product, MutableArrayRef<double> rows,
                     MutableArrayRef<double> weights, int64_t numInputs) {
  // What a read computes for every pair is no product of a library.
  if (product->getParentOfType<PairOpInterface>())
    return;
  wasUsed = true;
  if (precision == Precision::BF16)
    for (double &weight : weights)
      weight = toBfloat16(weight);
  if (precision == Precision::Int8)
    for (MutableArrayRef<double> matrix : {rows, weights})
      for (size_t begin = 0; begin < matrix.size(); begin += numInputs)
        quantize(matrix.slice(begin, numInputs));
}
