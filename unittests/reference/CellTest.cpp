//===- CellTest.cpp - recurrent cells and layers --------------------------===//
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

constexpr const char *gruTypes =
    "tensor<3x1xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>";

/// One step of a GRU of one unit: h = 1, r = 0.5, U = 1, c = 1, W x + b = 0,
/// and z as the bias says.
double stepGru(const std::string &reset, double updateBias) {
  std::string types = gruTypes;
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x1xf32>, %h: tensor<?x1xf32>, %wi: tensor<3x1xf32>, "
      "%wh: tensor<3x1xf32>, %bi: tensor<3xf32>, %bh: tensor<3xf32>",
      "tensor<?x1xf32>",
      "%0 = attn.gru_cell %x, %h reset " + reset +
          " weights(%wi, %wh, %bi, %bh : " + types +
          ") : tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>\n"
          "return %0 : tensor<?x1xf32>",
      {Tensor::floats({1, 1}, 0.0), Tensor::floats({1, 1}, 1.0),
       Tensor::floats({3, 1}, {0, 0, 0}), Tensor::floats({3, 1}, {0, 0, 1}),
       Tensor::floats({3}, {0, updateBias, 0}),
       Tensor::floats({3}, {0, 0, 1})});
  return results[0].data[0];
}

TEST(Cell, R11Reset) {
  // z = 0: the new state is n.
  EXPECT_NEAR(stepGru("after", -1000), 0.761594, 1e-6);
  EXPECT_NEAR(stepGru("before", -1000), 0.905148, 1e-6);
  // z = 1: the state stays.
  EXPECT_NEAR(stepGru("after", 1000), 1, 1e-9);
  EXPECT_NEAR(stepGru("before", 1000), 1, 1e-9);
  // h' = (1 - z) n + z h.
  EXPECT_NEAR(stepGru("after", std::log(3.0)), 0.25 * 0.761594 + 0.75, 1e-6);
}

double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Cell, R12GateOrderOfGru) {
  // Every gate has a bias of its own; x = 0 and U = 0 but for n.
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x1xf32>, %h: tensor<?x1xf32>, %wi: tensor<3x1xf32>, "
      "%wh: tensor<3x1xf32>, %bi: tensor<3xf32>, %bh: tensor<3xf32>",
      "tensor<?x1xf32>",
      std::string("%0 = attn.gru_cell %x, %h reset after weights(%wi, %wh, "
                  "%bi, %bh : ") +
          gruTypes +
          ") : tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>\n"
          "return %0 : tensor<?x1xf32>",
      {Tensor::floats({1, 1}, 2.0), Tensor::floats({1, 1}, 0.5),
       Tensor::floats({3, 1}, {0.1, 0.2, 0.3}),
       Tensor::floats({3, 1}, {0.4, 0.5, 0.6}),
       Tensor::floats({3}, {0.01, 0.02, 0.03}),
       Tensor::floats({3}, {-0.1, -0.2, -0.3})});
  double r = sigmoidOf(0.2 + 0.01 + 0.2 - 0.1);
  double z = sigmoidOf(0.4 + 0.02 + 0.25 - 0.2);
  double n = std::tanh(0.6 + 0.03 + r * (0.3 - 0.3));
  EXPECT_NEAR(results[0].data[0], (1 - z) * n + z * 0.5, engineTolerance);
}

TEST(Cell, R12GateOrderOfLstm) {
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x1xf32>, %h: tensor<?x1xf32>, %c: tensor<?x1xf32>, "
      "%wi: tensor<4x1xf32>, %wh: tensor<4x1xf32>, %bi: tensor<4xf32>, "
      "%bh: tensor<4xf32>",
      "tensor<?x1xf32>, tensor<?x1xf32>",
      "%0, %1 = attn.lstm_cell %x, %h, %c weights(%wi, %wh, %bi, %bh : "
      "tensor<4x1xf32>, tensor<4x1xf32>, tensor<4xf32>, tensor<4xf32>) : "
      "tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x1xf32>, "
      "tensor<?x1xf32>\nreturn %0, %1 : tensor<?x1xf32>, tensor<?x1xf32>",
      {Tensor::floats({1, 1}, 2.0), Tensor::floats({1, 1}, 0.5),
       Tensor::floats({1, 1}, -0.7),
       Tensor::floats({4, 1}, {0.1, 0.2, 0.3, 0.4}),
       Tensor::floats({4, 1}, {0.5, 0.6, 0.7, 0.8}),
       Tensor::floats({4}, {0.01, 0.02, 0.03, 0.04}),
       Tensor::floats({4}, {-0.1, -0.2, -0.3, -0.4})});
  double i = sigmoidOf(0.2 + 0.01 + 0.25 - 0.1);
  double f = sigmoidOf(0.4 + 0.02 + 0.3 - 0.2);
  double g = std::tanh(0.6 + 0.03 + 0.35 - 0.3);
  double o = sigmoidOf(0.8 + 0.04 + 0.4 - 0.4);
  double c = f * -0.7 + i * g;
  EXPECT_NEAR(results[0].data[0], o * std::tanh(c), engineTolerance);
  EXPECT_NEAR(results[1].data[0], c, engineTolerance);
}

constexpr const char *layerArguments =
    "%x: tensor<?x?x2xf32>, %n: tensor<?xi32>, %wi: tensor<9x2xf32>, "
    "%wh: tensor<9x3xf32>, %bi: tensor<9xf32>, %bh: tensor<9xf32>";
const std::string layerWeights =
    "weights(%wi, %wh, %bi, %bh : tensor<9x2xf32>, tensor<9x3xf32>, "
    "tensor<9xf32>, tensor<9xf32>)";

SmallVector<Tensor> makeWeights(std::mt19937 &generator) {
  return {makeRandom({9, 2}, generator), makeRandom({9, 3}, generator),
          makeRandom({9}, generator), makeRandom({9}, generator)};
}

TEST(Layer, R10PalindromeIsMirrored) {
  // Tied directions over a b c b a: state t of one direction is state
  // length - 1 - t of the other, whatever the padding.
  std::mt19937 generator(3);
  SmallVector<Tensor> weights = makeWeights(generator);
  Tensor letters = makeRandom({3, 2}, generator);
  std::vector<double> data;
  for (int letter : {0, 1, 2, 1, 0})
    data.insert(data.end(), letters.data.begin() + letter * 2,
                letters.data.begin() + letter * 2 + 2);
  std::vector<double> unpadded;
  for (int64_t positions : {5, 8}) {
    data.resize(positions * 2, quietNaN);
    SmallVector<Tensor> arguments = {Tensor::floats({1, positions, 2}, data),
                                     Tensor::integers({1}, 5)};
    arguments.append(weights);
    std::string sequence = "tensor<?x?x3xf32>", state = "tensor<?x3xf32>";
    SmallVector<Tensor> results = evaluateFunction(
        layerArguments,
        sequence + ", " + sequence + ", " + state + ", " + state,
        "%f = attn.gru %x lengths(%n) reset after " + layerWeights +
            " : tensor<?x?x2xf32> -> " + sequence +
            "\n%b = attn.gru reverse %x lengths(%n) reset after " +
            layerWeights + " : tensor<?x?x2xf32> -> " + sequence +
            "\n%l = attn.last %f lengths(%n) : " + sequence + " -> " + state +
            "\n%s = attn.first %b lengths(%n) : " + sequence + " -> " + state +
            "\nreturn %f, %b, %l, %s : " + sequence + ", " + sequence + ", " +
            state + ", " + state,
        arguments);
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_EQ(results[0].data[t * 3 + k], results[1].data[(4 - t) * 3 + k]);
    expectSame(results[2], results[3]);
    for (int64_t i = 5 * 3; i < positions * 3; ++i)
      EXPECT_EQ(results[0].data[i], 0.0);
    if (unpadded.empty())
      unpadded = results[2].data;
    EXPECT_EQ(results[2].data, unpadded);
  }
}

TEST(Layer, ScanEqualsGru) {
  std::mt19937 generator(11);
  Tensor input = makeRandom({3, 4, 2}, generator);
  SmallVector<Tensor> arguments = {input, Tensor::integers({3}, {4, 0, 2})};
  arguments.append(makeWeights(generator));
  std::string sequence = "tensor<?x?x3xf32>";
  for (const char *reverse : {"", "reverse "})
    for (const char *reset : {"after", "before"}) {
      SmallVector<Tensor> results = evaluateFunction(
          layerArguments, sequence + ", " + sequence,
          std::string("%a = attn.gru ") + reverse + "%x lengths(%n) reset " +
              reset + " " + layerWeights + " : tensor<?x?x2xf32> -> " +
              sequence + "\n%b = attn.scan " + reverse +
              "%x : tensor<?x?x2xf32> lengths(%n) {\n"
              "^bb0(%now: tensor<?x2xf32>, %h: tensor<?x3xf32>):\n"
              "%0 = attn.gru_cell %now, %h reset " +
              reset + " " + layerWeights +
              " : tensor<?x2xf32>, tensor<?x3xf32> -> tensor<?x3xf32>\n"
              "attn.yield %0 : tensor<?x3xf32>\n} -> " +
              sequence + "\nreturn %a, %b : " + sequence + ", " + sequence,
          arguments);
      expectSame(results[0], results[1]);
    }
}

TEST(Layer, ScanStartsAtItsInitialStates) {
  // A sum from a first value, over true positions only.
  SmallVector<Tensor> results = evaluateFunction(
      "%x: tensor<?x?x1xf32>, %n: tensor<?xi32>, %s: tensor<?x1xf32>",
      "tensor<?x?x1xf32>",
      "%0 = attn.scan %x : tensor<?x?x1xf32> lengths(%n) "
      "initial(%s : tensor<?x1xf32>) {\n"
      "^bb0(%now: tensor<?x1xf32>, %sum: tensor<?x1xf32>):\n"
      "%1 = arith.addf %now, %sum : tensor<?x1xf32>\n"
      "attn.yield %1 : tensor<?x1xf32>\n} -> tensor<?x?x1xf32>\n"
      "return %0 : tensor<?x?x1xf32>",
      {Tensor::floats({2, 3, 1}, {1, 2, 3, 4, quietNaN, quietNaN}),
       Tensor::integers({2}, {3, 1}), Tensor::floats({2, 1}, {10, 20})});
  expectNear(results[0], {11, 13, 16, 24, 0, 0});
}

} // namespace
