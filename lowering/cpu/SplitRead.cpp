//===- SplitRead.cpp - reads on a device, of long memories in parts -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of lanes of a device reads for one query and head. Where the longest
// memory has more than one block, the blocks before a query's last are read
// side by side: each makes its largest score, the sum of its exponentials and
// its contexts. These are merged in the order of the blocks, and the last block
// is read by who knows the totals. That is what the loop over blocks of
// Read.cpp does, operation by operation: the results are the same to the bit
// (R13).
//
// What is stored between is proportional to the queries times the blocks; many
// queries take turns, since they need no more to have a device at work.
//
// After Dao et al., "Flash-Decoding for long-context inference", 2023.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Read.h"

#include "dialect/Axes.h"
#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// So many blocks of all heads and queries are stored at a time, or those of
/// one query of each row: more than devices have groups of lanes at work.
static constexpr int64_t mostParts = 16384;

/// Runs `body` side by side for the queries whose turn it is, their heads, and
/// all places of `sizes`.
LogicalResult ReadEmitter::forEachHeadAnd(
    ValueRange sizes,
    const std::function<LogicalResult(ArrayRef<Value>)> &body) {
  allocateScratch();
  SmallVector<Value> all = {emitter.constant(numHeads)};
  llvm::append_range(all, sizes);
  return forEachQuery(
      op.getContexts().front(), all,
      [&](ArrayRef<Value> places) {
        head = places.front();
        isFirst = isLast = Value();
        if (failed(findIntervals()))
          return failure();
        firstBlock = roundDown(begin, positions);
        return body(places.drop_front());
      },
      parts.firstQuery, parts.numQueries);
}

LogicalResult ReadEmitter::emitWhole() {
  return forEachHeadAnd({}, [&](ArrayRef<Value>) {
    startRunning();
    firstBlock = block = emitter.constant(0);
    isFirst = isLast = arith::ConstantIntOp::create(b, 1, 1);
    LogicalResult emitted = emitBlock();
    if (succeeded(emitted) && op.getWeights())
      emitted = finishWeightsResult(emitter.constant(0), keySize);
    return emitted;
  });
}

/// Makes the one query of a group the current one.
void ReadEmitter::enterOnlyQuery() {
  place = enterQuery(member = emitter.constant(0));
}

/// Where block `number` of the current query has its sums.
SmallVector<Value> ReadEmitter::partAt(Value number) {
  Value own = emitter.constant(0);
  if (pairs.hasQueryAxis())
    own = arith::SubIOp::create(b, query, parts.firstQuery);
  return {row, own, number};
}

/// And its largest score and its total.
ElementIndex ReadEmitter::runningAt(Value number) {
  return {.axes = partAt(number), .features = {head}};
}

/// Keeps these of the current query and head, as those of block `number`.
void ReadEmitter::keepRunning(Value number) {
  enterOnlyQuery();
  ElementIndex place = runningAt(number);
  emitter.store(parts.maxima, place, emitter.load(maxima, at(head)));
  emitter.store(parts.totals, place, emitter.load(totals, at(head)));
}

void ReadEmitter::allocateParts() {
  Value one = emitter.constant(1), zero = emitter.constant(0);
  ArrayRef<Value> sizes = emitter.getAxisSizes(op.getContexts().front());
  Value rows = sizes.front();
  parts.most = one;
  if (pairs.hasQueryAxis()) {
    Value perQuery = arith::MulIOp::create(
        b, parts.numBlocks,
        arith::MulIOp::create(b, rows, emitter.constant(numHeads)));
    perQuery = arith::MaxUIOp::create(b, perQuery, one);
    Value most =
        arith::DivUIOp::create(b, emitter.constant(mostParts), perQuery);
    most = arith::MinUIOp::create(b, most, sizes[1]);
    parts.most = arith::MaxUIOp::create(b, most, one);
  }
  // Nothing is split where there is one block.
  Value split = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt,
                                      parts.numBlocks, zero);
  Value stored = arith::SelectOp::create(b, split, parts.most, zero);
  SmallVector<Value> dynamic = {rows, stored, parts.numBlocks};
  auto allocate = [&](ArrayRef<int64_t> features) {
    SmallVector<int64_t> shape(3, ShapedType::kDynamic);
    llvm::append_range(shape, features);
    return emitter.allocateBuffer(MemRefType::get(shape, b.getF32Type()),
                                  dynamic);
  };
  parts.maxima = allocate(numHeads);
  parts.totals = allocate(numHeads);
  for (Value context : op.getContexts())
    parts.contexts.push_back(allocate(getFeatures(context.getType())));
}

/// Reads the blocks before the last ones.
LogicalResult ReadEmitter::emitParts() {
  SmallVector<Buffer> results = contexts;
  contexts = parts.contexts;
  LogicalResult emitted =
      forEachHeadAnd(parts.numBlocks, [&](ArrayRef<Value> places) {
        Value number = places.front();
        enterOnlyQuery();
        block = arith::MulIOp::create(b, number, positions);
        Value isRead = arith::AndIOp::create(
            b, compare(arith::CmpIPredicate::uge, block, firstBlock),
            compare(arith::CmpIPredicate::ult, block, getLastBlock()));
        LogicalResult read = success();
        when(isRead, [&] {
          startRunning();
          isFirst = arith::ConstantIntOp::create(b, 1, 1);
          isLast = arith::ConstantIntOp::create(b, 0, 1);
          parts.number = number;
          read = emitBlock();
          parts.number = Value();
          keepRunning(number);
        });
        return read;
      });
  contexts = results;
  return emitted;
}

/// Adds up what blocks before the last have of the current query, numbers of
/// `type`; answers the largest score, and the sum.
std::pair<Value, Value>
ReadEmitter::mergeSums(Type type, const std::function<Value(Value)> &loadSum) {
  Value from = arith::DivUIOp::create(b, firstBlock, positions);
  Value to = arith::DivUIOp::create(b, getLastBlock(), positions);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto loop = scf::ForOp::create(b, from, to, emitter.constant(1),
                                 ValueRange{minusInfinity(), zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar();
  Value before = loop.getRegionIterArg(0);
  Value own = emitter.load(parts.maxima, runningAt(number));
  Value maximum = arith::MaximumFOp::create(b, before, own);
  Value scale = emitRescaling(emitter, before, maximum);
  scale = arith::SelectOp::create(b, isReadable(maximum), scale,
                                  emitter.constantF32(0));
  Value ownScale = emitRescaling(emitter, own, maximum);
  if (isa<VectorType>(type)) {
    scale = emitter.splat(scale);
    ownScale = emitter.splat(ownScale);
  }
  Value sum = arith::MulFOp::create(b, loadSum(number), ownScale);
  Value all = math::FmaOp::create(b, loop.getRegionIterArg(1), scale, sum);
  // What is not there is not even added.
  Value first = compare(arith::CmpIPredicate::eq, number, from);
  scf::YieldOp::create(
      b, ValueRange{maximum, arith::SelectOp::create(b, first, sum, all)});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Adds up contexts of the blocks before the last ones.
LogicalResult ReadEmitter::mergeContexts(unsigned number) {
  ArrayRef<int64_t> rest =
      getFeatures(op.getContexts()[number].getType()).drop_front(heads.size());
  return forEachHeadAnd(emitter.countChunks(rest), [&](ArrayRef<Value> places) {
    enterOnlyQuery();
    ElementIndex index = emitter.chunkAt(rest, places);
    index.axes = place;
    SmallVector<Value> headIndices = delinearize(head);
    index.features.insert(index.features.begin(), headIndices.begin(),
                          headIndices.end());
    Type type = b.getF32Type();
    if (index.isVector)
      type = VectorType::get({numLanes}, type);
    Value sum = mergeSums(type, [&](Value part) {
                  ElementIndex own = index;
                  own.axes = partAt(part);
                  return emitter.load(parts.contexts[number], own);
                }).second;
    emitter.store(contexts[number], index, sum);
    return success();
  });
}

/// Reads the last blocks, which need what is known of the others.
LogicalResult ReadEmitter::emitLastBlocks() {
  return forEachHeadAnd({}, [&](ArrayRef<Value>) {
    enterOnlyQuery();
    auto [maximum, total] = mergeSums(b.getF32Type(), [&](Value part) {
      return emitter.load(parts.totals, runningAt(part));
    });
    emitter.store(maxima, at(head), maximum);
    emitter.store(totals, at(head), total);
    block = getLastBlock();
    isFirst = compare(arith::CmpIPredicate::eq, block, firstBlock);
    isLast = arith::ConstantIntOp::create(b, 1, 1);
    if (failed(emitBlock()))
      return failure();
    // For the weights of the other blocks.
    if (op.getWeights())
      keepRunning(emitter.constant(0));
    return success();
  });
}

LogicalResult ReadEmitter::emitEarlierWeights() {
  Value numBlocks =
      arith::AddIOp::create(b, parts.numBlocks, emitter.constant(1));
  return forEachHeadAnd(numBlocks, [&](ArrayRef<Value> places) {
    enterOnlyQuery();
    ElementIndex first = runningAt(emitter.constant(0));
    emitter.store(maxima, at(head), emitter.load(parts.maxima, first));
    emitter.store(totals, at(head), emitter.load(parts.totals, first));
    Value from = arith::MulIOp::create(b, places.front(), positions);
    Value to = arith::AddIOp::create(b, from, positions);
    return finishWeightsResult(from, arith::MinUIOp::create(b, to, keySize));
  });
}

LogicalResult ReadEmitter::emitSplit() {
  if (failed(emitParts()))
    return failure();
  for (size_t number = 0; number < contexts.size(); ++number)
    if (failed(mergeContexts(number)))
      return failure();
  if (failed(emitLastBlocks()))
    return failure();
  return op.getWeights() ? emitEarlierWeights() : success();
}

LogicalResult ReadEmitter::emitOnDevice() {
  groupCount = emitter.constant(1);
  if (!online)
    return emitWhole();
  Value one = emitter.constant(1), zero = emitter.constant(0);
  Value last =
      arith::SubIOp::create(b, arith::MaxUIOp::create(b, keySize, one), one);
  parts.numBlocks = arith::DivUIOp::create(b, last, positions);
  allocateParts();
  Value split = compare(arith::CmpIPredicate::ugt, parts.numBlocks, zero);
  auto branch = scf::IfOp::create(b, split, /*withElseRegion=*/true);
  branch->setAttr(longMemoryAttrName, b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (failed(emitWhole()))
    return failure();
  b.setInsertionPointToStart(branch.thenBlock());
  if (!pairs.hasQueryAxis()) {
    parts.firstQuery = zero;
    return emitSplit();
  }
  Value numQueries = emitter.getAxisSizes(op.getContexts().front())[1];
  auto turns = scf::ForOp::create(b, zero, numQueries, parts.most);
  b.setInsertionPointToStart(turns.getBody());
  parts.firstQuery = turns.getInductionVar();
  parts.numQueries = arith::MinUIOp::create(
      b, parts.most, arith::SubIOp::create(b, numQueries, parts.firstQuery));
  return emitSplit();
}
