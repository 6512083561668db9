//===- Options.cpp - the command line of attnc ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace attnc;
using mlir::attn::Emit;
namespace cl = llvm::cl;

static cl::OptionCategory category("attnc options");

static cl::opt<std::string> specOption(cl::Positional, cl::desc("SPEC"),
                                       cl::Required, cl::cat(category));
static cl::opt<std::string>
    outputOption("o", cl::desc("Where to write (default: standard output)"),
                 cl::value_desc("FILE"), cl::init("-"), cl::cat(category));
static cl::opt<Emit> emitOption(
    "emit", cl::desc("What to write"),
    cl::values(
        clEnumValN(Emit::Lib, "lib",
                   "a shared library, and a header beside it (default)"),
        clEnumValN(Emit::Obj, "obj",
                   "the object that the library is linked of"),
        clEnumValN(Emit::Asm, "asm", "its assembly"),
        clEnumValN(Emit::Llvm, "llvm", "its LLVM IR"),
        clEnumValN(Emit::AttnFused, "attn-fused",
                   "the model as attn IR, reads fused and memories hoisted"),
        clEnumValN(Emit::Attn, "attn", "the model as attn IR"),
        clEnumValN(Emit::Params, "params",
                   "paths, shapes, types and foreign names of the "
                   "parameters")),
    cl::init(Emit::Lib), cl::cat(category));
static cl::opt<std::string> weightsOption(
    "weights",
    cl::desc("The trained weights, which become part of the library; without "
             "them the library gets them when it is opened"),
    cl::value_desc("F.safetensors"), cl::cat(category));
static cl::opt<std::string>
    irFolderOption("print-ir-dir",
                   cl::desc("A folder for the IR after every pass, numbered"),
                   cl::value_desc("DIR"), cl::cat(category));
static cl::list<std::string>
    vocabOption("vocab", cl::desc("The tokens of a vocabulary, one a line"),
                cl::value_desc("NAME=FILE"), cl::cat(category));
static cl::list<std::string>
    dimOption("dim",
              cl::desc("The value of a dim, or the size of a vocabulary "
                       "of which no tokens are given"),
              cl::value_desc("NAME=N"), cl::cat(category));
static cl::opt<std::string>
    namesOption("names",
                cl::desc("A file with foreign names of the parameters, instead "
                         "of those in the spec"),
                cl::value_desc("FILE"), cl::cat(category));

[[noreturn]] static void usageError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "attnc") << message << '\n';
  std::exit(2);
}

/// Splits NAME=VALUE; a name twice is an error.
static std::pair<std::string, std::string>
split(const char *option, const std::string &text,
      const std::vector<std::string> &before) {
  auto [name, value] = llvm::StringRef(text).split('=');
  if (name.empty() || value.empty())
    usageError(llvm::Twine("expected --") + option + " NAME=VALUE, but got '" +
               text + "'");
  for (const std::string &other : before)
    if (name == other)
      usageError(llvm::Twine("expected one --") + option + " for '" + name +
                 "', but got two");
  return {name.str(), value.str()};
}

Options attnc::parseOptions(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  std::string problems;
  llvm::raw_string_ostream os(problems);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "compiles a spec of an attention model\n", &os)) {
    llvm::errs() << problems;
    std::exit(2);
  }
  Options options;
  options.spec = specOption;
  options.output = outputOption;
  options.emit = emitOption;
  options.names = namesOption;
  options.weights = weightsOption;
  options.irFolder = irFolderOption;
  if (options.output == "-" &&
      (options.emit == Emit::Lib || options.emit == Emit::Obj))
    usageError("expected -o FILE for what is not text");
  std::vector<std::string> seen;
  for (const std::string &text : vocabOption) {
    options.vocabularies.push_back(split("vocab", text, seen));
    seen.push_back(options.vocabularies.back().first);
  }
  seen.clear();
  for (const std::string &text : dimOption) {
    auto [name, value] = split("dim", text, seen);
    int64_t number;
    if (llvm::StringRef(value).getAsInteger(10, number))
      usageError("expected a whole number for --dim " + name + ", but got '" +
                 value + "'");
    options.dims.emplace_back(name, number);
    seen.push_back(name);
  }
  return options;
}
