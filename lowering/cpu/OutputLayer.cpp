//===- OutputLayer.cpp - logits that are ranked while they are made -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search wants of each row its best logits, and the logarithm of the sum of
// all exponentials, which normalises them. So the product goes through the
// vocabulary in chunks, and what it writes is read while it is near: all logits
// are never stored. The numbers are those that the runtime finds in stored ones
// (runtime/distribution.cpp), to the bit.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"
#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

int64_t attn::getNumChunks(int64_t numOutputs) {
  return llvm::divideCeil(numOutputs, ATTN_CHUNK);
}

namespace {

/// Ranks the logits of one chunk.
class ChunkRanking {
public:
  /// `logits` is [rows, size].
  ChunkRanking(Emitter &emitter, const Emitter::Ranking &ranking, Buffer logits,
               Value size, Value chunk)
      : emitter(emitter), b(emitter.getBuilder()), ranking(ranking),
        logits(logits), size(size), chunk(chunk) {}

  /// Both of the following.
  void emitRow(Value row);
  /// Finds the largest logit, which is the answer, and the sum.
  Value emitSums(Value row);
  /// Takes those that are among the best ones so far.
  void emitBest(Value row, Value maximum);
  void insert(Value row, Value logit, Value token);

private:
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value larger(Value x, Value y) {
    // Of a number and NaN the number, if that is y.
    return arith::SelectOp::create(b, compare(arith::CmpFPredicate::OGT, x, y),
                                   x, y);
  }
  Value load(Value row, Value start, Value mask, double rest);
  Value exponential(Value x);
  Value reduce(Value row, double neutral, double rest,
               const std::function<Value(Value x, Value acc)> &body,
               const std::function<Value(Value, Value)> &combine) {
    return emitter.reduce(
        size, std::nullopt, emitter.constantF32(neutral),
        [&](Value start, Value mask, Value acc) {
          return body(load(row, start, mask, rest), acc);
        },
        combine);
  }
  void insertBetter(Value row);

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  const Emitter::Ranking &ranking;
  Buffer logits;
  Value size, chunk;
};

} // namespace

/// 16 logits, and `rest` where the mask says that there is none.
Value ChunkRanking::load(Value row, Value start, Value mask, double rest) {
  auto lanes = VectorType::get({numLanes}, b.getF32Type());
  if (!mask)
    return vector::LoadOp::create(b, lanes, logits, ValueRange{row, start});
  return vector::MaskedLoadOp::create(b, lanes, logits, ValueRange{row, start},
                                      mask,
                                      emitter.splat(emitter.constantF32(rest)));
}

/// e^x for x that is not positive, as runtime/distribution.cpp has it: without
/// fused multiply-adds, whatever the numerics are, since that code has none.
Value ChunkRanking::exponential(Value x) {
  auto number = [&](double value) {
    return emitter.splat(emitter.constantF32(value));
  };
  auto integer = [&](int32_t value) {
    return emitter.splat(arith::ConstantIntOp::create(b, value, 32));
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto sub = [&](Value x, Value y) -> Value {
    return arith::SubFOp::create(b, x, y);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  Value shift = number(0x1.8p23);
  x = larger(number(-126), mul(x, number(0x1.715476p0)));
  Value shifted = add(x, shift);
  Value f = sub(x, sub(shifted, shift));
  Value p = number(0x1.5a5592p-10);
  for (double coefficient :
       {0x1.3ce8b0p-7, 0x1.c6bad0p-5, 0x1.ebf9cap-3, 0x1.62e426p-1, 1.0})
    p = add(mul(p, f), number(coefficient));
  auto bits = VectorType::get({numLanes}, b.getI32Type());
  Value power = arith::ShLIOp::create(
      b, arith::BitcastOp::create(b, bits, shifted), integer(23));
  power = arith::AddIOp::create(b, power, integer(0x3f800000));
  return mul(p, arith::BitcastOp::create(b, x.getType(), power));
}

/// Takes a logit among the best ones, behind its equals.
void ChunkRanking::insert(Value row, Value logit, Value token) {
  Value one = emitter.constant(1);
  Value last = arith::SubIOp::create(b, ranking.count, one);
  auto at = [&](Value place) {
    return ElementIndex{.axes = {row}, .features = {place}};
  };
  auto shift = scf::WhileOp::create(
      b, TypeRange{b.getIndexType()}, ValueRange{last},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value place = carried[0];
        Value inner = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, place,
                                            emitter.constant(0));
        // In front of the first one stands itself, which is never better.
        Value before = arith::SelectOp::create(
            b, inner, arith::SubIOp::create(b, place, one), place);
        Value better = compare(arith::CmpFPredicate::OGT, logit,
                               emitter.load(ranking.best, at(before)));
        scf::ConditionOp::create(b, arith::AndIOp::create(b, inner, better),
                                 ValueRange{place});
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        Value before = arith::SubIOp::create(b, carried[0], one);
        for (Buffer buffer : {ranking.best, ranking.tokens})
          emitter.store(buffer, at(carried[0]),
                        emitter.load(buffer, at(before)));
        scf::YieldOp::create(b, before);
      });
  emitter.store(ranking.best, at(shift.getResult(0)), logit);
  emitter.store(ranking.tokens, at(shift.getResult(0)), token);
}

/// Looks for logits that are better than the last of the best ones.
void ChunkRanking::insertBetter(Value row) {
  ElementIndex last{.axes = {row},
                    .features = {arith::SubIOp::create(b, ranking.count,
                                                       emitter.constant(1))}};
  auto mask = VectorType::get({numLanes}, b.getI1Type());
  auto loop = scf::ForOp::create(b, emitter.constant(0), size,
                                 emitter.constant(numLanes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value start = loop.getInductionVar();
  Value left = arith::SubIOp::create(b, size, start);
  Value some = load(row, start, vector::CreateMaskOp::create(b, mask, left),
                    -std::numeric_limits<double>::infinity());
  Value better = compare(arith::CmpFPredicate::OGT, some,
                         emitter.splat(emitter.load(ranking.best, last)));
  auto found = scf::IfOp::create(
      b, vector::ReductionOp::create(b, vector::CombiningKind::OR, better),
      /*withElseRegion=*/false);
  b.setInsertionPointToStart(found.thenBlock());
  Value lanes = arith::MinUIOp::create(b, left, emitter.constant(numLanes));
  emitter.forEach(lanes, [&](Value lane) {
    Value place = arith::AddIOp::create(b, start, lane);
    Value logit = emitter.load(logits, {.axes = {row}, .features = {place}});
    auto isBetter = scf::IfOp::create(b,
                                      compare(arith::CmpFPredicate::OGT, logit,
                                              emitter.load(ranking.best, last)),
                                      /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(isBetter.thenBlock());
    Value first = arith::MulIOp::create(b, chunk, emitter.constant(ATTN_CHUNK));
    insert(row, logit,
           arith::IndexCastOp::create(b, b.getI32Type(),
                                      arith::AddIOp::create(b, first, place)));
  });
}

void ChunkRanking::emitRow(Value row) { emitBest(row, emitSums(row)); }

Value ChunkRanking::emitSums(Value row) {
  double lowest = std::numeric_limits<float>::lowest();
  Value maximum = reduce(
      row, lowest, lowest, [&](Value x, Value acc) { return larger(x, acc); },
      [&](Value x, Value y) { return larger(x, y); });
  Value shift = emitter.splat(maximum);
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  Value sum = reduce(
      row, 0, lowest,
      [&](Value x, Value acc) {
        return add(acc, exponential(arith::SubFOp::create(b, x, shift)));
      },
      add);
  SmallVector<Value, 2> numbers = {maximum, sum};
  for (auto [place, number] : llvm::enumerate(numbers))
    emitter.store(ranking.sums,
                  {.axes = {row}, .features = {emitter.constant(place), chunk}},
                  number);
  return maximum;
}

void ChunkRanking::emitBest(Value row, Value maximum) {
  Value last = arith::SubIOp::create(b, ranking.count, emitter.constant(1));
  Value worst = emitter.load(ranking.best, {.axes = {row}, .features = {last}});
  auto hasBetter =
      scf::IfOp::create(b, compare(arith::CmpFPredicate::OGT, maximum, worst),
                        /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(hasBetter.thenBlock());
  insertBetter(row);
}

/// All logits at once, stored; then the chunks of rows side by side, and the
/// rows.
void Emitter::emitOutputLayerOnDevice(func::FuncOp product,
                                      SmallVector<Value> operands,
                                      Value numRows) {
  ImplicitLocOpBuilder &b = builder;
  Value numOutputs = ranking->outputs;
  Value ranks = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt,
                                      ranking->count, constant(0));
  constexpr int64_t any = ShapedType::kDynamic;
  Value width = constant(ATTN_CHUNK);
  Value numChunks = arith::CeilDivUIOp::create(b, numOutputs, width);
  // There is a place for the logits only where all are asked for.
  Value rowsToRank = arith::SelectOp::create(b, ranks, numRows, constant(0));
  SmallVector<Value> sizes = {rowsToRank, numOutputs};
  Buffer stored =
      allocateBuffer(MemRefType::get({any, any}, b.getF32Type()), sizes);
  auto branch = scf::IfOp::create(b, ranks, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  multiplyOnDevice(product, operands, numRows, numOutputs);
  b.setInsertionPointToStart(branch.thenBlock());
  operands[3] = stored;
  multiplyOnDevice(product, operands, numRows, numOutputs);
  auto rankingOf = [&](Value chunk) {
    Value first = arith::MulIOp::create(b, chunk, width);
    Value size = arith::MinUIOp::create(
        b, width, arith::SubIOp::create(b, numOutputs, first));
    return ChunkRanking(*this, *ranking,
                        viewResults(stored, numRows, first, size, numOutputs),
                        size, chunk);
  };
  SmallVector<Value> chunks = {numRows, numChunks};
  forEachParallel(chunks, [&](ArrayRef<Value> place) {
    rankingOf(place[1]).emitSums(place[0]);
  });
  forEachParallel(numRows, [&](ArrayRef<Value> place) {
    Value none = constantF32(-std::numeric_limits<double>::infinity());
    Value noToken = arith::ConstantIntOp::create(b, -1, 32);
    forEach(ranking->count, [&](Value number) {
      ElementIndex at{.axes = {place[0]}, .features = {number}};
      store(ranking->best, at, none);
      store(ranking->tokens, at, noToken);
    });
    forEach(numChunks, [&](Value chunk) {
      Value maximum = load(ranking->sums, {.axes = {place[0]},
                                           .features = {constant(0), chunk}});
      rankingOf(chunk).emitBest(place[0], maximum);
    });
  });
}

void Emitter::emitOutputLayer(
    Buffer all, Value numRows,
    const std::function<void(Value, Value)> &multiply) {
  ImplicitLocOpBuilder &b = builder;
  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value numOutputs = ranking->outputs, zero = constant(0), one = constant(1),
        count = ranking->count;
  Value ranks =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, count, zero);
  Buffer scratch = allocate(getValueType(1, {ATTN_CHUNK}, f32),
                            getAxisSizes(ranking->logits));
  // The first share finds its best ones where those of all belong, the others
  // theirs beside it.
  Value others = arith::SubIOp::create(b, shares, one);
  SmallVector<Value> sizes = {others, numRows, count};
  Buffer bestOfOthers =
             allocateBuffer(MemRefType::get({any, any, any}, f32), sizes),
         tokensOfOthers =
             allocateBuffer(MemRefType::get({any, any, any}, i32), sizes);

  std::function<void(const Ranking &, const RankedChunk &)> rankExternally;
  if (products.external)
    rankExternally = prepareExternalRanking(numRows);

  // Without a ranking, all outputs of a share are one chunk, and go where they
  // belong.
  Value lanes = constant(numLanes);
  Value blocks = arith::CeilDivUIOp::create(b, numOutputs, lanes);
  Value width = arith::SelectOp::create(
      b, ranks, constant(ATTN_CHUNK),
      arith::MulIOp::create(b, arith::CeilDivUIOp::create(b, blocks, shares),
                            lanes));
  Value numChunks = arith::CeilDivUIOp::create(b, numOutputs, width);
  forEachShare(numChunks, [&](Value share, Value begin, Value end) {
    Ranking own = *ranking;
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share, zero);
    auto choose = [&](Buffer first, Buffer rest) -> Value {
      Value size = arith::MulIOp::create(b, numRows, count);
      Value place = arith::SubIOp::create(b, share, one);
      place = arith::SelectOp::create(b, isFirst, zero, place);
      Value offset = arith::MulIOp::create(b, place, size);
      return arith::SelectOp::create(
          b, isFirst, viewResults(first, numRows, zero, count, count),
          viewResults(rest, numRows, offset, count, count));
    };
    own.best = choose(ranking->best, bestOfOthers);
    own.tokens = choose(ranking->tokens, tokensOfOthers);
    auto start = scf::IfOp::create(b, ranks, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(start.thenBlock());
      Value none = constantF32(-std::numeric_limits<double>::infinity());
      Value noToken = arith::ConstantIntOp::create(b, -1, 32);
      forEach({numRows, count}, [&](ArrayRef<Value> place) {
        ElementIndex at{.axes = {place[0]}, .features = {place[1]}};
        store(own.best, at, none);
        store(own.tokens, at, noToken);
      });
    }
    forEach(begin, end, [&](Value chunk) {
      Value first = arith::MulIOp::create(b, chunk, width);
      Value size = arith::MinUIOp::create(
          b, width, arith::SubIOp::create(b, numOutputs, first));
      Value logits = arith::SelectOp::create(
          b, ranks, viewResults(scratch, numRows, zero, size, size),
          viewResults(all, numRows, first, size, numOutputs));
      multiply(logits, arith::DivUIOp::create(b, first, lanes));
      auto branch = scf::IfOp::create(b, ranks, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      if (rankExternally)
        return rankExternally(own, {share, chunk, first, logits});
      ChunkRanking chunkRanking(*this, own, logits, size, chunk);
      forEach(numRows, [&](Value row) { chunkRanking.emitRow(row); });
    });
  });

  // Shares are merged in their order, so that equals keep theirs.
  Value merges = arith::AndIOp::create(
      b, ranks,
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, others, zero));
  auto merge = scf::IfOp::create(b, merges, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(merge.thenBlock());
  forEachParallel(numRows, [&](ArrayRef<Value> axes) {
    Value row = axes[0];
    ElementIndex last{.axes = {row},
                      .features = {arith::SubIOp::create(b, count, one)}};
    forEach({others, count}, [&](ArrayRef<Value> place) {
      ElementIndex at{.axes = {place[0], row}, .features = {place[1]}};
      Value logit = load(bestOfOthers, at);
      auto isBetter = scf::IfOp::create(
          b,
          arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, logit,
                                load(ranking->best, last)),
          /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(isBetter.thenBlock());
      ChunkRanking(*this, *ranking, Buffer(), Value(), Value())
          .insert(row, logit, load(tokensOfOthers, at));
    });
  });
}
