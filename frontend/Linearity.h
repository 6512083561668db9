//===- Linearity.h - whether an expression is linear in the weights *- C++
//-*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_LINEARITY_H
#define ATTN_FRONTEND_LINEARITY_H

#include "frontend/AST.h"

namespace mlir::attn::frontend {

/// How an expression depends on the weights of a read.
struct Degree {
  enum Kind {
    None,   // not at all
    Linear, // f(t a) = t f(a), f(a + b) = f(a) + f(b)
    Other,
  };

  Kind kind = None;
  /// For `Other`, the smallest expression to blame.
  const Expr *culprit = nullptr;
};

/// The degree of an expression; `degreeOfName` knows that of names.
Degree getDegree(const Expr *expr,
                 llvm::function_ref<Degree(const NameExpr *)> degreeOfName);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_LINEARITY_H
