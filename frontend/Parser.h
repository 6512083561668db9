//===- Parser.h - tokens to a spec ------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_PARSER_H
#define ATTN_FRONTEND_PARSER_H

#include "frontend/AST.h"

namespace mlir::attn::frontend {

/// Parses a whole buffer. Errors are reported, all of them; what could be
/// parsed is returned in any case.
void parse(llvm::MemoryBufferRef buffer, Diagnostics &diagnostics, Spec &spec);

/// Parses a buffer that holds one `names` block. Its nodes live in `spec`.
std::optional<NamesDecl> parseNames(llvm::MemoryBufferRef buffer,
                                    Diagnostics &diagnostics, Spec &spec);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_PARSER_H
