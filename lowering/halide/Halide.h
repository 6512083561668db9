//===- Halide.h - Halide's names beside MLIR's ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both have a Type, a Value, a Function. What Halide alone has is used by its
// plain name, the rest as `hl::`. Halide's headers include none of its LLVM,
// which is an older one than MLIR's and is never seen here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_HALIDE_H
#define ATTN_LOWERING_HALIDE_HALIDE_H

#include <Halide.h>

namespace mlir::attn::halide {

namespace hl = ::Halide;
using hl::Expr;
using hl::Func;
using hl::RDom;
using hl::RVar;
using hl::Var;

/// Where an element of a value stands, in Halide's order: the last feature
/// first, the row last.
using Place = std::vector<Expr>;

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_HALIDE_H
