//===- vocabulary.h - tokens and their numbers ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_VOCABULARY_H
#define ATTN_RUNTIME_VOCABULARY_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

/// The ids of the tokens with a meaning of their own; -1 where there is none.
struct Marks {
  int32_t start = -1;
  int32_t end = -1;
  int32_t unknown = -1;
  int32_t padding = -1;
};

/// Marks that a spec names instead of having them recognised.
struct MarkNames {
  std::optional<std::string> start;
  std::optional<std::string> end;
  std::optional<std::string> unknown;
  std::optional<std::string> padding;
};

/// A vocabulary: different tokens of UTF-8 text, their ids being their places.
class Vocabulary {
public:
  Vocabulary() = default;
  // The index refers to the tokens.
  Vocabulary(const Vocabulary &) = delete;
  Vocabulary &operator=(const Vocabulary &) = delete;
  Vocabulary(Vocabulary &&) = default;
  Vocabulary &operator=(Vocabulary &&) = default;

  /// From tokens and marks that are known already. Empty and a message where
  /// tokens repeat or a mark lies outside.
  static std::optional<Vocabulary> create(std::string name,
                                          std::vector<std::string> tokens,
                                          Marks marks, std::string &error);

  /// From a file with a token a line, taken verbatim up to the newline. Marks
  /// are recognised by their usual names in any case, unless `names` names
  /// them. `addUnknown` adds an unknown token at the end. Empty and at least
  /// one problem on failure; each problem begins with "path:line: ".
  static std::optional<Vocabulary> read(const std::string &path,
                                        std::string name,
                                        const MarkNames &names, bool addUnknown,
                                        std::vector<std::string> &problems);

  /// The same for the text of a file.
  static std::optional<Vocabulary>
  parse(std::string_view text, const std::string &path, std::string name,
        const MarkNames &names, bool addUnknown,
        std::vector<std::string> &problems);

  const std::string &name() const { return label; }
  int32_t size() const { return static_cast<int32_t>(all.size()); }
  const std::vector<std::string> &tokens() const { return all; }
  const Marks &marks() const { return special; }
  /// The bytes of the longest token.
  size_t longestToken() const { return longest; }

  /// The id of a token, or -1.
  int32_t find(std::string_view token) const;

  /// Writes the ids of words; a word that is not there becomes the unknown
  /// token. False and a message that names the word where there is no such
  /// token, or where a word is null.
  bool lookUp(std::span<const char *const> words, int32_t *ids,
              std::string &error) const;

private:
  std::string label;
  std::vector<std::string> all;
  Marks special;
  size_t longest = 0;
  std::unordered_map<std::string_view, int32_t> index;
};

} // namespace attn

#endif // ATTN_RUNTIME_VOCABULARY_H
