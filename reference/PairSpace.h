//===- PairSpace.h - the pairs of queries and memory positions *- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iteration space of an operation over pairs, and its regions evaluated at
// one pair after another.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_PAIRSPACE_H
#define ATTN_REFERENCE_PAIRSPACE_H

#include "dialect/Attn.h"
#include "reference/Frame.h"

namespace mlir::attn::reference {

/// The sizes of an iteration space, all checked.
class PairSpace {
public:
  static FailureOr<PairSpace> create(PairOpInterface op, Frame &frame);

  int64_t rows = 0, sources = 0;
  int64_t queries = 1, keys = 0; ///< Padding included.

  /// The memory that a row reads.
  int64_t source(int64_t row) const {
    return rowMap ? static_cast<int64_t>(rowMap->data[row]) : row;
  }
  int64_t memoryLength(int64_t row) const {
    return static_cast<int64_t>(lengths->data[source(row)]);
  }
  /// How many queries of a row are no padding.
  int64_t numQueries(int64_t row) const {
    return queryLengths ? static_cast<int64_t>(queryLengths->data[row]) : 1;
  }
  int64_t queryPosition(int64_t row, int64_t query) const {
    return queryPositions ? static_cast<int64_t>(queryPositions->data[row])
                          : query;
  }
  /// The length of the sequence that the query belongs to: a decoder's query
  /// at position i is the last one so far, of i + 1.
  int64_t queryLength(int64_t row) const {
    return queryPositions ? queryPosition(row, 0) + 1 : numQueries(row);
  }

  /// The axes of a value with one element per pair, or per query.
  SmallVector<int64_t> pairAxes() const;
  SmallVector<int64_t> queryAxes() const;
  /// The number of a pair or a query in such a value.
  int64_t pair(int64_t row, int64_t query, int64_t key) const {
    return (row * queries + query) * keys + key;
  }
  int64_t query(int64_t row, int64_t query) const {
    return row * queries + query;
  }

private:
  const Tensor *lengths = nullptr;
  const Tensor *rowMap = nullptr;
  const Tensor *queryLengths = nullptr;
  const Tensor *queryPositions = nullptr;
};

/// A region of an operation over pairs.
class PairRegion {
public:
  PairRegion(PairOpInterface op, Region &region, const PairSpace &space,
             Frame &frame);

  /// Evaluates the region at a pair.
  LogicalResult evaluate(int64_t row, int64_t query, int64_t key);

  /// What the region yielded.
  const Tensor &get(unsigned index = 0) const {
    return body.get(yielded[index]);
  }

private:
  /// An input whose slices the region reads.
  struct Input {
    const Tensor *tensor;
    BlockArgument argument;
    /// How far apart slices lie along each dimension of the space.
    int64_t strides[PairOpInterface::NumDims];
    /// Where the slice in the frame begins, so that it is copied only when it
    /// changes.
    int64_t offset;
  };

  const PairSpace &space;
  Frame body;
  ValueRange yielded;
  SmallVector<Input> inputs;
  BlockArgument queryPosition, keyPosition, queryLength, memoryLength;
};

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_PAIRSPACE_H
