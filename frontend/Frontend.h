//===- Frontend.h - spec text to attn IR ------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one header that users of the front end include. The front end knows no
// target and no pass.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_FRONTEND_H
#define ATTN_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir::attn::frontend {

/// A vocabulary as a spec declares it.
struct VocabularyRequest {
  std::string name;
  /// Marks that the spec names; others are recognised by their usual names.
  std::optional<std::string> start, end, unknown, padding;
  /// Whether a token for unknown words is added at the end.
  bool addUnknown = false;
};

/// What is known of a vocabulary when a spec is compiled.
struct VocabularyContents {
  /// All tokens, the added one included.
  std::vector<std::string> tokens;
  /// Their ids; -1 where there is no such token.
  int64_t start = -1, end = -1, unknown = -1, padding = -1;
};

/// Gives the tokens and marks of a vocabulary, or nothing and what is wrong.
using VocabularyLoader = std::function<std::optional<VocabularyContents>(
    const VocabularyRequest &request, std::vector<std::string> &problems)>;

struct Options {
  /// Values of dims instead of the spec's, and sizes of vocabularies of which
  /// no tokens are given (without the token that `+ unknown` adds).
  llvm::StringMap<int64_t> sizes;
  /// The vocabularies of which tokens are given.
  llvm::StringMap<VocabularyLoader> vocabularies;
  /// The buffer of the source manager with a `names` block that replaces the
  /// spec's; 0 for none.
  unsigned namesBuffer = 0;
  /// Whether every name of the spec is kept for whoever looks inside
  /// (`attn.observe`).
  bool observe = false;
};

/// Imports the main buffer of `sourceMgr` as a module that holds one
/// `attn.model`. Errors go through the diagnostics of the context, with places
/// in the spec, all that are found; then the result is null.
OwningOpRef<ModuleOp> importSpec(llvm::SourceMgr &sourceMgr,
                                 MLIRContext *context, const Options &options);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_FRONTEND_H
