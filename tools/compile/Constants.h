//===- Constants.h - runs `prepare` in the compiler -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILE_CONSTANTS_H
#define ATTN_TOOLS_COMPILE_CONSTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace attn {
class Weights;
} // namespace attn

namespace mlir::attn {

/// Makes the image of runtime/constants.h of `weights`, with the program
/// `prepare` of `module` (LLVM dialect) as code for this machine, and writes it
/// to `output`. By R21 it is the same on every machine. Fails after a message.
LogicalResult writeConstants(ModuleOp module, StringRef description,
                             ::attn::Weights &weights,
                             llvm::raw_ostream &output);

} // namespace mlir::attn

#endif // ATTN_TOOLS_COMPILE_CONSTANTS_H
