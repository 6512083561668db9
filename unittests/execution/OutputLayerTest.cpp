//===- OutputLayerTest.cpp - ranked logits are those of all logits --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step says all its logits, or the best ones and sums of exponentials. What
// it says of the sums is what the runtime finds in all logits, to the bit, and
// the best ones are those that sorting finds.
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_model.h"
#include "runtime/distribution.h"
#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr int64_t numInputs = 2;

/// Logits are x0 * a + x1 * b + c.
const char *const modelText = R"(
attn.model @m {{
  attn.vocabulary @v size {0}
  attn.parameter @W : tensor<{0}x2xf32>
  attn.parameter @b : tensor<{0}xf32>
  attn.decoder vocabulary @v memories [] axes [] states ["s"] axes [-1] zero [true] {{
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %s: tensor<?x2xf32>):
    %W = attn.get_parameter @W : tensor<{0}x2xf32>
    %b = attn.get_parameter @b : tensor<{0}xf32>
    %l = attn.linear %s, %W bias(%b : tensor<{0}xf32>)
        : tensor<?x2xf32>, tensor<{0}x2xf32> -> tensor<?x{0}xf32>
    attn.predict %l : tensor<?x{0}xf32> states(%s : tensor<?x2xf32>)
  }
}
)";

/// A model whose step is nothing but an output layer.
class OutputLayer {
public:
  OutputLayer(int64_t size, std::vector<float> weights, std::vector<float> bias)
      : size(size), bias(std::move(bias)),
        packed((size + 15) / 16 * 16 * numInputs) {
    Module source(llvm::formatv(modelText, size).str());
    OwningOpRef<ModuleOp> clone(source.module->clone());
    std::string error;
    jit = Jit::compile(*clone, error);
    EXPECT_TRUE(jit) << error;
    int64_t none[ATTN_EXTENT_AXIS] = {};
    jit->run("prepare", none, {packed.data(), weights.data()});
  }

  void step(std::vector<float> states, int64_t best, float *logits,
            float *bestLogits, int32_t *bestTokens, float *chunks,
            int64_t shares = 1) {
    int64_t rows = states.size() / numInputs;
    int64_t extents[ATTN_EXTENT_AXIS] = {1, rows, 0, 0, best, size, shares};
    std::vector<int32_t> numbers(rows);
    std::vector<float> next(states.size());
    jit->run("step", extents,
             {numbers.data(), numbers.data(), numbers.data(), states.data(),
              logits, next.data(), bestLogits, bestTokens, chunks,
              packed.data(), bias.data()});
  }

  int64_t size;
  std::vector<float> bias;

private:
  std::vector<float> packed;
  std::unique_ptr<Jit> jit;
};

/// Compares both forms of a step for rows of states.
void compare(OutputLayer &layer, const std::vector<float> &states, int64_t best,
             int64_t shares = 1) {
  int64_t rows = states.size() / numInputs, size = layer.size;
  int64_t numChunks = ::attn::chunkCount(size);
  std::vector<float> logits(rows * size), bestLogits(rows * best),
      chunks(rows * 2 * numChunks);
  std::vector<int32_t> bestTokens(rows * best);
  layer.step(states, 0, logits.data(), nullptr, nullptr, nullptr);
  std::vector<float> divided(logits.size());
  layer.step(states, 0, divided.data(), nullptr, nullptr, nullptr, shares);
  EXPECT_EQ(divided, logits) << size << " " << shares;
  layer.step(states, best, nullptr, bestLogits.data(), bestTokens.data(),
             chunks.data(), shares);
  for (int64_t row = 0; row < rows; ++row) {
    const float *own = logits.data() + row * size;
    const float *maxima = chunks.data() + row * 2 * numChunks;
    EXPECT_EQ(std::bit_cast<uint64_t>(
                  ::attn::logSumExp(maxima, maxima + numChunks, numChunks)),
              std::bit_cast<uint64_t>(::attn::logSumExp(own, size)))
        << size << " " << row;
    std::vector<int32_t> order;
    for (int32_t i = 0; i < size; ++i)
      if (own[i] > -infinity)
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return own[a] != own[b] ? own[a] > own[b] : a < b;
    });
    std::vector<float> found(best);
    std::vector<int32_t> tokens(best);
    ::attn::findBest(own, size, best, found.data(), tokens.data());
    for (int64_t i = 0; i < best; ++i) {
      int32_t token = bestTokens[row * best + i];
      bool exists = i < static_cast<int64_t>(order.size());
      EXPECT_EQ(token, exists ? order[i] : -1) << size << " " << row;
      EXPECT_EQ(bestLogits[row * best + i], exists ? own[token] : -infinity);
      EXPECT_EQ(tokens[i], token);
      EXPECT_EQ(found[i], bestLogits[row * best + i]);
    }
  }
}

TEST(OutputLayer, RanksTheLogits) {
  std::mt19937 generator(3);
  std::normal_distribution<float> distribution;
  // Chunks that are full and not, and some of 16 at a time.
  for (int64_t size : {1, 15, 255, 256, 257, 1030, 4700}) {
    std::vector<float> weights, bias;
    for (int64_t i = 0; i < size; ++i) {
      weights.push_back(3 * distribution(generator));
      weights.push_back(static_cast<float>(i % 5));
      bias.push_back(distribution(generator));
    }
    OutputLayer layer(size, weights, bias);
    std::vector<float> states;
    for (int i = 0; i < 7; ++i) {
      states.push_back(static_cast<float>(i));
      states.push_back(0);
    }
    for (int64_t best : {1, 10, 40})
      for (int64_t shares : {1, 2, 3, 7})
        compare(layer, states, best, shares);
  }
}

TEST(OutputLayer, TakesTheFirstOfEquals) {
  constexpr int64_t size = 600;
  std::vector<float> weights, bias(size);
  for (int64_t i = 0; i < size; ++i) {
    weights.push_back(0);
    weights.push_back(static_cast<float>(i % 7));
  }
  OutputLayer layer(size, weights, bias);
  for (int64_t shares : {1, 2, 3})
    compare(layer, {0, 1, 0, -1, 0, 0}, 12, shares);
}

TEST(OutputLayer, TakesNoTokenThatIsImpossible) {
  constexpr int64_t size = 300;
  std::vector<float> weights(numInputs * size), bias(size, -infinity);
  bias[3] = 1;
  bias[270] = 2;
  OutputLayer layer(size, weights, bias);
  for (int64_t shares : {1, 2})
    compare(layer, {0, 0}, 4, shares);
  layer.bias.assign(size, -infinity);
  compare(layer, {0, 0}, 4);
}

TEST(OutputLayer, SaysWhatIsNoNumber) {
  constexpr int64_t size = 530;
  std::vector<float> weights(numInputs * size), bias(size);
  for (int64_t i = 0; i < size; ++i)
    bias[i] = static_cast<float>(i % 11);
  OutputLayer layer(size, weights, bias);
  for (float bad : {nan, infinity})
    for (int64_t place : {0, 255, 256, 529}) {
      layer.bias = bias;
      layer.bias[place] = bad;
      std::vector<float> best(2), chunks(2 * 3);
      std::vector<int32_t> tokens(2);
      layer.step({0, 0}, 2, nullptr, best.data(), tokens.data(), chunks.data());
      EXPECT_TRUE(
          std::isnan(::attn::logSumExp(chunks.data(), chunks.data() + 3, 3)))
          << bad << " " << place;
      EXPECT_TRUE(std::isnan(::attn::logSumExp(layer.bias.data(), size)));
    }
}

} // namespace
