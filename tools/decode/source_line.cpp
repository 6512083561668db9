//===- source_line.cpp - what a line has for the inputs of a model --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/source_line.h"
#include "runtime/text.h"
#include "tools/decode/feature_file.h"
#include "tools/decode/line_reader.h"

#include <algorithm>

namespace attn::tool {

void SourceInput::append(const SourceInput &other) {
  // Copies: it may be the same.
  std::vector<std::string> moreTokens = other.tokens;
  std::vector<float> more = other.features;
  tokens.insert(tokens.end(), moreTokens.begin(), moreTokens.end());
  features.insert(features.end(), more.begin(), more.end());
  positions += other.positions;
}

void SourceInput::reverse() {
  std::reverse(tokens.begin(), tokens.end());
  // All numbers, and then those of each position once more.
  std::reverse(features.begin(), features.end());
  if (!positions)
    return;
  auto width = static_cast<std::ptrdiff_t>(features.size() / positions);
  for (auto at = features.begin(); at != features.end(); at += width)
    std::reverse(at, at + width);
}

size_t SourceLine::featureCount() const {
  size_t count = 0;
  for (const SourceInput &input : inputs)
    count += input.features.size();
  return count;
}

/// Reads a file of features for an input.
static bool readInput(const attn_input &input, std::string_view path,
                      size_t mostPositions, SourceInput &to,
                      std::string &error) {
  if (path.empty())
    return true;
  FeatureArray array;
  if (path.find('\0') != std::string_view::npos) {
    error = "expected the name of a file, but got " + quote(path);
    return false;
  }
  if (!readFeatures(std::string(path), array, error))
    return false;
  if (array.shape.size() != input.rank + 1 ||
      !std::equal(
          array.shape.begin() + 1, array.shape.end(), input.shape,
          [](int64_t a, size_t b) { return static_cast<uint64_t>(a) == b; })) {
    std::string expected = "[positions";
    for (size_t i = 0; i < input.rank; ++i)
      expected += ", " + std::to_string(input.shape[i]);
    error = "expected an array of shape " + expected + "], but got " +
            formatShape(array.shape) + ": " + std::string(path);
    return false;
  }
  to.positions = static_cast<size_t>(array.shape[0]);
  if (to.positions > mostPositions) {
    error = "expected at most " + std::to_string(mostPositions) +
            " positions, but got " + std::to_string(to.positions) +
            "; see --max-source-length: " + std::string(path);
    return false;
  }
  to.features = std::move(array.values);
  return true;
}

SourceLine SourceReader::read(std::string_view text) const {
  SourceLine line;
  line.inputs.resize(std::max<size_t>(inputs.size(), 1));
  if (text.empty())
    return line;
  std::vector<std::string_view> parts = {text};
  if (inputs.size() > 1) {
    for (size_t tab;
         (tab = parts.back().find('\t')) != std::string_view::npos;) {
      std::string_view rest = parts.back().substr(tab + 1);
      parts.back() = parts.back().substr(0, tab);
      parts.push_back(rest);
    }
    if (parts.size() != inputs.size()) {
      line.error = "expected " + std::to_string(inputs.size()) +
                   " inputs separated by tabs, but got " +
                   std::to_string(parts.size());
      return line;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    SourceInput &own = line.inputs[i];
    std::string error;
    if (inputs.empty() || inputs[i]->vocabulary >= 0) {
      Line split;
      splitLine(parts[i], characters, mostPositions, split);
      own.tokens = std::move(split.tokens);
      error = std::move(split.error);
    } else {
      readInput(*inputs[i], parts[i], mostPositions, own, error);
    }
    if (error.empty())
      continue;
    line.inputs.assign(line.inputs.size(), {});
    line.error = inputs.size() > 1
                     ? "input " + quote(inputs[i]->name) + ": " + error
                     : error;
    break;
  }
  return line;
}

} // namespace attn::tool
