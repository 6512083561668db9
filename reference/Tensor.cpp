//===- Tensor.cpp - a value of the reference evaluator --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Tensor.h"
#include "dialect/Axes.h"

#include <algorithm>
#include <cassert>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

int64_t reference::countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

template <typename Number>
static Tensor makeTensor(ArrayRef<int64_t> shape, ArrayRef<Number> data,
                         unsigned width) {
  assert(countElements(shape) == static_cast<int64_t>(data.size()) &&
         "expected as many numbers as the shape says");
  Tensor tensor;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.width = width;
  tensor.data.assign(data.begin(), data.end());
  return tensor;
}

Tensor Tensor::floats(ArrayRef<int64_t> shape, ArrayRef<double> data) {
  return makeTensor(shape, data, 0);
}

Tensor Tensor::integers(ArrayRef<int64_t> shape, ArrayRef<int32_t> data) {
  return makeTensor(shape, data, 32);
}

Tensor Tensor::booleans(ArrayRef<int64_t> shape, ArrayRef<bool> data) {
  return makeTensor(shape, data, 1);
}

Tensor Tensor::zeros(Type type, ArrayRef<int64_t> axes) {
  Tensor tensor;
  tensor.reset(type, axes);
  return tensor;
}

void Tensor::reset(Type type, ArrayRef<int64_t> axes) {
  assert(axes.size() == getNumAxes(type) && "expected a size for every axis");
  ArrayRef<int64_t> features = getFeatures(type);
  shape.assign(axes.begin(), axes.end());
  shape.append(features.begin(), features.end());
  Type element = getElementTypeOrSelf(type);
  width = isa<FloatType>(element) ? 0 : element.getIntOrFloatBitWidth();
  data.resize(countElements(shape));
}

bool Tensor::isOfType(Type type) const {
  Type element = getElementTypeOrSelf(type);
  if (!element.isIntOrFloat() ||
      width != (isa<FloatType>(element) ? 0 : element.getIntOrFloatBitWidth()))
    return false;
  ArrayRef<int64_t> expected;
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    expected = ranked.getShape();
  else if (isa<ShapedType>(type))
    return false;
  return expected.size() == shape.size() &&
         std::equal(shape.begin(), shape.end(), expected.begin(),
                    [](int64_t size, int64_t wanted) {
                      return ShapedType::isDynamic(wanted) || size == wanted;
                    }) &&
         countElements(shape) == size();
}

std::string Tensor::describe() const {
  std::string text;
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + (width ? "i" + std::to_string(width) : "f32");
}

Tensor reference::gatherRows(const Tensor &tensor, ArrayRef<int64_t> indices) {
  Tensor result;
  result.shape = tensor.shape;
  result.shape[0] = static_cast<int64_t>(indices.size());
  result.width = tensor.width;
  int64_t stride = countElements(ArrayRef(tensor.shape).drop_front());
  result.data.reserve(stride * indices.size());
  for (int64_t index : indices) {
    assert(index >= 0 && index < tensor.shape[0] && "expected a row");
    auto row = tensor.data.begin() + index * stride;
    result.data.insert(result.data.end(), row, row + stride);
  }
  return result;
}
