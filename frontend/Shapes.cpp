//===- Shapes.cpp - how feature shapes combine ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Shapes.h"

#include "dialect/Axes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::attn::frontend;

std::string mlir::attn::frontend::toString(ShapeRef shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

std::optional<int64_t> mlir::attn::frontend::getNumElements(ShapeRef shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

bool mlir::attn::frontend::isSingle(ShapeRef shape) {
  return llvm::all_of(shape, [](int64_t size) { return size == 1; });
}

std::optional<Shape> mlir::attn::frontend::combineShapes(ShapeRef lhs,
                                                         ShapeRef rhs) {
  if (mlir::attn::isPrefix(lhs, rhs))
    return Shape(rhs);
  if (mlir::attn::isPrefix(rhs, lhs))
    return Shape(lhs);
  if (isSingle(lhs))
    return Shape(rhs);
  if (isSingle(rhs))
    return Shape(lhs);
  return std::nullopt;
}
