//===- text.h - small helpers for text ------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// UTF-8, quoting for messages, and the nearest of several names.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_TEXT_H
#define ATTN_RUNTIME_TEXT_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The bytes of the well-formed UTF-8 character at the beginning of `text`, or
/// 0 if there is none.
size_t utf8Length(std::string_view text);

/// The place of the first byte that is not UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

/// `text` in quotes, safe to print: control characters and bytes that are not
/// UTF-8 become \xNN, what is very long is cut.
std::string quote(std::string_view text);

/// "[2, 3]".
std::string formatShape(const std::vector<int64_t> &shape);

/// A number in the shortest usual form.
std::string formatNumber(double value);

/// Messages, a line each.
std::string joinLines(const std::vector<std::string> &lines);

/// Insertions, deletions and replacements that turn `a` into `b`; gives up
/// with `limit` + 1 where it is more than `limit`.
size_t editDistance(std::string_view a, std::string_view b, size_t limit);

/// The candidate that `name` most likely stands for, or null if none is near.
const std::string *nearestName(std::string_view name,
                               const std::vector<const std::string *> &names);

} // namespace attn

#endif // ATTN_RUNTIME_TEXT_H
