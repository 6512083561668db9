//===- Read.cpp - the masked, weighted read of a memory -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attn.read, query by query, as its definition says:
//
//   readable_j = begin <= j < end and j < length and mask_j and score_j != -inf
//   weight_j   = normalise over readable positions, and sink (score) * factor_j
//   context    = sum over readable j of weight_j * summand_j
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "reference/Normalizers.h"
#include "reference/PairSpace.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// A memory position that a query may read, for some head.
struct Position {
  int64_t key;
  std::vector<bool> readable;  ///< By head.
  std::vector<double> weights; ///< By head: first the scores.
};

/// Reads the memory for one query after another.
class Reader {
public:
  Reader(ReadOp op, const PairSpace &space, Frame &frame)
      : op(op),
        heads(getNumFeatureElements(
            op.getScore().front().getTerminator()->getOperand(0).getType())),
        score(op, op.getScore(), space, frame),
        summand(op, op.getSummand(), space, frame) {
    if (!op.getMask().empty())
      mask.emplace(op, op.getMask(), space, frame);
    if (!op.getInterval().empty())
      interval.emplace(op, op.getInterval(), space, frame);
    if (!op.getSink().empty())
      sink.emplace(op, op.getSink(), space, frame);
    if (!op.getFactor().empty())
      factor.emplace(op, op.getFactor(), space, frame);
  }

  /// Finds what a query may read, with its scores.
  LogicalResult findPositions(int64_t row, int64_t query, int64_t length);
  LogicalResult normalize(int64_t row, int64_t query);
  LogicalResult applyFactor(int64_t row, int64_t query);
  /// Adds to the contexts, which begin at `contexts`.
  LogicalResult sum(int64_t row, int64_t query, ArrayRef<double *> contexts);

  ReadOp op;
  int64_t heads;
  std::vector<Position> positions;

private:
  PairRegion score, summand;
  std::optional<PairRegion> mask, interval, sink, factor;
};

LogicalResult Reader::findPositions(int64_t row, int64_t query,
                                    int64_t length) {
  positions.clear();
  int64_t begin = 0, end = length;
  if (interval && length) {
    if (failed(interval->evaluate(row, query, 0)))
      return failure();
    begin = std::max(begin, static_cast<int64_t>(interval->get(0).data[0]));
    end = std::min(end, static_cast<int64_t>(interval->get(1).data[0]));
  }
  for (int64_t key = begin; key < end; ++key) {
    std::vector<bool> readable(heads, true);
    if (mask) {
      if (failed(mask->evaluate(row, query, key)))
        return failure();
      const Tensor &allowed = mask->get();
      for (int64_t head = 0; head < heads; ++head)
        readable[head] = allowed.data[allowed.size() == 1 ? 0 : head] != 0;
      // What is masked is not even computed (R2).
      if (llvm::none_of(readable, [](bool some) { return some; }))
        continue;
    }
    if (failed(score.evaluate(row, query, key)))
      return failure();
    const std::vector<double> &scores = score.get().data;
    for (int64_t head = 0; head < heads; ++head)
      if (scores[head] == -std::numeric_limits<double>::infinity())
        readable[head] = false;
    positions.push_back({key, std::move(readable), scores});
  }
  return success();
}

LogicalResult Reader::normalize(int64_t row, int64_t query) {
  if (positions.empty())
    return success();
  // What the query determines needs no position.
  if (sink && failed(sink->evaluate(row, query, 0)))
    return failure();
  std::vector<double> weights;
  for (int64_t head = 0; head < heads; ++head) {
    weights.clear();
    for (const Position &position : positions)
      if (position.readable[head])
        weights.push_back(position.weights[head]);
    normalizeRow(op.getNormalizer(), weights,
                 sink ? std::optional(sink->get().data[head]) : std::nullopt);
    auto next = weights.begin();
    for (Position &position : positions)
      if (position.readable[head])
        position.weights[head] = *next++;
  }
  return success();
}

LogicalResult Reader::applyFactor(int64_t row, int64_t query) {
  for (Position &position : positions) {
    if (!factor || llvm::none_of(position.readable, [](bool b) { return b; }))
      continue;
    if (failed(factor->evaluate(row, query, position.key)))
      return failure();
    for (int64_t head = 0; head < heads; ++head)
      position.weights[head] *= factor->get().data[head];
  }
  return success();
}

LogicalResult Reader::sum(int64_t row, int64_t query,
                          ArrayRef<double *> contexts) {
  for (const Position &position : positions) {
    if (llvm::none_of(position.readable, [](bool b) { return b; }))
      continue;
    if (failed(summand.evaluate(row, query, position.key)))
      return failure();
    for (auto [index, context] : llvm::enumerate(contexts)) {
      const std::vector<double> &values = summand.get(index).data;
      int64_t perHead = static_cast<int64_t>(values.size()) / heads;
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t k = head * perHead;
             position.readable[head] && k < (head + 1) * perHead; ++k)
          context[k] += position.weights[head] * values[k];
    }
  }
  return success();
}

} // namespace

static LogicalResult evaluateRead(ReadOp op, Frame &frame) {
  FailureOr<PairSpace> space = PairSpace::create(op, frame);
  if (failed(space))
    return failure();
  auto ownZeros = [&](Value value, ArrayRef<int64_t> axes) {
    Tensor &tensor = frame.own(value, axes);
    std::fill(tensor.data.begin(), tensor.data.end(), 0.0);
    return &tensor;
  };
  SmallVector<Tensor *> contexts;
  for (Value context : op.getContexts())
    contexts.push_back(ownZeros(context, space->queryAxes()));
  Tensor *weights = nullptr, *valid = nullptr;
  if (op.getWeights())
    weights = ownZeros(op.getWeights(), space->pairAxes());
  if (op.getValid())
    valid = ownZeros(op.getValid(), space->queryAxes());

  Reader reader(op, *space, frame);
  for (int64_t row = 0; row < space->rows; ++row)
    for (int64_t query = 0; query < space->numQueries(row); ++query) {
      int64_t place = space->query(row, query);
      if (failed(reader.findPositions(row, query, space->memoryLength(row))))
        return failure();
      if (failed(reader.normalize(row, query)) ||
          failed(reader.applyFactor(row, query)))
        return failure();
      SmallVector<double *> outputs;
      for (auto [tensor, value] : llvm::zip(contexts, op.getContexts()))
        outputs.push_back(tensor->data.data() +
                          place * getNumFeatureElements(value.getType()));
      if (failed(reader.sum(row, query, outputs)))
        return failure();
      for (const Position &position : reader.positions)
        for (int64_t head = 0; head < reader.heads; ++head) {
          if (!position.readable[head])
            continue;
          if (weights)
            weights->data[space->pair(row, query, position.key) * reader.heads +
                          head] = position.weights[head];
          if (valid)
            valid->data[place * reader.heads + head] = 1;
        }
    }
  return success();
}

void reference::addReadKernel(KernelTable &table) {
  table.add<ReadOp, evaluateRead>();
}
