//===- npy.cpp - arrays for numpy -----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/npy.h"
#include "runtime/text.h"

#include <algorithm>
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

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

/// What stands behind a key of a header, which is a dictionary in Python's
/// notation. Empty where there is no such key.
std::string_view findValue(std::string_view header, std::string_view key) {
  for (char mark : {'\'', '"'}) {
    std::string quoted = mark + std::string(key) + mark;
    size_t place = header.find(quoted);
    if (place == std::string_view::npos)
      continue;
    std::string_view rest = header.substr(place + quoted.size());
    place = rest.find_first_not_of(" :");
    return place == std::string_view::npos ? "" : rest.substr(place);
  }
  return {};
}

/// Reads "(3, 5)". False where it is none, or where it has too many elements.
bool readShape(std::string_view text, Tensor &array) {
  if (text.empty() || text[0] != '(')
    return false;
  array.elements = 1;
  for (size_t at = 1; at < text.size();) {
    if (text[at] == ')')
      return true;
    if (text[at] == ' ' || text[at] == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    size_t first = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(size, 10, &size) ||
          __builtin_add_overflow(size, text[at] - '0', &size))
        return false;
    if (at == first ||
        __builtin_mul_overflow(array.elements, size, &array.elements))
      return false;
    array.shape.push_back(size);
  }
  return false;
}

} // namespace

bool isNpy(std::string_view bytes) { return bytes.starts_with(magic); }

bool readNpy(std::string_view bytes, Tensor &array, bool &columnMajor,
             std::string &error) {
  auto fail = [&](const std::string &expected, const std::string &found) {
    error = "expected " + expected + ", but got " + found;
    return false;
  };
  // Magic, version, the header's length in 2 bytes or, from version 2 on, in 4.
  size_t width = bytes.size() > 6 && bytes[6] > 1 ? 4 : 2;
  size_t begin = magic.size() + 2 + width, length = 0;
  for (size_t i = 0; i < width && begin <= bytes.size(); ++i)
    length |= static_cast<size_t>(
                  static_cast<unsigned char>(bytes[begin - width + i]))
              << 8 * i;
  if (!isNpy(bytes) || begin > bytes.size() || length > bytes.size() - begin)
    return fail("a .npy file with a header", "less");
  std::string_view header = bytes.substr(begin, length);
  bytes.remove_prefix(begin + length);

  std::string_view type = findValue(header, "descr");
  size_t end = type.empty() ? 0 : type.find(type[0], 1);
  type =
      end == std::string_view::npos || end == 0 ? "" : type.substr(1, end - 1);
  static constexpr std::pair<std::string_view, const char *> types[] = {
      {"<f2", "F16"}, {"<f4", "F32"}, {"<f8", "F64"}};
  for (const auto &[descr, name] : types)
    if (type == descr)
      array.type = name;
  if (array.type.empty())
    return fail("numbers of type <f2, <f4 or <f8", quote(type));
  std::string_view order = findValue(header, "fortran_order");
  columnMajor = order.starts_with("True");
  if (!columnMajor && !order.starts_with("False"))
    return fail("a .npy file with an order", "none");
  if (!readShape(findValue(header, "shape"), array))
    return fail("a .npy file with a shape", "none");
  if (__builtin_mul_overflow(static_cast<size_t>(array.elements),
                             tensorTypeSize(array.type), &array.bytes) ||
      array.bytes != bytes.size())
    return fail(std::to_string(array.elements) + " numbers, as the header says",
                std::to_string(bytes.size()) + " bytes");
  array.data = bytes.data();
  return true;
}

void toRowMajor(const std::vector<int64_t> &shape, std::vector<float> &values) {
  std::vector<float> from = values;
  std::vector<int64_t> index(shape.size());
  for (float &to : values) {
    int64_t place = 0;
    for (size_t d = shape.size(); d-- > 0;)
      place = place * shape[d] + index[d];
    to = from[static_cast<size_t>(place)];
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}

} // namespace attn::tool
