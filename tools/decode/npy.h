//===- npy.h - arrays for numpy ---------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_NPY_H
#define ATTN_TOOLS_DECODE_NPY_H

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

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_NPY_H
