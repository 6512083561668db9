//===- progress.h - tell how far a long run has come
//-------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_PROGRESS_H
#define ATTN_TOOLS_DECODE_PROGRESS_H

#include <chrono>
#include <cstddef>
#include <string>

namespace attn::tool {

/// A line on standard error, which is drawn over and erased in the end. Only
/// where that is a terminal and somebody waits: standard input is none.
class Progress {
public:
  Progress(std::string tool, bool quiet);
  ~Progress() { erase(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Draws the line again, with what was decoded so far.
  void show(size_t sentences);
  /// Makes room for what is printed otherwise.
  void erase();

private:
  std::string tool;
  bool enabled;
  bool shown = false;
  std::chrono::steady_clock::time_point begin;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_PROGRESS_H
