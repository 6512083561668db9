//===- Read.cpp - the kernel of the fused read ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries that follow each other and read one memory go through it together, as
// a group. They take blocks of positions: the scores of a block (-inf where
// masked, or outside of a query's interval), the weights of each head from its
// scores, then the sums over the readable positions. What is stored is one
// block of scores and one of weights for each query of a group and each head;
// what a region computes for a pair stays in registers or in a buffer for one
// pair. Nothing that stands in a masked position has an effect (R2).
//
// Where blocks begin depends on positions alone, and a query's block is its
// last where its own positions end: its bits are the same in every group (R13).
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

#include <limits>

using namespace mlir;
using namespace mlir::attn;

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

LogicalResult ReadEmitter::findIntervals() {
  begin = emitter.constant(0);
  end = length;
  if (!hasInterval())
    return success();
  LogicalResult emitted = success();
  // An interval begins behind the memory at most.
  auto loop =
      scf::ForOp::create(b, emitter.constant(0), groupCount,
                         emitter.constant(1), ValueRange{length, begin});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    member = loop.getInductionVar();
    place = enterQuery(member);
    emitted = enterRegion(op.getInterval(), Value());
    if (failed(emitted))
      return failure();
    auto clamp = [&](unsigned number, Value least) -> Value {
      Value position =
          toIndex(emitter.evaluate(getYielded(op.getInterval(), number), {}));
      position = arith::MaxSIOp::create(b, position, least);
      return arith::MinSIOp::create(b, position, length);
    };
    Value from = clamp(0, emitter.constant(0)), to = clamp(1, from);
    ElementIndex own{.axes = {}, .features = {member}};
    emitter.store(begins, own, toI32(from));
    emitter.store(ends, own, toI32(to));
    scf::YieldOp::create(
        b, ValueRange{arith::MinUIOp::create(b, loop.getRegionIterArg(0), from),
                      arith::MaxUIOp::create(b, loop.getRegionIterArg(1), to)});
  }
  begin = loop.getResult(0);
  end = loop.getResult(1);
  return success();
}

std::pair<Value, Value> ReadEmitter::getInterval() {
  if (!hasInterval())
    return {begin, end};
  ElementIndex own{.axes = {}, .features = {member}};
  return {toIndex(emitter.load(begins, own)), toIndex(emitter.load(ends, own))};
}

Value ReadEmitter::getLastBlock() {
  Value last =
      arith::SubIOp::create(b, getInterval().second, emitter.constant(1));
  last = arith::MaxSIOp::create(b, last, emitter.constant(0));
  return arith::MaxUIOp::create(b, roundDown(last, positions), firstBlock);
}

LogicalResult ReadEmitter::emitScores() {
  LogicalResult emitted = success();
  auto hide = [&](Value head, Value key) {
    emitter.store(scores, at(head, key), minusInfinity());
  };
  if (hasInterval())
    forEachMember([&] {
      forEachHead([&](Value head) {
        emitter.forEach(first, keyBegin, [&](Value key) { hide(head, key); });
      });
    });
  // Functions have arithmetic enough of their own, and long code.
  bool arrangeable = op.getMask().empty() && isArrangeable(op.getScore()) &&
                     llvm::none_of(op.getScore().getOps(), [](Operation &each) {
                       return isa<math::MathDialect>(each.getDialect()) ||
                              isa<SigmoidOp>(each);
                     });
  auto writeScores = [&](Value key) {
    if (failed(enterRegion(op.getScore(), key))) {
      emitted = failure();
      return;
    }
    Value score = getYielded(op.getScore());
    // Queries of a group may have different intervals.
    Value within;
    if (hasInterval() && maxCount > 1) {
      auto [from, to] = getInterval();
      within = arith::AndIOp::create(
          b, compare(arith::CmpIPredicate::uge, key, from),
          compare(arith::CmpIPredicate::ult, key, to));
    }
    forEachHead([&](Value head) {
      Value element =
          emitter.evaluate(score, {.axes = {}, .features = delinearize(head)});
      if (within)
        element = arith::SelectOp::create(b, within, element, minusInfinity());
      emitter.store(scores, at(head, key), element);
    });
  };
  auto writeUnlessMasked = [&](Value key) {
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
      writeScores(key);
      b.setInsertionPointToStart(branch.elseBlock());
      forEachHead([&](Value head) { hide(head, key); });
      return;
    }
    writeScores(key);
    forEachHead([&](Value head) {
      Value readable =
          emitter.evaluate(mask, {.axes = {}, .features = delinearize(head)});
      Value hidden = arith::XOrIOp::create(
          b, readable, arith::ConstantIntOp::create(b, 1, 1));
      when(hidden, [&] { hide(head, key); });
    });
  };
  auto keys = scf::ForOp::create(b, keyBegin, blockEnd, emitter.constant(1));
  if (arrangeable)
    nameLoop(keys, "keys");
  if (isForDevice() && !online)
    keys->setAttr(positionLoopAttrName, b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(keys.getBody());
  Value key = keys.getInductionVar();
  forEachMember(
      [&] {
        if (op.getMask().empty())
          writeScores(key);
        else
          writeUnlessMasked(key);
      },
      arrangeable ? "rows" : "");
  return emitted;
}

LogicalResult ReadEmitter::emitWeights() {
  LogicalResult emitted = success();
  ElementIndex flag{.axes = {}, .features = {emitter.constant(0)}};
  emitter.store(hides, flag, arith::ConstantIntOp::create(b, 0, 1));
  auto local = [&](Value key) -> Value {
    return arith::SubIOp::create(b, key, block);
  };
  forEachMember([&] {
    Value sink;
    if (!op.getSink().empty()) {
      emitted = enterRegion(op.getSink(), Value());
      if (failed(emitted))
        return;
      sink = getYielded(op.getSink());
    }
    Value last = compareWithLast(arith::CmpIPredicate::eq);
    forEachHead([&](Value head) {
      SmallVector<Value> indices = delinearize(head);
      ScoreRow row{scores,       weights,         {member, placeOf(head)},
                   local(first), local(blockEnd), Value()};
      if (sink)
        row.sink = emitter.evaluate(sink, {.axes = {}, .features = indices});
      Value maximum =
          emitNormalizer(emitter, op.getNormalizer(), row,
                         {maxima, totals, scales, ownScales, isFirst, last});
      if (op.getValid())
        when(last, [&] {
          emitter.store(emitter.lookupBuffer(op.getValid()),
                        {.axes = place, .features = indices},
                        isReadable(maximum));
        });
      // NaN is as good as readable: it spoils the row in any case (R5).
      Value lowest = emitter.reduce(
          arith::SubIOp::create(b, blockEnd, keyBegin), std::nullopt,
          emitter.constantF32(0),
          [&](Value offset, Value mask, Value acc) -> Value {
            ElementIndex chunk =
                at(head, arith::AddIOp::create(b, keyBegin, offset));
            chunk.isVector = true;
            chunk.mask = mask;
            return arith::MinimumFOp::create(b, acc,
                                             emitter.load(scores, chunk));
          },
          [&](Value x, Value y) -> Value {
            return arith::MinimumFOp::create(b, x, y);
          });
      Value reads = isReadable(lowest);
      Value hidden = arith::XOrIOp::create(
          b, reads, arith::ConstantIntOp::create(b, 1, 1));
      emitter.store(hides, flag,
                    arith::OrIOp::create(b, hidden, emitter.load(hides, flag)));
    });
  });
  return emitted;
}

LogicalResult ReadEmitter::emitFactors() {
  LogicalResult emitted = success();
  forEachMember([&] {
    forEachKey([&](Value key) {
      if (failed(enterRegion(op.getFactor(), key))) {
        emitted = failure();
        return;
      }
      Value factor = getYielded(op.getFactor());
      forEachHead([&](Value head) {
        ElementIndex score = at(head, key);
        when(isReadable(emitter.load(scores, score)), [&] {
          Value element = emitter.evaluate(
              factor, {.axes = {}, .features = delinearize(head)});
          emitter.store(
              weights, score,
              arith::MulFOp::create(b, emitter.load(weights, score), element));
        });
      });
    });
  });
  return emitted;
}

/// Writes the weights of a block; before the last, whose total is not known
/// yet, the scores instead.
void ReadEmitter::emitWeightsResult() {
  Buffer result = emitter.lookupBuffer(op.getWeights());
  forEachMember([&] {
    Value isKnown = compareWithLast(arith::CmpIPredicate::uge);
    forEachKey([&](Value key) {
      forEachHead([&](Value head) {
        Value weight = arith::SelectOp::create(
            b, isKnown, emitter.load(weights, at(head, key)),
            emitter.load(scores, at(head, key)));
        ElementIndex index{.axes = place, .features = delinearize(head)};
        index.axes.push_back(key);
        emitter.store(result, index, weight);
      });
    });
  });
}

LogicalResult ReadEmitter::finishWeightsResult(Value from, Value to) {
  LogicalResult emitted = success();
  Buffer result = emitter.lookupBuffer(op.getWeights());
  forEachMember([&] {
    auto forEachWeight =
        [&](Value from, Value to, const std::function<void(Value)> &enterKey,
            const std::function<Value(Value, const ElementIndex &)> &body) {
          emitter.forEach(from, to, [&](Value key) {
            enterKey(key);
            forEachHead([&](Value head) {
              ElementIndex index{.axes = place, .features = delinearize(head)};
              index.axes.push_back(key);
              emitter.store(result, index, body(head, index));
            });
          });
        };
    auto zero = [&] { return emitter.constantF32(0); };
    auto none = [&](Value, const ElementIndex &) { return zero(); };
    auto least = [&](Value x, Value y) -> Value {
      return arith::MinUIOp::create(b, x, y);
    };
    auto most = [&](Value x, Value y) -> Value {
      return arith::MaxUIOp::create(b, x, y);
    };
    forEachWeight(from, least(begin, to), [](Value) {}, none);
    forEachWeight(most(end, from), to, [](Value) {}, none);
    if (!online || isLast)
      return;
    forEachWeight(
        most(begin, from), least(getLastBlock(), to),
        [&](Value key) {
          if (!op.getFactor().empty() &&
              failed(enterRegion(op.getFactor(), key)))
            emitted = failure();
        },
        [&](Value head, const ElementIndex &index) {
          Value score = emitter.load(result, index);
          auto weight = [&]() -> Value {
            Value shifted =
                arith::SubFOp::create(b, score, emitter.load(maxima, at(head)));
            Value e = math::ExpOp::create(b, shifted);
            e = arith::DivFOp::create(b, e, emitter.load(totals, at(head)));
            if (op.getFactor().empty())
              return e;
            Value factor =
                emitter.evaluate(getYielded(op.getFactor()),
                                 {.axes = {}, .features = delinearize(head)});
            return arith::MulFOp::create(b, e, factor);
          };
          return emitter.choose(b.getF32Type(), isReadable(score), weight,
                                zero);
        });
  });
  return emitted;
}

Value ReadEmitter::addBlocksBefore(unsigned number, Value head,
                                   ElementIndex index, Value sum) {
  if (!online)
    return sum;
  auto all = [&]() -> Value {
    auto scaleOf = [&](Buffer buffer) -> Value {
      Value scale = emitter.load(buffer, at(head));
      return index.isVector ? emitter.splat(scale) : scale;
    };
    index.axes = contextPlace;
    Value before = emitter.load(contexts[number], index);
    return math::FmaOp::create(
        b, before, scaleOf(scales),
        arith::MulFOp::create(b, sum, scaleOf(ownScales)));
  };
  return emitter.choose(sum.getType(), isFirst, [&] { return sum; }, all);
}

/// Adds the block to some chunks of context `number` of the current query, in
/// registers while the loop goes over the positions. Its sum begins at zero:
/// one chain over a long memory would lose more digits.
LogicalResult ReadEmitter::emitContextChunks(Value head, unsigned number,
                                             ArrayRef<ElementIndex> chunks,
                                             bool hidden) {
  LogicalResult emitted = success();
  SmallVector<Value> sums;
  for (const ElementIndex &chunk : chunks)
    sums.push_back(zeroAt(chunk));
  auto loop =
      scf::ForOp::create(b, keyBegin, blockEnd, emitter.constant(1), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    auto addTerms = [&] {
      emitted = enterRegion(op.getSummand(), key);
      if (failed(emitted))
        return;
      Value weight = emitter.load(weights, at(head, key));
      Value summand = getYielded(op.getSummand(), number);
      for (auto [index, chunk] : llvm::enumerate(chunks)) {
        Value x = emitter.evaluate(summand, chunk);
        Value w = chunk.isVector ? emitter.splat(weight) : weight;
        sums[index] =
            math::FmaOp::create(b, w, x, loop.getRegionIterArg(index));
      }
    };
    if (!hidden) {
      addTerms();
    } else {
      Value readable = isReadable(emitter.load(scores, at(head, key)));
      auto branch = scf::IfOp::create(b, TypeRange(loop.getResultTypes()),
                                      readable, true);
      b.setInsertionPointToStart(branch.thenBlock());
      addTerms();
      scf::YieldOp::create(b, sums);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loop.getRegionIterArgs());
      sums.assign(branch.result_begin(), branch.result_end());
      b.setInsertionPointAfter(branch);
    }
    scf::YieldOp::create(b, sums);
  }
  for (auto [index, chunk] : llvm::enumerate(chunks))
    storeSum(number, head, chunk, loop.getResult(index));
  return emitted;
}

/// `hidden`: some query cannot read some position of the block.
LogicalResult ReadEmitter::emitContextsByFeature(bool hidden) {
  // Where positions are branched around, so many chunks share a branch;
  // schedules arrange the rest.
  const int64_t together = hidden ? 4 : 1;
  LogicalResult emitted = success();
  forEachHead([&](Value head) {
    SmallVector<Value> headIndices = delinearize(head);
    for (auto [number, context] : llvm::enumerate(op.getContexts())) {
      ArrayRef<int64_t> rest =
          getFeatures(context.getType()).drop_front(heads.size());
      auto emitChunks = [&, number = number](ArrayRef<ElementIndex> chunks) {
        forEachMember(
            [&] {
              if (failed(emitContextChunks(head, number, chunks, hidden)))
                emitted = failure();
            },
            hidden ? "" : "rows");
      };
      if (rest.empty()) {
        SmallVector<ElementIndex> whole(
            1, ElementIndex{.axes = {}, .features = headIndices});
        emitChunks(whole);
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
        if (!hidden)
          nameLoop(loop, "features");
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

LogicalResult ReadEmitter::emitContexts() {
  // What the region keeps in a buffer for a pair should be made once.
  if (!isArrangeable(op.getSummand()))
    return emitContextsByKey();
  // Where all can read all, nothing branches.
  Value hidden =
      emitter.load(hides, {.axes = {}, .features = {emitter.constant(0)}});
  auto branch = scf::IfOp::create(b, hidden, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(emitContextsByFeature(/*hidden=*/true)))
    return failure();
  b.setInsertionPointToStart(branch.elseBlock());
  return emitContextsByFeature(/*hidden=*/false);
}

LogicalResult ReadEmitter::emitContextsByKey() {
  LogicalResult emitted = success();
  auto ofHead = [](ElementIndex index, ArrayRef<Value> headIndices) {
    index.features.insert(index.features.begin(), headIndices.begin(),
                          headIndices.end());
    return index;
  };
  // Where a block's sum of the same stands.
  auto ofBlock = [&](ElementIndex index, Value head) {
    index.features.erase(index.features.begin(),
                         index.features.begin() + heads.size());
    index.features.insert(index.features.begin(), placeOf(head));
    return index;
  };
  /// Runs `body` for all chunks of a head's contexts.
  auto forEachSum =
      [&](Value head,
          const std::function<void(unsigned, const ElementIndex &)> &body) {
        SmallVector<Value> headIndices = delinearize(head);
        for (auto [number, context] : llvm::enumerate(op.getContexts()))
          emitter.forEachChunk(
              getFeatures(context.getType()).drop_front(heads.size()),
              [&, number = number](ElementIndex index) {
                body(number, ofHead(index, headIndices));
              });
      };
  forEachMember([&] {
    forEachHead([&](Value head) {
      forEachSum(head, [&](unsigned number, const ElementIndex &index) {
        emitter.store(sums[number], ofBlock(index, head), zeroAt(index));
      });
    });
    forEachKey([&](Value key) {
      if (failed(enterRegion(op.getSummand(), key))) {
        emitted = failure();
        return;
      }
      forEachHead([&](Value head) {
        Value readable = isReadable(emitter.load(scores, at(head, key)));
        when(readable, [&] {
          Value weight = emitter.load(weights, at(head, key));
          forEachSum(head, [&](unsigned number, const ElementIndex &index) {
            Value x =
                emitter.evaluate(getYielded(op.getSummand(), number), index);
            ElementIndex own = ofBlock(index, head);
            Value w = index.isVector ? emitter.splat(weight) : weight;
            emitter.store(
                sums[number], own,
                math::FmaOp::create(b, w, x, emitter.load(sums[number], own)));
          });
        });
      });
    });
    forEachHead([&](Value head) {
      forEachSum(head, [&](unsigned number, const ElementIndex &index) {
        storeSum(number, head, index,
                 emitter.load(sums[number], ofBlock(index, head)));
      });
    });
  });
  return emitted;
}

LogicalResult ReadEmitter::emitBlock() {
  blockEnd = arith::MinUIOp::create(b, end,
                                    arith::AddIOp::create(b, block, positions));
  keyBegin = arith::MaxUIOp::create(b, begin, block);
  // Lanes belong to positions, wherever an interval begins: what is summed in
  // them has the same order with and without one.
  first = roundDown(keyBegin, emitter.constant(numLanes));
  if (failed(emitScores()) || failed(emitWeights()) ||
      (!op.getFactor().empty() && failed(emitFactors())))
    return failure();
  if (op.getWeights())
    emitWeightsResult();
  return emitContexts();
}

/// What is known before any block is read.
void ReadEmitter::startRunning() {
  if (!online)
    return;
  forEachMember([&] {
    forEachHead([&](Value head) {
      emitter.store(maxima, at(head), minusInfinity());
      emitter.store(totals, at(head), emitter.constantF32(0));
    });
  });
}

LogicalResult ReadEmitter::emitGroup() {
  if (failed(findIntervals()))
    return failure();
  startRunning();
  firstBlock = roundDown(begin, positions);
  // There is one block at least, which may have no positions.
  Value one = emitter.constant(1);
  Value blocksEnd =
      arith::MaxUIOp::create(b, end, arith::AddIOp::create(b, firstBlock, one));
  LogicalResult emitted = success();
  auto blocks = scf::ForOp::create(b, firstBlock, blocksEnd, positions);
  blocks->setAttr(kernelAttrName, b.getStringAttr("read"));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(blocks.getBody());
    block = blocks.getInductionVar();
    isFirst = compare(arith::CmpIPredicate::eq, block, firstBlock);
    emitted = emitBlock();
  }
  if (succeeded(emitted) && op.getWeights())
    emitted = finishWeightsResult(emitter.constant(0), keySize);
  return emitted;
}

void ReadEmitter::allocateScratch() {
  // What regions keep for a pair is not shared by kernels either.
  op->walk([&](Operation *inner) {
    if (inner != op)
      for (Value result : inner->getResults())
        emitter.setBuffer(result, Buffer());
  });
  Type f32 = b.getF32Type();
  const int64_t headsOfGroup = isForDevice() ? 1 : numHeads;
  // A chunk of lanes behind a block, so that the rows of all heads do not lie
  // in the same few sets of a cache.
  int64_t row = online ? blockSize + numLanes : ShapedType::kDynamic;
  auto scratch = MemRefType::get({maxCount, headsOfGroup, row}, f32);
  SmallVector<Value> sizes;
  if (!online)
    sizes.push_back(keySize);
  scores = emitter.allocateBuffer(scratch, sizes);
  weights = emitter.allocateBuffer(scratch, sizes);
  hides = emitter.allocateBuffer(MemRefType::get({1}, b.getI8Type()), {});
  if (online) {
    auto running = MemRefType::get({maxCount, headsOfGroup}, f32);
    for (Buffer *buffer : {&maxima, &totals, &scales, &ownScales})
      *buffer = emitter.allocateBuffer(running, {});
  }
  if (hasInterval())
    for (Buffer *buffer : {&begins, &ends})
      *buffer = emitter.allocateBuffer(
          MemRefType::get({maxCount}, b.getI32Type()), {});
  sums.clear();
  if (!isArrangeable(op.getSummand()))
    for (Value context : op.getContexts()) {
      SmallVector<int64_t> shape = {headsOfGroup};
      llvm::append_range(
          shape, getFeatures(context.getType()).drop_front(heads.size()));
      sums.push_back(emitter.allocateBuffer(MemRefType::get(shape, f32), {}));
    }
}

LogicalResult ReadEmitter::emit() {
  Value score = getYielded(op.getScore());
  heads.assign(getFeatures(score.getType()).begin(),
               getFeatures(score.getType()).end());
  numHeads = getNumFeatureElements(score.getType());

  allocateResults();
  for (Value context : op.getContexts())
    contexts.push_back(emitter.lookupBuffer(context));
  online = isOnline(op.getNormalizer());
  // What needs all of a memory takes it as one block, however late an interval
  // begins.
  positions =
      online
          ? emitter.constant(blockSize)
          : arith::AddIOp::create(b, keySize, emitter.constant(1)).getResult();
  if (isForDevice())
    return emitOnDevice();
  if (online && mayShareMemory())
    maxCount = groupSize;
  allocateScratch();
  return forEachGroup(op.getContexts().front(), maxCount, [&](Value count) {
    groupCount = count;
    return emitGroup();
  });
}

LogicalResult Emitter::emitRead(ReadOp op) {
  return ReadEmitter(*this, op).emit();
}
