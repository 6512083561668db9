//===- PairInputs.h - inputs of operations over pairs ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an input and the axes it is indexed by are written: `%uh[source, key]`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_PAIRINPUTS_H
#define ATTN_DIALECT_PAIRINPUTS_H

#include "dialect/Attn.h"

namespace mlir::attn {

ParseResult
parsePairInputs(OpAsmParser &parser,
                SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
                SmallVectorImpl<Type> &types, ArrayAttr &maps);

void printPairInputs(OpAsmPrinter &printer, Operation *op, OperandRange inputs,
                     TypeRange types, ArrayAttr maps);

/// The map from the iteration space to `dims`.
AffineMap getPairMap(MLIRContext *context, ArrayRef<PairOpInterface::Dim> dims);

} // namespace mlir::attn

#endif // ATTN_DIALECT_PAIRINPUTS_H
