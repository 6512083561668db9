//===- line_reader.cpp - lines of text and the tokens in them
//----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/line_reader.h"
#include "runtime/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace attn::tool {

LineReader::~LineReader() { free(text); }

bool LineReader::next(std::string &line) {
  ssize_t size = getline(&text, &capacity, file);
  if (size < 0)
    return false;
  std::string_view whole(text, static_cast<size_t>(size));
  for (char end : {'\n', '\r'})
    if (!whole.empty() && whole.back() == end)
      whole.remove_suffix(1);
  line = whole;
  return true;
}

void splitLine(std::string_view text, bool characters, size_t mostTokens,
               Line &line) {
  line = Line();
  size_t bad = std::min(findInvalidUtf8(text), text.find('\0'));
  if (bad != std::string_view::npos) {
    line.error = "expected UTF-8 text, but got the byte " +
                 quote(text.substr(bad, 1)) + " at column " +
                 std::to_string(bad + 1);
    return;
  }
  while (!text.empty()) {
    size_t length = characters ? utf8Length(text) : text.find(' ');
    std::string_view token = text.substr(0, length);
    if (!token.empty())
      line.tokens.emplace_back(token);
    text.remove_prefix(token.size());
    if (!characters && !text.empty())
      text.remove_prefix(1);
    if (line.tokens.size() > mostTokens) {
      line.tokens.clear();
      line.error = "expected at most " + std::to_string(mostTokens) +
                   " tokens, but got more; see --max-source-length";
      return;
    }
  }
}

bool forEachLine(const std::string &path, const std::string &option,
                 const std::function<bool(const std::string &)> &take,
                 std::string &error) {
  FILE *file = fopen(path.c_str(), "re");
  bool failed = !file;
  if (file) {
    LineReader reader(file);
    bool more = true;
    for (std::string line; more && reader.next(line);)
      more = take(line);
    failed = more && reader.failed();
  }
  if (failed)
    error = "expected a readable file after " + option + ", but got " +
            quote(strerror(errno)) + ": " + path;
  if (file)
    fclose(file);
  return !failed;
}

bool readLines(const std::string &path, const std::string &option,
               bool characters, std::vector<Line> &lines, std::string &error) {
  auto take = [&](const std::string &line) {
    splitLine(line, characters, SIZE_MAX, lines.emplace_back());
    return true;
  };
  return forEachLine(path, option, take, error);
}

} // namespace attn::tool
