//===- Passes.h - passes from loops to kernels of a device ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_PASSES_H
#define ATTN_LOWERING_GPU_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

/// On the function of a kernel: how many groups of 16 lanes a workgroup has.
inline constexpr llvm::StringLiteral groupsAttrName = "attn.groups";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/gpu/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_PASSES_H
