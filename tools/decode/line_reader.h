//===- line_reader.h - lines of text and the tokens in them
//------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_LINE_READER_H
#define ATTN_TOOLS_DECODE_LINE_READER_H

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tool {

/// A line of a file and the tokens in it. Empty lines are fine, and so are
/// those with an error: both have a line of output.
struct Line {
  std::vector<std::string> tokens;
  std::string error;
};

/// Splits text at its spaces or into its characters. More than `mostTokens` are
/// an error, and so is what is no UTF-8.
void splitLine(std::string_view text, bool characters, size_t mostTokens,
               Line &line);

class LineReader {
public:
  explicit LineReader(FILE *file) : file(file) {}
  ~LineReader();
  LineReader(const LineReader &) = delete;
  LineReader &operator=(const LineReader &) = delete;

  /// Reads a line, without its end. False at the end of the file or where
  /// reading fails.
  bool next(std::string &line);
  bool failed() const { return ferror(file); }

private:
  FILE *file;
  char *text = nullptr;
  size_t capacity = 0;
};

/// Hands the lines of a file to `take`, until it answers false. False after a
/// message in `error`, which names the file and the option that named it.
bool forEachLine(const std::string &path, const std::string &option,
                 const std::function<bool(const std::string &)> &take,
                 std::string &error);

/// Splits all lines of a file. False after a message in `error`, which names
/// the file and the option that named it.
bool readLines(const std::string &path, const std::string &option,
               bool characters, std::vector<Line> &lines, std::string &error);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_LINE_READER_H
