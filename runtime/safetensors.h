//===- safetensors.h - read safetensors files -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: 8 bytes with the size of the header (little endian), the header
// (a JSON object: name -> dtype, shape, data_offsets), then the tensors' bytes.
// Nothing in a file is believed before it is checked.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SAFETENSORS_H
#define ATTN_RUNTIME_SAFETENSORS_H

#include "runtime/mapped_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attn {

/// A tensor of a file. Its bytes lie in the file, aligned to nothing.
struct Tensor {
  std::string name;
  std::string type; ///< The format's name: "F32", "I8", ...
  std::vector<int64_t> shape;
  int64_t elements = 0;
  const char *data = nullptr;
  size_t bytes = 0;
};

/// The bytes of an element of a type of the format, 0 for unknown types.
size_t tensorTypeSize(std::string_view type);

/// Whether the numbers of a type are real ones: F32, F16, BF16 and F64.
bool isRealType(std::string_view type);

/// Elements `from` to `from + count` as f32 numbers (of a real type, or I8).
void readTensor(const Tensor &tensor, int64_t from, int64_t count, float *to);

/// A safetensors file, wholly checked, the values of its numbers excepted.
class Safetensors {
public:
  /// Maps a file. Null and at least one problem on failure; each problem begins
  /// with the path.
  static std::unique_ptr<Safetensors> open(const std::string &path,
                                           std::vector<std::string> &problems);

  /// The same for a file that is mapped already.
  static std::unique_ptr<Safetensors>
  fromFile(std::unique_ptr<MappedFile> file, const std::string &path,
           std::vector<std::string> &problems);

  /// Reads a file that lies in memory and stays there. `name` begins each
  /// problem.
  static std::unique_ptr<Safetensors>
  fromMemory(const void *data, size_t size, const std::string &name,
             std::vector<std::string> &problems);

  /// In the order of their bytes.
  const std::vector<Tensor> &tensors() const { return all; }
  const Tensor *find(const std::string &name) const;
  /// Gives memory back that was used to read a mapped file.
  void forget() const {
    if (file)
      file->forget();
  }
  /// What messages call the file.
  const std::string &name() const { return label; }

private:
  Safetensors() = default;
  bool parse(const char *data, size_t size, std::vector<std::string> &problems);

  std::string label;
  std::unique_ptr<MappedFile> file;
  std::vector<Tensor> all;
  std::unordered_map<std::string, size_t> places;
};

} // namespace attn

#endif // ATTN_RUNTIME_SAFETENSORS_H
