//===- Kernel.h - a random function and its inputs ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_DIFFERENTIAL_KERNEL_H
#define ATTN_UNITTESTS_DIFFERENTIAL_KERNEL_H

#include "reference/Tensor.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace mlir::attn::differential {

/// Random choices, the same for a seed on every machine: the distributions of
/// the standard library are not.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// `low` to `high`, both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  bool percent(int chance) { return between(0, 99) < chance; }
  /// -1 to 1.
  double uniform() { return double(engine() >> 11) / double(1ull << 52) - 1; }
  /// Nearly normal, of variance 1, and at most 3.5 in size.
  double normal() {
    return (uniform() + uniform() + uniform()) * 1.1547005383792515;
  }
  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[between(0, choices.size() - 1)];
  }

private:
  std::mt19937_64 engine;
};

/// What an axis of a value counts.
enum class Axis {
  Row,
  Source, ///< The sentence of a row, which several rows may share.
  Query,  ///< A position of the row's queries.
  Key,    ///< A position of the memory, or of a sequence.
  Pair    ///< The same, with every two made one.
};

struct Argument {
  std::string name, type;
  std::vector<Axis> axes;
  reference::Tensor value;
  /// Whether masks depend on it.
  bool steers = false;
  /// Whether its numbers are small integers, whose sums are exact.
  bool exact = false;
  /// Whether its numbers say where to look in a table.
  bool isIndex = false;
};

struct Result {
  std::string name, type;
  std::vector<Axis> axes;
  /// Whether it has weights: exactly 0 where nothing is readable.
  bool isWeights = false;
};

/// A function `f`, and with `hasReadable` a function `readable` of the same
/// arguments, whose result is not 0 where pairs of a read are not masked. With
/// `hasUnweighted` also `unweighted`: `f` without the result that has weights.
struct Kernel {
  std::string text;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  /// Arguments by number: of the memory (or sequence), of the queries, and the
  /// sentences of rows; -1 where there are none.
  int lengths = -1, queryLengths = -1, rows = -1;
  bool hasReadable = false, hasUnweighted = false;
  bool hasScan = false;
  bool hasHardmax = false;
  /// Whether inputs that are read may be infinite.
  bool hasInfinity = false;

  /// The results of `unweighted`.
  std::vector<Result> getUnweighted() const;
};

Kernel makeKernel(uint64_t seed);

// The kinds of kernels, each in its own file.
Kernel makeRead(Random &random);
Kernel makeFeatures(Random &random);
Kernel makeScan(Random &random);

} // namespace mlir::attn::differential

#endif // ATTN_UNITTESTS_DIFFERENTIAL_KERNEL_H
