//===- Pairs.h - loops over queries and memory positions --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_PAIRS_H
#define ATTN_LOWERING_CPU_PAIRS_H

#include "lowering/cpu/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::attn {

/// What kernels of operations over pairs have in common: a loop over the
/// queries, and the regions at a query and a memory position.
class PairEmitter {
protected:
  PairEmitter(Emitter &emitter, PairOpInterface op)
      : emitter(emitter), b(emitter.getBuilder()), pairs(op) {}

  /// Gives the results of the operation their buffers, and finds `keySize`.
  void allocateResults();
  /// Whether queries that follow each other may read one memory: those of one
  /// row, or those of rows with the same source.
  bool mayShareMemory() { return pairs.hasQueryAxis() || pairs.getRows(); }
  /// Runs `body` for groups of at most `most` queries, of the axes of `like`,
  /// that follow each other and read one memory; it gets their number. Sets
  /// `source`, `memoryLength` and `length`.
  LogicalResult forEachGroup(Value like, int64_t most,
                             const std::function<LogicalResult(Value)> &body);
  /// The same on a device, where a group is one query: runs `body` side by side
  /// for all of them and for all places of `sizes`, which it gets. Of queries
  /// with an axis, `numQueries` from `begin` on; null: all.
  LogicalResult
  forEachQuery(Value like, ValueRange sizes,
               const std::function<LogicalResult(ArrayRef<Value> places)> &body,
               Value begin = {}, Value numQueries = {});
  bool isForDevice() const { return emitter.products.device; }
  /// Makes query `number` of a group the current one; answers its indices.
  SmallVector<Value> enterQuery(Value number);
  /// Connects the arguments of a region with the inputs at the current query
  /// and at `key`, and emits what of the region needs a buffer. `key` may be
  /// null where a region is the same for all.
  LogicalResult enterRegion(Region &region, Value key);
  Value getYielded(Region &region, unsigned index = 0) {
    return region.front().getTerminator()->getOperand(index);
  }

  Value toIndex(Value integer) {
    return arith::IndexCastOp::create(b, b.getIndexType(), integer);
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  Value perRow(Value values, Value row) {
    return emitter.evaluate(values, {.axes = {row}, .features = {}});
  }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  PairOpInterface pairs;

  Value keySize;            ///< The longest memory.
  Value row, source, query; ///< Where the current query stands.
  Value length;             ///< Of its memory; 0 for padding queries.
  Value queryPosition, queryLength, memoryLength; ///< i32, for the regions.

private:
  Value countRowsOfSource(Value numRows, int64_t most);
  void enterRow(Value first);

  Value firstRow, firstQuery; ///< Of the group.
};

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_PAIRS_H
