//===- alignment_grid.h - draw an alignment in a terminal -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_ALIGNMENT_GRID_H
#define ATTN_TOOLS_DECODE_ALIGNMENT_GRID_H

#include <string>
#include <string_view>
#include <vector>

namespace attn::tool {

/// The columns that text takes in a terminal: 2 for wide characters, 0 for
/// combining ones.
size_t displayWidth(std::string_view text);

/// A grid of weights [rows, columns], each as a shade and in per cent; a dot
/// where it rounds to nothing. Ends with a newline.
std::string drawAlignment(const std::vector<std::string> &rows,
                          const std::vector<std::string> &columns,
                          const float *weights);

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_ALIGNMENT_GRID_H
