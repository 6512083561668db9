//===- vocabulary.cpp - tokens and their numbers --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/vocabulary.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace attn {

/// Ids are int32 everywhere.
static constexpr size_t largestVocabulary =
    std::numeric_limits<int32_t>::max() - 1;

std::optional<Vocabulary> Vocabulary::create(std::string name,
                                             std::vector<std::string> tokens,
                                             Marks marks, std::string &error) {
  Vocabulary result;
  result.label = std::move(name);
  result.all = std::move(tokens);
  result.special = marks;
  if (result.all.empty() || result.all.size() > largestVocabulary) {
    error = "vocabulary " + quote(result.label) + ": expected 1 to " +
            std::to_string(largestVocabulary) + " tokens, but got " +
            std::to_string(result.all.size());
    return std::nullopt;
  }
  for (int32_t mark : {marks.start, marks.end, marks.unknown, marks.padding})
    if (mark < -1 || mark >= result.size()) {
      error = "vocabulary " + quote(result.label) + ": expected a mark below " +
              std::to_string(result.size()) + ", but got " +
              std::to_string(mark);
      return std::nullopt;
    }
  result.index.reserve(result.all.size());
  for (int32_t id = 0; id < result.size(); ++id) {
    result.longest = std::max(result.longest, result.all[id].size());
    if (!result.index.emplace(result.all[id], id).second) {
      error = "vocabulary " + quote(result.label) +
              ": expected different tokens, but got " + quote(result.all[id]) +
              " twice";
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Vocabulary> Vocabulary::read(const std::string &path,
                                           std::string name,
                                           const MarkNames &names,
                                           bool addUnknown,
                                           std::vector<std::string> &problems) {
  std::string error;
  std::unique_ptr<MappedFile> file = MappedFile::open(path, error);
  if (!file) {
    problems.push_back(error);
    return std::nullopt;
  }
  return parse(std::string_view(file->data(), file->size()), path,
               std::move(name), names, addUnknown, problems);
}

/// Whether `token` is `name` but for the case of ASCII letters.
static bool equalsIgnoringCase(std::string_view token, std::string_view name) {
  if (token.size() != name.size())
    return false;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = token[i];
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
    if (c != name[i])
      return false;
  }
  return true;
}

std::optional<Vocabulary>
Vocabulary::parse(std::string_view text, const std::string &path,
                  std::string name, const MarkNames &names, bool addUnknown,
                  std::vector<std::string> &problems) {
  // A file of another kind is wrong in every line.
  constexpr size_t mostProblems = 20;
  size_t before = problems.size(), more = 0;
  auto report = [&](size_t line, const std::string &message) {
    if (problems.size() - before < mostProblems)
      problems.push_back(path + ":" + std::to_string(line) + ": " + message);
    else
      ++more;
  };

  std::vector<std::string> tokens;
  std::unordered_map<std::string_view, size_t> lines;
  for (std::string_view rest = text; !rest.empty();) {
    size_t end = rest.find('\n');
    std::string_view token = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    size_t line = tokens.size() + 1;
    tokens.emplace_back(token);
    if (size_t bad = findInvalidUtf8(token); bad != std::string_view::npos)
      report(line, "expected UTF-8 text, but got the byte " +
                       quote(token.substr(bad, 1)) + " at column " +
                       std::to_string(bad + 1));
    else if (token.find('\0') != std::string_view::npos)
      report(line, "expected text, but got a zero byte");
    if (auto [first, added] = lines.emplace(token, line); !added)
      report(line, "expected different tokens, but got " + quote(token) +
                       " again, first in line " +
                       std::to_string(first->second));
  }
  // A token may end so; that all do is another convention.
  if (!tokens.empty() &&
      std::all_of(tokens.begin(), tokens.end(), [](const std::string &token) {
        return token.ends_with('\r');
      }))
    report(1, "expected lines that end with a newline, but got a carriage "
              "return before each");
  if (tokens.empty() || tokens.size() > largestVocabulary)
    report(1, "expected 1 to " + std::to_string(largestVocabulary) +
                  " tokens, but got " + std::to_string(tokens.size()));

  auto recognise = [&](const char *mark, const char *option,
                       const std::optional<std::string> &named,
                       std::initializer_list<const char *> usual) -> int32_t {
    if (named) {
      auto place = lines.find(*named);
      if (place != lines.end())
        return static_cast<int32_t>(place->second - 1);
      report(1, std::string("expected the ") + mark + " token " +
                    quote(*named) + ", but got no such line");
      return -1;
    }
    int32_t found = -1;
    for (size_t i = 0; i < tokens.size(); ++i)
      for (const char *candidate : usual) {
        if (!equalsIgnoringCase(tokens[i], candidate))
          continue;
        if (found >= 0)
          report(i + 1, std::string("expected one ") + mark +
                            " token, but got " + quote(tokens[i]) +
                            " and, in line " + std::to_string(found + 1) +
                            ", " + quote(tokens[found]) + "; name one with " +
                            option + " = \"...\"");
        else
          found = static_cast<int32_t>(i);
      }
    return found;
  };
  Marks marks;
  marks.start =
      recognise("start", "start", names.start, {"<s>", "<bos>", "<start>"});
  marks.end = recognise("end", "end", names.end, {"</s>", "<eos>", "<end>"});
  marks.unknown = recognise("unknown", "unknown", names.unknown, {"<unk>"});
  marks.padding =
      recognise("padding", "padding", names.padding, {"<pad>", "<blank>"});
  if (addUnknown) {
    if (marks.unknown >= 0)
      report(marks.unknown + 1,
             "expected a vocabulary without an unknown token, to which one is "
             "added, but got " +
                 quote(tokens[marks.unknown]));
    marks.unknown = static_cast<int32_t>(tokens.size());
    tokens.push_back("<unk>");
  }
  if (more)
    problems.push_back(path + ": and " + std::to_string(more) +
                       " more problems");
  if (problems.size() != before)
    return std::nullopt;

  std::string error;
  std::optional<Vocabulary> result =
      create(std::move(name), std::move(tokens), marks, error);
  if (!result)
    problems.push_back(path + ": " + error);
  return result;
}

int32_t Vocabulary::find(std::string_view token) const {
  auto place = index.find(token);
  return place == index.end() ? -1 : place->second;
}

bool Vocabulary::lookUp(std::span<const char *const> words, int32_t *ids,
                        std::string &error) const {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i]) {
      error = "expected tokens, but got null";
      return false;
    }
    int32_t id = find(words[i]);
    if (id < 0)
      id = special.unknown;
    if (id < 0) {
      error = "expected words of vocabulary " + quote(label) +
              ", which has no unknown token, but got " + quote(words[i]) +
              " as word " + std::to_string(i + 1);
      return false;
    }
    ids[i] = id;
  }
  return true;
}

} // namespace attn
