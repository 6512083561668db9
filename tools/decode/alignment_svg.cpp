//===- alignment_svg.cpp - draw alignments as a picture
//----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/alignment_svg.h"
#include "runtime/text.h"
#include "tools/decode/alignment_grid.h"
#include "tools/decode/result_json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace attn::tool {

namespace {

// Lengths are in pixels.
constexpr double cell = 26, gap = 2, margin = 24, letter = 7.8;
constexpr double titleHeight = 30, panelGap = 34, labelGap = 8;
constexpr double barHeight = 40;
constexpr size_t widestLabel = 28; ///< In columns of a terminal.

/// Text as it may stand in XML. Control characters, which may not, become
/// question marks.
std::string escape(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return result;
}

/// A label that is not too wide, and is visible.
std::string shorten(const std::string &text) {
  if (text == " ")
    return "␣";
  if (displayWidth(text) <= widestLabel)
    return text;
  std::string result;
  for (size_t i = 0; i < text.size();) {
    std::string_view rest = std::string_view(text).substr(i);
    std::string_view next =
        rest.substr(0, std::max<size_t>(utf8Length(rest), 1));
    if (displayWidth(result) + displayWidth(next) >= widestLabel)
      break;
    result += next;
    i += next.size();
  }
  return result + "…";
}

double labelWidth(const std::string &label) {
  return static_cast<double>(displayWidth(label)) * letter;
}

/// A number with one digit behind the point at most, whatever the locale.
std::string number(double value) {
  long tenths = std::lround(value * 10);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10)
    text += "." + std::to_string(std::labs(tenths % 10));
  return text;
}

std::string textAt(double x, double y, const std::string &attributes,
                   const std::string &text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + attributes +
         ">" + escape(text) + "</text>\n";
}

} // namespace

void AlignmentPicture::add(const std::string &title,
                           const std::vector<std::string> &rows,
                           const std::vector<std::string> &columns,
                           const float *weights,
                           const std::vector<Margin> &margins) {
  std::vector<std::string> rowLabels, columnLabels;
  double rowWidth = 0, columnWidth = 0;
  for (const std::string &row : rows) {
    rowLabels.push_back(shorten(row));
    rowWidth = std::max(rowWidth, labelWidth(rowLabels.back()));
  }
  for (const std::string &column : columns) {
    columnLabels.push_back(shorten(column));
    columnWidth = std::max(columnWidth, labelWidth(columnLabels.back()));
  }
  // Letters stand upright over their columns, beside one longer label (the end
  // token's) too; words lean, and the last one reaches beyond the grid.
  auto fits = [](const std::string &label) {
    return labelWidth(label) <= cell;
  };
  bool letters = static_cast<size_t>(std::count_if(columnLabels.begin(),
                                                   columnLabels.end(), fits)) +
                     1 >=
                 columnLabels.size();
  constexpr double lean = 0.7071;
  bool upright = columnWidth <= cell;
  double labelHeight = upright ? 16 : columnWidth * lean + 12;
  double left = margin + rowWidth + labelGap;
  double top = (body.empty() ? margin : height + panelGap) + titleHeight +
               labelHeight + labelGap;
  double gridWidth = static_cast<double>(columns.size()) * cell;
  double gridHeight = static_cast<double>(rows.size()) * cell;

  body += textAt(margin, top - labelHeight - labelGap - titleHeight + 14,
                 " class=\"title\"", title);
  for (size_t i = 0; i < columns.size(); ++i) {
    double x = left + (static_cast<double>(i) + 0.5) * cell;
    double y = top - labelGap;
    if (letters && fits(columnLabels[i]))
      body += textAt(x, y, " text-anchor=\"middle\"", columnLabels[i]);
    else
      body += textAt(x + 4, y,
                     " transform=\"rotate(-45 " + number(x + 4) + " " +
                         number(y) + ")\"",
                     columnLabels[i]);
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    double y = top + static_cast<double>(row) * cell;
    body += textAt(left - labelGap, y + cell / 2 + 4.5, " text-anchor=\"end\"",
                   rowLabels[row]);
    for (size_t column = 0; column < columns.size(); ++column) {
      double x = left + static_cast<double>(column) * cell;
      float weight = weights[row * columns.size() + column];
      double shade =
          weight > 0 ? std::min(static_cast<double>(weight), 1.0) : 0;
      long percent = std::lround(shade * 100);
      std::string at = " x=\"" + number(x + gap / 2) + "\" y=\"" +
                       number(y + gap / 2) + "\"";
      body += "<g><title>" + escape(columns[column]) + " → " +
              escape(rows[row]) + ": " + std::to_string(percent) +
              " %</title><use href=\"#e\"" + at + "/>";
      if (percent)
        body += "<use href=\"#c\"" + at + " fill-opacity=\"" +
                (percent == 100
                     ? std::string("1")
                     : (percent < 10 ? ".0" : ".") + std::to_string(percent)) +
                "\"/>";
      // What is less than that is seen well enough, and would be noise.
      if (percent >= 10)
        body += "<text class=\"" + std::string(percent >= 50 ? "l" : "d") +
                "\" x=\"" + number(x + cell / 2) + "\" y=\"" +
                number(y + cell / 2 + 3.5) + "\">" + std::to_string(percent) +
                "</text>";
      body += "</g>\n";
    }
  }
  // Bars: a sum of 1 has a height of its own, whatever the others are.
  double most = 1;
  for (const Margin &margin : margins)
    most = std::max(most, margin.sum);
  for (size_t column = 0; column < margins.size(); ++column) {
    const Margin &own = margins[column];
    const char *classes[] = {"m", "u", "r"};
    const char *tells[] = {"", ", never read", ", read again and again"};
    double x = left + static_cast<double>(column) * cell;
    double y = top + gridHeight + labelGap;
    double length =
        own.sum > 0 ? std::max(own.sum / most * barHeight, 1.0) : 1.0;
    body += "<g><title>" + escape(columns[column]) + ": " +
            formatFixed(own.sum) + tells[own.mark] + "</title><rect class=\"" +
            classes[own.mark] + "\" x=\"" + number(x + gap / 2) + "\" y=\"" +
            number(y) + "\" width=\"" + number(cell - gap) + "\" height=\"" +
            number(length) + "\" rx=\"2\"/></g>\n";
  }
  if (!margins.empty()) {
    double y = top + gridHeight + labelGap;
    // The line of a sum of 1.
    body += "<line class=\"s\" x1=\"" + number(left) + "\" x2=\"" +
            number(left + gridWidth) + "\" y1=\"" +
            number(y + barHeight / most) + "\" y2=\"" +
            number(y + barHeight / most) + "\"/>\n";
    body += textAt(left - labelGap, y + 12, " text-anchor=\"end\"", "Σ");
    gridHeight += labelGap + barHeight;
  }
  double right = left + gridWidth;
  if (!upright && !columns.empty())
    right = std::max(right, right - cell / 2 +
                                labelWidth(columnLabels.back()) * lean + 12);
  right = std::max(right, margin + labelWidth(title));
  width = std::max(width, right + margin);
  height = top + gridHeight;
}

std::string AlignmentPicture::svg() const {
  std::string size = number(cell - gap);
  double w = std::max(width, 2 * margin), h = height + margin;
  std::string box = number(w) + "\" height=\"" + number(h);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
         box + "\" viewBox=\"0 0 " + number(w) + " " + number(h) +
         "\">\n"
         "<style>text{font:13px 'Noto Sans','DejaVu Sans',Arial,sans-serif;"
         "fill:#1c2733}.title{font-size:14px;font-weight:bold}"
         ".l,.d{font-size:9.5px;text-anchor:middle}.l{fill:#fff}"
         ".d{fill:#33475b}"
         ".m{fill:#7fa6c9}.u{fill:#e8a33d}.r{fill:#c8403a}"
         ".s{stroke:#33475b;stroke-dasharray:3 3}</style>\n"
         "<defs><rect id=\"e\" width=\"" +
         size + "\" height=\"" + size +
         "\" rx=\"3\" fill=\"#eef2f6\"/><rect id=\"c\" width=\"" + size +
         "\" height=\"" + size +
         "\" rx=\"3\" fill=\"#0b4f8a\"/></defs>\n"
         "<rect width=\"" +
         box + "\" fill=\"#fff\"/>\n" + body + "</svg>\n";
}

} // namespace attn::tool
