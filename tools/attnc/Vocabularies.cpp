//===- Vocabularies.cpp - vocabulary files for the front end --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vocabularies.h"

#include "runtime/vocabulary.h"

using namespace mlir::attn::frontend;

VocabularyLoader
attnc::makeVocabularyLoader(const std::string &path,
                            mlir::attn::VocabularyTokens &tokens) {
  return [path, &tokens](const VocabularyRequest &request,
                         std::vector<std::string> &problems)
             -> std::optional<VocabularyContents> {
    ::attn::MarkNames names{request.start, request.end, request.unknown,
                            request.padding};
    std::optional<::attn::Vocabulary> vocabulary = ::attn::Vocabulary::read(
        path, request.name, names, request.addUnknown, problems);
    if (!vocabulary)
      return std::nullopt;
    tokens[request.name] = vocabulary->tokens();
    const ::attn::Marks &marks = vocabulary->marks();
    return VocabularyContents{vocabulary->tokens(), marks.start, marks.end,
                              marks.unknown, marks.padding};
  };
}
