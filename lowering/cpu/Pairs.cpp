//===- Pairs.cpp - loops over queries and memory positions ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reads and scores have in common, and the kernel of a score that no read
// has taken in: one that somebody looks at.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Pairs.h"

#include "dialect/Axes.h"
#include "lowering/graph/PairInputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult PairEmitter::enterRegion(Region &region, Value key) {
  Block &block = region.front();
  for (auto [index, input] : llvm::enumerate(pairs.getInputs())) {
    AffineMap map = pairs.getIndexingMap(index);
    SmallVector<Value> axes;
    for (AffineExpr expr : map.getResults())
      switch (cast<AffineDimExpr>(expr).getPosition()) {
      case PairOpInterface::Row:
        axes.push_back(row);
        break;
      case PairOpInterface::Source:
        axes.push_back(source);
        break;
      case PairOpInterface::Query:
        axes.push_back(query);
        break;
      default:
        axes.push_back(key);
      }
    emitter.bindArgument(block.getArgument(index), input,
                         [axes](ArrayRef<Value>) { return axes; });
  }
  emitter.bindScalar(getPositionArgument(block, QueryPosition), queryPosition);
  if (key)
    emitter.bindScalar(getPositionArgument(block, KeyPosition), toI32(key));
  emitter.bindScalar(getPositionArgument(block, QueryLength), queryLength);
  emitter.bindScalar(getPositionArgument(block, MemoryLength), memoryLength);
  return emitter.emitBlock(block);
}

void PairEmitter::allocateResults() {
  for (auto [index, input] : llvm::enumerate(pairs.getInputs()))
    if (!keySize && pairs.indexes(index, PairOpInterface::Key))
      keySize = emitter.getAxisSizes(input)[1];
  for (Value result : pairs->getResults()) {
    SmallVector<Value> sizes(emitter.getAxisSizes(result));
    if (!emitter.lookupBuffer(result))
      emitter.setBuffer(result, emitter.allocate(result.getType(), sizes));
  }
}

/// How many rows from `firstRow` on have its source, at most `most`.
Value PairEmitter::countRowsOfSource(Value numRows, int64_t most) {
  Value id = perRow(pairs.getRows(), firstRow);
  Value left = arith::SubIOp::create(b, numRows, firstRow);
  Value one = emitter.constant(1);
  auto loop = scf::ForOp::create(
      b, one, arith::MinUIOp::create(b, left, emitter.constant(most)), one,
      one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value number = loop.getInductionVar(), count = loop.getRegionIterArg(0);
  Value other =
      perRow(pairs.getRows(), arith::AddIOp::create(b, firstRow, number));
  Value follows = arith::AndIOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, count),
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, other, id));
  scf::YieldOp::create(
      b, ValueRange{arith::SelectOp::create(
             b, follows, arith::AddIOp::create(b, count, one), count)});
  return loop.getResult(0);
}

void PairEmitter::enterRow(Value first) {
  row = firstRow = first;
  source = pairs.getRows() ? toIndex(perRow(pairs.getRows(), row)) : row;
  memoryLength = perRow(pairs.getLengths(), source);
  length = toIndex(memoryLength);
}

LogicalResult PairEmitter::forEachQuery(
    Value like, ValueRange sizes,
    const std::function<LogicalResult(ArrayRef<Value>)> &body, Value begin,
    Value numQueries) {
  LogicalResult emitted = success();
  bool hasQueries = pairs.hasQueryAxis();
  SmallVector<Value> all(
      emitter.getAxisSizes(like).take_front(hasQueries ? 2 : 1));
  if (hasQueries && numQueries)
    all[1] = numQueries;
  const size_t numAxes = all.size();
  llvm::append_range(all, sizes);
  emitter.forEachParallel(all, [&](ArrayRef<Value> place) {
    enterRow(place[0]);
    if (hasQueries) {
      firstQuery = place[1];
      if (begin)
        firstQuery = arith::AddIOp::create(b, firstQuery, begin);
      queryLength = perRow(pairs.getQueryLengths(), row);
      // Padding queries read nothing.
      Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                           firstQuery, toIndex(queryLength));
      length = arith::SelectOp::create(b, within, length, emitter.constant(0));
    }
    if (failed(body(place.drop_front(numAxes))))
      emitted = failure();
  });
  return emitted;
}

LogicalResult
PairEmitter::forEachGroup(Value like, int64_t most,
                          const std::function<LogicalResult(Value)> &body) {
  ArrayRef<Value> sizes = emitter.getAxisSizes(like);
  Value numRows = sizes[0];
  Value numQueries = pairs.hasQueryAxis() ? sizes[1] : Value();
  LogicalResult emitted = success();
  // Calls `each` with the first of every group; it answers how many they are.
  auto forEachFirst = [&](Value begin, Value end,
                          const std::function<Value(Value)> &each) {
    if (most == 1) {
      emitter.forEach(begin, end, [&](Value first) { each(first); });
      return;
    }
    Type index = b.getIndexType();
    auto loop = scf::WhileOp::create(b, TypeRange{index}, ValueRange{begin});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, index, b.getLoc());
    Value first = before->getArgument(0);
    Value more =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, end);
    scf::ConditionOp::create(b, more, ValueRange{first});
    Block *after = b.createBlock(&loop.getAfter(), {}, index, b.getLoc());
    first = after->getArgument(0);
    Value count = each(first);
    scf::YieldOp::create(b, ValueRange{arith::AddIOp::create(b, first, count)});
  };
  auto run = [&](Value count) {
    if (failed(body(count)))
      emitted = failure();
    return count;
  };
  Value one = emitter.constant(1);
  if (!numQueries) {
    emitter.forEachShare(numRows, [&](Value, Value begin, Value end) {
      forEachFirst(begin, end, [&](Value first) {
        enterRow(first);
        return run(most == 1 ? one : countRowsOfSource(end, most));
      });
    });
    return emitted;
  }
  // Threads share rows, or where there are few, parts of their queries.
  Value numParts = emitter.shares ? emitter.shares : one;
  SmallVector<Value> parts = {numRows, numParts};
  emitter.forEachParallel(parts, [&](ArrayRef<Value> part) {
    enterRow(part[0]);
    Value beginOfPart = beginOfShare(b, numQueries, part[1], numParts);
    Value endOfPart = beginOfShare(
        b, numQueries, arith::AddIOp::create(b, part[1], one), numParts);
    Value ownLength = length;
    queryLength = perRow(pairs.getQueryLengths(), row);
    Value ownQueries = toIndex(queryLength);
    forEachFirst(beginOfPart, endOfPart, [&](Value first) {
      firstQuery = first;
      // Padding queries read nothing, and are in no group with others.
      Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first,
                                           ownQueries);
      length =
          arith::SelectOp::create(b, within, ownLength, emitter.constant(0));
      Value end = arith::SelectOp::create(b, within, ownQueries, numQueries);
      end = arith::MinUIOp::create(b, end, endOfPart);
      Value left = arith::SubIOp::create(b, end, first);
      return run(most == 1 ? one
                           : Value(arith::MinUIOp::create(
                                 b, left, emitter.constant(most))));
    });
  });
  return emitted;
}

SmallVector<Value> PairEmitter::enterQuery(Value number) {
  if (pairs.hasQueryAxis()) {
    query = arith::AddIOp::create(b, firstQuery, number);
    queryPosition = toI32(query);
    return {row, query};
  }
  row = arith::AddIOp::create(b, firstRow, number);
  Value one = arith::ConstantIntOp::create(b, 1, 32);
  if (pairs.getQueryPositions()) {
    // The step at position t belongs to a text of t + 1 words so far.
    queryPosition = perRow(pairs.getQueryPositions(), row);
    queryLength = arith::AddIOp::create(b, queryPosition, one);
  } else {
    queryPosition = arith::ConstantIntOp::create(b, 0, 32);
    queryLength = one;
  }
  return {row};
}

namespace mlir::attn {

/// Emits a score that is wanted for itself.
class ScoreEmitter : public PairEmitter {
public:
  ScoreEmitter(Emitter &emitter, ScoreOp op)
      : PairEmitter(emitter, op), op(op) {}

  LogicalResult emit() {
    allocateResults();
    Value result = op.getResult();
    if (!isForDevice())
      return forEachGroup(result, 1, [&](Value) {
        return emitKeys(emitter.constant(0), length);
      });
    // Keys are blocks side by side, so that none takes long.
    Value size = emitter.constant(numLanes);
    Value blocks = arith::CeilDivUIOp::create(b, keySize, size);
    return forEachQuery(result, blocks, [&](ArrayRef<Value> places) {
      Value begin = arith::MulIOp::create(b, places[0], size);
      Value end = arith::AddIOp::create(b, begin, size);
      return emitKeys(begin, arith::MinUIOp::create(b, end, length));
    });
  }

private:
  LogicalResult emitKeys(Value begin, Value end) {
    LogicalResult emitted = success();
    Value result = op.getResult();
    SmallVector<Value> place = enterQuery(emitter.constant(0));
    emitter.forEach(begin, end, [&](Value key) {
      if (failed(enterRegion(op.getBody(), key))) {
        emitted = failure();
        return;
      }
      Value score = getYielded(op.getBody());
      emitter.forEachChunk(
          getFeatures(score.getType()), [&](ElementIndex index) {
            Value element = emitter.evaluate(score, index);
            index.axes.assign(place.begin(), place.end());
            index.axes.push_back(key);
            emitter.store(emitter.lookupBuffer(result), index, element);
          });
    });
    return emitted;
  }

  ScoreOp op;
};

} // namespace mlir::attn

LogicalResult Emitter::emitScore(ScoreOp op) {
  return ScoreEmitter(*this, op).emit();
}
