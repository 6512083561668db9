//===- feature_file.cpp - features of a sentence, from a file -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/feature_file.h"
#include "runtime/safetensors.h"
#include "runtime/text.h"
#include "tools/decode/npy.h"

#include <filesystem>

namespace attn::tool {

/// The tensor of a safetensors file that is meant; null and a message if there
/// is none.
static const Tensor *findTensor(const Safetensors &file,
                                const std::string *name, std::string &error) {
  const Tensor *tensor = nullptr;
  if (name)
    tensor = file.find(*name);
  else if (file.tensors().size() == 1)
    tensor = &file.tensors()[0];
  if (!tensor)
    error = name ? "expected a tensor " + quote(*name) + ", but got none"
                 : "expected one tensor, or FILE:NAME, but got " +
                       std::to_string(file.tensors().size()) + " tensors";
  else if (!isRealType(tensor->type))
    error = "expected numbers of type F32, F16, BF16 or F64, but got " +
            tensor->type;
  return error.empty() ? tensor : nullptr;
}

bool readFeatures(const std::string &path, FeatureArray &array,
                  std::string &error) {
  // A file may have a colon in its name, too.
  std::string file = path, name;
  std::error_code ignored;
  size_t colon = path.rfind(':');
  bool named =
      colon != std::string::npos && !std::filesystem::exists(path, ignored);
  if (named) {
    file = path.substr(0, colon);
    name = path.substr(colon + 1);
  }
  error.clear();
  std::unique_ptr<MappedFile> mapped = MappedFile::open(file, error);
  if (!mapped)
    return false;
  std::string_view bytes(mapped->data(), mapped->size());
  Tensor tensor;
  bool columnMajor = false;
  std::unique_ptr<Safetensors> tensors;
  if (isNpy(bytes)) {
    if (named)
      error = "expected a safetensors file before " + quote(":" + name) +
              ", but got a .npy file";
    else
      readNpy(bytes, tensor, columnMajor, error);
  } else {
    std::vector<std::string> problems;
    tensors = Safetensors::fromFile(std::move(mapped), file, problems);
    if (!tensors) {
      error = "expected a .npy or a safetensors file: " + problems[0];
      return false;
    }
    if (const Tensor *found =
            findTensor(*tensors, named ? &name : nullptr, error))
      tensor = *found;
  }
  if (!error.empty()) {
    error += ": " + path;
    return false;
  }
  array.shape = tensor.shape;
  array.values.resize(static_cast<size_t>(tensor.elements));
  readTensor(tensor, 0, tensor.elements, array.values.data());
  if (columnMajor)
    toRowMajor(array.shape, array.values);
  return true;
}

} // namespace attn::tool
