//===- Normalizers.cpp - how scores become weights ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Normalizers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

bool reference::isSpoiled(double score) {
  return std::isnan(score) || score == std::numeric_limits<double>::infinity();
}

/// The number whose excesses sum to 1 (Martins and Astudillo 2016, algorithm
/// 1).
static double findThreshold(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end(), std::greater<>());
  double sum = 0, threshold = 0, count = 0;
  for (double score : scores) {
    sum += score;
    ++count;
    if (1 + count * score > sum)
      threshold = (sum - 1) / count;
  }
  return threshold;
}

void reference::normalizeRow(Normalizer normalizer, std::vector<double> &row,
                             std::optional<double> sink) {
  if (row.empty())
    return;
  if (sink == -std::numeric_limits<double>::infinity())
    sink = std::nullopt;
  if (llvm::any_of(row, isSpoiled) || (sink && isSpoiled(*sink))) {
    std::fill(row.begin(), row.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  // The sink is one more position, the first, whose weight nobody takes.
  if (sink)
    row.insert(row.begin(), *sink);
  auto best = std::max_element(row.begin(), row.end());
  double highest = *best;
  switch (normalizer) {
  case Normalizer::Softmax: {
    double sum = 0;
    for (double &weight : row)
      sum += weight = std::exp(weight - highest);
    for (double &weight : row)
      weight /= sum;
    break;
  }
  case Normalizer::Hardmax:
    for (auto it = row.begin(); it != row.end(); ++it)
      *it = it == best ? 1 : 0;
    break;
  case Normalizer::Sparsemax: {
    // Below the highest, so that large scores lose nothing.
    for (double &score : row)
      score -= highest;
    double threshold = findThreshold(row);
    for (double &weight : row)
      weight = std::max(weight - threshold, 0.0);
    break;
  }
  }
  if (sink)
    row.erase(row.begin());
}
