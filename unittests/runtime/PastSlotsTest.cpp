//===- PastSlotsTest.cpp - histories that share their prefixes ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/past_slots.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace attn;

namespace {

/// A cache over slots beside histories that are copied as a whole.
struct Histories {
  PastSlots slots;
  std::vector<int> cache;
  std::vector<std::vector<int>> histories;
  int written = 0;

  void step(const std::vector<int32_t> &parents) {
    std::vector<std::vector<int>> next;
    std::vector<int32_t> positions;
    for (int32_t parent : parents) {
      next.push_back(histories.empty() ? std::vector<int>()
                                       : histories[parent]);
      positions.push_back(static_cast<int32_t>(next.back().size()));
      next.back().push_back(++written);
    }
    histories = std::move(next);
    slots.advance(static_cast<int64_t>(parents.size()), parents.data(),
                  positions.data());
    cache.resize(slots.slots());
    for (size_t row = 0; row < parents.size(); ++row)
      cache[slots.table()[row * slots.positions() + positions[row]]] =
          histories[row].back();
  }

  void check() const {
    for (size_t row = 0; row < histories.size(); ++row)
      for (size_t i = 0; i < histories[row].size(); ++i)
        ASSERT_EQ(cache[slots.table()[row * slots.positions() + i]],
                  histories[row][i])
            << "row " << row << ", position " << i;
  }
};

TEST(PastSlots, KeepsEveryHistory) {
  std::mt19937 random(1);
  Histories all;
  all.step({0, 0, 0, 0});
  for (int step = 1; step < 300; ++step) {
    std::vector<int32_t> parents(1 + random() % 8);
    for (int32_t &parent : parents)
      parent = static_cast<int32_t>(random() % all.histories.size());
    all.step(parents);
    all.check();
  }
}

TEST(PastSlots, ABeamSharesItsPrefix) {
  // All of a beam of 8 continue one hypothesis: 300 positions are held once.
  Histories all;
  all.step({0});
  for (int step = 1; step < 300; ++step)
    all.step({0, 0, 0, 0, 0, 0, 0, 0});
  all.check();
  EXPECT_LE(all.slots.slots(), 2 * 512);
}

TEST(PastSlots, RowsMayStandAtDifferentPositions) {
  PastSlots slots;
  std::vector<int32_t> parents = {0, 0}, positions = {0, 0};
  slots.advance(2, parents.data(), positions.data());
  // Row 0 goes on from row 1, and a new hypothesis begins.
  parents = {1, 0};
  positions = {1, 0};
  int32_t first = slots.table()[1];
  slots.advance(2, parents.data(), positions.data());
  EXPECT_EQ(slots.positions(), 2);
  EXPECT_EQ(slots.table()[0], first);
  EXPECT_EQ(slots.table()[3], 0);
}

TEST(PastSlots, ReservedRoomIsEnough) {
  PastSlots slots;
  slots.reserve(4, 50);
  int64_t capacity = slots.slots();
  std::vector<int32_t> parents = {0, 1, 2, 3};
  for (int32_t step = 0; step < 50; ++step) {
    std::vector<int32_t> positions(4, step);
    slots.advance(4, parents.data(), positions.data());
  }
  EXPECT_EQ(slots.slots(), capacity);
}

} // namespace
