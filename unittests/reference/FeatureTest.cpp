//===- FeatureTest.cpp - operations on features and arithmetic ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// Evaluates one operation, `%0 = op`, of one argument `%x`.
Tensor evaluateOne(const std::string &op, const std::string &argument,
                   const std::string &result, const Tensor &value) {
  return evaluateFunction("%x: " + argument, result,
                          "%0 = " + op + "\nreturn %0 : " + result, value)[0];
}

TEST(Feature, Broadcast) {
  Tensor value = Tensor::floats({2, 2}, {1, 2, 3, 4});
  // A prefix of the features: each number is repeated.
  expectNear(evaluateOne("attn.broadcast %x : tensor<?x2xf32> -> "
                         "tensor<?x2x3xf32>",
                         "tensor<?x2xf32>", "tensor<?x2x3xf32>", value),
             {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  // Axes that the operand lacks.
  expectNear(
      evaluateFunction("%x: tensor<?x2xf32>, %y: tensor<?x?xi32>",
                       "tensor<?x?x2xf32>",
                       "%0 = attn.broadcast %x like(%y : tensor<?x?xi32>) : "
                       "tensor<?x2xf32> -> tensor<?x?x2xf32>\n"
                       "return %0 : tensor<?x?x2xf32>",
                       {value, Tensor::integers({2, 2}, {0, 0, 0, 0})})[0],
      {1, 2, 1, 2, 3, 4, 3, 4});
}

TEST(Feature, SideBySide) {
  Tensor x = Tensor::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor y = Tensor::floats({1, 3}, {7, 8, 9});
  // One below the other, with axes and without.
  expectNear(evaluateFunction(
                 "%x: tensor<2x3xf32>, %y: tensor<1x3xf32>", "tensor<3x3xf32>",
                 "%0 = attn.concat %x, %y feature 0 : tensor<2x3xf32>, "
                 "tensor<1x3xf32> -> tensor<3x3xf32>\n"
                 "return %0 : tensor<3x3xf32>",
                 {x, y})[0],
             {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Tensor rows = Tensor::floats({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  expectNear(
      evaluateFunction("%x: tensor<?x1x3xf32>", "tensor<?x2x3xf32>",
                       "%0 = attn.concat %x, %x feature 0 : tensor<?x1x3xf32>, "
                       "tensor<?x1x3xf32> -> tensor<?x2x3xf32>\n"
                       "return %0 : tensor<?x2x3xf32>",
                       rows)[0],
      {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  // A range of a feature that is not the first.
  expectNear(evaluateOne("attn.slice %x[1 : 3] feature 1 : tensor<?x1x3xf32> "
                         "-> tensor<?x1x2xf32>",
                         "tensor<?x1x3xf32>", "tensor<?x1x2xf32>", rows),
             {2, 3, 5, 6});
}

TEST(Feature, Matmul) {
  Tensor x = Tensor::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor y = Tensor::floats({2, 3}, {1, 0, -1, 2, 1, 0});
  std::string arguments = "%x: tensor<2x3xf32>, %y: tensor<2x3xf32>";
  expectNear(
      evaluateFunction(arguments, "tensor<2x2xf32>",
                       "%0 = attn.matmul %x, %y transposed : tensor<2x3xf32>, "
                       "tensor<2x3xf32> -> tensor<2x2xf32>\n"
                       "return %0 : tensor<2x2xf32>",
                       {x, y})[0],
      {-2, 4, -2, 13});
  expectNear(evaluateFunction(
                 "%v: tensor<2xf32>, %y: tensor<2x3xf32>", "tensor<3xf32>",
                 "%0 = attn.matmul %v, %y : tensor<2xf32>, tensor<2x3xf32> -> "
                 "tensor<3xf32>\nreturn %0 : tensor<3xf32>",
                 {Tensor::floats({2}, {10, 1}), y})[0],
             {12, 1, -10});
  // More columns than lanes, and a contraction that does not end with a lane.
  std::mt19937 generator(7);
  Tensor lhs = makeRandom({3, 19}, generator);
  Tensor rhs = makeRandom({19, 21}, generator);
  std::vector<double> expected(3 * 21);
  Tensor transposed = Tensor::floats({21, 19}, std::vector<double>(21 * 19));
  for (int64_t n = 0; n < 21; ++n)
    for (int64_t k = 0; k < 19; ++k) {
      transposed.data[n * 19 + k] = rhs.data[k * 21 + n];
      for (int64_t i = 0; i < 3; ++i)
        expected[i * 21 + n] += lhs.data[i * 19 + k] * rhs.data[k * 21 + n];
    }
  expectNear(
      evaluateFunction(
          "%x: tensor<3x19xf32>, %y: tensor<19x21xf32>", "tensor<3x21xf32>",
          "%0 = attn.matmul %x, %y : tensor<3x19xf32>, tensor<19x21xf32> "
          "-> tensor<3x21xf32>\nreturn %0 : tensor<3x21xf32>",
          {lhs, rhs})[0],
      expected);
  expectNear(
      evaluateFunction("%x: tensor<3x19xf32>, %y: tensor<21x19xf32>",
                       "tensor<3x21xf32>",
                       "%0 = attn.matmul %x, %y transposed : tensor<3x19xf32>, "
                       "tensor<21x19xf32> -> tensor<3x21xf32>\n"
                       "return %0 : tensor<3x21xf32>",
                       {lhs, transposed})[0],
      expected);
}

// Several heights of a tile and numbers of blocks: the sums with bias and
// epilogue are those of the operations apart, bit for bit, and a row is the
// same in any company (R13).
TEST(Feature, Epilogue) {
  std::mt19937 generator(11);
  for (int64_t outputs : {150}) {
    std::string n = std::to_string(outputs);
    std::string arguments = "%x: tensor<?x5xf32>, %w: tensor<" + n +
                            "x5xf32>, %b: tensor<" + n +
                            "xf32>, %r: tensor<?x" + n + "xf32>";
    std::string type = "tensor<?x" + n + "xf32>";
    std::string types =
        " : tensor<?x5xf32>, tensor<" + n + "x5xf32> -> " + type + "\n";
    std::string bias = " bias(%b : tensor<" + n + "xf32>)";
    std::string apart = "%0 = attn.linear %x, %w" + bias + types +
                        "%1 = math.tanh %0 : " + type +
                        "\n%2 = attn.broadcast %b like(%r : " + type +
                        ") : tensor<" + n + "xf32> -> " + type +
                        "\n%3 = arith.mulf %1, %2 : " + type +
                        "\n%4 = arith.addf %r, %3 : " + type +
                        "\nreturn %0, %4 : " + type + ", " + type;
    std::string together =
        "%4 = attn.linear %x, %w" + bias + " epilogue(%b, %r : tensor<" + n +
        "xf32>, " + type +
        ") {\n^bb0(%s: f32, %v: f32, %e: f32):\n%1 = math.tanh %s : f32\n"
        "%3 = arith.mulf %1, %v : f32\n%5 = arith.addf %e, %3 : f32\n"
        "attn.yield %5 : f32\n}" +
        types + "return %4 : " + type;
    Tensor weight = makeRandom({outputs, 5}, generator);
    Tensor biases = makeRandom({outputs}, generator);
    Tensor x = makeRandom({11, 5}, generator);
    Tensor residual = makeRandom({11, outputs}, generator);
    Tensor first;
    for (int64_t rows : {1, 2, 3, 11}) {
      auto take = [&](const Tensor &from) {
        int64_t columns = from.shape[1];
        return Tensor::floats({rows, columns},
                              ArrayRef(from.data).take_front(rows * columns));
      };
      SmallVector<Tensor> values = {take(x), weight, biases, take(residual)};
      SmallVector<Tensor> expected =
          evaluateFunction(arguments, type + ", " + type, apart, values);
      Tensor actual = evaluateFunction(arguments, type, together, values)[0];
      expectSame(actual, expected[1]);
      if (rows == 1)
        first = actual;
      expectSame(Tensor::floats({1, outputs},
                                ArrayRef(actual.data).take_front(outputs)),
                 first);
    }
  }
}

// Products that differ in a constant, or have a number twice, are not one.
TEST(Feature, EpiloguesWithConstants) {
  std::string type = "tensor<?x2xf32>", body;
  const char *seconds[] = {"%0", "%half", "%third"};
  for (int i = 0; i < 3; ++i) {
    std::string n = std::to_string(i + 1);
    body += "%" + n + " = attn.linear %x, %w" + n +
            " epilogue() {\n^bb0(%0: f32):\n"
            "%half = arith.constant 0.5 : f32\n"
            "%third = arith.constant 0.25 : f32\n"
            "%y = arith.mulf %0, " +
            seconds[i] +
            " : f32\nattn.yield %y : f32\n} : tensor<?x1xf32>, "
            "tensor<2x1xf32> -> " +
            type + "\n";
  }
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x1xf32>, %w1: tensor<2x1xf32>, %w2: tensor<2x1xf32>, "
      "%w3: tensor<2x1xf32>",
      type + ", " + type + ", " + type,
      body + "return %1, %2, %3 : " + type + ", " + type + ", " + type,
      {Tensor::floats({1, 1}, 4.0), Tensor::floats({2, 1}, {1, 2}),
       Tensor::floats({2, 1}, {1, 2}), Tensor::floats({2, 1}, {1, 2})});
  expectNear(results[0], {16, 64});
  expectNear(results[1], {2, 4});
  expectNear(results[2], {1, 2});
}

TEST(Feature, EmbedAndLookup) {
  Tensor table = Tensor::floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expectNear(evaluateFunction(
                 "%x: tensor<?xi32>, %t: tensor<3x2xf32>", "tensor<?x2xf32>",
                 "%0 = attn.embed %x, %t : tensor<?xi32>, tensor<3x2xf32> -> "
                 "tensor<?x2xf32>\nreturn %0 : tensor<?x2xf32>",
                 {Tensor::integers({3}, {2, -1, 0}), table})[0],
             {5, 6, 0, 0, 1, 2});
  Module module("func.func @f(%x: tensor<?xi32>, %t: tensor<3x2xf32>) -> "
                "tensor<?x2xf32> {\n%0 = attn.lookup %t[%x] : "
                "tensor<3x2xf32>, tensor<?xi32> -> tensor<?x2xf32>\n"
                "return %0 : tensor<?x2xf32>\n}");
  expectNear(module.evaluate({Tensor::integers({1}, 1), table})[0], {3, 4});
  for (int32_t index : {-1, 3})
    EXPECT_EQ(module.getError({Tensor::integers({1}, index), table}),
              "'attn.lookup' expected an index of 0 to 2, because the table "
              "has size 3, but got " +
                  std::to_string(index));
}

TEST(Feature, LinearContractsAllFeatures) {
  expectNear(
      evaluateFunction(
          "%x: tensor<?x2x2xf32>, %w: tensor<3x2x2xf32>, "
          "%b: tensor<3xf32>",
          "tensor<?x3xf32>",
          "%0 = attn.linear %x, %w bias(%b : tensor<3xf32>) : "
          "tensor<?x2x2xf32>, tensor<3x2x2xf32> -> "
          "tensor<?x3xf32>\nreturn %0 : tensor<?x3xf32>",
          {Tensor::floats({1, 2, 2}, {1, 2, 3, 4}),
           Tensor::floats({3, 2, 2}, {1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1}),
           Tensor::floats({3}, {10, 20, 30})})[0],
      {11, 26, 40});
}

TEST(Feature, ProductsAndParts) {
  expectNear(evaluateFunction("%x: tensor<2xf32>, %y: tensor<2x3xf32>",
                              "tensor<2x3xf32>",
                              "%0 = attn.outer %x, %y : tensor<2xf32>, "
                              "tensor<2x3xf32> -> tensor<2x3xf32>\n"
                              "return %0 : tensor<2x3xf32>",
                              {Tensor::floats({2}, {2, 10}),
                               Tensor::floats({2, 3}, {1, 2, 3, 4, 5, 6})})[0],
             {2, 4, 6, 40, 50, 60});
  expectNear(evaluateFunction("%x: tensor<2x2xf32>, %y: tensor<2xf32>",
                              "tensor<2x2x2xf32>",
                              "%0 = attn.outer %x, %y : tensor<2x2xf32>, "
                              "tensor<2xf32> -> tensor<2x2x2xf32>\n"
                              "return %0 : tensor<2x2x2xf32>",
                              {Tensor::floats({2, 2}, {1, 2, 3, 4}),
                               Tensor::floats({2}, {1, 10})})[0],
             {1, 10, 2, 20, 3, 30, 4, 40});
  // Grouped heads: [G, R] with [G, P] gives [G, R, P].
  expectNear(evaluateFunction("%x: tensor<2x2xf32>, %y: tensor<2x1xf32>",
                              "tensor<2x2x1xf32>",
                              "%0 = attn.outer %x, %y : tensor<2x2xf32>, "
                              "tensor<2x1xf32> -> tensor<2x2x1xf32>\n"
                              "return %0 : tensor<2x2x1xf32>",
                              {Tensor::floats({2, 2}, {1, 2, 3, 4}),
                               Tensor::floats({2, 1}, {1, 10})})[0],
             {1, 2, 30, 40});
  expectNear(evaluateFunction("%x: tensor<?x2xf32>, %y: tensor<?x1xf32>",
                              "tensor<?x3xf32>",
                              "%0 = attn.concat %x, %y : tensor<?x2xf32>, "
                              "tensor<?x1xf32> -> tensor<?x3xf32>\n"
                              "return %0 : tensor<?x3xf32>",
                              {Tensor::floats({2, 2}, {1, 2, 4, 5}),
                               Tensor::floats({2, 1}, {3, 6})})[0],
             {1, 2, 3, 4, 5, 6});
  expectNear(evaluateOne("attn.slice %x[1 : 2] drop : tensor<?x2x2xf32> -> "
                         "tensor<?x2xf32>",
                         "tensor<?x2x2xf32>", "tensor<?x2xf32>",
                         Tensor::floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})),
             {3, 4, 7, 8});
  expectNear(evaluateOne("attn.maxout %x pieces 2 : tensor<6xf32> -> "
                         "tensor<3xf32>",
                         "tensor<6xf32>", "tensor<3xf32>",
                         Tensor::floats({6}, {1, 2, quietNaN, 3, 4, quietNaN})),
             {2, quietNaN, quietNaN});
}

TEST(Feature, NormalizersAndNorms) {
  expectNear(evaluateOne("attn.softmax %x : tensor<?x2xf32>", "tensor<?x2xf32>",
                         "tensor<?x2xf32>",
                         Tensor::floats({1, 2}, {1e4, 1e4 - 1})),
             {0.731059, 0.268941});
  expectNear(evaluateOne("attn.hardmax %x : tensor<?x2x2xf32>",
                         "tensor<?x2x2xf32>", "tensor<?x2x2xf32>",
                         Tensor::floats({1, 2, 2}, {3, 3, 1, 2})),
             {1, 0, 0, 1});
  std::string arguments =
      "%x: tensor<?x2xf32>, %w: tensor<2xf32>, %b: tensor<2xf32>";
  SmallVector<Tensor> values = {Tensor::floats({1, 2}, {1, 3}),
                                Tensor::floats({2}, {2, 2}),
                                Tensor::floats({2}, {10, 10})};
  expectNear(evaluateFunction(arguments, "tensor<?x2xf32>",
                              "%0 = attn.layer_norm %x weight(%w : "
                              "tensor<2xf32>) bias(%b : tensor<2xf32>) epsilon "
                              "3.0 : tensor<?x2xf32> -> tensor<?x2xf32>\n"
                              "return %0 : tensor<?x2xf32>",
                              values)[0],
             {9, 11});
  expectNear(evaluateFunction(arguments, "tensor<?x2xf32>",
                              "%0 = attn.rms_norm %x weight(%w : "
                              "tensor<2xf32>) epsilon 4.0 : tensor<?x2xf32> -> "
                              "tensor<?x2xf32>\nreturn %0 : tensor<?x2xf32>",
                              values)[0],
             {2.0 / 3, 2});
}

/// Of values that have no axis, such as parameters: the host makes these.
TEST(Feature, NormalizersAndNormsWithoutAxes) {
  expectNear(evaluateOne("attn.softmax %x : tensor<2xf32>", "tensor<2xf32>",
                         "tensor<2xf32>", Tensor::floats({2}, {1e4, 1e4 - 1})),
             {0.731059, 0.268941});
  expectNear(evaluateOne("attn.hardmax %x : tensor<2x2xf32>", "tensor<2x2xf32>",
                         "tensor<2x2xf32>",
                         Tensor::floats({2, 2}, {3, 3, 1, 2})),
             {1, 0, 0, 1});
  std::string arguments =
      "%x: tensor<2xf32>, %w: tensor<2xf32>, %b: tensor<2xf32>";
  SmallVector<Tensor> values = {Tensor::floats({2}, {1, 3}),
                                Tensor::floats({2}, {2, 2}),
                                Tensor::floats({2}, {10, 10})};
  expectNear(evaluateFunction(arguments, "tensor<2xf32>",
                              "%0 = attn.layer_norm %x weight(%w : "
                              "tensor<2xf32>) bias(%b : tensor<2xf32>) epsilon "
                              "3.0 : tensor<2xf32> -> tensor<2xf32>\n"
                              "return %0 : tensor<2xf32>",
                              values)[0],
             {9, 11});
  expectNear(evaluateFunction(arguments, "tensor<2xf32>",
                              "%0 = attn.rms_norm %x weight(%w : "
                              "tensor<2xf32>) epsilon 4.0 : tensor<2xf32> -> "
                              "tensor<2xf32>\nreturn %0 : tensor<2xf32>",
                              values)[0],
             {2.0 / 3, 2});
}

TEST(Feature, Positions) {
  Tensor position = Tensor::integers({1}, 2);
  double slow = std::pow(10000, -0.5);
  expectNear(
      evaluateOne("attn.sinusoid %x interleaved steps 2.0 : "
                  "tensor<?xi32> -> tensor<?x4xf32>",
                  "tensor<?xi32>", "tensor<?x4xf32>", position),
      {std::sin(2), std::cos(2), std::sin(2 * slow), std::cos(2 * slow)});
  expectNear(evaluateOne("attn.sinusoid %x halves steps 1.0 : "
                         "tensor<?xi32> -> tensor<?x4xf32>",
                         "tensor<?xi32>", "tensor<?x4xf32>", position),
             {std::sin(2), std::sin(2e-4), std::cos(2), std::cos(2e-4)});
  auto rotate = [&](const std::string &layout) {
    return evaluateFunction(
        "%x: tensor<?x4xf32>, %p: tensor<?xi32>", "tensor<?x4xf32>",
        "%0 = attn.rotary %x position(%p : "
        "tensor<?xi32>) " +
            layout +
            " base 10000.0 : tensor<?x4xf32> -> "
            "tensor<?x4xf32>\nreturn %0 : tensor<?x4xf32>",
        {Tensor::floats({1, 4}, {1, 0, 0, 1}), position})[0];
  };
  double turn = 2 * slow; // of the second pair
  expectNear(rotate("interleaved"),
             {std::cos(2), std::sin(2), -std::sin(turn), std::cos(turn)});
  expectNear(rotate("halves"),
             {std::cos(2), -std::sin(turn), std::sin(2), std::cos(turn)});
}

TEST(Arithmetic, Comparisons) {
  Tensor values = Tensor::floats({3}, {1, quietNaN, 3});
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<3xf32>, %y: tensor<3xf32>",
      "tensor<3xi1>, tensor<3xi1>, tensor<3xf32>",
      "%0 = arith.cmpf olt, %x, %y : tensor<3xf32>\n"
      "%1 = arith.cmpf uge, %x, %y : tensor<3xf32>\n"
      "%2 = arith.select %0, %x, %y : tensor<3xi1>, tensor<3xf32>\n"
      "return %0, %1, %2 : tensor<3xi1>, tensor<3xi1>, tensor<3xf32>",
      {values, Tensor::floats({3}, {2, 2, 2})});
  expectNear(results[0], {1, 0, 0});
  expectNear(results[1], {0, 1, 1});
  expectNear(results[2], {1, 2, 2});
}

TEST(Arithmetic, IntegersWrapAndDivideTowardsZero) {
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<2xi32>, %y: tensor<2xi32>",
      "tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xf32>, "
      "tensor<2xi32>",
      "%0 = arith.addi %x, %y : tensor<2xi32>\n"
      "%1 = arith.divsi %x, %y : tensor<2xi32>\n"
      "%2 = arith.remsi %x, %y : tensor<2xi32>\n"
      "%3 = arith.sitofp %1 : tensor<2xi32> to tensor<2xf32>\n"
      "%c = arith.cmpi slt, %x, %y : tensor<2xi32>\n"
      "%4 = arith.extui %c : tensor<2xi1> to tensor<2xi32>\n"
      "return %0, %1, %2, %3, %4 : tensor<2xi32>, tensor<2xi32>, "
      "tensor<2xi32>, tensor<2xf32>, tensor<2xi32>",
      {Tensor::integers({2}, {2147483647, -7}), Tensor::integers({2}, {1, 2})});
  expectNear(results[0], {-2147483648.0, -5});
  expectNear(results[1], {2147483647.0, -3});
  expectNear(results[2], {0, -1});
  expectNear(results[3], {2147483647.0, -3});
  expectNear(results[4], {0, 1});
}

TEST(Arithmetic, NegativeConstants) {
  SmallVector<Tensor> results =
      evaluateFunction("%x: tensor<2xi32>", "tensor<2xi32>, tensor<2xi32>",
                       "%c = arith.constant -3 : i32\n"
                       "%t = arith.constant dense<[-1, 4]> : tensor<2xi32>\n"
                       "%b = attn.broadcast %c : i32 -> tensor<2xi32>\n"
                       "%0 = arith.maxsi %x, %b : tensor<2xi32>\n"
                       "%1 = arith.floordivsi %x, %t : tensor<2xi32>\n"
                       "return %0, %1 : tensor<2xi32>, tensor<2xi32>",
                       {Tensor::integers({2}, {-4, -2})});
  expectNear(results[0], {-3, -2});
  expectNear(results[1], {4, -1});
}

TEST(Arithmetic, DividesByConstants) {
  const std::string type = "tensor<9xi32>";
  Tensor numbers =
      Tensor::integers({9}, {-7, -6, -3, -1, 0, 1, 3, 5, 1000000007});
  for (int64_t divisor : {1, 2, 3, 5, 7, 12, 128, -1, -3, -4}) {
    std::string text = "%d = arith.constant " + std::to_string(divisor) +
                       " : i32\n%y = attn.broadcast %d : i32 -> " + type + "\n";
    for (auto [name, op] : {std::pair("%0", "divsi"),
                            {"%1", "floordivsi"},
                            {"%2", "ceildivsi"},
                            {"%3", "remsi"}})
      text += std::string(name) + " = arith." + op + " %x, %y : " + type + "\n";
    std::string types = type + ", " + type + ", " + type + ", " + type;
    SmallVector<Tensor> results =
        evaluateFunction("%x: " + type, types,
                         text + "return %0, %1, %2, %3 : " + types, {numbers});
    for (auto [i, number] : llvm::enumerate(numbers.data)) {
      auto x = static_cast<int64_t>(number);
      double quotient = number / static_cast<double>(divisor);
      EXPECT_EQ(results[0].data[i], x / divisor) << x << " by " << divisor;
      EXPECT_EQ(results[1].data[i], std::floor(quotient))
          << x << " by " << divisor;
      EXPECT_EQ(results[2].data[i], std::ceil(quotient))
          << x << " by " << divisor;
      EXPECT_EQ(results[3].data[i], x % divisor) << x << " by " << divisor;
    }
  }
}

// What the front end writes for `floor`.
TEST(Arithmetic, Floor) {
  expectNear(
      evaluateFunction(
          "%x: tensor<11xf32>", "tensor<11xi32>",
          "%l = arith.constant dense<-2147483648.0> : tensor<11xf32>\n"
          "%m = arith.constant dense<2147483520.0> : tensor<11xf32>\n"
          "%a = arith.cmpf oge, %x, %l : tensor<11xf32>\n"
          "%s = arith.select %a, %x, %l : tensor<11xi1>, tensor<11xf32>\n"
          "%v = arith.minimumf %s, %m : tensor<11xf32>\n"
          "%w = arith.fptosi %v : tensor<11xf32> to tensor<11xi32>\n"
          "%b = arith.sitofp %w : tensor<11xi32> to tensor<11xf32>\n"
          "%g = arith.cmpf ogt, %b, %v : tensor<11xf32>\n"
          "%e = arith.extui %g : tensor<11xi1> to tensor<11xi32>\n"
          "%0 = arith.subi %w, %e : tensor<11xi32>\n"
          "return %0 : tensor<11xi32>",
          {Tensor::floats({11}, {-2.5, -2, -0.25, 0, 0.75, 2, 1e20, -1e20,
                                 infinity, -infinity, quietNaN})})[0],
      {-3, -2, -1, 0, 0, 2, 2147483520.0, -2147483648.0, 2147483520.0,
       -2147483648.0, -2147483648.0});
}

TEST(Arithmetic, MaximumKeepsNaN) {
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<2xf32>, %y: tensor<2xf32>", "tensor<2xf32>, tensor<2xf32>",
      "%0 = arith.maximumf %x, %y : tensor<2xf32>\n"
      "%1 = arith.minimumf %x, %y : tensor<2xf32>\n"
      "return %0, %1 : tensor<2xf32>, tensor<2xf32>",
      {Tensor::floats({2}, {1, quietNaN}), Tensor::floats({2}, {2, 2})});
  expectNear(results[0], {2, quietNaN});
  expectNear(results[1], {1, quietNaN});
}

TEST(Arithmetic, UnknownOperationsAreErrors) {
  Module module("func.func private @g() -> f32\nfunc.func @f() -> f32 {\n"
                "%0 = call @g() : () -> f32\nreturn %0 : f32\n}");
  EXPECT_EQ(module.getError({}), "'func.call' cannot be evaluated");
}

} // namespace
