//===- RankTest.cpp - the best logits, and what normalises all ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// Tokens, logits and sums.
SmallVector<Tensor> rank(const Tensor &logits, const Tensor &tokens,
                         const Tensor &best, int32_t first) {
  return evaluateFunction(
      "%x: tensor<?x?xf32>, %t: tensor<?x?xi32>, %b: tensor<?x?xf32>, %f: i32",
      "tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x2xf32>",
      "%0:3 = attn.rank %x among(%t, %b : tensor<?x?xi32>, tensor<?x?xf32>) "
      "from(%f : i32) : tensor<?x?xf32> -> tensor<?x2xf32>\n"
      "return %0#0, %0#1, %0#2 : tensor<?x?xi32>, tensor<?x?xf32>, "
      "tensor<?x2xf32>",
      {logits, tokens, best, Tensor::integers({}, {first})});
}

TEST(Rank, BehindEquals) {
  // Two rows, three ranks, of which the last is nobody's in the second row.
  SmallVector<Tensor> results =
      rank(Tensor::floats({2, 4}, {1, 5, 5, quietNaN, -1, -2, -infinity, -1}),
           Tensor::integers({2, 3}, {7, 8, 9, 7, 8, -1}),
           Tensor::floats({2, 3}, {6, 5, 2, 0, -1, -infinity}), 20);
  expectNear(results[0], {7, 8, 21, 7, 8, 20});
  expectNear(results[1], {6, 5, 5, 0, -1, -1});
  EXPECT_EQ(results[2].data[0], 5);
  EXPECT_TRUE(std::isnan(results[2].data[1]));
  EXPECT_EQ(results[2].data[2], -1);
  EXPECT_NEAR(results[2].data[3], 2 + std::exp(-1), 1e-6);
}

TEST(Rank, AreTheBestOfAll) {
  std::mt19937 generator(5);
  for (int64_t size : {1, 15, 16, 17, 43, 200, 256, 257})
    for (int64_t ranks : {1, 2, 5, 12}) {
      const int64_t rows = 3;
      Tensor logits = makeRandom({rows, size}, generator);
      // Few different numbers, so that there are equals.
      for (double &logit : logits.data)
        logit = std::round(logit * 8) / 4;
      Tensor tokens = Tensor::integers({rows, ranks},
                                       SmallVector<int32_t>(rows * ranks, -1)),
             best = Tensor::floats(
                 {rows, ranks}, SmallVector<double>(rows * ranks, -infinity));
      // In two parts, one after the other.
      int64_t middle = size / 2;
      auto part = [&](int64_t from, int64_t to) {
        Tensor own = Tensor::floats({rows, to - from},
                                    SmallVector<double>(rows * (to - from)));
        for (int64_t i = 0; i < own.size(); ++i)
          own.data[i] =
              logits.data[i / (to - from) * size + from + i % (to - from)];
        return own;
      };
      if (middle > 0) {
        SmallVector<Tensor> results = rank(part(0, middle), tokens, best, 0);
        tokens = results[0];
        best = results[1];
      }
      SmallVector<Tensor> results =
          rank(part(middle, size), tokens, best, middle);
      for (int64_t row = 0; row < rows; ++row) {
        const double *own = &logits.data[row * size];
        std::vector<int64_t> order(size);
        for (int64_t i = 0; i < size; ++i)
          order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t a, int64_t b) { return own[a] > own[b]; });
        for (int64_t k = 0; k < ranks; ++k) {
          bool exists = k < size;
          EXPECT_EQ(results[0].data[row * ranks + k], exists ? order[k] : -1)
              << size << " logits, rank " << k << " of " << ranks;
          EXPECT_EQ(results[1].data[row * ranks + k],
                    exists ? own[order[k]] : -infinity);
        }
        double highest = *std::max_element(own + middle, own + size), sum = 0;
        for (int64_t i = middle; i < size; ++i)
          sum += std::exp(own[i] - highest);
        EXPECT_EQ(results[2].data[2 * row], highest);
        EXPECT_NEAR(results[2].data[2 * row + 1], sum, 1e-6 * sum);
      }
    }
}

} // namespace
