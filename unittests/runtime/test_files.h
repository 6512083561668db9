//===- test_files.h - files made for tests --------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_RUNTIME_TEST_FILES_H
#define ATTN_UNITTESTS_RUNTIME_TEST_FILES_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace attn::test {

/// The bytes of a safetensors file with any header and data.
inline std::string makeSafetensors(const std::string &header,
                                   const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), sizeof(size)) +
         header + data;
}

inline std::string floatBytes(const std::vector<float> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(float));
}

/// A file that is deleted in the end.
class TemporaryFile {
public:
  explicit TemporaryFile(std::string_view contents) {
    const char *folder = getenv("TMPDIR");
    path = std::string(folder ? folder : "/tmp") + "/attn-test-XXXXXX";
    int descriptor = mkstemp(path.data());
    FILE *file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
    if (!file ||
        fwrite(contents.data(), 1, contents.size(), file) != contents.size())
      abort();
    fclose(file);
  }
  ~TemporaryFile() { unlink(path.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;

  std::string path;
};

} // namespace attn::test

#endif // ATTN_UNITTESTS_RUNTIME_TEST_FILES_H
