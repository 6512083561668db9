//===- Sequences.h - sizes of sequences, checked --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_SEQUENCES_H
#define ATTN_REFERENCE_SEQUENCES_H

#include "reference/Frame.h"

namespace mlir::attn::reference {

/// A sequence of each row: its numbers, and how many of its positions are true.
struct Sequences {
  const Tensor *values = nullptr;
  const Tensor *lengths = nullptr;
  int64_t rows = 0;
  int64_t positions = 0; ///< Padding included.
  int64_t features = 0;  ///< Elements per position.

  int64_t length(int64_t row) const {
    return static_cast<int64_t>(lengths->data[row]);
  }
  /// Where the features of a position begin.
  int64_t offset(int64_t row, int64_t position) const {
    return (row * positions + position) * features;
  }
  const double *at(int64_t row, int64_t position) const {
    return values->data.data() + offset(row, position);
  }
};

/// Checks that there is one length per row, within the positions.
LogicalResult checkLengths(Operation *op, Frame &frame, const Tensor &lengths,
                           int64_t rows, int64_t positions);

/// The sequences of `value`, their lengths checked.
FailureOr<Sequences> getSequences(Operation *op, Frame &frame, Value value,
                                  Value lengths);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_SEQUENCES_H
