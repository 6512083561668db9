//===- option_parser.h - command line options -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options `--name`, `--name value` and `--name=value`, `-n` where the name is a
// letter, and arguments by place.
// Everything wrong ends in one message.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_OPTION_PARSER_H
#define ATTN_TOOLS_DECODE_OPTION_PARSER_H

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::tool {

/// Reads the whole of a text as a number; nothing depends on the locale.
template <typename T> bool parseNumber(const std::string &text, T &to) {
  const char *end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, to);
  return problem == std::errc() && stop == end;
}

/// Reads the whole of a text as a finite number of at least `minimum`.
bool readNumber(const std::string &text, double minimum, double &value);

class OptionParser {
public:
  /// Takes a value. False and what was expected ("a number of at least 1") if
  /// it cannot be.
  using Setter =
      std::function<bool(const std::string &value, std::string &expected)>;

  /// `summary` says what the tool does, `details` (may be empty) stand at the
  /// end of the help.
  OptionParser(std::string tool, std::string summary, std::string details)
      : tool(std::move(tool)), summary(std::move(summary)),
        details(std::move(details)) {}

  /// A required argument, in the order of the calls.
  void addArgument(const std::string &name, const std::string &help,
                   std::string &value);

  /// A heading in the help for the options that follow.
  void addHeading(const std::string &heading);

  void addFlag(const std::string &name, const std::string &help, bool &value);
  /// An option with a value; it may be given several times.
  void addOption(const std::string &name, const std::string &valueName,
                 const std::string &help, Setter setter);
  void addText(const std::string &name, const std::string &valueName,
               const std::string &help, std::string &value);
  void addInteger(const std::string &name, const std::string &valueName,
                  const std::string &help, int64_t minimum, int64_t &value);
  void addSize(const std::string &name, const std::string &valueName,
               const std::string &help, size_t minimum, size_t &value);
  void addNumber(const std::string &name, const std::string &valueName,
                 const std::string &help, double minimum, double &value);

  /// Empty, or the status to exit with: 0 after --help, 2 after a message.
  std::optional<int> parse(int argc, const char *const *argv);

private:
  struct Option {
    std::string name; ///< Without dashes; empty: a heading.
    std::string valueName;
    std::string help;
    Setter setter;
  };
  struct Argument {
    std::string name;
    std::string help;
    std::string *value;
  };

  int fail(const std::string &message) const;
  void printHelp() const;

  std::string tool, summary, details;
  std::vector<Argument> arguments;
  std::vector<Option> options;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_OPTION_PARSER_H
