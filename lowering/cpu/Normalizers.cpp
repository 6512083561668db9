//===- Normalizers.cpp - code that turns scores into weights --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Normalizers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

static constexpr double infinity = std::numeric_limits<double>::infinity();

Value attn::isReadable(Emitter &emitter, Value scores) {
  Value masked = emitter.constantF32(-infinity);
  if (isa<VectorType>(scores.getType()))
    masked = emitter.splat(masked);
  return arith::CmpFOp::create(emitter.getBuilder(), arith::CmpFPredicate::UNE,
                               scores, masked);
}

bool attn::isOnline(Normalizer normalizer) {
  return normalizer == Normalizer::Softmax;
}

Value attn::emitRescaling(Emitter &emitter, Value from, Value to) {
  ImplicitLocOpBuilder &b = emitter.getBuilder();
  Value same = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, from, to);
  Value e = math::ExpOp::create(b, arith::SubFOp::create(b, from, to));
  return arith::SelectOp::create(b, same, emitter.constantF32(1), e);
}

namespace {

/// Emits one normaliser.
class RowEmitter {
public:
  RowEmitter(Emitter &emitter, const ScoreRow &row, const RunningRow &running)
      : emitter(emitter), b(emitter.getBuilder()), row(row), running(running) {}

  Value emit(Normalizer normalizer);

private:
  void emitSoftmax();
  void emitHardmax();
  void emitSparsemax();

  ElementIndex at(Value position, bool isVector, Value mask = {}) {
    return {.axes = row.place,
            .features = {position},
            .isVector = isVector,
            .mask = mask};
  }
  /// Reduces what `body` makes of the row's scores, which it gets with their
  /// place.
  Value reduce(
      double neutral,
      const std::function<Value(ElementIndex, Value scores, Value acc)> &body,
      const std::function<Value(Value, Value)> &combine);
  Value sum(const std::function<Value(ElementIndex, Value scores)> &body) {
    auto plus = [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    };
    return reduce(
        0,
        [&](ElementIndex place, Value scores, Value acc) {
          return plus(acc, body(place, scores));
        },
        plus);
  }
  /// Writes what `body` makes of readable scores and the weights so far; 0 to
  /// where nothing is readable.
  void
  writeWeights(const std::function<Value(Value scores, Value weights)> &body);
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value zeros() { return emitter.splat(emitter.constantF32(0)); }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  const ScoreRow &row;
  const RunningRow &running;
  Value own;     ///< The largest score of the block.
  Value maximum; ///< The largest score.
  Value highest; ///< The largest score, the sink included.
  Value spoiled; ///< Whether NaN or +inf is among them (R5).
};

} // namespace

Value RowEmitter::reduce(
    double neutral,
    const std::function<Value(ElementIndex, Value, Value)> &body,
    const std::function<Value(Value, Value)> &combine) {
  Value size = arith::SubIOp::create(b, row.end, row.begin);
  return emitter.reduce(
      size, std::nullopt, emitter.constantF32(neutral),
      [&](Value offset, Value mask, Value acc) {
        ElementIndex place =
            at(arith::AddIOp::create(b, row.begin, offset), true, mask);
        return body(place, emitter.load(row.scores, place), acc);
      },
      combine);
}

void RowEmitter::writeWeights(const std::function<Value(Value, Value)> &body) {
  auto loop =
      scf::ForOp::create(b, row.begin, row.end, emitter.constant(numLanes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value start = loop.getInductionVar();
  Value mask = vector::CreateMaskOp::create(
      b, VectorType::get({numLanes}, b.getI1Type()),
      ValueRange{arith::SubIOp::create(b, row.end, start)});
  ElementIndex place = at(start, true, mask);
  Value scores = emitter.load(row.scores, place);
  Value weights = body(scores, emitter.load(row.weights, place));
  emitter.store(row.weights, place,
                select(isReadable(emitter, scores), weights, zeros()));
}

void RowEmitter::emitSoftmax() {
  Value zero = emitter.constantF32(0), one = emitter.constantF32(1);
  ElementIndex place{.axes = row.place, .features = {}};
  // What was summed below the largest score of the blocks before.
  Value scale = emitter.choose(
      b.getF32Type(), running.isFirst, [&] { return zero; },
      [&] {
        return emitRescaling(emitter, emitter.load(running.maxima, place),
                             highest);
      });
  // Before the last block, exponentials are taken below the block's own largest
  // score: what they are depends on no other block.
  Value lowerBy = select(running.isLast, highest, own);
  Value ownScale = emitter.choose(
      b.getF32Type(), running.isLast, [&] { return one; },
      [&] { return emitRescaling(emitter, own, highest); });
  Value shift = emitter.splat(lowerBy);
  Value total = sum([&](ElementIndex place, Value scores) {
    Value e = math::ExpOp::create(b, arith::SubFOp::create(b, scores, shift));
    e = select(isReadable(emitter, scores), e, zeros());
    emitter.store(row.weights, place, e);
    return e;
  });
  total = math::FmaOp::create(b, emitter.load(running.totals, place), scale,
                              arith::MulFOp::create(b, total, ownScale));
  Value divisor = emitter.choose(
      b.getF32Type(), running.isLast,
      [&]() -> Value {
        Value all = total;
        if (row.sink)
          all = arith::AddFOp::create(
              b, all,
              math::ExpOp::create(b,
                                  arith::SubFOp::create(b, row.sink, highest)));
        Value divisor = emitter.splat(all);
        writeWeights([&](Value, Value e) -> Value {
          return arith::DivFOp::create(b, e, divisor);
        });
        emitter.store(running.totals, place, all);
        return all;
      },
      [&] {
        emitter.store(running.totals, place, total);
        return one;
      });
  emitter.store(running.maxima, place, highest);
  emitter.store(running.ownScales, place, ownScale);
  emitter.store(running.scales, place,
                select(isReadable(emitter, maximum),
                       arith::DivFOp::create(b, scale, divisor), zero));
}

void RowEmitter::emitHardmax() {
  // The first position of the maximum; the end where there is none.
  auto search =
      scf::ForOp::create(b, row.begin, row.end, emitter.constant(1), row.end);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(search.getBody());
    Value position = search.getInductionVar();
    Value score = emitter.load(row.scores, at(position, false));
    Value equal = compare(arith::CmpFPredicate::OEQ, score, highest);
    // A sink stands before all positions.
    if (row.sink)
      equal = arith::AndIOp::create(
          b, equal, compare(arith::CmpFPredicate::OLT, row.sink, highest));
    Value place = select(equal, position, row.end);
    scf::YieldOp::create(b, ValueRange{arith::MinUIOp::create(
                                b, search.getRegionIterArg(0), place)});
  }
  Value nan = emitter.constantF32(std::numeric_limits<double>::quiet_NaN());
  Value zero = emitter.constantF32(0), one = emitter.constantF32(1);
  auto write = scf::ForOp::create(b, row.begin, row.end, emitter.constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(write.getBody());
  ElementIndex place = at(write.getInductionVar(), false);
  Value chosen =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            write.getInductionVar(), search.getResult(0));
  Value weight = select(spoiled, nan, select(chosen, one, zero));
  emitter.store(row.weights, place,
                select(isReadable(emitter, emitter.load(row.scores, place)),
                       weight, zero));
}

/// Michelot's algorithm ("A finite algorithm for finding the projection of a
/// point onto the canonical simplex", 1986): the threshold at which the scores
/// above it exceed it by 1 in all; scores below it are dropped, until none is.
void RowEmitter::emitSparsemax() {
  // Scores are taken below the highest. No weight is more than 1, so that only
  // those above -1 have any.
  auto relative = [&](Value score) -> Value {
    Value shift =
        isa<VectorType>(score.getType()) ? emitter.splat(highest) : highest;
    return arith::SubFOp::create(b, score, shift);
  };
  auto sumAbove = [&](Value threshold, bool counts) {
    Value one = emitter.constantF32(1);
    Value total = sum([&](ElementIndex, Value scores) {
      Value z = relative(scores);
      Value above =
          compare(arith::CmpFPredicate::OGT, z, emitter.splat(threshold));
      return select(above, counts ? emitter.splat(one) : z, zeros());
    });
    if (!row.sink)
      return total;
    Value z = relative(row.sink);
    Value above = compare(arith::CmpFPredicate::OGT, z, threshold);
    return arith::AddFOp::create(
               b, total,
               select(above, counts ? one : z, emitter.constantF32(0)))
        .getResult();
  };
  Type f32 = b.getF32Type();
  auto loop = scf::WhileOp::create(
      b, TypeRange{f32, f32},
      ValueRange{emitter.constantF32(-1), emitter.constantF32(infinity)},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value count = sumAbove(carried[0], /*counts=*/true);
        Value excess = arith::SubFOp::create(
            b, sumAbove(carried[0], /*counts=*/false), emitter.constantF32(1));
        Value threshold = arith::DivFOp::create(b, excess, count);
        Value dropped = compare(arith::CmpFPredicate::OLT, count, carried[1]);
        scf::ConditionOp::create(b, dropped, ValueRange{threshold, count});
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        scf::YieldOp::create(b, carried);
      });
  Value threshold = emitter.splat(loop.getResult(0));
  Value nan = emitter.splat(
      emitter.constantF32(std::numeric_limits<double>::quiet_NaN()));
  Value isSpoiled = emitter.splat(spoiled);
  writeWeights([&](Value scores, Value) -> Value {
    Value excess = arith::SubFOp::create(b, relative(scores), threshold);
    Value above = compare(arith::CmpFPredicate::OGT, excess, zeros());
    return select(isSpoiled, nan, select(above, excess, zeros()));
  });
}

Value RowEmitter::emit(Normalizer normalizer) {
  auto larger = [&](Value x, Value y) -> Value {
    return arith::MaximumFOp::create(b, x, y);
  };
  maximum = own = reduce(
      -infinity,
      [&](ElementIndex, Value scores, Value acc) {
        return larger(acc, scores);
      },
      larger);
  if (isOnline(normalizer))
    maximum = larger(
        emitter.load(running.maxima, {.axes = row.place, .features = {}}),
        maximum);
  highest = maximum;
  if (row.sink) {
    highest = larger(maximum, row.sink);
    // It counts once, at the end.
    if (isOnline(normalizer))
      highest = select(running.isLast, highest, maximum);
  }
  spoiled = arith::OrIOp::create(
      b, compare(arith::CmpFPredicate::UNO, highest, highest),
      compare(arith::CmpFPredicate::OEQ, highest,
              emitter.constantF32(infinity)));
  switch (normalizer) {
  case Normalizer::Softmax:
    emitSoftmax();
    break;
  case Normalizer::Hardmax:
    emitHardmax();
    break;
  case Normalizer::Sparsemax:
    emitSparsemax();
    break;
  }
  return maximum;
}

Value attn::emitNormalizer(Emitter &emitter, Normalizer normalizer,
                           const ScoreRow &row, const RunningRow &running) {
  return RowEmitter(emitter, row, running).emit(normalizer);
}
