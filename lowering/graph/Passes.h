//===- Passes.h - passes from attn to attn --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_PASSES_H
#define ATTN_LOWERING_GRAPH_PASSES_H

#include "dialect/Attn.h"

#include "mlir/Pass/Pass.h"

namespace mlir::attn {

#define GEN_PASS_DECL
#include "lowering/graph/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lowering/graph/Passes.h.inc"

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_PASSES_H
