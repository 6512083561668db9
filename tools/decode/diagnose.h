//===- diagnose.h - what an alignment is good for -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_DIAGNOSE_H
#define ATTN_TOOLS_DECODE_DIAGNOSE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace attn::tool {

/// What counts as remarkable.
inline constexpr double unreadBelow = 0.05;   ///< Largest weight of a position.
inline constexpr double rereadAbove = 2;      ///< Sum of a position's weights.
inline constexpr size_t stallFrom = 5;        ///< Tokens from one position.
inline constexpr size_t repetitionLength = 3; ///< Tokens in a row.

/// How a hypothesis reads its source. The read position of a token is the one
/// with its largest weight, the first of equals.
struct Diagnosis {
  size_t tokens = 0;    ///< Emitted, an end token included.
  size_t positions = 0; ///< of the memory.
  /// Of each position: its weights' sum and largest, and how often the read
  /// position came to it from another one.
  std::vector<double> mass;
  std::vector<float> largest;
  std::vector<size_t> visits;
  /// The longest run of tokens with one read position.
  size_t stall = 0;
  size_t stallPosition = 0;
  /// Tokens that are the last of some in a row that were emitted before.
  size_t repeated = 0;
  bool cut = false; ///< At the maximum length.

  /// What a longer sentence beside it, and thus padding, does. Must be 0.
  struct Padding {
    double weight = 0; ///< The largest on padding.
    double effect = 0; ///< The largest change of a logit.
    bool isClean() const { return weight == 0 && effect == 0; }
  };
  std::optional<Padding> padding;

  /// How far weights are, with the words in reverse, from what they were: for
  /// each token half the sum of differences, 0 to 1, averaged.
  struct Order {
    double words = 0;  ///< At the same words.
    double places = 0; ///< At the same places.
  };
  std::optional<Order> order;

  bool isUnread(size_t position) const {
    return static_cast<double>(largest[position]) < unreadBelow;
  }
  bool isReread(size_t position) const { return mass[position] > rereadAbove; }
};

/// Of weights [tokens, positions] and the tokens emitted. `finished`: the last
/// one is the end token.
Diagnosis diagnose(const std::vector<float> &weights, size_t positions,
                   const std::vector<int32_t> &tokens, bool finished);

/// Of the weights [tokens, positions] of a sentence, and of the same tokens
/// with its first `words` positions in reverse.
Diagnosis::Order compareOrder(const std::vector<float> &weights,
                              const std::vector<float> &reversed,
                              size_t positions, size_t words);

/// Sums over sentences.
struct DiagnosisTotals {
  size_t sentences = 0, tokens = 0, positions = 0;
  size_t unread = 0, reread = 0;
  size_t stalled = 0, repeating = 0, cut = 0; ///< Sentences.
  size_t padded = 0, unclean = 0;             ///< Measured, and not clean.
  size_t ordered = 0; ///< Tokens of sentences whose order was changed.
  double words = 0, places = 0; ///< Sums over them.

  void add(const Diagnosis &diagnosis);
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_DIAGNOSE_H
