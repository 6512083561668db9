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

LogicalResult PairEmitter::forEachQuery(
    Value like, const std::function<LogicalResult(ArrayRef<Value>)> &body) {
  SmallVector<Value> sizes(
      emitter.getAxisSizes(like).take_front(pairs.hasQueryAxis() ? 2 : 1));
  LogicalResult emitted = success();
  emitter.forEach(sizes, [&](ArrayRef<Value> place) {
    row = place[0];
    query = place.size() > 1 ? place[1] : Value();
    source = pairs.getRows() ? toIndex(perRow(pairs.getRows(), row)) : row;
    memoryLength = perRow(pairs.getLengths(), source);
    length = toIndex(memoryLength);
    Value one = arith::ConstantIntOp::create(b, 1, 32);
    if (query) {
      queryPosition = toI32(query);
      queryLength = perRow(pairs.getQueryLengths(), row);
      // A padding query reads nothing.
      Value within = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                           queryPosition, queryLength);
      length = arith::SelectOp::create(b, within, length, emitter.constant(0));
    } else if (pairs.getQueryPositions()) {
      // The step at position t belongs to a text of t + 1 words so far.
      queryPosition = perRow(pairs.getQueryPositions(), row);
      queryLength = arith::AddIOp::create(b, queryPosition, one);
    } else {
      queryPosition = arith::ConstantIntOp::create(b, 0, 32);
      queryLength = one;
    }
    if (failed(body(place)))
      emitted = failure();
  });
  return emitted;
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
    return forEachQuery(result, [&](ArrayRef<Value> place) {
      LogicalResult emitted = success();
      emitter.forEach(length, [&](Value key) {
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
    });
  }

private:
  ScoreOp op;
};

} // namespace mlir::attn

LogicalResult Emitter::emitScore(ScoreOp op) {
  return ScoreEmitter(*this, op).emit();
}
