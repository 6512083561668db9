//===- npy.h - arrays for numpy ---------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_NPY_H
#define ATTN_TOOLS_DECODE_NPY_H

#include "runtime/safetensors.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn::tool {

/// Writes a dense, row-major array of 32-bit integers or floating-point numbers
/// as a .npy file (numpy.load). False and a message on failure.
bool writeNpy(const std::string &path, bool isInteger,
              const std::vector<size_t> &shape, std::string_view bytes,
              std::string &error);

/// Whether the bytes of a file begin like those of a .npy file.
bool isNpy(std::string_view bytes);

/// Finds the array of floating-point numbers (f2, f4 or f8, little-endian) in
/// the bytes of a .npy file: `array` refers to them, as to a tensor of the same
/// type. False and a message on failure.
bool readNpy(std::string_view bytes, Tensor &array, bool &columnMajor,
             std::string &error);

/// Brings the numbers of a column-major array of a shape (numpy's Fortran
/// order) into row-major order.
void toRowMajor(const std::vector<int64_t> &shape, std::vector<float> &values);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_NPY_H
