//===- MathTest.cpp - the accuracy of compiled mathematics ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, tanh, log and sigmoid over all of f32: every 1021st number by its bits,
// which meets every exponent many times, and the special ones. The standard
// library in double precision says what is right.
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// Numbers from the whole range of f32, their count a multiple of 16.
std::vector<double> allNumbers() {
  std::vector<double> numbers;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 1021)
    numbers.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (double special :
       {0.0,      -0.0,     1.0,   -1.0,   infinity,  -infinity, quietNaN,
        88.72283, 88.72284, 88.73, 89.5,   -87.3,     -87.4,     -103.9,
        -103.98,  -104.5,   0.625, -0.625, 0.6249999, 9.0,       -9.0})
    numbers.push_back(static_cast<float>(special));
  numbers.resize((numbers.size() + 15) / 16 * 16);
  return numbers;
}

/// Evaluates `op` on vectors of 16 features and on scalars.
std::pair<Tensor, Tensor> evaluateBothWays(const std::string &op,
                                           const std::vector<double> &numbers) {
  auto run = [&](const std::string &type, ArrayRef<int64_t> shape) {
    return evaluateFunction("%x: " + type, type,
                            "%y = " + op + " %x : " + type +
                                "\nreturn %y : " + type,
                            Tensor::floats(shape, numbers))[0];
  };
  int64_t count = numbers.size();
  return {run("tensor<?x16xf32>", {count / 16, 16}),
          run("tensor<?xf32>", {count})};
}

/// The distance between f32 numbers around `x`.
double ulp(double x) {
  float magnitude = std::max(std::abs(static_cast<float>(x)), 1.17549435e-38f);
  return std::nextafter(magnitude, std::numeric_limits<float>::infinity()) -
         magnitude;
}

void check(const std::string &op, double (*exact)(double), double maxUlps) {
  std::vector<double> numbers = allNumbers();
  auto [lanes, scalars] = evaluateBothWays(op, numbers);
  double worst = 0, worstAt = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    // One lane of a vector gives the same bits as a scalar (R21).
    ASSERT_EQ(std::bit_cast<uint64_t>(lanes.data[i]),
              std::bit_cast<uint64_t>(scalars.data[i]))
        << op << " of " << numbers[i];
    double expected = exact(numbers[i]), got = lanes.data[i];
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << op << " of " << numbers[i];
      continue;
    }
    if (std::isinf(static_cast<float>(expected))) {
      ASSERT_EQ(got, static_cast<float>(expected))
          << op << " of " << numbers[i];
      continue;
    }
    double distance = std::abs(got - expected) / ulp(expected);
    if (!(distance <= worst)) {
      worst = distance;
      worstAt = numbers[i];
    }
  }
  EXPECT_LE(worst, maxUlps) << op << " of " << worstAt;
  testing::Test::RecordProperty(op + " ulps", std::to_string(worst));
}

TEST(Math, Exp) { check("math.exp", std::exp, 1.5); }
TEST(Math, Tanh) { check("math.tanh", std::tanh, 2); }
TEST(Math, Log) { check("math.log", std::log, 1.5); }
TEST(Math, Erf) { check("math.erf", std::erf, 3); }
TEST(Math, Sigmoid) {
  check("attn.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 3);
}

} // namespace
