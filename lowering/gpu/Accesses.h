//===- Accesses.h - what operations do with buffers -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_ACCESSES_H
#define ATTN_LOWERING_GPU_ACCESSES_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::attn {

/// What an operation reads or writes.
struct Access {
  Operation *op = nullptr;
  Value root; ///< The buffer, of which `view` is a view.
  Value view;
  ValueRange indices;
  bool isWrite = false;
  bool isVector = false; ///< 16 elements from there on, or one.
};

/// The buffer that `view` is a view of.
Value findRoot(Value view);

/// The access that an operation is, or nothing. What is in its regions does not
/// count.
std::optional<Access> describeAccess(Operation *op);

/// What an operation, and those in it, do with buffers; without indices where
/// it is not known which elements. Nothing where it is not known which buffers.
std::optional<SmallVector<Access>> collectUses(Operation *top);
/// Whether one may write what the other uses.
bool mayTouch(ArrayRef<Access> a, ArrayRef<Access> b);
/// Whether a kernel may have the buffers of both, but for those that it will
/// keep for itself.
bool areFew(ArrayRef<Access> a, ArrayRef<Access> b);
/// Whether what stands between has nothing to do with an operation, which uses
/// these, so that it may be done at `place` behind it.
bool canMoveTo(Operation *op, ArrayRef<Access> uses, Operation *place);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_ACCESSES_H
