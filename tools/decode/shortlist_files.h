//===- shortlist_files.h - what sentences' results may be made of ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of tokens, a list for all sentences; or a lexical table, which makes a
// list for each of them: lines `target source probability`, as word aligners
// and Marian's lexical shortlists have them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_SHORTLIST_FILES_H
#define ATTN_TOOLS_DECODE_SHORTLIST_FILES_H

#include "attn/attn.h"

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace attn::tool {

struct SourceLine;

class Shortlists {
public:
  /// Reads a token a line. False and a message on failure.
  bool readTokens(const std::string &path, const attn_vocabulary &target,
                  std::string &error);

  /// Reads a lexical table. The list of a sentence has the `first` tokens of
  /// the vocabulary, and of each source token the `best` most likely
  /// translations that are in the vocabulary, the lower id on ties. False and
  /// a message on failure.
  bool readTable(const std::string &path, const attn_vocabulary &target,
                 size_t first, size_t best, std::string &error);

  /// The lists of sentences, of whose first input the table's tokens are. Null
  /// where nothing was read. Valid until the next call.
  const attn_sentences *view(std::span<const SourceLine> lines);

private:
  void addTranslations(const SourceLine &line, std::vector<int32_t> &ids) const;

  bool any = false;
  bool isTable = false;
  std::vector<int32_t> always; ///< What every list has.
  std::unordered_map<std::string, std::vector<int32_t>> translations;

  std::vector<std::vector<int32_t>> lists;
  std::vector<size_t> lengths;
  std::vector<const int32_t *> ids;
  attn_sentences sentences = {};
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_SHORTLIST_FILES_H
