//===- Description.h - what a library says of itself ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_DESCRIPTION_H
#define ATTN_LOWERING_CPU_DESCRIPTION_H

#include "dialect/LengthLimits.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace mlir::attn {

/// The tokens of each vocabulary, by its name in the model.
using VocabularyTokens = llvm::StringMap<std::vector<std::string>>;

/// The part of the description (docs/architecture.md) that the model gives:
/// vocabularies, axes, inputs, target, alignment and parameters.
llvm::json::Object describeModel(ModelOp model, const VocabularyTokens &tokens,
                                 const LengthLimits &limits);

/// The part that the generated programs give: their buffers.
llvm::json::Object describePrograms(ModuleOp module);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_DESCRIPTION_H
