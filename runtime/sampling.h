//===- sampling.h - draw tokens at random, the same everywhere
//---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SAMPLING_H
#define ATTN_RUNTIME_SAMPLING_H

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace attn {

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3", 2011: a function from a counter and a key to random bits. It has no
/// state, so a number depends on what it is for and on nothing else (R13), and
/// it is made of integer operations (R21).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// The random number, in [0, 1), for a step of a sample of a sentence.
double uniformNumber(uint64_t seed, uint64_t sentence, uint32_t sample,
                     uint32_t step);

/// From which tokens is drawn, and how boldly.
struct Sampling {
  bool enabled = false;
  double temperature = 1; ///< Logits are divided by it; greater than 0.
  int64_t topK = 0;       ///< The most likely tokens that remain; 0: all.
  /// Of those, the fewest most likely ones whose probability reaches `topP`
  /// remain: a token for which the ones before it have less. In (0, 1].
  double topP = 1;
  uint64_t seed = 0;
  /// Of those, the ones whose probability among all tokens is at least
  /// `epsilon` remain; the most likely always do. In [0, 1).
  double epsilon = 0;
};

/// Draws tokens. Reused from row to row, it allocates nothing.
class Sampler {
public:
  explicit Sampler(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : heap(memory), tokens(memory), cumulative(memory) {}

  /// Makes room for a vocabulary.
  void reserve(size_t size) {
    heap.reserve(size);
    tokens.reserve(size);
    cumulative.reserve(size);
  }

  /// Takes the logits of a row, which have no NaN and no +inf. False where no
  /// token is possible.
  bool prepare(const Sampling &sampling, const float *logits, int64_t size);
  /// The token of a random number in [0, 1).
  int32_t draw(double uniform) const;

private:
  std::pmr::vector<int32_t> heap;
  std::pmr::vector<int32_t> tokens;    ///< That can be drawn.
  std::pmr::vector<double> cumulative; ///< Sums of their weights up to each.
};

} // namespace attn

#endif // ATTN_RUNTIME_SAMPLING_H
