//===- feature_file.h - features of a sentence, from a file ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_FEATURE_FILE_H
#define ATTN_TOOLS_DECODE_FEATURE_FILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace attn::tool {

/// A dense, row-major array.
struct FeatureArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// Reads an array of floating-point numbers: `path` is a .npy file, or a
/// safetensors file that has one tensor, or FILE:NAME for the tensor of that
/// name. False and a message, which names the file, on failure.
bool readFeatures(const std::string &path, FeatureArray &array,
                  std::string &error);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_FEATURE_FILE_H
