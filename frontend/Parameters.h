//===- Parameters.h - the parameters of a model and their paths -*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_PARAMETERS_H
#define ATTN_FRONTEND_PARAMETERS_H

#include "frontend/AST.h"
#include "frontend/Shapes.h"

#include "dialect/Attn.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn::frontend {

/// The parameters by path, in the order in which they were first asked for.
class Parameters {
public:
  /// Parameters are created behind `after`, in order.
  Parameters(Operation *after, Diagnostics &diagnostics)
      : last(after), diagnostics(diagnostics) {}

  /// The parameter of a path, created if it is new. `site` are the calls that
  /// lead to it: the same calls get the same parameter, others are an error
  /// that asks for labels. Null after an error.
  ParameterOp get(llvm::StringRef path, ShapeRef shape,
                  llvm::ArrayRef<const CallExpr *> site, llvm::SMLoc loc);

  /// The embedding of a vocabulary, shared by all who ask for it.
  ParameterOp getEmbedding(llvm::StringRef path, ShapeRef shape,
                           llvm::SMLoc loc);

  /// The parameter of a path, or null.
  ParameterOp find(llvm::StringRef path) const;

  /// Takes parameters out of the model that no expression uses.
  void eraseUnused(ModelOp model);

  /// All parameters in order, with the places that asked for them first.
  struct Entry {
    ParameterOp op;
    llvm::SmallVector<const CallExpr *, 4> site;
    llvm::SMLoc loc;
  };
  const llvm::MapVector<StringAttr, Entry> &getEntries() const {
    return entries;
  }

private:
  const Entry *findEntry(llvm::StringRef path) const;
  ParameterOp create(llvm::StringRef path, ShapeRef shape,
                     llvm::ArrayRef<const CallExpr *> site, llvm::SMLoc loc);

  Operation *last;
  Diagnostics &diagnostics;
  llvm::MapVector<StringAttr, Entry> entries;
};

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_PARAMETERS_H
