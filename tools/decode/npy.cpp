//===- npy.cpp - arrays for numpy -----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/npy.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace attn::tool {

bool writeNpy(const std::string &path, bool isInteger,
              const std::vector<size_t> &shape, std::string_view bytes,
              std::string &error) {
  std::string header = "{'descr': '";
  header += std::endian::native == std::endian::little ? '<' : '>';
  header += isInteger ? "i4" : "f4";
  header += "', 'fortran_order': False, 'shape': (";
  for (size_t size : shape)
    header += std::to_string(size) + ", ";
  header += "), }";
  // Magic, version, the header's length; the numbers begin at a multiple of 64.
  constexpr size_t leading = 10;
  header += std::string(63 - (leading + header.size()) % 64, ' ') + '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;

  FILE *file = fopen(path.c_str(), "wbe");
  bool good = file && fwrite(start.data(), 1, start.size(), file) &&
              fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int problem = errno;
  if (file && fclose(file) != 0 && good) {
    good = false;
    problem = errno;
  }
  if (!good) {
    error = std::string("expected to write a file, but got: ") +
            strerror(problem) + ": " + path;
    if (file)
      remove(path.c_str());
  }
  return good;
}

} // namespace attn::tool
