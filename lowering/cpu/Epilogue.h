//===- Epilogue.h - what follows a product in its function ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_EPILOGUE_H
#define ATTN_LOWERING_CPU_EPILOGUE_H

#include "lowering/cpu/Emitter.h"

#include <string>

namespace mlir::attn {

/// What makes two epilogues the same function: operations, and the kinds of the
/// operands. Empty without one.
std::string describeEpilogue(LinearOp linear);

/// The types of an epilogue's operands: a matrix of rows and outputs, or a
/// vector of outputs.
SmallVector<Type> getEpilogueOperandTypes(LinearOp linear);

/// Puts the sums of 16 outputs of a row, from `firstOutput` on, through the
/// epilogue. `elements` are its operands, of which `mask` may be read.
Value applyEpilogue(Emitter &emitter, LinearOp linear, ValueRange elements,
                    Value sums, Value row, Value firstOutput, Value mask);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_EPILOGUE_H
