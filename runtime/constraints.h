//===- constraints.h - what a hypothesis may emit
//----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CONSTRAINTS_H
#define ATTN_RUNTIME_CONSTRAINTS_H

#include "runtime/backend.h"

#include <cstdint>
#include <vector>

namespace attn {

/// The rules of R18 that change the distribution of the next token, before it
/// is normalised (R15). They do not touch forced tokens, but see them.
struct Constraints {
  Constraints() = default;
  explicit Constraints(std::pmr::memory_resource *memory) : banned(memory) {}

  /// Tokens that stand before an end token at least.
  int64_t minLength = 0;
  /// Sequences that are not emitted, each of at least one token; one of a
  /// single token bans that token.
  std::pmr::vector<TokenIds> banned;
  /// No sequence of so many tokens is emitted twice; 0: any is.
  int64_t noRepeatNgram = 0;
  /// A logit of a token that was emitted before is multiplied by it if it is
  /// negative and divided by it if not. Greater than 0; 1: nothing happens.
  double repetitionPenalty = 1;

  /// Whether a rule acts on the logits behind so many tokens.
  bool act(int64_t emitted) const {
    return emitted < minLength || !banned.empty() || noRepeatNgram > 0 ||
           repetitionPenalty != 1;
  }
  /// Whether the tokens of a hypothesis matter, and not only their number.
  bool needHistory() const;

  /// Writes the logits [size] of a hypothesis, changed, to `changed`. They are
  /// those of the tokens of `list`, if there is one.
  /// `history` are its `emitted` tokens, the start token not among them; it is
  /// not read if `needHistory()` is false. False where a logit is NaN or +inf:
  /// no rule hides what is wrong with a model (R20).
  bool apply(const int32_t *history, int64_t emitted, int32_t end,
             const float *logits, float *changed, int64_t size,
             Shortlist list = {}) const;
};

} // namespace attn

#endif // ATTN_RUNTIME_CONSTRAINTS_H
