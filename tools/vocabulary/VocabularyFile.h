//===- VocabularyFile.h - vocabulary files for the front end ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_VOCABULARY_VOCABULARYFILE_H
#define ATTN_TOOLS_VOCABULARY_VOCABULARYFILE_H

#include "frontend/Frontend.h"

namespace mlir::attn {

/// Reads a vocabulary of a spec from a file with a token a line, by the rules
/// of the runtime.
frontend::VocabularyLoader makeVocabularyLoader(std::string path);

} // namespace mlir::attn

#endif // ATTN_TOOLS_VOCABULARY_VOCABULARYFILE_H
