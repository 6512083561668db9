//===- ProductTest.cpp - products in every arrangement --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "dialect/Attn.h"
#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr int numInputs = 37, numOutputs = 83;

// The epilogue doubles what the product and the bias are.
const char *const modelText = R"(
attn.model @m {
  attn.vocabulary @v size 83
  attn.parameter @W : tensor<83x37xf32>
  attn.parameter @b : tensor<83xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x37xf32>):
    %W = attn.get_parameter @W : tensor<83x37xf32>
    %b = attn.get_parameter @b : tensor<83xf32>
    %l = attn.linear %s, %W bias(%b : tensor<83xf32>)
        : tensor<?x37xf32>, tensor<83x37xf32> -> tensor<?x83xf32>
    %d = arith.addf %l, %l : tensor<?x83xf32>
    attn.predict %d : tensor<?x83xf32> states(%s : tensor<?x37xf32>)
  }
}
)";

class Product : public testing::TestWithParam<const char *> {};

/// Each element is a chain of fused multiply-adds that begins with the bias and
/// follows the inputs, in every schedule and for every number of rows (R13,
/// R21): exactly the numbers of a plain loop.
TEST_P(Product, R13EveryElementIsOneChain) {
  if (usesDevice() && GetParam() != StringRef("portable"))
    GTEST_SKIP() << "a device has schedules of its own";
  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect>();
  auto module = parseSourceString<ModuleOp>(modelText, &context);
  ASSERT_TRUE(module);
  std::string error;
  JitOptions options;
  options.instructionSet = GetParam();
  auto jit = Jit::compile(*module, error, options);
  ASSERT_TRUE(jit) << error;

  std::mt19937 generator(3);
  std::normal_distribution<float> distribution;
  auto random = [&](size_t count) {
    std::vector<float> numbers(count);
    for (float &number : numbers)
      number = distribution(generator);
    return numbers;
  };
  std::vector<float> weights = random(numOutputs * numInputs),
                     bias = random(numOutputs),
                     packed((numOutputs + 15) / 16 * 16 * numInputs);
  int64_t none[ATTN_EXTENT_AXIS] = {};
  jit->run("prepare", none, {packed.data(), weights.data()});
  for (int rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 17, 48, 49, 97, 145}) {
    std::vector<float> states = random(rows * numInputs),
                       next(rows * numInputs), logits(rows * numOutputs);
    std::vector<int32_t> unused(rows);
    // Also in shares, of which some have no block of outputs.
    int64_t shares = rows % 4 + 1;
    int64_t extents[ATTN_EXTENT_AXIS] = {rows, rows,       0,     0,
                                         0,    numOutputs, shares};
    // All logits, so none of the best only.
    jit->run("step", extents,
             {unused.data(), unused.data(), unused.data(), states.data(),
              logits.data(), next.data(), nullptr, nullptr, nullptr,
              packed.data(), bias.data()});
    for (int row = 0; row < rows; ++row)
      for (int output = 0; output < numOutputs; ++output) {
        float sum = bias[output];
        for (int k = 0; k < numInputs; ++k) {
          float x = states[row * numInputs + k],
                w = weights[output * numInputs + k];
          // On a device numerics are portable ones.
          if (usesDevice()) {
            volatile float product = x * w;
            sum += product;
          } else {
            sum = std::fma(x, w, sum);
          }
        }
        ASSERT_EQ(logits[row * numOutputs + output], sum + sum)
            << "row " << row << " of " << rows << ", output " << output;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Product,
                         testing::Values("portable", "avx2", "avx512"));

} // namespace
