//===- Vocabularies.h - vocabulary files for the front end ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_VOCABULARIES_H
#define ATTNC_VOCABULARIES_H

#include "frontend/Frontend.h"
#include "lowering/cpu/Description.h"

namespace attnc {

/// Reads a vocabulary of a spec from a file, by the rules of the runtime, and
/// keeps its tokens in `tokens`, which outlives the loader.
mlir::attn::frontend::VocabularyLoader
makeVocabularyLoader(const std::string &path,
                     mlir::attn::VocabularyTokens &tokens);

} // namespace attnc

#endif // ATTNC_VOCABULARIES_H
