//===- option_parser.cpp - command line options ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/option_parser.h"
#include "runtime/text.h"

#include <cmath>

namespace attn::tool {

/// An option as it is written: `-o`, `--output`.
static std::string dashed(const std::string &name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

void OptionParser::addArgument(const std::string &name, const std::string &help,
                               std::string &value) {
  arguments.push_back({name, help, &value});
}

void OptionParser::addHeading(const std::string &heading) {
  options.push_back({"", "", heading, nullptr});
}

void OptionParser::addFlag(const std::string &name, const std::string &help,
                           bool &value) {
  options.push_back({name, "", help, [&](const std::string &, std::string &) {
                       value = true;
                       return true;
                     }});
}

void OptionParser::addOption(const std::string &name,
                             const std::string &valueName,
                             const std::string &help, Setter setter) {
  options.push_back({name, valueName, help, std::move(setter)});
}

void OptionParser::addText(const std::string &name,
                           const std::string &valueName,
                           const std::string &help, std::string &value) {
  addOption(name, valueName, help,
            [&](const std::string &given, std::string &expected) {
              expected = "some text";
              value = given;
              return !given.empty();
            });
}

bool readNumber(const std::string &text, double minimum, double &value) {
  return parseNumber(text, value) && value >= minimum && std::isfinite(value);
}

void OptionParser::addInteger(const std::string &name,
                              const std::string &valueName,
                              const std::string &help, int64_t minimum,
                              int64_t &value) {
  addOption(name, valueName, help,
            [&value, minimum](const std::string &given, std::string &expected) {
              expected = "an integer of at least " + std::to_string(minimum);
              return parseNumber(given, value) && value >= minimum;
            });
}

void OptionParser::addSize(const std::string &name,
                           const std::string &valueName,
                           const std::string &help, size_t minimum,
                           size_t &value) {
  addOption(name, valueName, help,
            [&value, minimum](const std::string &given, std::string &expected) {
              expected = "an integer of at least " + std::to_string(minimum);
              return parseNumber(given, value) && value >= minimum;
            });
}

void OptionParser::addNumber(const std::string &name,
                             const std::string &valueName,
                             const std::string &help, double minimum,
                             double &value) {
  addOption(name, valueName, help,
            [&value, minimum](const std::string &given, std::string &expected) {
              expected = "a number of at least " + formatNumber(minimum);
              return readNumber(given, minimum, value);
            });
}

int OptionParser::fail(const std::string &message) const {
  fprintf(stderr, "%s: error: %s\n", tool.c_str(), message.c_str());
  return 2;
}

void OptionParser::printHelp() const {
  printf("usage: %s", tool.c_str());
  for (const Argument &argument : arguments)
    printf(" %s", argument.name.c_str());
  printf(" [options]\n\n%s\n", summary.c_str());
  constexpr size_t column = 28;
  auto print = [](const std::string &left, const std::string &help) {
    printf("  %-*s", static_cast<int>(column) - 2, left.c_str());
    if (left.size() + 2 >= column)
      printf("\n%*s", static_cast<int>(column), "");
    for (char c : help)
      if (c == '\n')
        printf("\n%*s", static_cast<int>(column), "");
      else
        putchar(c);
    putchar('\n');
  };
  if (!arguments.empty())
    printf("\narguments:\n");
  for (const Argument &argument : arguments)
    print(argument.name, argument.help);
  for (const Option &option : options)
    if (option.name.empty())
      printf("\n%s:\n", option.help.c_str());
    else
      print(dashed(option.name) +
                (option.valueName.empty() ? "" : " " + option.valueName),
            option.help);
  print("--help", "print this and exit");
  if (!details.empty())
    printf("\n%s\n", details.c_str());
}

std::optional<int> OptionParser::parse(int argc, const char *const *argv) {
  size_t places = 0;
  bool onlyArguments = false;
  // --help wins over everything that is wrong beside it.
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--help" || std::string(argv[i]) == "-h") {
      printHelp();
      return 0;
    }
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (!onlyArguments && text == "--") {
      onlyArguments = true;
      continue;
    }
    if (onlyArguments || text.size() < 2 || text[0] != '-') {
      if (places == arguments.size())
        return fail("expected " + std::to_string(arguments.size()) +
                    (arguments.size() == 1 ? " argument" : " arguments") +
                    ", but got " + quote(text) + " as well; see --help");
      *arguments[places++].value = text;
      continue;
    }
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    const Option *option = nullptr;
    std::vector<const std::string *> names;
    for (const Option &candidate : options) {
      if (candidate.name.empty())
        continue;
      names.push_back(&candidate.name);
      if (name == dashed(candidate.name))
        option = &candidate;
    }
    if (!option) {
      const std::string *nearest = nearestName(
          name.substr(name.find_first_not_of('-') == std::string::npos
                          ? 0
                          : name.find_first_not_of('-')),
          names);
      return fail("expected a known option, but got " + quote(name) +
                  (nearest ? "; the nearest is " + dashed(*nearest) : "") +
                  "; see --help");
    }
    std::string value;
    if (option->valueName.empty()) {
      if (equals != std::string::npos)
        return fail("expected " + name + " without a value, but got " +
                    quote(text.substr(equals + 1)));
    } else if (equals != std::string::npos) {
      value = text.substr(equals + 1);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      return fail("expected " + option->valueName + " after " + name +
                  ", but got nothing");
    }
    std::string expected;
    if (!option->setter(value, expected))
      return fail("expected " + expected + " after " + name + ", but got " +
                  quote(value));
  }
  if (places < arguments.size())
    return fail("expected " + arguments[places].name +
                ", but got nothing; see --help");
  return std::nullopt;
}

} // namespace attn::tool
