//===- Attn.h - the attn dialect ------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_H
#define ATTN_DIALECT_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace mlir::attn {
class EncoderOp;
class EncodedOp;
class DecoderOp;
class PredictOp;
} // namespace mlir::attn

namespace mlir::attn::detail {
/// Checks what all operations over pairs have in common (P1 to P7).
LogicalResult verifyPairOp(Operation *op);
} // namespace mlir::attn::detail

#include "dialect/AttnEnums.h.inc"

#include "dialect/AttnDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttributes.h.inc"

#include "dialect/AttnInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialect/AttnOps.h.inc"

namespace mlir::attn {

/// On a model: the tensors of a foreign weights file that may stay unused.
inline constexpr llvm::StringLiteral ignoredTensorsAttrName =
    "attn.ignored_tensors";

/// The type of the slice that a pair region gets of an input of type `type`,
/// `numIterated` of whose axes are iterated.
Type getSliceType(Type type, unsigned numIterated);

/// Whether an operation may stand in a pair region: no side effect, and made
/// of elementwise arithmetic, reductions over features and lookups, so that it
/// can be lifted over a tile of pairs.
bool isLiftable(Operation *op);

/// Whether every element of the result of an operation is made of the elements
/// of its operands in the same place.
bool isElementwise(Operation *op);

/// The number that every element of `value` is, if the IR says so.
std::optional<APFloat> getUniformConstant(Value value);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_H
