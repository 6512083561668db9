//===- mapped_file.cpp - a whole file in memory, read only ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/mapped_file.h"
#include "runtime/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attn {

std::unique_ptr<MappedFile> MappedFile::open(const std::string &path,
                                             std::string &error) {
  auto fail = [&](const std::string &found) {
    error = "expected a readable file, but got " + found + ": " + path;
    return nullptr;
  };
  std::unique_ptr<MappedFile> file(new MappedFile);
  // Not blocking, or a named pipe would make us wait for ever.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail(std::string("'") + strerror(errno) + "'");
  struct stat status;
  bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void *mapping = nullptr;
  if (regular && status.st_size > 0) {
    file->byteCount = static_cast<size_t>(status.st_size);
    mapping =
        mmap(nullptr, file->byteCount, PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  int reason = errno;
  close(descriptor);
  if (!regular)
    return fail("something that is not a regular file");
  if (mapping == MAP_FAILED)
    return fail(std::string("'") + strerror(reason) + "'");
  file->bytes = static_cast<const char *>(mapping);
  return file;
}

void MappedFile::forget() const {
  if (bytes)
    madvise(const_cast<char *>(bytes), byteCount, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<char *>(bytes), byteCount);
}

} // namespace attn
