//===- Read.h - the kernel of the fused read --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_READ_H
#define ATTN_LOWERING_CPU_READ_H

#include "lowering/cpu/LoopTransforms.h"
#include "lowering/cpu/Normalizers.h"
#include "lowering/cpu/Pairs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace mlir::attn {

/// Emits one read.
class ReadEmitter : public PairEmitter {
public:
  ReadEmitter(Emitter &emitter, ReadOp op) : PairEmitter(emitter, op), op(op) {}

  LogicalResult emit();

private:
  /// So many queries are a group at most.
  static constexpr int64_t groupSize = 8;
  /// So many positions are a block, where a normaliser takes blocks.
  static constexpr int64_t blockSize = 128;

  LogicalResult emitGroup();
  LogicalResult emitBlock();
  LogicalResult emitScores();
  LogicalResult emitWeights();
  LogicalResult emitFactors();
  LogicalResult emitContexts();
  LogicalResult emitContextsByKey();
  LogicalResult emitContextsByFeature(bool hidden);
  LogicalResult emitContextChunks(Value head, unsigned number,
                                  ArrayRef<ElementIndex> chunks, bool hidden);
  void emitWeightsResult();
  /// Weights of the blocks before the last, from the scores that stand there,
  /// and of what no block has, for positions from `from` to `to`.
  LogicalResult finishWeightsResult(Value from, Value to);
  void startRunning();
  /// Makes the buffers that a group, or a thread, has for itself.
  void allocateScratch();

  // On a device, see SplitRead.cpp.
  LogicalResult emitOnDevice();
  LogicalResult emitWhole();
  void allocateParts();
  LogicalResult emitSplit();
  LogicalResult emitParts();
  LogicalResult mergeContexts(unsigned number);
  LogicalResult emitLastBlocks();
  LogicalResult emitEarlierWeights();
  LogicalResult
  forEachHeadAnd(ValueRange sizes,
                 const std::function<LogicalResult(ArrayRef<Value>)> &body);
  void enterOnlyQuery();
  SmallVector<Value> partAt(Value number);
  ElementIndex runningAt(Value number);
  void keepRunning(Value number);
  std::pair<Value, Value> mergeSums(Type type,
                                    const std::function<Value(Value)> &loadSum);

  /// Finds `begin` and `end` of the group, and of its queries.
  LogicalResult findIntervals();
  /// The positions that the current query may read.
  std::pair<Value, Value> getInterval();
  /// Where the last block of the current query begins.
  Value getLastBlock();
  /// How this block stands to the last one of the current query.
  Value compareWithLast(arith::CmpIPredicate predicate) {
    return isLast ? isLast : compare(predicate, block, getLastBlock());
  }
  /// The multiple of `size` that is not above `position`.
  Value roundDown(Value position, Value size) {
    return arith::MulIOp::create(b, arith::DivUIOp::create(b, position, size),
                                 size);
  }
  Value isReadable(Value scores) { return attn::isReadable(emitter, scores); }
  Value minusInfinity() {
    return emitter.constantF32(-std::numeric_limits<double>::infinity());
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  /// Runs `body` where `condition` holds.
  void when(Value condition, const std::function<void()> &body) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }
  /// Where something of the current query and a head stands, and where its
  /// score of a position.
  ElementIndex at(Value head) const {
    return {.axes = {}, .features = {member, placeOf(head)}};
  }
  ElementIndex at(Value head, Value key) {
    return {.axes = {},
            .features = {member, placeOf(head),
                         arith::SubIOp::create(b, key, block)}};
  }
  /// A sum over the positions of the block, or lanes of it, together with those
  /// of the blocks before.
  Value addBlocksBefore(unsigned number, Value head, ElementIndex index,
                        Value sum);
  /// Writes that sum to context `number` of the current query.
  void storeSum(unsigned number, Value head, ElementIndex index, Value sum) {
    Value all = addBlocksBefore(number, head, index, sum);
    index.axes = contextPlace;
    emitter.store(contexts[number], index, all);
  }
  Value zeroAt(const ElementIndex &place) {
    Value zero = emitter.constantF32(0);
    return place.isVector ? emitter.splat(zero) : zero;
  }
  /// The indices of head number `head`.
  SmallVector<Value> delinearize(Value head);
  void forEachHead(const std::function<void(Value)> &body) {
    if (isForDevice())
      body(head);
    else
      emitter.forEach(emitter.constant(numHeads), body);
  }
  /// Where buffers of the group have what belongs to a head.
  Value placeOf(Value head) const {
    return isForDevice() ? emitter.constant(0) : head;
  }
  /// Runs `body` for the positions of the block that the group may read.
  void forEachKey(const std::function<void(Value)> &body) {
    emitter.forEach(keyBegin, blockEnd, body);
  }
  /// Runs `body` for the queries of the group.
  void forEachMember(const std::function<void()> &body,
                     StringRef loopName = {}) {
    auto loop = scf::ForOp::create(b, emitter.constant(0), groupCount,
                                   emitter.constant(1));
    if (!loopName.empty())
      nameLoop(loop, loopName);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    member = loop.getInductionVar();
    place = enterQuery(member);
    contextPlace = parts.number ? partAt(parts.number) : place;
    body();
  }
  bool hasInterval() { return !op.getInterval().empty(); }
  /// Whether all that the regions compute stays in registers, so that pairs may
  /// be computed side by side.
  bool isArrangeable(Region &region) { return emitter.isLazy(region.front()); }

  ReadOp op;

  SmallVector<int64_t> heads; ///< The features of a score.
  int64_t numHeads = 1;
  bool online = false;    ///< Whether memories are read in blocks.
  int64_t maxCount = 1;   ///< Of the queries of a group.
  Buffer scores, weights; ///< [queries, heads, positions of a block].
  Buffer maxima, totals, scales, ownScales; ///< [queries, heads], RunningRow.
  SmallVector<Buffer> contexts;             ///< Where contexts go.
  SmallVector<Buffer> sums; ///< [heads, features] Of a block, where needed.
  Buffer begins, ends;      ///< i32 [queries]: the positions they may read.
  Buffer hides; ///< Whether a query cannot read some position of the block.

  Value groupCount; ///< How many queries the group has.
  Value head;       ///< On a device: the one that is computed.
  /// The positions that the queries of the group may read.
  Value begin, end;
  /// Where blocks begin: the first, this one, and how many positions they have.
  Value firstBlock, block, positions;
  /// The positions of this block: those that may be read, and where the chunk
  /// of lanes begins that the first of them lies in.
  Value keyBegin, blockEnd, first;
  Value isFirst; ///< Whether this is the first block.
  Value isLast;  ///< Whether it is the last, where that is known beforehand.
  Value member;  ///< The number of the current query in its group.
  SmallVector<Value> place;        ///< Its indices.
  SmallVector<Value> contextPlace; ///< And those of its contexts.

  /// Of memories that are split, on a device: what each block but the last has
  /// of its own.
  struct {
    Value numBlocks; ///< Of the longest memory, without the last one.
    /// So many queries are treated at a time, from the first on.
    Value most, firstQuery, numQueries;
    Value number; ///< That of the block which is read, where it is a part.
    SmallVector<Buffer> contexts; ///< [rows, queries, blocks, features]
    Buffer maxima, totals;        ///< [rows, queries, blocks, heads]
  } parts;
};

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_READ_H
