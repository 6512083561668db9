//===- progress.cpp - tell how far a long run has come
//-----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/progress.h"

#include <algorithm>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

namespace attn::tool {

Progress::Progress(std::string tool, bool quiet)
    : tool(std::move(tool)),
      enabled(!quiet && isatty(STDERR_FILENO) && !isatty(STDIN_FILENO)),
      begin(std::chrono::steady_clock::now()) {}

/// The part of standard input that was read, in per cent, or -1 where its
/// size is not known.
static int percentRead() {
  struct stat status;
  off_t place = lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size <= 0 || place < 0)
    return -1;
  return static_cast<int>(std::min(place, status.st_size) * 100 /
                          status.st_size);
}

void Progress::show(size_t sentences) {
  if (!enabled)
    return;
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  fprintf(stderr, "\r\033[K%s: %zu sentences", tool.c_str(), sentences);
  if (taken.count() >= 1)
    fprintf(stderr, ", %.0f a second",
            static_cast<double>(sentences) / taken.count());
  if (int percent = percentRead(); percent >= 0)
    fprintf(stderr, ", %d %% of the input read", percent);
  fflush(stderr);
  shown = true;
}

void Progress::erase() {
  if (shown)
    fputs("\r\033[K", stderr);
  fflush(stderr);
  shown = false;
}

} // namespace attn::tool
