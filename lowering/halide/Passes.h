//===- Passes.h - passes to kernels that Halide makes ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_PASSES_H
#define ATTN_LOWERING_HALIDE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/halide/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_LOWERING_HALIDE_PASSES_H
