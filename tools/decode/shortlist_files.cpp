//===- shortlist_files.cpp - what sentences' results may be made of -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/shortlist_files.h"
#include "runtime/text.h"
#include "tools/decode/line_reader.h"
#include "tools/decode/option_parser.h"
#include "tools/decode/source_line.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

namespace attn::tool {

/// Runs `take` for each line that is not empty, until it says what was expected
/// instead. False and a message on failure.
static bool
readEach(const std::string &path, const std::string &option,
         const std::function<std::string(const std::string &)> &take,
         std::string &error) {
  size_t number = 0;
  std::string problem;
  auto takeNumbered = [&](const std::string &line) {
    ++number;
    if (!line.empty())
      problem = take(line);
    return problem.empty();
  };
  if (!forEachLine(path, option, takeNumbered, error))
    return false;
  if (!problem.empty())
    error = path + ":" + std::to_string(number) + ": " + problem;
  return problem.empty();
}

static std::unordered_map<std::string_view, int32_t>
indexTokens(const attn_vocabulary &vocabulary) {
  std::unordered_map<std::string_view, int32_t> index;
  for (size_t id = 0; id < vocabulary.size; ++id)
    index.emplace(vocabulary.tokens[id], static_cast<int32_t>(id));
  return index;
}

bool Shortlists::readTokens(const std::string &path,
                            const attn_vocabulary &target, std::string &error) {
  auto index = indexTokens(target);
  auto take = [&](const std::string &line) -> std::string {
    auto found = index.find(line);
    if (found == index.end())
      return "expected a token of vocabulary " + quote(target.name) +
             ", but got " + quote(line);
    always.push_back(found->second);
    return "";
  };
  any = readEach(path, "--shortlist", take, error);
  if (any && always.empty())
    error = "expected at least one token, but got none: " + path;
  return error.empty();
}

bool Shortlists::readTable(const std::string &path,
                           const attn_vocabulary &target, size_t first,
                           size_t best, std::string &error) {
  auto index = indexTokens(target);
  std::unordered_map<std::string, std::vector<std::pair<double, int32_t>>> all;
  auto take = [&](std::string line) -> std::string {
    std::replace(line.begin(), line.end(), '\t', ' ');
    Line fields;
    splitLine(line, /*characters=*/false, SIZE_MAX, fields);
    if (!fields.error.empty())
      return fields.error;
    double probability = 0;
    if (fields.tokens.size() != 3)
      return "expected a target token, a source token and a probability, but "
             "got " +
             std::to_string(fields.tokens.size()) + " words";
    if (!readNumber(fields.tokens[2], 0, probability) || probability > 1)
      return "expected a probability of 0 to 1, but got " +
             quote(fields.tokens[2]);
    // A table may know words that are not in the model's vocabularies.
    if (auto found = index.find(fields.tokens[0]); found != index.end())
      all[fields.tokens[1]].emplace_back(-probability, found->second);
    return "";
  };
  if (!readEach(path, "--shortlist-table", take, error))
    return false;
  if (all.empty()) {
    error = "expected translations by tokens of vocabulary " +
            quote(target.name) + ", but got none: " + path;
    return false;
  }
  for (auto &[source, ranked] : all) {
    std::sort(ranked.begin(), ranked.end());
    std::vector<int32_t> &kept = translations[source];
    for (size_t i = 0; i < ranked.size() && i < best; ++i)
      kept.push_back(ranked[i].second);
  }
  always.resize(std::min(first, target.size));
  std::iota(always.begin(), always.end(), 0);
  // No list may be empty.
  if (target.end >= 0)
    always.push_back(target.end);
  any = isTable = true;
  return true;
}

void Shortlists::addTranslations(const SourceLine &line,
                                 std::vector<int32_t> &list) const {
  if (!line.error.empty() || line.inputs.empty())
    return;
  for (const std::string &token : line.inputs[0].tokens)
    if (auto found = translations.find(token); found != translations.end())
      list.insert(list.end(), found->second.begin(), found->second.end());
}

const attn_sentences *Shortlists::view(std::span<const SourceLine> lines) {
  if (!any)
    return nullptr;
  lists.assign(isTable ? lines.size() : 1, always);
  lengths.clear();
  ids.clear();
  for (size_t i = 0; i < lists.size(); ++i) {
    if (isTable)
      addTranslations(lines[i], lists[i]);
    lengths.push_back(lists[i].size());
    ids.push_back(lists[i].data());
  }
  sentences = {sizeof(sentences), lists.size(), lengths.data(),
               nullptr,           ids.data(),   nullptr};
  return &sentences;
}

} // namespace attn::tool
