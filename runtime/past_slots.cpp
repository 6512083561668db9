//===- past_slots.cpp - where hypotheses keep their history ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/past_slots.h"

#include <algorithm>

namespace attn {

void PastSlots::reserve(int64_t rows, int64_t positions) {
  size_t most = static_cast<size_t>(rows) * static_cast<size_t>(positions);
  current.reserve(most);
  before.reserve(most);
  unused.reserve(most);
  isUsed.reserve(most);
  // As many slots as rows can ever be given, even if none is given back.
  capacity = std::max(capacity, static_cast<int64_t>(most));
}

int64_t PastSlots::count(int64_t rows, int64_t positions, Layout &layout) {
  size_t most;
  if (__builtin_mul_overflow(static_cast<size_t>(rows),
                             static_cast<size_t>(positions), &most) ||
      most > INT32_MAX)
    throwOutOfMemory();
  if (!most)
    return 0;
  for (int array = 0; array < 3; ++array)
    layout.take<int32_t>(most);
  constexpr size_t bits = 8 * sizeof(unsigned long);
  layout.take<unsigned long>((most + bits - 1) / bits);
  return static_cast<int64_t>(most);
}

int32_t PastSlots::take() {
  if (unused.empty())
    return next++;
  int32_t slot = unused.back();
  unused.pop_back();
  return slot;
}

/// Finds the slots that no hypothesis holds any more, and makes more where that
/// leaves less than half of them: so the search is rare.
void PastSlots::makeRoom(int64_t rows, const int32_t *positions) {
  auto available = [&] {
    return static_cast<int64_t>(unused.size()) + capacity - next;
  };
  if (available() >= rows)
    return;
  isUsed.assign(static_cast<size_t>(next), false);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t position = 0; position < positions[row]; ++position)
      isUsed[static_cast<size_t>(current[row * width + position])] = true;
  unused.clear();
  for (int32_t slot = next; slot-- > 0;)
    if (!isUsed[static_cast<size_t>(slot)])
      unused.push_back(slot);
  if (available() < std::max(rows, capacity / 2))
    capacity = std::max(capacity, std::max<int64_t>(16, rows)) * 2;
}

void PastSlots::advance(int64_t rows, const int32_t *parents,
                        const int32_t *positions) {
  current.swap(before);
  widthBefore = width;
  width = 0;
  for (int64_t row = 0; row < rows; ++row)
    width = std::max<int64_t>(width, positions[row] + 1);
  // By doubling: `assign` alone would take just what it needs, every step.
  size_t size = static_cast<size_t>(rows * width);
  if (size > current.capacity())
    current.reserve(std::max(size, 2 * current.capacity()));
  current.assign(size, 0);
  for (int64_t row = 0; row < rows; ++row)
    if (positions[row] > 0)
      std::copy_n(before.begin() + parents[row] * widthBefore, positions[row],
                  current.begin() + row * width);
  makeRoom(rows, positions);
  for (int64_t row = 0; row < rows; ++row)
    current[row * width + positions[row]] = take();
}

} // namespace attn
