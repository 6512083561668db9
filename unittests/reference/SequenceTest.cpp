//===- SequenceTest.cpp - operations on sequences -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// Rows of length 3, 2 and 0; the padding is NaN.
const Tensor input =
    Tensor::floats({3, 4, 1}, {1, 2, 6, quietNaN, 4, 5, quietNaN, quietNaN,
                               quietNaN, quietNaN, quietNaN, quietNaN});
const Tensor lengths = Tensor::integers({3}, {3, 2, 0});

SmallVector<Tensor> evaluateSequence(const std::string &op,
                                     const std::string &result) {
  return evaluateFunction("%x: tensor<?x?x1xf32>, %n: tensor<?xi32>", result,
                          "%0 = attn." + op +
                              " %x lengths(%n) : tensor<?x?x1xf32> -> " +
                              result + "\nreturn %0 : " + result,
                          {input, lengths});
}

TEST(Sequence, R10TrueLengths) {
  expectNear(evaluateSequence("reverse", "tensor<?x?x1xf32>")[0],
             {6, 2, 1, 0, 5, 4, 0, 0, 0, 0, 0, 0});
  expectNear(evaluateSequence("first", "tensor<?x1xf32>")[0], {1, 4, 0});
  expectNear(evaluateSequence("last", "tensor<?x1xf32>")[0], {6, 5, 0});
  expectNear(evaluateSequence("mean", "tensor<?x1xf32>")[0], {3, 4.5, 0});
}

TEST(Sequence, R10PairsOfOddLength) {
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x?x1xf32>, %n: tensor<?xi32>",
      "tensor<?x?x2xf32>, tensor<?xi32>",
      "%0 = attn.pairs %x lengths(%n) : tensor<?x?x1xf32> -> "
      "tensor<?x?x2xf32>\n%1 = attn.strided_length %n stride 2\n"
      "return %0, %1 : tensor<?x?x2xf32>, tensor<?xi32>",
      {input, lengths});
  expectNear(results[0], {1, 2, 6, 0, 4, 5, 0, 0, 0, 0, 0, 0});
  expectNear(results[1], {2, 1, 0});
}

TEST(Sequence, R10ConvolutionsSeeZerosBeyondTheEnds) {
  // out[t] = 10 + in[t - 1] + 2 in[t] + 3 in[t + 1]
  std::string arguments =
      "%x: tensor<?x?x1xf32>, %n: tensor<?xi32>, %w: tensor<1x1x3xf32>, "
      "%b: tensor<1xf32>";
  auto body = [](const char *stride) {
    return std::string("%0 = attn.conv1d %x lengths(%n) weight(%w : "
                       "tensor<1x1x3xf32>) bias(%b : tensor<1xf32>) stride ") +
           stride +
           " : tensor<?x?x1xf32> -> tensor<?x?x1xf32>\n"
           "return %0 : tensor<?x?x1xf32>";
  };
  SmallVector<Tensor> values = {input, lengths,
                                Tensor::floats({1, 1, 3}, {1, 2, 3}),
                                Tensor::floats({1}, 10.0)};
  expectNear(
      evaluateFunction(arguments, "tensor<?x?x1xf32>", body("1"), values)[0],
      {18, 33, 24, 0, 33, 24, 0, 0, 0, 0, 0, 0});
  expectNear(
      evaluateFunction(arguments, "tensor<?x?x1xf32>", body("2"), values)[0],
      {18, 24, 33, 0, 0, 0});
}

TEST(Sequence, ToRowsAndPosition) {
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x?x1xf32>, %r: tensor<?xi32>",
      "tensor<?x?x1xf32>, tensor<?x?xi32>",
      "%0 = attn.to_rows %x rows(%r) : tensor<?x?x1xf32>\n"
      "%1 = attn.position %0 : tensor<?x?x1xf32> -> tensor<?x?xi32>\n"
      "return %0, %1 : tensor<?x?x1xf32>, tensor<?x?xi32>",
      {Tensor::floats({2, 2, 1}, {1, 2, 3, 4}),
       Tensor::integers({3}, {1, 1, 0})});
  expectNear(results[0], {3, 4, 3, 4, 1, 2});
  expectNear(results[1], {0, 1, 0, 1, 0, 1});
}

TEST(Sequence, ContradictingSizesAreErrors) {
  Module module("func.func @f(%x: tensor<?x?x1xf32>, %n: tensor<?xi32>) -> "
                "tensor<?x1xf32> {\n%0 = attn.last %x lengths(%n) : "
                "tensor<?x?x1xf32> -> tensor<?x1xf32>\n"
                "return %0 : tensor<?x1xf32>\n}");
  EXPECT_EQ(module.getError({input, Tensor::integers({1}, 2)}),
            "'attn.last' expected 3 lengths, one per row, but got 1");
  EXPECT_EQ(module.getError({input, Tensor::integers({3}, {1, 5, 1})}),
            "'attn.last' expected lengths of 0 to 4, but got 5");
  EXPECT_EQ(module.getError({input}), "expected 2 arguments, but got 1");
  EXPECT_EQ(module.getError({lengths, lengths}),
            "expected argument 0 of type tensor<?x?x1xf32>, but got 3xi32");
}

} // namespace
