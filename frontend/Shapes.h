//===- Shapes.h - how feature shapes combine --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_SHAPES_H
#define ATTN_FRONTEND_SHAPES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::attn::frontend {

using Shape = llvm::SmallVector<int64_t, 4>;
using ShapeRef = llvm::ArrayRef<int64_t>;

/// "[8, 64]"
std::string toString(ShapeRef shape);

/// The number of elements; empty where it is not a count that fits.
std::optional<int64_t> getNumElements(ShapeRef shape);

/// Whether every dimension is 1, as of a number without features.
bool isSingle(ShapeRef shape);

/// The shape of an elementwise operation: shapes combine when they are equal,
/// when one is a prefix of the other, or when one is a single number. Never by
/// alignment on the right.
std::optional<Shape> combineShapes(ShapeRef lhs, ShapeRef rhs);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_SHAPES_H
