//===- Cells.cpp - recurrent cells and layers -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "reference/Sequences.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// The weights of a cell: a row block per gate (R12).
struct CellWeights {
  template <typename OpType>
  CellWeights(OpType op, const Frame &frame)
      : weightIh(frame.get(op.getWeightIh())),
        weightHh(frame.get(op.getWeightHh())),
        biasIh(frame.get(op.getBiasIh())), biasHh(frame.get(op.getBiasHh())) {}

  int64_t inputs() const { return weightIh.shape[1]; }
  int64_t units() const { return weightHh.shape[1]; }

  /// Element `row` of `weight_ih x + bias_ih`.
  double ofInput(int64_t row, const double *x) const {
    return sumOfProducts(&weightIh.data[row * inputs()], x, inputs()) +
           biasIh.data[row];
  }
  /// Element `row` of `weight_hh h`, without the bias.
  double ofHidden(int64_t row, const double *h) const {
    return sumOfProducts(&weightHh.data[row * units()], h, units());
  }
  /// Element `row` of `weight_ih x + bias_ih + weight_hh h + bias_hh`.
  double ofBoth(int64_t row, const double *x, const double *h) const {
    return ofInput(row, x) + ofHidden(row, h) + biasHh.data[row];
  }

  const Tensor &weightIh, &weightHh, &biasIh, &biasHh;
};

struct GruCell {
  template <typename OpType>
  GruCell(OpType op, const Frame &frame)
      : weights(op, frame), after(op.getReset() == GruReset::After),
        r(weights.units()), z(weights.units()), resetHidden(weights.units()) {}

  /// `next` may not be `h`.
  void step(const double *x, const double *h, double *next) {
    int64_t units = weights.units();
    for (int64_t i = 0; i < units; ++i) {
      r[i] = sigmoid(weights.ofBoth(i, x, h));
      z[i] = sigmoid(weights.ofBoth(units + i, x, h));
      resetHidden[i] = r[i] * h[i];
    }
    for (int64_t i = 0; i < units; ++i) {
      int64_t row = 2 * units + i;
      // R11: the reset gate scales the product, its bias included, or what is
      // multiplied.
      double hidden =
          after ? r[i] * (weights.ofHidden(row, h) + weights.biasHh.data[row])
                : weights.ofHidden(row, resetHidden.data()) +
                      weights.biasHh.data[row];
      double n = std::tanh(weights.ofInput(row, x) + hidden);
      next[i] = (1 - z[i]) * n + z[i] * h[i];
    }
  }

  CellWeights weights;
  bool after;
  std::vector<double> r, z, resetHidden;
};

struct LstmCell {
  template <typename OpType>
  LstmCell(OpType op, const Frame &frame) : weights(op, frame) {}

  /// `nextHidden` may not be `h`; `nextCell` may be `c`.
  void step(const double *x, const double *h, const double *c,
            double *nextHidden, double *nextCell) {
    int64_t units = weights.units();
    for (int64_t k = 0; k < units; ++k) {
      double i = sigmoid(weights.ofBoth(k, x, h));
      double f = sigmoid(weights.ofBoth(units + k, x, h));
      double g = std::tanh(weights.ofBoth(2 * units + k, x, h));
      double o = sigmoid(weights.ofBoth(3 * units + k, x, h));
      nextCell[k] = f * c[k] + i * g;
      nextHidden[k] = o * std::tanh(nextCell[k]);
    }
  }

  CellWeights weights;
};

struct RnnCell {
  template <typename OpType>
  RnnCell(OpType op, const Frame &frame) : weights(op, frame) {}

  /// `next` may not be `h`.
  void step(const double *x, const double *h, double *next) {
    for (int64_t i = 0, units = weights.units(); i < units; ++i)
      next[i] = std::tanh(weights.ofBoth(i, x, h));
  }

  CellWeights weights;
};

} // namespace

/// Checks that an input and a state lie on the same axes.
static LogicalResult checkAxes(Operation *op, Frame &frame, Value input,
                               Value state) {
  if (getAxes(frame, input) == getAxes(frame, state))
    return success();
  return frame.fail(op, "expected an input and a state on the same axes, but "
                        "got " +
                            frame.get(input).describe() + " and " +
                            frame.get(state).describe());
}

/// One step of a cell whose only state is its result.
template <typename Cell, typename OpType>
static LogicalResult evaluateCell(OpType op, Frame &frame) {
  if (failed(checkAxes(op, frame, op.getInput(), op.getHidden())))
    return failure();
  const Tensor &input = frame.get(op.getInput());
  const Tensor &hidden = frame.get(op.getHidden());
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getHidden()));
  Cell cell(op, frame);
  int64_t inputs = cell.weights.inputs(), units = cell.weights.units();
  for (int64_t i = 0, e = hidden.size() / units; i < e; ++i)
    cell.step(&input.data[i * inputs], &hidden.data[i * units],
              &result.data[i * units]);
  return success();
}

static LogicalResult evaluateLstmCell(LstmCellOp op, Frame &frame) {
  if (failed(checkAxes(op, frame, op.getInput(), op.getHidden())) ||
      failed(checkAxes(op, frame, op.getInput(), op.getCell())))
    return failure();
  const Tensor &input = frame.get(op.getInput());
  const Tensor &hidden = frame.get(op.getHidden());
  const Tensor &memory = frame.get(op.getCell());
  ArrayRef<int64_t> axes = getAxes(frame, op.getHidden());
  Tensor &newHidden = frame.own(op.getNewHidden(), axes);
  Tensor &newMemory = frame.own(op.getNewCell(), axes);
  LstmCell cell(op, frame);
  int64_t inputs = cell.weights.inputs(), units = cell.weights.units();
  for (int64_t i = 0, e = hidden.size() / units; i < e; ++i)
    cell.step(&input.data[i * inputs], &hidden.data[i * units],
              &memory.data[i * units], &newHidden.data[i * units],
              &newMemory.data[i * units]);
  return success();
}

/// Visits the true positions of a row, from the true end with `reverse`.
static void visitPositions(int64_t length, bool reverse,
                           function_ref<void(int64_t)> visit) {
  for (int64_t i = 0; i < length; ++i)
    visit(reverse ? length - 1 - i : i);
}

/// A cell along a sequence, its only state being its result.
template <typename Cell, typename OpType>
static LogicalResult evaluateLayer(OpType op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  Tensor &result = frame.own(op.getResult(), {in->rows, in->positions});
  std::fill(result.data.begin(), result.data.end(), 0.0);
  Cell cell(op, frame);
  int64_t units = cell.weights.units();
  std::vector<double> zero(units);
  for (int64_t row = 0; row < in->rows; ++row) {
    const double *hidden = zero.data();
    visitPositions(in->length(row), op.getReverse(), [&](int64_t t) {
      double *next = &result.data[(row * in->positions + t) * units];
      cell.step(in->at(row, t), hidden, next);
      hidden = next;
    });
  }
  return success();
}

static LogicalResult evaluateLstm(LstmOp op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  Tensor &hiddens = frame.own(op.getHidden(), {in->rows, in->positions});
  Tensor &memories = frame.own(op.getCell(), {in->rows, in->positions});
  std::fill(hiddens.data.begin(), hiddens.data.end(), 0.0);
  std::fill(memories.data.begin(), memories.data.end(), 0.0);
  LstmCell cell(op, frame);
  int64_t units = cell.weights.units();
  std::vector<double> zero(units);
  for (int64_t row = 0; row < in->rows; ++row) {
    const double *hidden = zero.data(), *memory = zero.data();
    visitPositions(in->length(row), op.getReverse(), [&](int64_t t) {
      int64_t offset = (row * in->positions + t) * units;
      cell.step(in->at(row, t), hidden, memory, &hiddens.data[offset],
                &memories.data[offset]);
      hidden = &hiddens.data[offset];
      memory = &memories.data[offset];
    });
  }
  return success();
}

void reference::addCellKernels(KernelTable &table) {
  table.add<GruCellOp, evaluateCell<GruCell, GruCellOp>>();
  table.add<LstmCellOp, evaluateLstmCell>();
  table.add<RnnCellOp, evaluateCell<RnnCell, RnnCellOp>>();
  table.add<GruOp, evaluateLayer<GruCell, GruOp>>();
  table.add<LstmOp, evaluateLstm>();
  table.add<RnnOp, evaluateLayer<RnnCell, RnnOp>>();
}
