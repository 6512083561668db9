//===- alignment_svg.h - draw alignments as a picture
//------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_ALIGNMENT_SVG_H
#define ATTN_TOOLS_DECODE_ALIGNMENT_SVG_H

#include <string>
#include <vector>

namespace attn::tool {

/// Puts grids of weights below each other in one SVG picture: columns along the
/// top, rows downwards, each cell as dark as its weight, which stands in it in
/// per cent. The picture refers to nothing outside of it.
class AlignmentPicture {
public:
  /// What stands below a column: a bar of some length.
  struct Margin {
    double sum = 0; ///< of the column's weights.
    enum Mark { Plain, Unread, Reread } mark = Plain;
  };

  /// Adds a grid [rows, columns]. Weights below 0 or not numbers have an empty
  /// cell. `margins`: one for each column, or none.
  void add(const std::string &title, const std::vector<std::string> &rows,
           const std::vector<std::string> &columns, const float *weights,
           const std::vector<Margin> &margins = {});

  /// The whole picture.
  std::string svg() const;

private:
  std::string body;
  double width = 0, height = 0;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_ALIGNMENT_SVG_H
