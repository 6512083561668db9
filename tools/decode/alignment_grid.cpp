//===- alignment_grid.cpp - draw an alignment in a terminal ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/alignment_grid.h"
#include "runtime/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace attn::tool {

namespace {

struct Range {
  uint32_t first, last;
};

/// The scripts that models are trained on; not all of Unicode.
constexpr Range combining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x0900, 0x0902},
    {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
constexpr Range wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0x33ff}, {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},  {0xac00, 0xd7a3}, {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N> bool contains(const Range (&ranges)[N], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [&](Range range) {
    return code >= range.first && code <= range.last;
  });
}

/// The width of the character at the beginning of `text`, of `length` bytes.
size_t characterWidth(std::string_view text, size_t length) {
  uint32_t code = static_cast<unsigned char>(text[0]);
  if (length > 1) {
    code &= 0x7fu >> length;
    for (size_t i = 1; i < length; ++i)
      code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  if (contains(combining, code))
    return 0;
  return contains(wide, code) ? 2 : 1;
}

/// A token as it can stand in a cell: visible, and not too wide.
std::string makeLabel(const std::string &token, size_t widest) {
  if (token == " ")
    return "␣";
  std::string label;
  size_t width = 0;
  for (size_t i = 0; i < token.size();) {
    std::string_view rest = std::string_view(token).substr(i);
    size_t length = utf8Length(rest);
    bool visible =
        length && (length > 1 || (rest[0] >= 0x20 && rest[0] < 0x7f));
    size_t own = visible ? characterWidth(rest, length) : 1;
    if (width + own > widest - 1 &&
        i + std::max<size_t>(length, 1) < token.size()) {
      label += "…";
      return label;
    }
    // A mark needs something to stand on.
    if (i == 0 && own == 0) {
      label += "◌";
      width = 1;
    }
    if (visible)
      label += rest.substr(0, length);
    else
      label += "?";
    width += own;
    i += std::max<size_t>(length, 1);
  }
  return label;
}

std::string pad(size_t count) { return std::string(count, ' '); }

} // namespace

size_t displayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = std::max<size_t>(utf8Length(text.substr(i)), 1);
    width += characterWidth(text.substr(i), length);
    i += length;
  }
  return width;
}

std::string drawAlignment(const std::vector<std::string> &rows,
                          const std::vector<std::string> &columns,
                          const float *weights) {
  constexpr size_t widestRow = 20, widestColumn = 12, narrowestColumn = 4;
  std::vector<std::string> rowLabels, columnLabels;
  size_t rowWidth = 0;
  for (const std::string &row : rows) {
    rowLabels.push_back(makeLabel(row, widestRow));
    rowWidth = std::max(rowWidth, displayWidth(rowLabels.back()));
  }
  std::vector<size_t> widths;
  std::string result = pad(rowWidth);
  for (const std::string &column : columns) {
    std::string label = makeLabel(column, widestColumn);
    size_t width = displayWidth(label);
    widths.push_back(std::max(width, narrowestColumn));
    result += " " + pad(widths.back() - width) + label;
  }
  result += "\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    result += rowLabels[row] + pad(rowWidth - displayWidth(rowLabels[row]));
    for (size_t column = 0; column < columns.size(); ++column) {
      float weight = weights[row * columns.size() + column];
      int percent = 0;
      if (weight > 0)
        percent = static_cast<int>(std::lround(std::min(weight, 9.99f) * 100));
      const char *shade = percent >= 75   ? "█"
                          : percent >= 50 ? "▓"
                          : percent >= 25 ? "▒"
                          : percent >= 5  ? "░"
                                          : " ";
      char number[8];
      snprintf(number, sizeof(number), "%3d", percent);
      result += " " + pad(widths[column] - 4) + shade;
      result += std::isnan(weight) ? "nan" : percent ? number : "  ·";
    }
    result += "\n";
  }
  return result;
}

} // namespace attn::tool
