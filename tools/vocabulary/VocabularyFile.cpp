//===- VocabularyFile.cpp - vocabulary files for the front end ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/vocabulary/VocabularyFile.h"

#include "runtime/vocabulary.h"

using namespace mlir::attn::frontend;

VocabularyLoader mlir::attn::makeVocabularyLoader(std::string path) {
  return [path = std::move(path)](const VocabularyRequest &request,
                                  std::vector<std::string> &problems)
             -> std::optional<VocabularyContents> {
    ::attn::MarkNames names{request.start, request.end, request.unknown,
                            request.padding};
    std::optional<::attn::Vocabulary> vocabulary = ::attn::Vocabulary::read(
        path, request.name, names, request.addUnknown, problems);
    if (!vocabulary)
      return std::nullopt;
    const ::attn::Marks &marks = vocabulary->marks();
    return VocabularyContents{vocabulary->tokens(), marks.start, marks.end,
                              marks.unknown, marks.padding};
  };
}
