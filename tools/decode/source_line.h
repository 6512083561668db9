//===- source_line.h - what a line has for the inputs of a model ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_SOURCE_LINE_H
#define ATTN_TOOLS_DECODE_SOURCE_LINE_H

#include "attn/attn.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tool {

/// What a line has for one input: tokens, or features.
struct SourceInput {
  std::vector<std::string> tokens;
  std::vector<float> features; ///< [positions, width of the input]
  size_t positions = 0;        ///< Of `features`.

  size_t length() const { return tokens.size() + positions; }
  /// Puts the positions of another one, or its own, behind them.
  void append(const SourceInput &other);
  /// Brings the positions into the opposite order.
  void reverse();
  bool operator==(const SourceInput &) const = default;
};

/// A line of input. An empty one has nothing for any input, one with an error
/// likewise; both have a line of output.
struct SourceLine {
  std::vector<SourceInput> inputs;
  std::string error;

  /// The numbers of all its features.
  size_t featureCount() const;
};

/// How lines are read.
struct SourceReader {
  /// What the model's encoder takes. Without an encoder a line is tokens.
  std::vector<const attn_input *> inputs;
  /// Tokens are characters, instead of what stands between spaces.
  bool characters = false;
  /// More positions of an input are an error.
  size_t mostPositions = 0;

  /// Parts of a line, separated by tabs, are for the inputs of the model in
  /// their order: tokens, or the name of a file of features (see
  /// readFeatures). With one input the line is not divided.
  SourceLine read(std::string_view text) const;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_SOURCE_LINE_H
