//===- Read.cpp - the kernel of the fused read ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every row and query: the scores of the memory positions within the
// interval and below the length (-inf where masked), the weights of each head
// from its scores, then the sum over the readable positions. Besides the
// results there is one row of scores and one of weights; what a region computes
// for a pair stays in registers or in a buffer for one pair. Nothing is read
// from a position that is masked (R2).
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Normalizers.h"
#include "lowering/cpu/Pairs.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace mlir::attn {

/// Emits one read.
class ReadEmitter : public PairEmitter {
public:
  ReadEmitter(Emitter &emitter, ReadOp op) : PairEmitter(emitter, op), op(op) {}

  LogicalResult emit();

private:
  LogicalResult emitQuery(ArrayRef<Value> query);
  LogicalResult emitScores();
  LogicalResult emitWeights();
  LogicalResult emitFactors();
  void emitWeightsResult(ArrayRef<Value> query);
  LogicalResult emitContexts(ArrayRef<Value> query);
  LogicalResult emitContextsByKey(ArrayRef<Value> query);
  LogicalResult emitContextsByFeature(ArrayRef<Value> query);
  LogicalResult emitContextChunks(ArrayRef<Value> query, Value head,
                                  unsigned number,
                                  ArrayRef<ElementIndex> chunks);

  /// Finds `begin`, `end` and `first` for the current query.
  LogicalResult findInterval();
  Value isReadable(Value scores) { return attn::isReadable(emitter, scores); }
  Value minusInfinity() {
    return emitter.constantF32(-std::numeric_limits<double>::infinity());
  }
  /// The indices of head number `head`.
  SmallVector<Value> delinearize(Value head);
  void forEachHead(const std::function<void(Value)> &body) {
    emitter.forEach(emitter.constant(numHeads), body);
  }
  /// Runs `body` for the positions that the query may read.
  void forEachKey(const std::function<void(Value)> &body) {
    emitter.forEach(begin, end, body);
  }

  ReadOp op;

  SmallVector<int64_t> heads; ///< The features of a score.
  int64_t numHeads = 1;
  Buffer scores, weights; ///< [heads, memory positions], of the current query.
  /// The positions that the current query may read, and where the chunk of
  /// lanes begins that the first of them lies in.
  Value begin, end, first;
};

} // namespace mlir::attn

SmallVector<Value> ReadEmitter::delinearize(Value head) {
  SmallVector<Value> indices(heads.size());
  Value rest = head;
  for (size_t i = heads.size(); i-- > 1;) {
    Value size = emitter.constant(heads[i]);
    indices[i] = arith::RemUIOp::create(b, rest, size);
    rest = arith::DivUIOp::create(b, rest, size);
  }
  if (!indices.empty())
    indices[0] = rest;
  return indices;
}

LogicalResult ReadEmitter::findInterval() {
  begin = first = emitter.constant(0);
  end = length;
  if (op.getInterval().empty())
    return success();
  if (failed(enterRegion(op.getInterval(), Value())))
    return failure();
  auto clamp = [&](unsigned number, Value least) -> Value {
    Value position =
        toIndex(emitter.evaluate(getYielded(op.getInterval(), number), {}));
    position = arith::MaxSIOp::create(b, position, least);
    return arith::MinSIOp::create(b, position, length);
  };
  begin = clamp(0, begin);
  end = clamp(1, begin);
  // Lanes belong to positions, wherever an interval begins: what is summed in
  // them has the same order with and without one.
  Value lanes = emitter.constant(numLanes);
  first =
      arith::MulIOp::create(b, arith::DivUIOp::create(b, begin, lanes), lanes);
  return success();
}

LogicalResult ReadEmitter::emitScores() {
  LogicalResult emitted = success();
  if (!op.getInterval().empty())
    forEachHead([&](Value head) {
      emitter.forEach(first, begin, [&](Value key) {
        emitter.store(scores, {.axes = {}, .features = {head, key}},
                      minusInfinity());
      });
    });
  forEachKey([&](Value key) {
    auto writeScores = [&] {
      if (failed(enterRegion(op.getScore(), key))) {
        emitted = failure();
        return;
      }
      Value score = getYielded(op.getScore());
      forEachHead([&](Value head) {
        Value element = emitter.evaluate(
            score, {.axes = {}, .features = delinearize(head)});
        emitter.store(scores, {.axes = {}, .features = {head, key}}, element);
      });
    };
    auto writeMasked = [&](Value head) {
      emitter.store(scores, {.axes = {}, .features = {head, key}},
                    minusInfinity());
    };
    if (op.getMask().empty())
      return writeScores();

    if (failed(enterRegion(op.getMask(), key))) {
      emitted = failure();
      return;
    }
    Value mask = getYielded(op.getMask());
    if (getFeatures(mask.getType()).empty()) {
      // One condition for all heads: a masked position is not even looked at.
      Value readable = emitter.evaluate(mask, {});
      auto branch = scf::IfOp::create(b, readable, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      writeScores();
      b.setInsertionPointToStart(branch.elseBlock());
      forEachHead(writeMasked);
      return;
    }
    writeScores();
    forEachHead([&](Value head) {
      Value readable =
          emitter.evaluate(mask, {.axes = {}, .features = delinearize(head)});
      Value hidden = arith::XOrIOp::create(
          b, readable, arith::ConstantIntOp::create(b, 1, 1));
      auto branch = scf::IfOp::create(b, hidden, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      writeMasked(head);
    });
  });
  return emitted;
}

LogicalResult ReadEmitter::emitWeights() {
  Value sink;
  if (!op.getSink().empty()) {
    if (failed(enterRegion(op.getSink(), Value())))
      return failure();
    sink = getYielded(op.getSink());
  }
  forEachHead([&](Value head) {
    SmallVector<Value> indices = delinearize(head);
    ScoreRow scoreRow{scores, weights, head, first, end, Value()};
    if (sink)
      scoreRow.sink = emitter.evaluate(sink, {.axes = {}, .features = indices});
    Value maximum = emitNormalizer(emitter, op.getNormalizer(), scoreRow);
    if (op.getValid())
      emitter.store(emitter.lookupBuffer(op.getValid()),
                    {.axes = query ? SmallVector<Value>{row, query}
                                   : SmallVector<Value>{row},
                     .features = indices},
                    isReadable(maximum));
  });
  return success();
}

LogicalResult ReadEmitter::emitFactors() {
  LogicalResult emitted = success();
  forEachKey([&](Value key) {
    if (failed(enterRegion(op.getFactor(), key))) {
      emitted = failure();
      return;
    }
    Value factor = getYielded(op.getFactor());
    forEachHead([&](Value head) {
      ElementIndex place{.axes = {}, .features = {head, key}};
      Value readable = isReadable(emitter.load(scores, place));
      auto branch = scf::IfOp::create(b, readable, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value element =
          emitter.evaluate(factor, {.axes = {}, .features = delinearize(head)});
      emitter.store(
          weights, place,
          arith::MulFOp::create(b, emitter.load(weights, place), element));
    });
  });
  return emitted;
}

void ReadEmitter::emitWeightsResult(ArrayRef<Value> place) {
  Buffer result = emitter.lookupBuffer(op.getWeights());
  emitter.forEach(keySize, [&](Value key) {
    Value within =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, key, end);
    if (!op.getInterval().empty())
      within = arith::AndIOp::create(
          b, within,
          arith::CmpIOp::create(b, arith::CmpIPredicate::uge, key, begin));
    forEachHead([&](Value head) {
      auto weight =
          scf::IfOp::create(b, TypeRange{b.getF32Type()}, within, true);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(weight.thenBlock());
        scf::YieldOp::create(
            b, ValueRange{emitter.load(weights,
                                       {.axes = {}, .features = {head, key}})});
        b.setInsertionPointToStart(weight.elseBlock());
        scf::YieldOp::create(b, ValueRange{emitter.constantF32(0)});
      }
      ElementIndex index;
      index.axes.assign(place.begin(), place.end());
      index.axes.push_back(key);
      index.features = delinearize(head);
      emitter.store(result, index, weight.getResult(0));
    });
  });
}

/// Sums some chunks of context `number`, in registers while the loop goes over
/// the positions.
LogicalResult ReadEmitter::emitContextChunks(ArrayRef<Value> place, Value head,
                                             unsigned number,
                                             ArrayRef<ElementIndex> chunks) {
  LogicalResult emitted = success();
  Value context = op.getContexts()[number];
  SmallVector<Value> sums;
  for (const ElementIndex &chunk : chunks) {
    Value zero = emitter.constantF32(0);
    sums.push_back(chunk.isVector ? emitter.splat(zero) : zero);
  }
  SmallVector<Value> zeros = sums;
  auto loop = scf::ForOp::create(b, begin, end, emitter.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    ElementIndex weightPlace{.axes = {}, .features = {head, key}};
    Value readable = isReadable(emitter.load(scores, weightPlace));
    auto addTerms = [&](bool select) {
      emitted = enterRegion(op.getSummand(), key);
      if (failed(emitted))
        return;
      Value weight = emitter.load(weights, weightPlace);
      Value summand = getYielded(op.getSummand(), number);
      for (auto [index, chunk] : llvm::enumerate(chunks)) {
        Value x = emitter.evaluate(summand, chunk);
        Value w = weight, condition = readable;
        if (chunk.isVector) {
          w = emitter.splat(weight);
          condition = emitter.splat(readable);
        }
        if (select)
          x = arith::SelectOp::create(b, condition, x, zeros[index]);
        sums[index] =
            math::FmaOp::create(b, w, x, loop.getRegionIterArg(index));
      }
    };
    if (op.getMask().empty()) {
      // Only a score of -inf can hide a position: rare, so that nothing is
      // gained by a branch.
      addTerms(/*select=*/true);
    } else {
      auto branch = scf::IfOp::create(b, TypeRange(loop.getResultTypes()),
                                      readable, true);
      b.setInsertionPointToStart(branch.thenBlock());
      addTerms(/*select=*/false);
      scf::YieldOp::create(b, sums);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loop.getRegionIterArgs());
      sums.assign(branch.result_begin(), branch.result_end());
      b.setInsertionPointAfter(branch);
    }
    scf::YieldOp::create(b, sums);
  }
  for (auto [index, chunk] : llvm::enumerate(chunks)) {
    ElementIndex at = chunk;
    at.axes.assign(place.begin(), place.end());
    emitter.store(emitter.lookupBuffer(context), at, loop.getResult(index));
  }
  return emitted;
}

LogicalResult ReadEmitter::emitContextsByFeature(ArrayRef<Value> place) {
  // So many chunks have their sums in registers at once.
  constexpr int64_t together = 4;
  LogicalResult emitted = success();
  forEachHead([&](Value head) {
    SmallVector<Value> headIndices = delinearize(head);
    for (auto [number, context] : llvm::enumerate(op.getContexts())) {
      ArrayRef<int64_t> rest =
          getFeatures(context.getType()).drop_front(heads.size());
      auto emitChunks = [&, number = number](ArrayRef<ElementIndex> chunks) {
        if (failed(emitContextChunks(place, head, number, chunks)))
          emitted = failure();
      };
      if (rest.empty()) {
        emitChunks({{.axes = {}, .features = headIndices}});
        continue;
      }
      SmallVector<Value> outer;
      for (int64_t size : rest.drop_back())
        outer.push_back(emitter.constant(size));
      emitter.forEach(outer, [&](ArrayRef<Value> indices) {
        auto chunkAt = [&](Value start, Value mask) {
          ElementIndex chunk{.axes = {},
                             .features = headIndices,
                             .isVector = true,
                             .mask = mask};
          llvm::append_range(chunk.features, indices);
          chunk.features.push_back(start);
          return chunk;
        };
        int64_t size = rest.back(), step = together * numLanes;
        int64_t full = size / step * step;
        auto loop =
            scf::ForOp::create(b, emitter.constant(0), emitter.constant(full),
                               emitter.constant(step));
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(loop.getBody());
          SmallVector<ElementIndex> chunks;
          for (int64_t i = 0; i < together; ++i)
            chunks.push_back(
                chunkAt(arith::AddIOp::create(b, loop.getInductionVar(),
                                              emitter.constant(i * numLanes)),
                        Value()));
          emitChunks(chunks);
        }
        SmallVector<ElementIndex> chunks;
        for (int64_t start = full; start < size; start += numLanes) {
          Value mask;
          if (start + numLanes > size)
            mask = vector::CreateMaskOp::create(
                b, VectorType::get({numLanes}, b.getI1Type()),
                emitter.constant(size - start));
          chunks.push_back(chunkAt(emitter.constant(start), mask));
        }
        if (!chunks.empty())
          emitChunks(chunks);
      });
    }
  });
  return emitted;
}

LogicalResult ReadEmitter::emitContexts(ArrayRef<Value> place) {
  // What the region keeps in a buffer for a pair should be made once.
  return emitter.isLazy(op.getSummand().front()) ? emitContextsByFeature(place)
                                                 : emitContextsByKey(place);
}

LogicalResult ReadEmitter::emitContextsByKey(ArrayRef<Value> place) {
  LogicalResult emitted = success();
  auto at = [&](ElementIndex index) {
    index.axes.assign(place.begin(), place.end());
    return index;
  };
  for (Value context : op.getContexts())
    emitter.forEachChunk(
        getFeatures(context.getType()), [&](ElementIndex index) {
          Value zero = emitter.constantF32(0);
          emitter.store(emitter.lookupBuffer(context), at(index),
                        index.isVector ? emitter.splat(zero) : zero);
        });
  forEachKey([&](Value key) {
    if (failed(enterRegion(op.getSummand(), key))) {
      emitted = failure();
      return;
    }
    forEachHead([&](Value head) {
      ElementIndex weightPlace{.axes = {}, .features = {head, key}};
      Value readable = isReadable(emitter.load(scores, weightPlace));
      auto branch = scf::IfOp::create(b, readable, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value weight = emitter.load(weights, weightPlace);
      SmallVector<Value> headIndices = delinearize(head);
      for (auto [number, context] : llvm::enumerate(op.getContexts())) {
        Value summand = getYielded(op.getSummand(), number);
        Buffer result = emitter.lookupBuffer(context);
        ArrayRef<int64_t> rest =
            getFeatures(context.getType()).drop_front(heads.size());
        emitter.forEachChunk(rest, [&](ElementIndex index) {
          index.features.insert(index.features.begin(), headIndices.begin(),
                                headIndices.end());
          Value x = emitter.evaluate(summand, index);
          Value sum = emitter.load(result, at(index));
          Value w = index.isVector ? emitter.splat(weight) : weight;
          emitter.store(result, at(index), math::FmaOp::create(b, w, x, sum));
        });
      }
    });
  });
  return emitted;
}

LogicalResult ReadEmitter::emitQuery(ArrayRef<Value> place) {
  if (failed(findInterval()) || failed(emitScores()) || failed(emitWeights()))
    return failure();
  if (!op.getFactor().empty() && failed(emitFactors()))
    return failure();
  if (op.getWeights())
    emitWeightsResult(place);
  return emitContexts(place);
}

LogicalResult ReadEmitter::emit() {
  Value score = getYielded(op.getScore());
  heads.assign(getFeatures(score.getType()).begin(),
               getFeatures(score.getType()).end());
  numHeads = getNumFeatureElements(score.getType());

  allocateResults();
  auto scratch =
      MemRefType::get({numHeads, ShapedType::kDynamic}, b.getF32Type());
  scores = emitter.allocateBuffer(scratch, keySize);
  weights = emitter.allocateBuffer(scratch, keySize);
  return forEachQuery(op.getContexts().front(),
                      [&](ArrayRef<Value> place) { return emitQuery(place); });
}

LogicalResult Emitter::emitRead(ReadOp op) {
  return ReadEmitter(*this, op).emit();
}
