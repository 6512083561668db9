//===- Sequences.cpp - operations on sequences ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// True positions only are read; padding of a result is zero (R10).
//
//===----------------------------------------------------------------------===//

#include "reference/Sequences.h"
#include "dialect/Attn.h"
#include "dialect/Axes.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

LogicalResult reference::checkLengths(Operation *op, Frame &frame,
                                      const Tensor &lengths, int64_t rows,
                                      int64_t positions) {
  if (lengths.size() != rows)
    return frame.fail(op, "expected " + Twine(rows) +
                              " lengths, one per row, but got " +
                              Twine(lengths.size()));
  for (double length : lengths.data)
    if (length < 0 || length > positions)
      return frame.fail(op, "expected lengths of 0 to " + Twine(positions) +
                                ", but got " +
                                Twine(static_cast<int64_t>(length)));
  return success();
}

FailureOr<Sequences> reference::getSequences(Operation *op, Frame &frame,
                                             Value value, Value lengths) {
  Sequences sequences;
  sequences.values = &frame.get(value);
  sequences.lengths = &frame.get(lengths);
  sequences.rows = sequences.values->shape[0];
  sequences.positions = sequences.values->shape[1];
  sequences.features = getNumFeatureElements(value.getType());
  if (failed(checkLengths(op, frame, *sequences.lengths, sequences.rows,
                          sequences.positions)))
    return failure();
  return sequences;
}

/// The tensor of a result, all zeros.
static Tensor &ownZeros(Frame &frame, Value value, ArrayRef<int64_t> axes) {
  Tensor &tensor = frame.own(value, axes);
  std::fill(tensor.data.begin(), tensor.data.end(), 0.0);
  return tensor;
}

static int64_t divideRoundedUp(int64_t length, int64_t stride) {
  return (length + stride - 1) / stride;
}

static LogicalResult evaluateReverse(ReverseOp op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  Tensor &result = ownZeros(frame, op.getResult(), {in->rows, in->positions});
  for (int64_t row = 0; row < in->rows; ++row)
    for (int64_t t = 0, length = in->length(row); t < length; ++t)
      std::copy_n(in->at(row, length - 1 - t), in->features,
                  &result.data[in->offset(row, t)]);
  return success();
}

/// The value at the first or at the last true position of each row.
static LogicalResult takePosition(Operation *op, Frame &frame, Value input,
                                  Value lengths, bool last) {
  FailureOr<Sequences> in = getSequences(op, frame, input, lengths);
  if (failed(in))
    return failure();
  Tensor &result = ownZeros(frame, op->getResult(0), {in->rows});
  for (int64_t row = 0; row < in->rows; ++row)
    if (int64_t length = in->length(row))
      std::copy_n(in->at(row, last ? length - 1 : 0), in->features,
                  result.data.begin() + row * in->features);
  return success();
}

static LogicalResult evaluateFirst(FirstOp op, Frame &frame) {
  return takePosition(op, frame, op.getInput(), op.getLengths(), false);
}

static LogicalResult evaluateLast(LastOp op, Frame &frame) {
  return takePosition(op, frame, op.getInput(), op.getLengths(), true);
}

static LogicalResult evaluateMean(MeanOp op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  Tensor &result = ownZeros(frame, op.getResult(), {in->rows});
  for (int64_t row = 0; row < in->rows; ++row) {
    double *out = result.data.data() + row * in->features;
    int64_t length = in->length(row);
    for (int64_t t = 0; t < length; ++t)
      for (int64_t k = 0; k < in->features; ++k)
        out[k] += in->at(row, t)[k];
    for (int64_t k = 0; length != 0 && k < in->features; ++k)
      out[k] /= length;
  }
  return success();
}

static LogicalResult evaluatePairs(PairsOp op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  int64_t positions = divideRoundedUp(in->positions, 2);
  Tensor &result = ownZeros(frame, op.getResult(), {in->rows, positions});
  // Only the last feature doubles: those before it stay where they are.
  int64_t last = getFeatures(op.getInput().getType()).back();
  for (int64_t row = 0; row < in->rows; ++row)
    for (int64_t t = 0, length = in->length(row); t < length; ++t) {
      double *out = &result.data[(row * positions + t / 2) * 2 * in->features];
      for (int64_t k = 0; k < in->features; ++k)
        out[k / last * 2 * last + t % 2 * last + k % last] = in->at(row, t)[k];
    }
  return success();
}

static LogicalResult evaluateStridedLength(StridedLengthOp op, Frame &frame) {
  const Tensor &lengths = frame.get(op.getLengths());
  Tensor &result = frame.own(op.getResult(), {lengths.size()});
  for (int64_t row = 0, e = lengths.size(); row < e; ++row)
    result.data[row] = divideRoundedUp(static_cast<int64_t>(lengths.data[row]),
                                       op.getStride());
  return success();
}

static LogicalResult evaluateConv1d(Conv1dOp op, Frame &frame) {
  FailureOr<Sequences> in =
      getSequences(op, frame, op.getInput(), op.getLengths());
  if (failed(in))
    return failure();
  const Tensor &weight = frame.get(op.getWeight());
  const Tensor &bias = frame.get(op.getBias());
  int64_t stride = op.getStride(), outputs = weight.shape[0],
          width = weight.shape[2];
  int64_t positions = divideRoundedUp(in->positions, stride);
  Tensor &result = ownZeros(frame, op.getResult(), {in->rows, positions});
  std::vector<double> window(in->features * width), weights = weight.data;
  for (int64_t row = 0; row < in->rows; ++row) {
    int64_t length = in->length(row);
    for (int64_t t = 0, e = divideRoundedUp(length, stride); t < e; ++t) {
      int64_t begin = t * stride - (width - 1) / 2;
      auto exists = [&](int64_t w) {
        return begin + w >= 0 && begin + w < length;
      };
      for (int64_t x = 0; x < in->features; ++x)
        for (int64_t w = 0; w < width; ++w)
          window[x * width + w] = exists(w) ? in->at(row, begin + w)[x] : 0;
      if (frame.environment.round) {
        weights = weight.data;
        frame.environment.round(op, window, weights, in->features * width);
      }
      for (int64_t n = 0; n < outputs; ++n) {
        double sum = bias.data[n];
        for (int64_t w = 0; w < width; ++w)
          for (int64_t x = 0; exists(w) && x < in->features; ++x)
            sum += weights[(n * in->features + x) * width + w] *
                   window[x * width + w];
        result.data[(row * positions + t) * outputs + n] = sum;
      }
    }
  }
  return success();
}

static LogicalResult evaluatePosition(PositionOp op, Frame &frame) {
  ArrayRef<int64_t> axes = getAxes(frame, op.getLike());
  Tensor &result = frame.own(op.getResult(), axes);
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.data[i] = i % axes[1];
  return success();
}

static LogicalResult evaluateToRows(ToRowsOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  const Tensor &rows = frame.get(op.getRows());
  SmallVector<int64_t> indices;
  for (double row : rows.data) {
    if (row < 0 || row >= input.shape[0])
      return frame.fail(op, "expected sentences of 0 to " +
                                Twine(input.shape[0] - 1) + ", but got " +
                                Twine(static_cast<int64_t>(row)));
    indices.push_back(static_cast<int64_t>(row));
  }
  frame.own(op.getResult()) = gatherRows(input, indices);
  return success();
}

static LogicalResult evaluatePast(PastOp op, Frame &frame) {
  Histories *histories = frame.environment.histories;
  if (!histories)
    return frame.fail(op, "expected histories to remember steps in");
  const Tensor &input = frame.get(op.getInput());
  int64_t rows = input.shape[0];
  int64_t features = getNumFeatureElements(op.getInput().getType());
  std::vector<std::vector<double>> &past = histories->of(op);
  if (past.empty())
    past.resize(rows);
  if (static_cast<int64_t>(past.size()) != rows)
    return frame.fail(op, "expected " + Twine(past.size()) +
                              " rows, as the histories have, but got " +
                              Twine(rows));
  int64_t longest = 0;
  for (int64_t row = 0; row < rows; ++row) {
    auto now = input.data.begin() + row * features;
    past[row].insert(past[row].end(), now, now + features);
    longest = std::max<int64_t>(longest, past[row].size());
  }
  Tensor &result = ownZeros(frame, op.getResult(), {rows, longest / features});
  for (int64_t row = 0; row < rows; ++row)
    std::copy(past[row].begin(), past[row].end(),
              result.data.begin() + row * longest);
  return success();
}

static LogicalResult evaluateScan(ScanOp op, Frame &frame) {
  SmallVector<Sequences> inputs;
  for (Value input : op.getInputs()) {
    FailureOr<Sequences> in = getSequences(op, frame, input, op.getLengths());
    if (failed(in))
      return failure();
    if (!inputs.empty() && in->positions != inputs[0].positions)
      return frame.fail(op, "expected inputs of " + Twine(inputs[0].positions) +
                                " positions, but got " + Twine(in->positions));
    inputs.push_back(*in);
  }
  const Tensor &lengths = frame.get(op.getLengths());
  int64_t rows = lengths.size(), positions = 0;
  if (!inputs.empty())
    positions = inputs[0].positions;
  else if (rows != 0)
    positions = static_cast<int64_t>(
        *std::max_element(lengths.data.begin(), lengths.data.end()));

  Block &block = op.getBody().front();
  Frame body(block, frame.environment, &frame);
  auto arguments = block.getArguments();
  auto stateArguments = arguments.drop_front(inputs.size());
  for (auto [index, argument] : llvm::enumerate(stateArguments)) {
    Tensor &state = ownZeros(body, argument, {rows});
    if (!op.getInitial().empty())
      state = frame.get(op.getInitial()[index]);
    ownZeros(frame, op.getResult(index), {rows, positions});
  }
  for (int64_t turn = 0; turn < positions; ++turn) {
    // Rows whose sequence is over take part with zeros, and nothing of it is
    // kept.
    auto positionOf = [&](int64_t row) {
      int64_t length = static_cast<int64_t>(lengths.data[row]);
      return turn >= length ? -1 : op.getReverse() ? length - 1 - turn : turn;
    };
    for (auto [input, argument] : llvm::zip(inputs, arguments)) {
      Tensor &now = ownZeros(body, argument, {rows});
      for (int64_t row = 0; row < rows; ++row)
        if (int64_t t = positionOf(row); t >= 0)
          std::copy_n(input.at(row, t), input.features,
                      now.data.begin() + row * input.features);
    }
    if (failed(body.run()))
      return failure();
    SmallVector<Tensor> next;
    for (Value value : block.getTerminator()->getOperands())
      next.push_back(body.get(value));
    for (auto [index, argument] : llvm::enumerate(stateArguments)) {
      Tensor &state = body.own(argument);
      Tensor &result = frame.own(op.getResult(index));
      int64_t features = getNumFeatureElements(argument.getType());
      for (int64_t row = 0; row < rows; ++row) {
        int64_t t = positionOf(row);
        if (t < 0)
          continue;
        auto now = next[index].data.begin() + row * features;
        std::copy_n(now, features, state.data.begin() + row * features);
        std::copy_n(now, features,
                    result.data.begin() + (row * positions + t) * features);
      }
    }
  }
  return success();
}

void reference::addSequenceKernels(KernelTable &table) {
  table.add<ReverseOp, evaluateReverse>();
  table.add<FirstOp, evaluateFirst>();
  table.add<LastOp, evaluateLast>();
  table.add<MeanOp, evaluateMean>();
  table.add<PairsOp, evaluatePairs>();
  table.add<StridedLengthOp, evaluateStridedLength>();
  table.add<Conv1dOp, evaluateConv1d>();
  table.add<PositionOp, evaluatePosition>();
  table.add<ToRowsOp, evaluateToRows>();
  table.add<PastOp, evaluatePast>();
  table.add<ScanOp, evaluateScan>();
}
