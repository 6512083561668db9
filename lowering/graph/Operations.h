//===- Operations.h - what passes ask of operations -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_OPERATIONS_H
#define ATTN_LOWERING_GRAPH_OPERATIONS_H

#include "dialect/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include <string>

namespace mlir::attn {

/// Whether `op` is a function of `math` that takes many instructions.
bool isCostlyFunction(Operation *op);

/// Whether a value is only put in place where a computation has failed:
/// `x is a number ? x : y`. Then y is hardly ever computed.
bool isRepair(arith::SelectOp choice);
/// The operations of a block that only serve such values y.
llvm::SmallPtrSet<Operation *, 8> getRepairs(Block &block);

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
