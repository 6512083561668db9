//===- PrecisionTest.cpp - products of bytes and of bfloat16 --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares products at --precision int8 and bf16 with plain C++, to the bit, by
// all instructions that this processor has.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/QuantizedProduct.h"
#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

#include "llvm/TargetParser/Host.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// A matrix, and a number behind it.
struct Matrix {
  Matrix(int64_t numRows, int64_t numColumns)
      : numRows(numRows), numColumns(numColumns),
        data(numRows * numColumns + 1) {}
  Matrix(const Matrix &) = delete;
  float &at(int64_t row, int64_t column) {
    return data[row * numColumns + column];
  }
  ArrayRef<float> row(int64_t index) {
    return ArrayRef(data).slice(index * numColumns, numColumns);
  }

  Jit::Array array() { return {data.data(), {numRows, numColumns}}; }

  int64_t numRows, numColumns;
  std::vector<float> data;
};

/// What a row or the weights of an output become.
struct Quantized {
  explicit Quantized(ArrayRef<float> numbers) {
    float maximum = 0;
    for (float number : numbers)
      maximum = std::isnan(number) || std::isnan(maximum)
                    ? nan
                    : std::max(maximum, std::fabs(number));
    scale = std::isfinite(maximum) ? maximum / 127 : nan;
    float inverse = maximum >= 0x1p-119f ? 127 / maximum : 0;
    for (float number : numbers)
      integers.push_back(
          std::isfinite(maximum)
              ? static_cast<int32_t>(std::nearbyint(number * inverse))
              : 0);
  }
  float scale;
  std::vector<int32_t> integers;
};

float multiply(const Quantized &row, const Quantized &weights, float bias) {
  int32_t sum = 0;
  for (auto [x, w] : llvm::zip(row.integers, weights.integers)) {
    EXPECT_LE(std::abs(x), 127);
    EXPECT_LE(std::abs(w), 127);
    sum += x * w;
  }
  return std::fma(static_cast<float>(sum), weights.scale * row.scale, bias);
}

/// The same bits, or NaN both.
void expectSame(float expected, float got, const std::string &where) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << where << ": " << got;
  else
    EXPECT_EQ(llvm::bit_cast<uint32_t>(expected), llvm::bit_cast<uint32_t>(got))
        << where << ": expected " << expected << ", but got " << got;
}

/// What this processor has.
SmallVector<ByteDot> getByteDots() {
  SmallVector<ByteDot> dots = {ByteDot::Generic};
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  for (auto [feature, dot] :
       {std::pair("sse2", ByteDot::Sse2), std::pair("avx2", ByteDot::Avx2),
        std::pair("avx512bw", ByteDot::Avx512),
        std::pair("avxvnni", ByteDot::AvxVnni),
        std::pair("avx512vnni", ByteDot::Avx512Vnni)})
    if (features.lookup(feature))
      dots.push_back(dot);
  return dots;
}

struct Product {
  Product(int64_t numInputs, int64_t numOutputs, bool hasBias,
          const ProductOptions &products)
      : hasBias(hasBias) {
    std::string k = std::to_string(numInputs), n = std::to_string(numOutputs);
    std::string weight = "tensor<" + n + "x" + k + "xf32>",
                row = "tensor<?x" + k + "xf32>",
                result = "tensor<?x" + n + "xf32>",
                bias = "tensor<" + n + "xf32>";
    Module source(
        "func.func @f(%x: " + row + ", %W: " + weight + ", %b: " + bias +
        ") -> " + result + " {\n  %0 = attn.linear %x, %W " +
        (hasBias ? "bias(%b : " + bias + ")" : "") + " : " + row + ", " +
        weight + " -> " + result + "\n  return %0 : " + result + "\n}");
    std::string error;
    JitOptions options;
    options.products = products;
    jit = Jit::compile(*source.module, error, options);
    if (!jit)
      llvm::report_fatal_error(error.c_str());
  }

  void run(Matrix &x, Matrix &weights, Matrix &bias, Matrix &results) {
    std::fill(results.data.begin(), results.data.end(), -77.0f);
    jit->call("f", {x.array(),
                    weights.array(),
                    {bias.data.data(), {bias.numColumns}},
                    results.array()});
    EXPECT_EQ(results.data.back(), -77.0f) << "written beyond the end";
  }

  bool hasBias;
  std::unique_ptr<Jit> jit;
};

/// Numbers of very different size, exact halves, zeros.
void fill(Matrix &matrix, std::mt19937 &generator) {
  std::normal_distribution<float> normal;
  for (int64_t row = 0; row < matrix.numRows; ++row) {
    float size = std::exp(8 * normal(generator));
    for (int64_t column = 0; column < matrix.numColumns; ++column)
      matrix.at(row, column) = size * normal(generator);
    if (row % 5 == 3)
      for (int64_t column = 0; column < matrix.numColumns; ++column)
        matrix.at(row, column) = 0;
    // Ties: 127 is the largest, others end in a half.
    if (row % 5 == 4)
      for (int64_t column = 0; column < matrix.numColumns; ++column)
        matrix.at(row, column) =
            column == 0 ? -127 : static_cast<float>(column % 127) - 62.5f;
  }
}

constexpr std::tuple<int64_t, int64_t, bool> shapes[] = {
    {1, 1, false}, {3, 17, true}, {37, 100, true}, {130, 33, false}};

TEST(QuantizedProduct, EqualsIntegers) {
  if (usesDevice())
    GTEST_SKIP() << "weights are prepared by the CPU";
  for (ByteDot dot : getByteDots())
    for (auto [numInputs, numOutputs, hasBias] : shapes) {
      std::mt19937 generator(numInputs);
      Matrix weights(numOutputs, numInputs), bias(1, numOutputs);
      fill(weights, generator);
      fill(bias, generator);
      Product product(numInputs, numOutputs, hasBias, {Precision::Int8, dot});
      for (int64_t numRows = 0; numRows <= 13; ++numRows) {
        Matrix x(numRows, numInputs), results(numRows, numOutputs);
        fill(x, generator);
        product.run(x, weights, bias, results);
        for (int64_t row = 0; row < numRows; ++row) {
          Quantized quantized(x.row(row));
          for (int64_t output = 0; output < numOutputs; ++output)
            expectSame(multiply(quantized, Quantized(weights.row(output)),
                                hasBias ? bias.at(0, output) : 0),
                       results.at(row, output),
                       "instruction " + std::to_string(int(dot)) + ", row " +
                           std::to_string(row) + " of " +
                           std::to_string(numRows) + ", output " +
                           std::to_string(output));
        }
      }
    }
}

TEST(QuantizedProduct, R13NaNStaysInItsRow) {
  if (usesDevice())
    GTEST_SKIP() << "weights are prepared by the CPU";
  constexpr int64_t numInputs = 21, numOutputs = 18, numRows = 9;
  std::mt19937 generator(1);
  Matrix weights(numOutputs, numInputs), bias(1, numOutputs),
      x(numRows, numInputs), before(numRows, numOutputs),
      after(numRows, numOutputs);
  fill(weights, generator);
  fill(bias, generator);
  fill(x, generator);
  for (ByteDot dot : getByteDots()) {
    Product product(numInputs, numOutputs, true, {Precision::Int8, dot});
    product.run(x, weights, bias, before);
    std::vector<float> kept = x.data;
    x.at(1, 20) = nan;
    x.at(4, 0) = infinity;
    x.at(6, 7) = -infinity;
    x.at(7, 0) = nan; // beside an infinity
    x.at(7, 1) = infinity;
    product.run(x, weights, bias, after);
    for (int64_t row = 0; row < numRows; ++row)
      for (int64_t output = 0; output < numOutputs; ++output)
        expectSame(row == 1 || row == 4 || row == 6 || row == 7
                       ? nan
                       : before.at(row, output),
                   after.at(row, output), "row " + std::to_string(row));
    x.data = kept;
    // In a weight, it stays in its output.
    std::vector<float> keptWeights = weights.data;
    weights.at(17, 20) = nan;
    product.run(x, weights, bias, after);
    for (int64_t row = 0; row < numRows; ++row)
      for (int64_t output = 0; output < numOutputs; ++output)
        expectSame(output == 17 ? nan : before.at(row, output),
                   after.at(row, output), "output " + std::to_string(output));
    weights.data = keptWeights;
  }
}

/// The nearest number whose lower 16 bits are zero, ties to an even one.
float roundToBfloat16(float number) {
  if (std::isnan(number))
    return nan;
  auto bits = llvm::bit_cast<uint32_t>(number);
  uint32_t lower = bits & 0xffff, upper = bits >> 16;
  if (lower > 0x8000 || (lower == 0x8000 && upper % 2 == 1))
    ++upper;
  return llvm::bit_cast<float>(upper << 16);
}

TEST(Bfloat16Product, EqualsRoundedWeights) {
  if (usesDevice())
    GTEST_SKIP() << "weights are prepared by the CPU";
  for (auto [numInputs, numOutputs, hasBias] : shapes) {
    std::mt19937 generator(numInputs);
    Matrix weights(numOutputs, numInputs), bias(1, numOutputs);
    fill(weights, generator);
    fill(bias, generator);
    // Ties to both sides, what rounds to infinity, and NaNs of lower bits only.
    constexpr uint32_t special[] = {0x3f808000, 0x3f818000, 0x3f808001,
                                    0x3f80ffff, 0x7f7fffff, 0xff7f8000,
                                    0x7f800001, 0xff800000};
    for (auto [index, bits] : llvm::enumerate(special))
      if (index < weights.data.size() - 1 && numOutputs > 1)
        weights.data[index * numInputs % (weights.data.size() - 1)] =
            llvm::bit_cast<float>(bits);
    Product product(numInputs, numOutputs, hasBias, {Precision::BF16});
    for (int64_t numRows : {1, 2, 5, 13}) {
      Matrix x(numRows, numInputs), results(numRows, numOutputs);
      fill(x, generator);
      product.run(x, weights, bias, results);
      for (int64_t row = 0; row < numRows; ++row)
        for (int64_t output = 0; output < numOutputs; ++output) {
          float sum = hasBias ? bias.at(0, output) : 0;
          for (int64_t input = 0; input < numInputs; ++input)
            sum = std::fma(x.at(row, input),
                           roundToBfloat16(weights.at(output, input)), sum);
          expectSame(sum, results.at(row, output),
                     "row " + std::to_string(row) + ", output " +
                         std::to_string(output));
        }
    }
  }
}

} // namespace
