//===- past_slots.h - where hypotheses keep their history -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoder that reads its own past keeps, for every position of every
// hypothesis, what it computed there: a slot of each of its caches. Hypotheses
// that come from one parent share the slots of the prefix they have in common,
// so reordering a beam moves slot numbers and never a cache.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_PAST_SLOTS_H
#define ATTN_RUNTIME_PAST_SLOTS_H

#include "runtime/arena.h"

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace attn {

/// The table of slots of a decoding. All caches of a model have the same slots.
class PastSlots {
public:
  explicit PastSlots(
      std::pmr::memory_resource *resource = std::pmr::get_default_resource())
      : current(resource), before(resource), unused(resource),
        isUsed(resource) {}

  /// Makes room for `rows` hypotheses of `positions` positions each, so that
  /// nothing is allocated until then.
  void reserve(int64_t rows, int64_t positions);

  /// Counts what `reserve` takes, and answers how many slots there are then.
  static int64_t count(int64_t rows, int64_t positions, Layout &layout);

  /// Goes on to a step in which row r continues row `parents[r]` of the step
  /// before and stands at `positions[r]`, one behind its parent; in the first
  /// step positions are 0 and parents mean nothing. Every row gets a new slot.
  void advance(int64_t rows, const int32_t *parents, const int32_t *positions);

  /// [rows, positions()] The slot of each position up to the row's own; what
  /// stands behind it is 0.
  const int32_t *table() const { return current.data(); }
  int64_t positions() const { return width; }
  /// How many slots a cache must have. Grows by doubling: what stands in the
  /// slots there were before must be kept.
  int64_t slots() const { return capacity; }

private:
  int32_t take();
  void makeRoom(int64_t rows, const int32_t *positions);

  std::pmr::vector<int32_t> current, before;
  int64_t width = 0, widthBefore = 0;
  /// Slots below `next` that no hypothesis holds, as far as is known.
  std::pmr::vector<int32_t> unused;
  std::pmr::vector<bool> isUsed;
  int32_t next = 0;
  int64_t capacity = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_PAST_SLOTS_H
