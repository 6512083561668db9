//===- DistributionTest.cpp - log-sum-exp and its mathematics -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/distribution.h"
#include "runtime/float_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace attn;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(FloatMath, IsAccurate) {
  for (double x = -700; x < 700; x += 0.37)
    EXPECT_NEAR(portableExp(x) / std::exp(x), 1, 4e-16) << x;
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(portableLog(x), std::log(x), 4e-16 * std::fabs(std::log(x)))
        << x;
  for (double x = 0.5; x < 2; x += 0.001)
    EXPECT_NEAR(portableLog(x), std::log(x), 4e-16 * std::fabs(std::log(x)))
        << x;
  for (double n : {1., 2., 7., 100., 1e6})
    for (double a : {0.2, 0.6, 1.5, 3.})
      EXPECT_NEAR(portablePow(n, a) / std::pow(n, a), 1, 1e-14);
}

TEST(FloatMath, HasExactPlaces) {
  EXPECT_EQ(portableExp(0), 1);
  EXPECT_EQ(portableExp(-infinity), 0);
  EXPECT_EQ(portableExp(-1e300), 0);
  EXPECT_EQ(portableExp(1e300), infinity);
  EXPECT_TRUE(std::isnan(portableExp(NAN)));
  EXPECT_EQ(portableLog(1), 0);
  EXPECT_EQ(portablePow(7, 0), 1);
  EXPECT_EQ(portablePow(7, 1), 7);
}

TEST(Distribution, LogSumExp) {
  for (int64_t size : {1, 2, 15, 16, 17, 31, 33, 255, 256, 257, 1000, 9000}) {
    std::vector<float> logits;
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      logits.push_back(static_cast<float>(i * 7919 % 101) / 9 - 5);
      sum += std::exp(static_cast<double>(logits.back()));
    }
    EXPECT_NEAR(logSumExp(logits.data(), size), std::log(sum), 5e-7) << size;
  }
  const float far[] = {1e30f, 1e30f, -1e30f};
  EXPECT_EQ(logSumExp(far, 3), static_cast<double>(1e30f));
}

TEST(Distribution, LogSumExpOfWhatIsNoNumber) {
  const float none[] = {-infinity, -infinity};
  EXPECT_EQ(logSumExp(none, 2), -infinity);
  const float one[] = {-infinity, 3};
  EXPECT_EQ(logSumExp(one, 2), 3);
  const float bad[] = {0, NAN, 0};
  EXPECT_TRUE(std::isnan(logSumExp(bad, 3)));
  const float infinite[] = {0, infinity};
  EXPECT_TRUE(std::isnan(logSumExp(infinite, 2)));
}

TEST(Distribution, FindsTheBest) {
  const float logits[] = {1, NAN, 3, -infinity, 3, 2, -1};
  float best[6];
  int32_t tokens[6];
  findBest(logits, 7, 3, best, tokens);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + 3),
            (std::vector<int32_t>{2, 4, 5}));
  EXPECT_EQ(best[2], 2);
  findBest(logits, 7, 6, best, tokens);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + 6),
            (std::vector<int32_t>{2, 4, 5, 0, 6, -1}));
}

} // namespace
