//===- FusedMultiplyAdd.h - vectors of fused products ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide has no fused multiply-add, and calls a function that it does not know
// once a lane. It knows functions by their names, though: `f` for a number and
// `fx16` for 16, if a module brings them. These are one instruction each.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_FUSEDMULTIPLYADD_H
#define ATTN_LOWERING_HALIDE_FUSEDMULTIPLYADD_H

#include "lowering/halide/Halide.h"

namespace mlir::attn::halide {

/// The name that kernels call it by.
inline constexpr const char *fusedMultiplyAddName = "attn_fma_f32";

/// Adds the functions to a module. Halide takes them as bitcode of its own
/// LLVM, which therefore writes it.
void addFusedMultiplyAdd(hl::Module &module, const hl::Target &target);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_FUSEDMULTIPLYADD_H
