//===- PositionEncodings.cpp - sinusoids and rotations --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Angles are made in f64: at position 4,000 the product of a position and a
// frequency in f32 is off by 1e-4, and so would be its sine. A cosine is the
// sine a quarter turn later, so that every lane runs the same code whatever the
// layout is.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// For every feature, the sine that is asked for: of
/// position * frequency + phase.
struct Angles {
  SmallVector<double> frequencies, phases;

  void add(double frequency, double phase) {
    frequencies.push_back(frequency);
    phases.push_back(phase);
  }
};

/// Where a feature stands among pairs of features.
struct PairPlace {
  int64_t pair;
  bool isSecond;

  PairPlace(int64_t feature, int64_t size, Layout layout) {
    int64_t half = size / 2;
    bool interleaved = layout == Layout::Interleaved;
    pair = interleaved ? feature / 2 : feature % half;
    isSecond = interleaved ? feature % 2 == 1 : feature >= half;
  }
};

constexpr double quarterTurn = std::numbers::pi / 2;
constexpr double halfTurn = std::numbers::pi;

/// Writes the sines of one position's angles.
class SineWriter {
public:
  SineWriter(Emitter &emitter, const Angles &angles)
      : emitter(emitter), b(emitter.getBuilder()),
        size(angles.frequencies.size()),
        frequencies(makeTable(angles.frequencies)),
        phases(makeTable(angles.phases)) {}

  /// `out` has the sines as its last feature.
  void write(Value position, Buffer out, const ElementIndex &outer) {
    Type f64 = b.getF64Type();
    Value at = isa<FloatType>(position.getType())
                   ? arith::ExtFOp::create(b, f64, position).getResult()
                   : arith::SIToFPOp::create(b, f64, position).getResult();
    emitter.forEachChunk({size}, [&](ElementIndex chunk) {
      Value angle = arith::MulFOp::create(b, emitter.splat(at),
                                          emitter.load(frequencies, chunk));
      angle = arith::AddFOp::create(b, angle, emitter.load(phases, chunk));
      Value sine = math::SinOp::create(b, angle);
      ElementIndex place = outer;
      place.features.push_back(chunk.features[0]);
      place.isVector = true;
      place.mask = chunk.mask;
      emitter.store(out, place,
                    arith::TruncFOp::create(
                        b, VectorType::get({numLanes}, b.getF32Type()), sine));
    });
  }

private:
  Buffer makeTable(ArrayRef<double> values) {
    auto type = RankedTensorType::get({size}, b.getF64Type());
    return emitter.getOrCreateTable(DenseElementsAttr::get(type, values));
  }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t size;
  Buffer frequencies, phases;
};

} // namespace

void Emitter::emitSinusoid(SinusoidOp op, Buffer destination) {
  int64_t size = getFeatures(op.getType()).back();
  double steps = op.getSteps().convertToDouble();
  Angles angles;
  for (int64_t i = 0; i < size; ++i) {
    PairPlace place(i, size, op.getLayout());
    angles.add(std::pow(10000.0, -static_cast<double>(place.pair) / steps),
               place.isSecond ? quarterTurn : 0);
  }
  SineWriter writer(*this, angles);
  SmallVector<Value> sizes(getAxisSizes(op.getResult()));
  forEachParallel(sizes, [&](ArrayRef<Value> axes) {
    ElementIndex place;
    place.axes.assign(axes.begin(), axes.end());
    writer.write(evaluate(op.getPosition(), place), destination, place);
  });
}

void Emitter::emitRotary(RotaryOp op, Buffer destination) {
  ArrayRef<int64_t> features = getFeatures(op.getType());
  int64_t size = features.back(), half = size / 2;
  double base = op.getBase().convertToDouble();
  bool interleaved = op.getLayout() == Layout::Interleaved;
  // Element i of a pair becomes x[i] * cos + x[partner] * (+-sin).
  Angles cosines, sines;
  for (int64_t i = 0; i < size; ++i) {
    PairPlace place(i, size, op.getLayout());
    double frequency = std::pow(base, -2.0 * static_cast<double>(place.pair) /
                                          static_cast<double>(size));
    cosines.add(frequency, quarterTurn);
    sines.add(frequency, place.isSecond ? 0 : halfTurn);
  }
  SineWriter cosineWriter(*this, cosines), sineWriter(*this, sines);
  Type table = getValueType(0, {size}, builder.getF32Type());
  Buffer cosine = allocate(table, {}), sine = allocate(table, {});
  SmallVector<Value> sizes(getAxisSizes(op.getResult()));
  SmallVector<Value> vectors;
  for (int64_t outer : features.drop_back())
    vectors.push_back(constant(outer));
  forEachParallel(sizes, [&](ArrayRef<Value> axes) {
    // All vectors of a position turn by the same angles.
    ElementIndex place;
    place.axes.assign(axes.begin(), axes.end());
    Value position = evaluate(op.getPosition(), place);
    cosineWriter.write(position, cosine, {});
    sineWriter.write(position, sine, {});
    forEach(vectors, [&](ArrayRef<Value> outer) {
      forEach(constant(half), [&](Value k) {
        Value first = k, second;
        if (interleaved) {
          first = arith::MulIOp::create(builder, k, constant(2));
          second = arith::AddIOp::create(builder, first, constant(1));
        } else {
          second = arith::AddIOp::create(builder, k, constant(half));
        }
        auto at = [&](Value feature) {
          ElementIndex index = place;
          index.features.assign(outer.begin(), outer.end());
          index.features.push_back(feature);
          return index;
        };
        Value x = evaluate(op.getInput(), at(first));
        Value y = evaluate(op.getInput(), at(second));
        auto turn = [&](Value own, Value partner, Value feature) -> Value {
          ElementIndex entry{.axes = {}, .features = {feature}};
          Value straight =
              arith::MulFOp::create(builder, own, load(cosine, entry));
          return arith::AddFOp::create(
              builder, straight,
              arith::MulFOp::create(builder, partner, load(sine, entry)));
        };
        Value newX = turn(x, y, first), newY = turn(y, x, second);
        store(destination, at(first), newX);
        store(destination, at(second), newY);
      });
    });
  });
}
