//===- TableAlignment.h - loads from constants in code --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide 14 writes constant buffers into an object at multiples of 32 bytes,
// but loads vectors of 64 bytes from them as though they lay at multiples of
// that. Where such a load becomes an instruction that insists, the process
// ends.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_TABLEALIGNMENT_H
#define ATTN_LOWERING_HALIDE_TABLEALIGNMENT_H

#include "lowering/halide/Halide.h"

namespace mlir::attn::halide {

/// Makes loads from constant buffers expect no more than an element's
/// alignment.
void forgetTableAlignment(hl::Module &module);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_TABLEALIGNMENT_H
