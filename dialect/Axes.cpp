//===- Axes.cpp - axes and features of a value ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"

using namespace mlir;
using namespace mlir::attn;

unsigned attn::getNumAxes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  unsigned axes = 0;
  while (axes < tensor.getRank() && tensor.isDynamicDim(axes))
    ++axes;
  return axes;
}

ArrayRef<int64_t> attn::getFeatures(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  return tensor.getShape().drop_front(getNumAxes(type));
}

int64_t attn::getNumFeatureElements(Type type) {
  int64_t count = 1;
  for (int64_t size : getFeatures(type))
    count *= size;
  return count;
}

bool attn::hasStaticFeatures(Type type) {
  return llvm::none_of(getFeatures(type), ShapedType::isDynamic);
}

Type attn::getValueType(unsigned numAxes, ArrayRef<int64_t> features,
                        Type element) {
  if (numAxes == 0 && features.empty())
    return element;
  SmallVector<int64_t> shape(numAxes, ShapedType::kDynamic);
  shape.append(features.begin(), features.end());
  return RankedTensorType::get(shape, element);
}

Type attn::withNumAxes(Type type, unsigned numAxes) {
  return getValueType(numAxes, getFeatures(type), getElementTypeOrSelf(type));
}

Type attn::withFeatures(Type type, ArrayRef<int64_t> features) {
  return getValueType(getNumAxes(type), features, getElementTypeOrSelf(type));
}

Type attn::withElement(Type type, Type element) {
  return getValueType(getNumAxes(type), getFeatures(type), element);
}

bool attn::isPrefix(ArrayRef<int64_t> prefix, ArrayRef<int64_t> shape) {
  return prefix.size() <= shape.size() &&
         shape.take_front(prefix.size()) == prefix;
}
