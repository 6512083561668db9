//===- Passes.h - passes from attn to CPU code ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_PASSES_H
#define ATTN_LOWERING_CPU_PASSES_H

#include "lowering/cpu/Precision.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "lowering/cpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lowering/cpu/Passes.h.inc"

/// On a function that is a program of the compiled model: its buffers in order,
/// each a dictionary of `role`, `index`, `type` and `dims` as the description
/// has them. The function's arguments are the extents, then these.
inline constexpr llvm::StringLiteral programAttrName = "attn.program";
/// The place of a symbolic dimension of these among the extents.
int64_t getExtent(llvm::StringRef dim);
/// On a loop of a program: its iterations do not depend on each other, so that
/// threads may share them.
inline constexpr llvm::StringLiteral parallelAttrName = "attn.parallel";
/// On such a loop: its iterations are pieces of the numbers from its lower to
/// its upper bound, each as long as its step says or what is left, which the
/// body computes as the smaller of the two. Any step, and any pieces that cover
/// the numbers, compute the same.
inline constexpr llvm::StringLiteral piecesAttrName = "attn.pieces";
/// On a loop of a program for a device, and on the function of a kernel that
/// has one: a group of lanes goes alone through as many positions as a sequence
/// has.
inline constexpr llvm::StringLiteral positionLoopAttrName =
    "attn.position_loop";
/// On a choice of a program for a device: taken where a memory has more than
/// one block of positions.
inline constexpr llvm::StringLiteral longMemoryAttrName = "attn.long_memory";

/// On the declaration of a function that calls a kernel of another compiler:
/// the kernel, and the dimension of its results that may be computed in parts.
inline constexpr llvm::StringLiteral externalAttrName = "attn.external";
inline constexpr llvm::StringLiteral dividedAttrName = "attn.divided";
/// The module of these kernels, and what says of their arguments how they lie
/// in buffers: see attn-convert-to-loops.
inline constexpr llvm::StringLiteral kernelsModuleName = "kernels";
inline constexpr llvm::StringLiteral packedAttrName = "attn.packed";
inline constexpr llvm::StringLiteral quantizedAttrName = "attn.quantized";
inline constexpr llvm::StringLiteral slotsAttrName = "attn.slots";
inline constexpr llvm::StringLiteral positionAttrName = "attn.position";

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_PASSES_H
