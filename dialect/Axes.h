//===- Axes.h - axes and features of a value ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value's leading dynamic dimensions are its axes, the static ones after them
// its features. A value with neither is a scalar, not a tensor of rank 0.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_AXES_H
#define ATTN_DIALECT_AXES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {

/// The number of leading dynamic dimensions of `type`; 0 for a scalar.
unsigned getNumAxes(Type type);

/// The static dimensions after the axes; empty for a scalar.
ArrayRef<int64_t> getFeatures(Type type);

/// The number of elements of the features.
int64_t getNumFeatureElements(Type type);

/// Whether every dimension after the axes is static.
bool hasStaticFeatures(Type type);

/// The type of a value with `numAxes` axes and the given features: a scalar
/// where both are absent.
Type getValueType(unsigned numAxes, ArrayRef<int64_t> features, Type element);

/// `type` with other axes, features or element.
Type withNumAxes(Type type, unsigned numAxes);
Type withFeatures(Type type, ArrayRef<int64_t> features);
Type withElement(Type type, Type element);

/// Whether `prefix` is a prefix of `shape`.
bool isPrefix(ArrayRef<int64_t> prefix, ArrayRef<int64_t> shape);

} // namespace mlir::attn

#endif // ATTN_DIALECT_AXES_H
