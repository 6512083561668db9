//===- Operations.h - what passes ask of operations -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_OPERATIONS_H
#define ATTN_LOWERING_GRAPH_OPERATIONS_H

#include "dialect/Attn.h"

#include "mlir/IR/IRMapping.h"

#include <string>

namespace mlir::attn {

/// Whether `op` is a function of `math` that takes many instructions.
bool isCostlyFunction(Operation *op);

/// Erases the operations of a block whose results nobody uses.
void eraseDead(Block &block);

/// Clones what `value` is computed by, as far as `mapping` does not know it,
/// and gives the copy.
Value cloneExpression(OpBuilder &builder, Value value, IRMapping &mapping);

/// How a person would call a computation: by the operation, and the parameters
/// that it is made with.
std::string describeComputation(Value value);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_OPERATIONS_H
