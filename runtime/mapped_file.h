//===- mapped_file.h - a whole file in memory, read only ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MAPPED_FILE_H
#define ATTN_RUNTIME_MAPPED_FILE_H

#include <cstddef>
#include <memory>
#include <string>

namespace attn {

/// A file mapped into memory. The file must not be cut while it is mapped.
class MappedFile {
public:
  /// Null and a message on failure.
  static std::unique_ptr<MappedFile> open(const std::string &path,
                                          std::string &error);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const char *data() const { return bytes; }
  size_t size() const { return byteCount; }

  /// Gives the memory back that reading has taken; reading again takes it
  /// again.
  void forget() const;

private:
  MappedFile() = default;

  const char *bytes = nullptr;
  size_t byteCount = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_MAPPED_FILE_H
