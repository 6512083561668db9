//===- diagnose.cpp - what an alignment is good for -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/diagnose.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace attn::tool {

Diagnosis diagnose(const std::vector<float> &weights, size_t positions,
                   const std::vector<int32_t> &tokens, bool finished) {
  Diagnosis result;
  result.tokens = tokens.size();
  result.positions = positions;
  result.cut = !finished;
  result.mass.resize(positions);
  result.largest.resize(positions);
  result.visits.resize(positions);
  size_t run = 0, before = positions;
  for (size_t t = 0; positions && t < tokens.size(); ++t) {
    const float *row = weights.data() + t * positions;
    size_t read =
        static_cast<size_t>(std::max_element(row, row + positions) - row);
    for (size_t s = 0; s < positions; ++s) {
      result.mass[s] += static_cast<double>(row[s]);
      result.largest[s] = std::max(result.largest[s], row[s]);
    }
    run = read == before ? run + 1 : 1;
    if (read != before)
      ++result.visits[read];
    if (run > result.stall) {
      result.stall = run;
      result.stallPosition = read;
    }
    before = read;
  }
  std::set<std::vector<int32_t>> seen;
  size_t words = tokens.size() - (finished && !tokens.empty() ? 1 : 0);
  for (size_t last = repetitionLength; last <= words; ++last) {
    auto to = tokens.begin() + static_cast<std::ptrdiff_t>(last);
    if (!seen.emplace(to - static_cast<std::ptrdiff_t>(repetitionLength), to)
             .second)
      ++result.repeated;
  }
  return result;
}

Diagnosis::Order compareOrder(const std::vector<float> &weights,
                              const std::vector<float> &reversed,
                              size_t positions, size_t words) {
  Diagnosis::Order order;
  size_t rows = positions ? weights.size() / positions : 0;
  for (size_t t = 0; t < rows; ++t) {
    const float *before = weights.data() + t * positions;
    const float *after = reversed.data() + t * positions;
    for (size_t s = 0; s < positions; ++s) {
      size_t word = s < words ? words - 1 - s : s;
      double now = static_cast<double>(after[s]);
      order.words += std::abs(now - static_cast<double>(before[word]));
      order.places += std::abs(now - static_cast<double>(before[s]));
    }
  }
  if (rows) {
    order.words /= 2 * static_cast<double>(rows);
    order.places /= 2 * static_cast<double>(rows);
  }
  return order;
}

void DiagnosisTotals::add(const Diagnosis &diagnosis) {
  ++sentences;
  tokens += diagnosis.tokens;
  positions += diagnosis.positions;
  for (size_t s = 0; s < diagnosis.positions; ++s) {
    unread += diagnosis.isUnread(s);
    reread += diagnosis.isReread(s);
  }
  stalled += diagnosis.stall >= stallFrom;
  repeating += diagnosis.repeated > 0;
  cut += diagnosis.cut;
  if (diagnosis.padding) {
    ++padded;
    unclean += !diagnosis.padding->isClean();
  }
  if (diagnosis.order) {
    double count = static_cast<double>(diagnosis.tokens);
    ordered += diagnosis.tokens;
    words += diagnosis.order->words * count;
    places += diagnosis.order->places * count;
  }
}

} // namespace attn::tool
