//===- output_file.h - a file that is there as a whole or not at all
//---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_OUTPUT_FILE_H
#define ATTN_TOOLS_DECODE_OUTPUT_FILE_H

#include <cstdio>
#include <string>
#include <string_view>

namespace attn::tool {

/// Writes beside the file and puts the whole in its place in the end. What is
/// no regular file (a pipe, a device) is written at once.
class OutputFile {
public:
  OutputFile() = default;
  /// What was not put in place is dropped.
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// False and a message where the file cannot be written.
  bool open(const std::string &path, std::string &error);
  bool isOpen() const { return file; }
  void write(std::string_view text) {
    fwrite(text.data(), 1, text.size(), file);
  }
  /// False and a message where something could not be written.
  bool close(std::string &error);

private:
  std::string path;
  std::string written; ///< The path that is written to.
  FILE *file = nullptr;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_OUTPUT_FILE_H
