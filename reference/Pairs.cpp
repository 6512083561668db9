//===- Pairs.cpp - score, mask, normalise, factor, sum --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The read in its parts. Shares nothing with Read.cpp but the evaluation of
// regions and the normalisers, so that each can be held against the other.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "reference/Normalizers.h"
#include "reference/PairSpace.h"
#include "reference/Sequences.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

/// Visits every pair but those with padding.
static LogicalResult
visitPairs(const PairSpace &space,
           function_ref<LogicalResult(int64_t, int64_t, int64_t)> visit) {
  for (int64_t row = 0; row < space.rows; ++row)
    for (int64_t query = 0; query < space.numQueries(row); ++query)
      for (int64_t key = 0; key < space.memoryLength(row); ++key)
        if (failed(visit(row, query, key)))
          return failure();
  return success();
}

static LogicalResult evaluateScore(ScoreOp op, Frame &frame) {
  FailureOr<PairSpace> space = PairSpace::create(op, frame);
  if (failed(space))
    return failure();
  Tensor &result = frame.own(op.getResult(), space->pairAxes());
  std::fill(result.data.begin(), result.data.end(), 0.0);
  int64_t heads = getNumFeatureElements(op.getType());
  PairRegion region(op, op.getBody(), *space, frame);
  frame.environment.missingScores.erase(op.getResult());
  return visitPairs(*space, [&](int64_t row, int64_t query, int64_t key) {
    auto out = result.data.begin() + space->pair(row, query, key) * heads;
    if (succeeded(region.evaluate(row, query, key))) {
      std::copy_n(region.get().data.begin(), heads, out);
      return success();
    }
    // The pair may be masked, and then nothing of it matters (R2).
    frame.environment.missingScores.try_emplace(
        op.getResult(), std::move(frame.environment.error));
    std::fill_n(out, heads, std::numeric_limits<double>::quiet_NaN());
    return success();
  });
}

static LogicalResult evaluateMask(MaskOp op, Frame &frame) {
  FailureOr<PairSpace> space = PairSpace::create(op, frame);
  if (failed(space))
    return failure();
  Tensor &result = frame.own(op.getResult(), space->pairAxes());
  std::fill(result.data.begin(), result.data.end(), 0.0);
  int64_t heads = getNumFeatureElements(op.getType());
  PairRegion region(op, op.getBody(), *space, frame);
  return visitPairs(*space, [&](int64_t row, int64_t query, int64_t key) {
    if (failed(region.evaluate(row, query, key)))
      return failure();
    std::copy_n(region.get().data.begin(), heads,
                result.data.begin() + space->pair(row, query, key) * heads);
    return success();
  });
}

static LogicalResult evaluateNormalize(NormalizeOp op, Frame &frame) {
  const Tensor &scores = frame.get(op.getScores());
  const Tensor *mask = op.getMask() ? &frame.get(op.getMask()) : nullptr;
  const Tensor &lengths = frame.get(op.getLengths());
  const Tensor *rowMap = op.getRows() ? &frame.get(op.getRows()) : nullptr;
  const Tensor *queryLengths =
      op.getQueryLengths() ? &frame.get(op.getQueryLengths()) : nullptr;
  ArrayRef<int64_t> axes = getAxes(frame, op.getScores());
  int64_t rows = axes.front(), keys = axes.back();
  int64_t queries = queryLengths ? axes[1] : 1;
  int64_t heads = getNumFeatureElements(op.getScores().getType());
  int64_t maskHeads = mask ? getNumFeatureElements(op.getMask().getType()) : 1;
  if (failed(checkLengths(op, frame, lengths, rowMap ? lengths.size() : rows,
                          keys)) ||
      (queryLengths &&
       failed(checkLengths(op, frame, *queryLengths, rows, queries))))
    return failure();
  if (rowMap && rowMap->size() != rows)
    return frame.fail(op, "expected " + Twine(rows) + " rows, but got " +
                              Twine(rowMap->size()));
  if (mask && getAxes(frame, op.getMask()) != axes)
    return frame.fail(op, "expected a mask on the scores' axes, but got " +
                              mask->describe() + " for " + scores.describe());

  // A sink is one for all, for each row or for each query.
  const Tensor *sink = op.getSink() ? &frame.get(op.getSink()) : nullptr;
  unsigned sinkAxes = sink ? getNumAxes(op.getSink().getType()) : 0;
  if (sink && getAxes(frame, op.getSink()) != axes.take_front(sinkAxes))
    return frame.fail(op, "expected a sink on the scores' axes, but got " +
                              sink->describe() + " for " + scores.describe());
  auto getSink = [&](int64_t i, int64_t head) -> std::optional<double> {
    if (!sink)
      return std::nullopt;
    int64_t place = sinkAxes == 0 ? 0 : sinkAxes == 1 ? i / queries : i;
    return sink->data[place * heads + head];
  };

  Tensor &weights = frame.own(op.getWeights(), axes);
  Tensor &readable = frame.own(op.getReadable(), axes);
  Tensor &valid = frame.own(op.getValid(), axes.drop_back());
  for (Tensor *tensor : {&weights, &readable, &valid})
    std::fill(tensor->data.begin(), tensor->data.end(), 0.0);

  for (int64_t i = 0; i < rows * queries; ++i) {
    int64_t row = i / queries;
    if (queryLengths && i % queries >= queryLengths->data[row])
      continue;
    int64_t source = rowMap ? static_cast<int64_t>(rowMap->data[row]) : row;
    if (source < 0 || source >= lengths.size())
      return frame.fail(op, "expected rows of 0 to " +
                                Twine(lengths.size() - 1) + ", but got " +
                                Twine(source));
    int64_t length = static_cast<int64_t>(lengths.data[source]);
    for (int64_t head = 0; head < heads; ++head) {
      int64_t base = i * keys * heads + head; // of key 0
      std::vector<double> values;             // of the readable positions
      for (int64_t key = 0; key < length; ++key) {
        double score = scores.data[base + key * heads];
        int64_t maskPlace =
            (i * keys + key) * maskHeads + (maskHeads == 1 ? 0 : head);
        if ((mask && mask->data[maskPlace] == 0) ||
            score == -std::numeric_limits<double>::infinity())
          continue;
        readable.data[base + key * heads] = 1;
        values.push_back(score);
      }
      if (values.empty())
        continue; // R3
      valid.data[i * heads + head] = 1;
      if (llvm::any_of(values, isSpoiled)) {
        auto missing = frame.environment.missingScores.find(op.getScores());
        if (missing != frame.environment.missingScores.end()) {
          frame.environment.error = missing->second;
          return failure();
        }
      }
      normalizeRow(op.getNormalizer(), values, getSink(i, head));
      auto next = values.begin();
      for (int64_t key = 0; key < length; ++key)
        if (readable.data[base + key * heads] != 0)
          weights.data[base + key * heads] = *next++;
    }
  }
  return success();
}

/// Checks that weights and what is readable lie on the pairs of `space`.
static LogicalResult checkWeights(Operation *op, Frame &frame,
                                  const PairSpace &space, Value weights,
                                  Value readable) {
  if (getAxes(frame, weights) == ArrayRef<int64_t>(space.pairAxes()) &&
      frame.get(weights).shape == frame.get(readable).shape)
    return success();
  return frame.fail(op, "expected weights and readable of one shape on the "
                        "axes of the inputs, but got " +
                            frame.get(weights).describe() + " and " +
                            frame.get(readable).describe());
}

static LogicalResult evaluateFactor(FactorOp op, Frame &frame) {
  FailureOr<PairSpace> space = PairSpace::create(op, frame);
  if (failed(space) || failed(checkWeights(op, frame, *space, op.getWeights(),
                                           op.getReadable())))
    return failure();
  const Tensor &weights = frame.get(op.getWeights());
  const Tensor &readable = frame.get(op.getReadable());
  Tensor &result = frame.own(op.getResult(), space->pairAxes());
  std::fill(result.data.begin(), result.data.end(), 0.0);
  int64_t heads = getNumFeatureElements(op.getType());
  PairRegion region(op, op.getBody(), *space, frame);
  return visitPairs(*space, [&](int64_t row, int64_t query, int64_t key) {
    int64_t place = space->pair(row, query, key) * heads;
    auto first = readable.data.begin() + place;
    if (std::all_of(first, first + heads, [](double r) { return r == 0; }))
      return success();
    if (failed(region.evaluate(row, query, key)))
      return failure();
    for (int64_t head = 0; head < heads; ++head)
      if (readable.data[place + head] != 0)
        result.data[place + head] =
            weights.data[place + head] * region.get().data[head];
    return success();
  });
}

static LogicalResult evaluateSum(SumOp op, Frame &frame) {
  FailureOr<PairSpace> space = PairSpace::create(op, frame);
  if (failed(space) || failed(checkWeights(op, frame, *space, op.getWeights(),
                                           op.getReadable())))
    return failure();
  const Tensor &weights = frame.get(op.getWeights());
  const Tensor &readable = frame.get(op.getReadable());
  SmallVector<Tensor *> contexts;
  for (Value context : op.getContexts()) {
    contexts.push_back(&frame.own(context, space->queryAxes()));
    std::fill(contexts.back()->data.begin(), contexts.back()->data.end(), 0.0);
  }
  int64_t heads = getNumFeatureElements(op.getWeights().getType());
  PairRegion region(op, op.getBody(), *space, frame);
  return visitPairs(*space, [&](int64_t row, int64_t query, int64_t key) {
    int64_t place = space->pair(row, query, key) * heads;
    auto first = readable.data.begin() + place;
    if (std::all_of(first, first + heads, [](double r) { return r == 0; }))
      return success();
    if (failed(region.evaluate(row, query, key)))
      return failure();
    for (auto [index, context] : llvm::enumerate(contexts)) {
      const Tensor &summand = region.get(index);
      int64_t features = summand.size(), perHead = features / heads;
      double *out = context->data.data() + space->query(row, query) * features;
      for (int64_t k = 0; k < features; ++k)
        if (readable.data[place + k / perHead] != 0)
          out[k] += weights.data[place + k / perHead] * summand.data[k];
    }
    return success();
  });
}

void reference::addPairKernels(KernelTable &table) {
  table.add<ScoreOp, evaluateScore>();
  table.add<MaskOp, evaluateMask>();
  table.add<NormalizeOp, evaluateNormalize>();
  table.add<FactorOp, evaluateFactor>();
  table.add<SumOp, evaluateSum>();
}
