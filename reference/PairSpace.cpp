//===- PairSpace.cpp - the pairs of queries and memory positions ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/PairSpace.h"
#include "dialect/Axes.h"
#include "reference/Sequences.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

using Dims = PairOpInterface;

/// The dimension of the space that a result of an input's map stands for.
static unsigned getDim(AffineExpr expr) {
  return cast<AffineDimExpr>(expr).getPosition();
}

FailureOr<PairSpace> PairSpace::create(PairOpInterface op, Frame &frame) {
  auto get = [&](Value value) { return value ? &frame.get(value) : nullptr; };
  PairSpace space;
  space.lengths = get(op.getLengths());
  space.rowMap = get(op.getRows());
  space.queryLengths = get(op.getQueryLengths());
  space.queryPositions = get(op.getQueryPositions());
  space.sources = space.lengths->size();
  space.rows = space.rowMap ? space.rowMap->size() : space.sources;

  // The inputs say how many keys and queries there are, and have to agree.
  int64_t sizes[Dims::NumDims] = {space.rows, space.sources, -1, -1};
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    const Tensor &tensor = frame.get(input);
    for (auto [place, expr] :
         llvm::enumerate(op.getIndexingMap(index).getResults())) {
      int64_t &size = sizes[getDim(expr)];
      if (size < 0)
        size = tensor.shape[place];
      if (size != tensor.shape[place])
        return frame.fail(op, "expected size " + Twine(size) +
                                  " in dimension " + Twine(place) +
                                  " of input " + Twine(index) + ", but got " +
                                  tensor.describe());
    }
  }
  space.keys = sizes[Dims::Key];
  if (sizes[Dims::Query] >= 0)
    space.queries = sizes[Dims::Query];
  else if (space.queryLengths)
    space.queries = space.rows == 0 ? 0
                                    : static_cast<int64_t>(*std::max_element(
                                          space.queryLengths->data.begin(),
                                          space.queryLengths->data.end()));

  if (failed(
          checkLengths(op, frame, *space.lengths, space.sources, space.keys)) ||
      (space.queryLengths && failed(checkLengths(op, frame, *space.queryLengths,
                                                 space.rows, space.queries))))
    return failure();
  if (space.queryPositions && space.queryPositions->size() != space.rows)
    return frame.fail(op, "expected " + Twine(space.rows) +
                              " positions of queries, but got " +
                              Twine(space.queryPositions->size()));
  for (int64_t row = 0; row < space.rows; ++row)
    if (space.source(row) < 0 || space.source(row) >= space.sources)
      return frame.fail(op, "expected rows of 0 to " +
                                Twine(space.sources - 1) + ", but got " +
                                Twine(space.source(row)));
  return space;
}

SmallVector<int64_t> PairSpace::queryAxes() const {
  SmallVector<int64_t> axes = {rows};
  if (queryLengths)
    axes.push_back(queries);
  return axes;
}

SmallVector<int64_t> PairSpace::pairAxes() const {
  SmallVector<int64_t> axes = queryAxes();
  axes.push_back(keys);
  return axes;
}

PairRegion::PairRegion(PairOpInterface op, Region &region,
                       const PairSpace &space, Frame &frame)
    : space(space), body(region.front(), frame.environment),
      yielded(region.front().getTerminator()->getOperands()) {
  Block &block = region.front();
  unsigned numInputs = op.getInputs().size();
  for (auto [index, value] : llvm::enumerate(op.getInputs())) {
    BlockArgument argument = block.getArgument(index);
    if (argument.use_empty())
      continue;
    const Tensor &tensor = frame.get(value);
    AffineMap map = op.getIndexingMap(index);
    if (map.getNumResults() == 0) {
      body.bind(argument, tensor);
      continue;
    }
    Input input{&tensor, argument, {}, -1};
    int64_t stride = getNumFeatureElements(value.getType());
    for (size_t place = map.getNumResults(); place-- > 0;) {
      input.strides[getDim(map.getResult(place))] = stride;
      stride *= tensor.shape[place];
    }
    body.own(argument, {});
    inputs.push_back(input);
  }
  queryPosition = block.getArgument(numInputs);
  keyPosition = block.getArgument(numInputs + 1);
  queryLength = block.getArgument(numInputs + 2);
  memoryLength = block.getArgument(numInputs + 3);
  for (BlockArgument argument : block.getArguments().take_back(4))
    body.own(argument, {});
}

LogicalResult PairRegion::evaluate(int64_t row, int64_t query, int64_t key) {
  for (Input &input : inputs) {
    int64_t offset = row * input.strides[Dims::Row] +
                     space.source(row) * input.strides[Dims::Source] +
                     query * input.strides[Dims::Query] +
                     key * input.strides[Dims::Key];
    if (offset == input.offset)
      continue;
    input.offset = offset;
    Tensor &slice = body.own(input.argument);
    std::copy_n(input.tensor->data.begin() + offset, slice.size(),
                slice.data.begin());
  }
  body.own(queryPosition).data[0] = space.queryPosition(row, query);
  body.own(keyPosition).data[0] = key;
  body.own(queryLength).data[0] = space.queryLength(row);
  body.own(memoryLength).data[0] = space.memoryLength(row);
  return body.run();
}
