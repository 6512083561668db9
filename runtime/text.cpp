//===- text.cpp - small helpers for text ----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace attn {

size_t utf8Length(std::string_view text) {
  if (text.empty())
    return 0;
  auto byte = [&](size_t i) -> uint32_t {
    return static_cast<unsigned char>(text[i]);
  };
  uint32_t lead = byte(0);
  if (lead < 0x80)
    return 1;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
    return 0;
  uint32_t code = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Overlong forms, surrogates and what lies beyond Unicode.
  bool overlong =
      (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

size_t findInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8Length(text.substr(i));
    if (!length)
      return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string quote(std::string_view text) {
  constexpr size_t longest = 200;
  std::string result = "'";
  for (size_t i = 0; i < text.size();) {
    if (i >= longest) {
      result += "...";
      break;
    }
    size_t length = utf8Length(text.substr(i));
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if (!length || byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
      result += escaped;
      ++i;
      continue;
    }
    result.append(text.substr(i, length));
    i += length;
  }
  return result + "'";
}

std::string formatShape(const std::vector<int64_t> &shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + std::to_string(shape[i]);
  return result + "]";
}

std::string formatNumber(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

std::string joinLines(const std::vector<std::string> &lines) {
  std::string result;
  for (const std::string &line : lines)
    result += (result.empty() ? "" : "\n") + line;
  return result;
}

size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size())
    std::swap(a, b);
  if (b.size() - a.size() > limit)
    return limit + 1;
  std::vector<size_t> row(a.size() + 1);
  for (size_t i = 0; i <= a.size(); ++i)
    row[i] = i;
  for (size_t j = 1; j <= b.size(); ++j) {
    size_t diagonal = row[0];
    row[0] = j;
    size_t best = row[0];
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[i];
      row[i] = std::min({replace, row[i] + 1, row[i - 1] + 1});
      best = std::min(best, row[i]);
    }
    if (best > limit)
      return limit + 1;
  }
  return std::min(row[a.size()], limit + 1);
}

const std::string *nearestName(std::string_view name,
                               const std::vector<const std::string *> &names) {
  // Names come from files nobody has vouched for: bound the work.
  constexpr size_t longest = 256, most = 4096;
  if (name.size() > longest)
    return nullptr;
  const std::string *nearest = nullptr;
  size_t limit = name.size() < 4 ? 1 : std::max<size_t>(name.size() / 3, 2);
  size_t count = std::min(names.size(), most);
  for (size_t i = 0; i < count; ++i) {
    if (names[i]->size() > longest)
      continue;
    size_t distance = editDistance(name, *names[i], limit);
    if (distance > limit)
      continue;
    nearest = names[i];
    if (!distance)
      break;
    limit = distance - 1;
  }
  return nearest;
}

} // namespace attn
