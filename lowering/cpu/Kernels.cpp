//===- Kernels.cpp - operations that write a buffer -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions over features and positions, concatenations and recurrences. The
// product and the read have files of their own.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"
#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the kernels that treat each row, position or outer feature by itself.
class FeatureKernels {
public:
  FeatureKernels(Emitter &emitter)
      : emitter(emitter), b(emitter.getBuilder()) {}

  void emit(DotOp op, Buffer out);
  void emit(MatmulOp op, Buffer out);
  void emit(ConcatOp op, Buffer out);
  void emit(MaxoutOp op, Buffer out);
  void emit(SoftmaxOp op, Buffer out);
  void emit(HardmaxOp op, Buffer out);
  void emit(LayerNormOp op, Buffer out);
  void emit(RmsNormOp op, Buffer out);
  void emit(MeanOp op, Buffer out);
  void emit(PairsOp op, Buffer out);

private:
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value max(Value x, Value y) { return arith::MaximumFOp::create(b, x, y); }

  /// Runs `body` for every vector along the last feature of `value`.
  void forEachLast(
      Value value,
      const std::function<void(ElementIndex outer, int64_t size)> &body);
  /// `outer` extended by a chunk of the last feature.
  ElementIndex chunkOf(ElementIndex outer, Value start, Value mask);
  /// Runs `body` for every chunk of the last feature.
  void forEachChunkOf(ElementIndex outer, int64_t size,
                      const std::function<void(ElementIndex)> &body);
  /// Sums `term` over the last feature.
  Value sum(ElementIndex outer, int64_t size,
            const std::function<Value(ElementIndex)> &term);
  Value maximum(Value value, ElementIndex outer, int64_t size);

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
};

} // namespace

void FeatureKernels::forEachLast(
    Value value, const std::function<void(ElementIndex, int64_t)> &body) {
  ArrayRef<int64_t> features = getFeatures(value.getType());
  SmallVector<Value> sizes(emitter.getAxisSizes(value));
  size_t numAxes = sizes.size();
  for (int64_t size : features.drop_back())
    sizes.push_back(emitter.constant(size));
  emitter.forEachParallel(sizes, [&](ArrayRef<Value> indices) {
    ElementIndex outer;
    outer.axes.assign(indices.begin(), indices.begin() + numAxes);
    outer.features.assign(indices.begin() + numAxes, indices.end());
    body(outer, features.back());
  });
}

ElementIndex FeatureKernels::chunkOf(ElementIndex outer, Value start,
                                     Value mask) {
  outer.features.push_back(start);
  outer.isVector = true;
  outer.mask = mask;
  return outer;
}

void FeatureKernels::forEachChunkOf(
    ElementIndex outer, int64_t size,
    const std::function<void(ElementIndex)> &body) {
  emitter.forEachChunk({size}, [&](ElementIndex chunk) {
    body(chunkOf(outer, chunk.features[0], chunk.mask));
  });
}

Value FeatureKernels::sum(ElementIndex outer, int64_t size,
                          const std::function<Value(ElementIndex)> &term) {
  return emitter.reduce(
      emitter.constant(size), size, emitter.constantF32(0),
      [&](Value start, Value mask, Value acc) {
        return add(acc, term(chunkOf(outer, start, mask)));
      },
      [&](Value x, Value y) { return add(x, y); });
}

Value FeatureKernels::maximum(Value value, ElementIndex outer, int64_t size) {
  return emitter.reduce(
      emitter.constant(size), size,
      emitter.constantF32(-std::numeric_limits<double>::infinity()),
      [&](Value start, Value mask, Value acc) {
        return max(acc, emitter.evaluate(value, chunkOf(outer, start, mask)));
      },
      [&](Value x, Value y) { return max(x, y); });
}

void FeatureKernels::emit(DotOp op, Buffer out) {
  forEachLast(op.getLhs(), [&](ElementIndex outer, int64_t size) {
    Value result = emitter.reduce(
        emitter.constant(size), size, emitter.constantF32(0),
        [&](Value start, Value mask, Value acc) -> Value {
          ElementIndex chunk = chunkOf(outer, start, mask);
          return math::FmaOp::create(b, emitter.evaluate(op.getLhs(), chunk),
                                     emitter.evaluate(op.getRhs(), chunk), acc);
        },
        [&](Value x, Value y) { return add(x, y); });
    emitter.store(out, outer, result);
  });
}

void FeatureKernels::emit(MatmulOp op, Buffer out) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  int64_t inner = getFeatures(lhs.getType()).back();
  forEachLast(op.getResult(), [&](ElementIndex outer, int64_t size) {
    if (op.getTransposed()) {
      emitter.forEach(emitter.constant(size), [&](Value column) {
        ElementIndex place = outer;
        place.features.push_back(column);
        ElementIndex row{.axes = {}, .features = {column}};
        Value element = emitter.reduce(
            emitter.constant(inner), inner, emitter.constantF32(0),
            [&](Value start, Value mask, Value acc) -> Value {
              return math::FmaOp::create(
                  b, emitter.evaluate(lhs, chunkOf(outer, start, mask)),
                  emitter.evaluate(rhs, chunkOf(row, start, mask)), acc);
            },
            [&](Value x, Value y) { return add(x, y); });
        emitter.store(out, place, element);
      });
      return;
    }
    forEachChunkOf(outer, size, [&](ElementIndex chunk) {
      auto loop = scf::ForOp::create(
          b, emitter.constant(0), emitter.constant(inner), emitter.constant(1),
          emitter.splat(emitter.constantF32(0)));
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar();
        ElementIndex left = outer;
        left.features.push_back(k);
        ElementIndex right = chunk;
        right.features = {k, chunk.features.back()};
        Value sum = math::FmaOp::create(
            b, emitter.splat(emitter.evaluate(lhs, left)),
            emitter.evaluate(rhs, right), loop.getRegionIterArg(0));
        scf::YieldOp::create(b, sum);
      }
      emitter.store(out, chunk, loop.getResult(0));
    });
  });
}

void FeatureKernels::emit(ConcatOp op, Buffer out) {
  SmallVector<Value> sizes(emitter.getAxisSizes(op.getResult()));
  emitter.forEachParallel(sizes, [&](ArrayRef<Value> axes) {
    int64_t offset = 0, number = op.getFeatureNumber();
    for (Value input : op.getInputs()) {
      ArrayRef<int64_t> features = getFeatures(input.getType());
      emitter.forEachChunk(features, [&](ElementIndex index) {
        index.axes.assign(axes.begin(), axes.end());
        Value element = emitter.evaluate(input, index);
        Value &place = index.features[number];
        place = arith::AddIOp::create(b, place, emitter.constant(offset));
        emitter.store(out, index, element);
      });
      offset += features[number];
    }
  });
}

void FeatureKernels::emit(MaxoutOp op, Buffer out) {
  int64_t pieces = op.getPieces();
  forEachLast(op.getResult(), [&](ElementIndex outer, int64_t size) {
    emitter.forEach(emitter.constant(size), [&](Value place) {
      Value first = arith::MulIOp::create(b, place, emitter.constant(pieces));
      Value best;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        ElementIndex index = outer;
        index.features.push_back(
            arith::AddIOp::create(b, first, emitter.constant(piece)));
        Value candidate = emitter.evaluate(op.getInput(), index);
        best = best ? max(best, candidate) : candidate;
      }
      ElementIndex index = outer;
      index.features.push_back(place);
      emitter.store(out, index, best);
    });
  });
}

void FeatureKernels::emit(SoftmaxOp op, Buffer out) {
  forEachLast(op.getInput(), [&](ElementIndex outer, int64_t size) {
    Value shift = emitter.splat(maximum(op.getInput(), outer, size));
    Value total = sum(outer, size, [&](ElementIndex chunk) -> Value {
      Value e = math::ExpOp::create(
          b, sub(emitter.evaluate(op.getInput(), chunk), shift));
      emitter.store(out, chunk, e);
      return e;
    });
    Value divisor = emitter.splat(total);
    forEachChunkOf(outer, size, [&](ElementIndex chunk) {
      emitter.store(out, chunk, div(emitter.load(out, chunk), divisor));
    });
  });
}

void FeatureKernels::emit(HardmaxOp op, Buffer out) {
  forEachLast(op.getInput(), [&](ElementIndex outer, int64_t size) {
    Value best = maximum(op.getInput(), outer, size);
    Value end = emitter.constant(size);
    auto search = scf::ForOp::create(b, emitter.constant(0), end,
                                     emitter.constant(1), end);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(search.getBody());
      ElementIndex index = outer;
      index.features.push_back(search.getInductionVar());
      Value equal =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                emitter.evaluate(op.getInput(), index), best);
      Value place =
          arith::SelectOp::create(b, equal, search.getInductionVar(), end);
      scf::YieldOp::create(b, ValueRange{arith::MinUIOp::create(
                                  b, search.getRegionIterArg(0), place)});
    }
    emitter.forEach(end, [&](Value place) {
      ElementIndex index = outer;
      index.features.push_back(place);
      Value chosen = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place,
                                           search.getResult(0));
      Value nan =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, best, best);
      Value element = arith::SelectOp::create(b, chosen, emitter.constantF32(1),
                                              emitter.constantF32(0));
      emitter.store(out, index, arith::SelectOp::create(b, nan, best, element));
    });
  });
}

void FeatureKernels::emit(LayerNormOp op, Buffer out) {
  forEachLast(op.getInput(), [&](ElementIndex outer, int64_t size) {
    Value count = emitter.constantF32(size);
    Value mean = emitter.splat(div(
        sum(outer, size,
            [&](ElementIndex c) { return emitter.evaluate(op.getInput(), c); }),
        count));
    Value variance =
        div(sum(outer, size,
                [&](ElementIndex chunk) {
                  Value d = sub(emitter.evaluate(op.getInput(), chunk), mean);
                  return mul(d, d);
                }),
            count);
    Value deviation = emitter.splat(math::SqrtOp::create(
        b,
        add(variance, emitter.constantF32(op.getEpsilon().convertToDouble()))));
    forEachChunkOf(outer, size, [&](ElementIndex chunk) {
      ElementIndex last{.axes = {},
                        .features = {chunk.features.back()},
                        .isVector = true,
                        .mask = chunk.mask};
      Value x =
          div(sub(emitter.evaluate(op.getInput(), chunk), mean), deviation);
      emitter.store(out, chunk,
                    add(mul(x, emitter.evaluate(op.getWeight(), last)),
                        emitter.evaluate(op.getBias(), last)));
    });
  });
}

void FeatureKernels::emit(RmsNormOp op, Buffer out) {
  forEachLast(op.getInput(), [&](ElementIndex outer, int64_t size) {
    Value square = div(sum(outer, size,
                           [&](ElementIndex chunk) {
                             Value x = emitter.evaluate(op.getInput(), chunk);
                             return mul(x, x);
                           }),
                       emitter.constantF32(size));
    Value root = emitter.splat(math::SqrtOp::create(
        b,
        add(square, emitter.constantF32(op.getEpsilon().convertToDouble()))));
    forEachChunkOf(outer, size, [&](ElementIndex chunk) {
      ElementIndex last{.axes = {},
                        .features = {chunk.features.back()},
                        .isVector = true,
                        .mask = chunk.mask};
      emitter.store(out, chunk,
                    mul(div(emitter.evaluate(op.getInput(), chunk), root),
                        emitter.evaluate(op.getWeight(), last)));
    });
  });
}

void FeatureKernels::emit(MeanOp op, Buffer out) {
  Value rows = emitter.getAxisSizes(op.getResult())[0];
  emitter.forEachParallel(rows, [&](ArrayRef<Value> axes) {
    Value row = axes[0];
    Value length =
        emitter.evaluate(op.getLengths(), {.axes = {row}, .features = {}});
    Value end = arith::IndexCastOp::create(b, b.getIndexType(), length);
    // An empty sequence has a mean of 0 / 1.
    Value one = arith::ConstantIntOp::create(b, 1, 32);
    Value count = arith::SIToFPOp::create(
        b, b.getF32Type(), arith::MaxSIOp::create(b, length, one));
    emitter.forEachChunk(
        getFeatures(op.getResult().getType()), [&](ElementIndex index) {
          Value zero = emitter.constantF32(0);
          if (index.isVector)
            zero = emitter.splat(zero);
          auto loop = scf::ForOp::create(b, emitter.constant(0), end,
                                         emitter.constant(1), zero);
          if (emitter.products.device)
            loop->setAttr(positionLoopAttrName, b.getUnitAttr());
          {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(loop.getBody());
            ElementIndex element = index;
            element.axes = {row, loop.getInductionVar()};
            scf::YieldOp::create(
                b, ValueRange{add(loop.getRegionIterArg(0),
                                  emitter.evaluate(op.getInput(), element))});
          }
          index.axes = {row};
          emitter.store(out, index,
                        div(loop.getResult(0),
                            index.isVector ? emitter.splat(count) : count));
        });
  });
}

void FeatureKernels::emit(PairsOp op, Buffer out) {
  ArrayRef<int64_t> features = getFeatures(op.getInput().getType());
  SmallVector<Value> sizes(emitter.getAxisSizes(op.getResult()));
  Value inputSize = emitter.getAxisSizes(op.getInput())[1];
  emitter.forEachParallel(sizes, [&](ArrayRef<Value> axes) {
    Value row = axes[0];
    Value length = arith::IndexCastOp::create(
        b, b.getIndexType(),
        emitter.evaluate(op.getLengths(), {.axes = {row}, .features = {}}));
    for (int64_t half : {0, 1}) {
      Value position = arith::AddIOp::create(
          b, arith::MulIOp::create(b, axes[1], emitter.constant(2)),
          emitter.constant(half));
      Value exists =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, length);
      // An odd length is completed with zeros (R10); never read beyond the end.
      Value last = arith::SubIOp::create(b, inputSize, emitter.constant(1));
      position = arith::MinUIOp::create(b, position, last);
      emitter.forEachChunk(features, [&](ElementIndex index) {
        index.axes = {row, position};
        Value element = emitter.evaluate(op.getInput(), index);
        Value zero =
            arith::ConstantOp::create(b, b.getZeroAttr(element.getType()));
        element = arith::SelectOp::create(b, exists, element, zero);
        index.axes = {row, axes[1]};
        index.features.back() = arith::AddIOp::create(
            b, index.features.back(), emitter.constant(half * features.back()));
        emitter.store(out, index, element);
      });
    }
  });
}

LogicalResult Emitter::emitConvolution(Conv1dOp op, Buffer destination) {
  // The windows side by side, zeros beyond the true ends (R10), are the rows of
  // a product with the weight [N, X * width].
  Type inputType = op.getInput().getType();
  ArrayRef<int64_t> weight = getFeatures(op.getWeight().getType());
  int64_t channels = weight[1], width = weight[2];
  // Rows are quantised here: those of a convolution are its windows.
  if (products.external && products.precision != Precision::Int8) {
    if (failed(checkWeight(op, resolve(op.getWeight()), channels * width,
                           products.precision)))
      return failure();
    emitExternal(op.getResult(), destination);
    return success();
  }
  SmallVector<Value> sizes(getAxisSizes(op.getResult()));
  Value inputSize = getAxisSizes(op.getInput())[1];
  Buffer windows =
      allocate(getValueType(2, {channels, width}, builder.getF32Type()), sizes);
  SmallVector<Value> places(sizes);
  places.append({constant(channels), constant(width)});
  forEachParallel(places, [&](ArrayRef<Value> at) {
    Value row = at[0], zero = constant(0);
    Value length =
        arith::IndexCastOp::create(builder, builder.getIndexType(),
                                   evaluate(op.getLengths(), {.axes = {row}}));
    // position + before >= 0 where the window begins `before` positions early.
    Value before = constant((width - 1) / 2);
    Value shifted = arith::AddIOp::create(
        builder,
        arith::MulIOp::create(builder, at[1], constant(op.getStride())), at[3]);
    Value begun = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge,
                                        shifted, before);
    Value position = arith::SubIOp::create(builder, shifted, before);
    Value within = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                         position, length);
    Value exists = arith::AndIOp::create(builder, begun, within);
    Value last = arith::SubIOp::create(builder, inputSize, constant(1));
    position = arith::SelectOp::create(
        builder, exists, arith::MinUIOp::create(builder, position, last), zero);
    ElementIndex from{.axes = {row, position}};
    if (!getFeatures(inputType).empty())
      from.features = {at[2]};
    Value element = evaluate(op.getInput(), from);
    store(windows, {.axes = {row, at[1]}, .features = {at[2], at[3]}},
          arith::SelectOp::create(builder, exists, element, constantF32(0)));
  });
  if (failed(emitProduct(op, windows, sizes, channels * width, op.getWeight(),
                         op.getBias(), weight[0], destination)))
    return failure();
  // The product gave padding positions the bias.
  forEachParallel(sizes, [&](ArrayRef<Value> at) {
    Value length = arith::IndexCastOp::create(
        builder, builder.getIndexType(),
        evaluate(op.getLengths(), {.axes = {at[0]}}));
    Value resultLength =
        arith::CeilDivUIOp::create(builder, length, constant(op.getStride()));
    Value padding = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge,
                                          at[1], resultLength);
    auto branch = scf::IfOp::create(builder, padding, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    forEachChunk(weight.take_front(), [&](ElementIndex index) {
      index.axes.assign(at.begin(), at.end());
      store(destination, index, splat(constantF32(0)));
    });
  });
  return success();
}

SmallVector<Buffer> Emitter::getOrAllocateResults(Operation *op) {
  SmallVector<Buffer> results;
  for (Value result : op->getResults()) {
    Buffer buffer = buffers.lookup(result);
    if (!buffer)
      buffer = allocate(result.getType(), getAxisSizes(result));
    results.push_back(buffers[result] = buffer);
  }
  return results;
}

LogicalResult Emitter::emitKernel(Operation *op) {
  if (auto scan = dyn_cast<ScanOp>(op))
    return emitScan(scan);
  if (products.external && isa<ReadOp, ScoreOp>(op)) {
    emitExternal(op->getResults(), getOrAllocateResults(op));
    return success();
  }
  if (auto read = dyn_cast<ReadOp>(op))
    return emitRead(read);
  if (isa<ObserveOp>(op))
    return success(); // The program has made its value an output.
  // Scores of an unfused read are refused by its normaliser.
  if (auto score = dyn_cast<ScoreOp>(op))
    return emitScore(score);
  if (isa<MaskOp, NormalizeOp, FactorOp, SumOp>(op))
    return op->emitError("expected a fused read, but got '")
           << op->getName() << "'; fuse reads before making loops";

  if (op->getNumResults() != 1 ||
      !isa<LinearOp, DotOp, MatmulOp, ConcatOp, MaxoutOp, SoftmaxOp, HardmaxOp,
           LayerNormOp, RmsNormOp, MeanOp, PairsOp, Conv1dOp, SinusoidOp,
           RotaryOp>(op))
    return op->emitError(
               "expected an operation that has a CPU kernel, but got '")
           << op->getName() << "'";
  Value result = op->getResult(0);
  Buffer buffer = getOrAllocateResults(op).front();
  if (auto linear = dyn_cast<LinearOp>(op))
    return emitProduct(linear, getOrMaterialize(linear.getInput()),
                       SmallVector<Value>(getAxisSizes(linear.getInput())),
                       getNumFeatureElements(linear.getInput().getType()),
                       linear.getWeight(), linear.getBias(),
                       getNumFeatureElements(result.getType()), buffer);
  if (auto convolution = dyn_cast<Conv1dOp>(op))
    return emitConvolution(convolution, buffer);
  if (products.external) {
    emitExternal(result, buffer);
    return success();
  }
  if (auto sinusoid = dyn_cast<SinusoidOp>(op)) {
    emitSinusoid(sinusoid, buffer);
    return success();
  }
  if (auto rotary = dyn_cast<RotaryOp>(op)) {
    emitRotary(rotary, buffer);
    return success();
  }
  FeatureKernels kernels(*this);
  llvm::TypeSwitch<Operation *>(op)
      .Case<DotOp, MatmulOp, ConcatOp, MaxoutOp, SoftmaxOp, HardmaxOp,
            LayerNormOp, RmsNormOp, MeanOp, PairsOp>(
          [&](auto concrete) { kernels.emit(concrete, buffer); });
  return success();
}

LogicalResult Emitter::emitScan(ScanOp op) {
  Block &body = op.getBody().front();
  SmallVector<Value> sizes(getAxisSizes(op.getInputs().front()));
  Value rows = sizes[0];
  auto arguments = body.getArguments();
  auto stateArguments = arguments.drop_front(op.getInputs().size());

  SmallVector<Buffer> results, states, next;
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    Buffer buffer = buffers.lookup(result);
    if (!buffer)
      buffer = allocate(result.getType(), sizes);
    setAxisSizes(result, sizes);
    results.push_back(buffer);
    Type type = stateArguments[index].getType();
    states.push_back(allocate(type, rows));
    next.push_back(allocate(type, rows));

    // First states, and zeros at padding positions (R10).
    Value zero = constantF32(0);
    auto fill = [&](Buffer target, ValueRange extents,
                    const std::function<Value(const ElementIndex &)> &element) {
      forEachParallel(extents, [&](ArrayRef<Value> axes) {
        forEachChunk(getFeatures(type), [&](ElementIndex place) {
          place.axes.assign(axes.begin(), axes.end());
          store(target, place, element(place));
        });
      });
    };
    auto zeros = [&](const ElementIndex &place) {
      return place.isVector ? splat(zero) : zero;
    };
    fill(buffer, sizes, zeros);
    if (op.getInitial().empty()) {
      fill(states.back(), rows, zeros);
    } else {
      storeIfComputed(op.getInitial()[index]);
      fill(states.back(), rows, [&](const ElementIndex &place) {
        return evaluate(op.getInitial()[index], place);
      });
    }
  }
  // Kernels that are made elsewhere read where a row is, of what lies in a
  // buffer of its own.
  Buffer positions;
  if (products.external) {
    positions = allocate(getValueType(1, {}, builder.getI32Type()), rows);
    for (Value input : op.getInputs()) {
      for (SliceOp slice;
           !buffers.lookup(input) && (slice = input.getDefiningOp<SliceOp>());)
        input = slice.getInput();
      getOrMaterialize(input);
    }
  }

  LogicalResult emitted = success();
  forEach(sizes[1], [&](Value step) {
    /// The position at which a row is in this step; clamped where the row has
    /// ended, so that it can be read without harm.
    auto positionOf = [&](Value row) -> Value {
      if (!op.getReverse())
        return step;
      Value last = lastTruePosition(op.getLengths(), row);
      Value within =
          arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, step, last);
      Value mirrored = arith::SubIOp::create(builder, last, step);
      return arith::SelectOp::create(builder, within, mirrored, constant(0));
    };
    if (positions)
      forEachParallel(rows, [&](ArrayRef<Value> axes) {
        store(positions, {.axes = {axes[0]}, .features = {}},
              arith::IndexCastOp::create(builder, builder.getI32Type(),
                                         positionOf(axes[0])));
      });
    for (auto [argument, input] : llvm::zip(arguments, op.getInputs())) {
      bindArgument(
          argument, input,
          [&](ArrayRef<Value> axes) {
            return SmallVector<Value>{axes[0], positionOf(axes[0])};
          },
          positions);
      setAxisSizes(argument, rows);
    }
    for (auto [argument, state] : llvm::zip(stateArguments, states)) {
      setBuffer(argument, state);
      setAxisSizes(argument, rows);
    }
    if (failed(emitBlock(body))) {
      emitted = failure();
      return;
    }
    // All new states are computed from the old ones before any is replaced.
    for (auto [value, buffer] :
         llvm::zip(body.getTerminator()->getOperands(), next))
      materialize(value, buffer);
    forEachParallel(rows, [&](ArrayRef<Value> axes) {
      Value row = axes[0];
      Value length = arith::IndexCastOp::create(
          builder, builder.getIndexType(),
          evaluate(op.getLengths(), {.axes = {row}, .features = {}}));
      Value active = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                           step, length);
      auto branch =
          scf::IfOp::create(builder, active, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value position = positionOf(row);
      for (auto [index, argument] : llvm::enumerate(stateArguments))
        forEachChunk(getFeatures(argument.getType()), [&](ElementIndex place) {
          place.axes = {row};
          Value element = load(next[index], place);
          store(states[index], place, element);
          place.axes.push_back(position);
          store(results[index], place, element);
        });
    });
  });
  for (auto [result, buffer] : llvm::zip(op.getResults(), results))
    buffers[result] = buffer;
  return emitted;
}
