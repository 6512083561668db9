//===- ExpandRecurrences.cpp - layers as scans, cells as equations --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes attn.gru, attn.lstm, attn.rnn and their cells with attn.scan, products
// and elementwise arithmetic. The equations are those of R11 and R12.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDRECURRENCES
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Writes the equations of cells. Products with the input come in from outside,
/// because a layer computes them for the whole sequence at once.
class CellWriter {
public:
  explicit CellWriter(ImplicitLocOpBuilder &builder) : builder(builder) {}

  Value linear(Value input, Value weight, Value bias) {
    return LinearOp::create(
        builder,
        withFeatures(input.getType(),
                     getFeatures(weight.getType()).take_front()),
        input, weight, bias);
  }

  /// Row block `index` of size `size` of a value or weight.
  Value gate(Value value, int64_t index, int64_t size) {
    SmallVector<int64_t> features(getFeatures(value.getType()));
    features.front() = size;
    return SliceOp::create(builder, withFeatures(value.getType(), features),
                           value, builder.getI64IntegerAttr(index * size),
                           builder.getI64IntegerAttr((index + 1) * size),
                           /*drop=*/nullptr);
  }

  Value sigmoid(Value x) { return SigmoidOp::create(builder, x.getType(), x); }
  Value tanh(Value x) { return math::TanhOp::create(builder, x); }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(builder, a, b); }

  /// 1, in the type of `like`.
  Value one(Value like) {
    Value scalar =
        arith::ConstantOp::create(builder, builder.getF32FloatAttr(1));
    return BroadcastOp::create(builder, like.getType(), scalar, like);
  }

  /// `x` is weight_ih * input + bias_ih, all gates.
  Value gru(Value x, Value hidden, Value weightHh, Value biasHh,
            GruReset reset) {
    int64_t size = getFeatures(hidden.getType()).front();
    Value r, z, n;
    if (reset == GruReset::After) {
      Value h = linear(hidden, weightHh, biasHh);
      r = sigmoid(add(gate(x, 0, size), gate(h, 0, size)));
      z = sigmoid(add(gate(x, 1, size), gate(h, 1, size)));
      n = tanh(add(gate(x, 2, size), mul(r, gate(h, 2, size))));
    } else {
      // The new gate's product must wait for r, so each gate has its own.
      auto h = [&](Value input, int64_t index) {
        return linear(input, gate(weightHh, index, size),
                      gate(biasHh, index, size));
      };
      r = sigmoid(add(gate(x, 0, size), h(hidden, 0)));
      z = sigmoid(add(gate(x, 1, size), h(hidden, 1)));
      n = tanh(add(gate(x, 2, size), h(mul(r, hidden), 2)));
    }
    return add(mul(sub(one(z), z), n), mul(z, hidden));
  }

  std::pair<Value, Value> lstm(Value x, Value hidden, Value cell,
                               Value weightHh, Value biasHh) {
    int64_t size = getFeatures(hidden.getType()).front();
    Value gates = add(x, linear(hidden, weightHh, biasHh));
    Value i = sigmoid(gate(gates, 0, size)), f = sigmoid(gate(gates, 1, size));
    Value g = tanh(gate(gates, 2, size)), o = sigmoid(gate(gates, 3, size));
    Value newCell = add(mul(f, cell), mul(i, g));
    return {mul(o, tanh(newCell)), newCell};
  }

  Value rnn(Value x, Value hidden, Value weightHh, Value biasHh) {
    return tanh(add(x, linear(hidden, weightHh, biasHh)));
  }

private:
  ImplicitLocOpBuilder &builder;
};

/// Replaces the layer `op` by a scan over the products of its input.
/// `writeCell` gets the products and the states at one position and gives the
/// new states.
template <typename LayerOp, typename WriteCell>
void expandLayer(LayerOp op, WriteCell writeCell) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  CellWriter outside(builder);
  Value x = outside.linear(op.getInput(), op.getWeightIh(), op.getBiasIh());
  auto scan = ScanOp::create(builder, op->getResultTypes(), x, op.getLengths(),
                             ValueRange(), op.getReverseAttr());
  Block &body = scan.getBody().emplaceBlock();
  body.addArgument(withNumAxes(x.getType(), 1), op.getLoc());
  for (Type result : op->getResultTypes())
    body.addArgument(withNumAxes(result, 1), op.getLoc());
  builder.setInsertionPointToEnd(&body);
  CellWriter inside(builder);
  SmallVector<Value> states =
      writeCell(inside, body.getArgument(0), body.getArguments().drop_front());
  YieldOp::create(builder, states);
  op->replaceAllUsesWith(scan.getResults());
  op.erase();
}

struct ExpandRecurrences
    : attn::impl::ExpandRecurrencesBase<ExpandRecurrences> {
  using ExpandRecurrencesBase::ExpandRecurrencesBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<GruOp, LstmOp, RnnOp, GruCellOp, LstmCellOp, RnnCellOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      expand(op);
  }

  void expand(Operation *op) {
    if (auto gru = dyn_cast<GruOp>(op))
      return expandLayer(gru, [&](CellWriter &write, Value x, auto states) {
        return SmallVector<Value>{write.gru(x, states[0], gru.getWeightHh(),
                                            gru.getBiasHh(), gru.getReset())};
      });
    if (auto lstm = dyn_cast<LstmOp>(op))
      return expandLayer(lstm, [&](CellWriter &write, Value x, auto states) {
        auto [hidden, cell] = write.lstm(x, states[0], states[1],
                                         lstm.getWeightHh(), lstm.getBiasHh());
        return SmallVector<Value>{hidden, cell};
      });
    if (auto rnn = dyn_cast<RnnOp>(op))
      return expandLayer(rnn, [&](CellWriter &write, Value x, auto states) {
        return SmallVector<Value>{
            write.rnn(x, states[0], rnn.getWeightHh(), rnn.getBiasHh())};
      });

    ImplicitLocOpBuilder builder(op->getLoc(), op);
    CellWriter write(builder);
    if (auto cell = dyn_cast<GruCellOp>(op)) {
      Value x =
          write.linear(cell.getInput(), cell.getWeightIh(), cell.getBiasIh());
      cell.replaceAllUsesWith(write.gru(x, cell.getHidden(), cell.getWeightHh(),
                                        cell.getBiasHh(), cell.getReset()));
    } else if (auto cell = dyn_cast<LstmCellOp>(op)) {
      Value x =
          write.linear(cell.getInput(), cell.getWeightIh(), cell.getBiasIh());
      auto [hidden, newCell] = write.lstm(x, cell.getHidden(), cell.getCell(),
                                          cell.getWeightHh(), cell.getBiasHh());
      cell.replaceAllUsesWith(ValueRange{hidden, newCell});
    } else if (auto cell = dyn_cast<RnnCellOp>(op)) {
      Value x =
          write.linear(cell.getInput(), cell.getWeightIh(), cell.getBiasIh());
      cell.replaceAllUsesWith(
          write.rnn(x, cell.getHidden(), cell.getWeightHh(), cell.getBiasHh()));
    }
    op->erase();
  }
};

} // namespace
