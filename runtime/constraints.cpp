//===- constraints.cpp - what a hypothesis may emit
//--------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/constraints.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace attn {

int32_t findInShortlist(Shortlist list, int32_t token) {
  if (list.empty())
    return token;
  auto place = std::lower_bound(list.begin(), list.end(), token);
  return place == list.end() || *place != token
             ? -1
             : static_cast<int32_t>(place - list.begin());
}

bool Constraints::needHistory() const {
  return noRepeatNgram > 0 || repetitionPenalty != 1 ||
         std::any_of(
             banned.begin(), banned.end(),
             [](const TokenIds &sequence) { return sequence.size() > 1; });
}

bool Constraints::apply(const int32_t *history, int64_t emitted, int32_t end,
                        const float *logits, float *changed, int64_t size,
                        Shortlist list) const {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  bool number = true;
  for (int64_t i = 0; i < size; ++i) {
    number &= logits[i] < infinity; // False for a NaN.
    changed[i] = logits[i];
  }
  if (!number)
    return false;

  // From the model's logit, so that a token that was emitted twice is changed
  // once.
  if (repetitionPenalty != 1)
    for (int64_t i = 0; i < emitted; ++i) {
      int32_t place = findInShortlist(list, history[i]);
      double logit = static_cast<double>(logits[place]);
      changed[place] = static_cast<float>(
          logit < 0 ? logit * repetitionPenalty : logit / repetitionPenalty);
    }

  // Not every sentence has every position, or every token.
  auto ban = [&](int32_t token) {
    int32_t place = findInShortlist(list, token);
    if (place >= 0 && place < size)
      changed[place] = -infinity;
  };
  if (emitted < minLength && end >= 0)
    ban(end);
  for (const TokenIds &sequence : banned) {
    int64_t others = static_cast<int64_t>(sequence.size()) - 1;
    if (others <= emitted &&
        (others == 0 || std::equal(sequence.begin(), sequence.end() - 1,
                                   history + (emitted - others))))
      ban(sequence.back());
  }
  int64_t before = noRepeatNgram - 1;
  if (noRepeatNgram > 0 && before < emitted) {
    const int32_t *last = history + (emitted - before);
    for (int64_t i = 0; i + before < emitted; ++i)
      if (std::equal(last, last + before, history + i))
        ban(history[i + before]);
  }
  return true;
}

} // namespace attn
