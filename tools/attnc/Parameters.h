//===- Parameters.h - the parameters of a model as a table ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_PARAMETERS_H
#define ATTNC_PARAMETERS_H

#include "mlir/IR/BuiltinOps.h"

namespace attnc {

/// Prints path, shape, type and foreign name of every parameter, a line each,
/// in columns.
void printParameters(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace attnc

#endif // ATTNC_PARAMETERS_H
