//===- output_file.cpp - a file that is there as a whole or not at all
//-------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/output_file.h"
#include "runtime/text.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace attn::tool {

static std::string unwritable(const std::string &path) {
  return "expected a file that can be written, but got " +
         quote(strerror(errno)) + ": " + path;
}

OutputFile::~OutputFile() {
  if (!file)
    return;
  fclose(file);
  if (written != path)
    unlink(written.c_str());
}

bool OutputFile::open(const std::string &name, std::string &error) {
  path = written = name;
  struct stat status;
  bool exists = stat(path.c_str(), &status) == 0;
  if (!exists || S_ISREG(status.st_mode))
    written += "." + std::to_string(getpid());
  // The place of a file that is there is taken only if it could be written.
  if (!exists || access(path.c_str(), W_OK) == 0)
    file = fopen(written.c_str(), "we");
  if (!file)
    error = unwritable(path);
  return file;
}

bool OutputFile::close(std::string &error) {
  bool good = fflush(file) == 0 && !ferror(file);
  if (good && written != path)
    good = rename(written.c_str(), path.c_str()) == 0;
  if (!good) {
    error = unwritable(path);
    return false; // Dropped later.
  }
  fclose(file);
  file = nullptr;
  return true;
}

} // namespace attn::tool
