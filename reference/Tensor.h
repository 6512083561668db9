//===- Tensor.h - a value of the reference evaluator ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TENSOR_H
#define ATTN_REFERENCE_TENSOR_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace mlir::attn::reference {

/// A dense, row-major array of numbers: a scalar where the shape is empty.
struct Tensor {
  SmallVector<int64_t, 4> shape;
  /// The bits of an integer; 0 for f32, which is computed in double precision.
  unsigned width = 0;
  /// A double holds every f32, i32 and i1 exactly, so one array serves all.
  /// Integers are signed, booleans 0 or 1.
  std::vector<double> data;

  static Tensor floats(ArrayRef<int64_t> shape, ArrayRef<double> data);
  static Tensor integers(ArrayRef<int64_t> shape, ArrayRef<int32_t> data);
  static Tensor booleans(ArrayRef<int64_t> shape, ArrayRef<bool> data);
  /// A value of a type, its axes having the given sizes.
  static Tensor zeros(Type type, ArrayRef<int64_t> axes);

  /// Gives the tensor the shape of a value of `type` whose axes have the given
  /// sizes. The numbers become unspecified; no memory is given back.
  void reset(Type type, ArrayRef<int64_t> axes);

  int64_t size() const { return static_cast<int64_t>(data.size()); }

  /// Whether this may be a value of `type`: dynamic dimensions may have any
  /// size.
  bool isOfType(Type type) const;
  /// "2x3xf32", for messages.
  std::string describe() const;
};

/// The product of the sizes.
int64_t countElements(ArrayRef<int64_t> shape);

/// The rows of `tensor` that `indices` names, in their order.
Tensor gatherRows(const Tensor &tensor, ArrayRef<int64_t> indices);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_TENSOR_H
