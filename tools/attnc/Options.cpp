//===- Options.cpp - the command line of attnc ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "tools/decode/option_parser.h"

#include "llvm/ADT/StringRef.h"

#include <cstdlib>

using namespace attnc;
using mlir::attn::Emit;

/// What --emit takes.
static constexpr std::pair<const char *, Emit> emitNames[] = {
    {"params", Emit::Params},
    {"attn", Emit::Attn},
    {"attn-fused", Emit::AttnFused},
    {"loops", Emit::Loops},
    {"kernels", Emit::Kernels},
    {"kernel-code", Emit::KernelCode},
    {"llvm", Emit::Llvm},
    {"asm", Emit::Asm},
    {"obj", Emit::Obj},
    {"header", Emit::Header},
    {"static", Emit::Static},
    {"lib", Emit::Lib}};

static constexpr char details[] =
    R"(--emit takes, from the text of the model to the library:
  params       paths, shapes, types and foreign names of the parameters
  attn         the model as attn IR
  attn-fused   the same, reads fused and memories hoisted
  loops        its programs as loops and vectors over buffers, in dialects of
               MLIR (memref, vector, scf, arith, math, func)
  kernels      with --target vulkan or cuda: host programs that launch kernels,
               and these, in dialects of MLIR (gpu, memref, scf, arith); with
               --kernels halide: programs that call kernels, and these as attn IR
  kernel-code  the same kernels as PTX, in MLIR's dialect of SPIR-V, or as
               Halide's statements
  llvm         LLVM IR, without the weights
  asm          assembly
  obj          the object that the library is linked of
  header       the C header alone
  static       a static library that shows one function, and a header beside
               it; it needs the C++ runtime: link it with c++, or -lstdc++ -lm
  lib          a shared library, and a header beside it
Without --weights a library gets its weights when it is opened.)";

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Adds NAME=VALUE; false if it is none, or the name is there already.
static bool addPair(const std::string &text, std::string &expected,
                    Pairs &pairs) {
  auto [name, value] = llvm::StringRef(text).split('=');
  if (name.empty() || value.empty())
    return false;
  for (const auto &pair : pairs)
    if (name == pair.first) {
      expected = "one value for '" + name.str() + "'";
      return false;
    }
  pairs.emplace_back(name.str(), value.str());
  return true;
}

Options attnc::parseOptions(int argc, char **argv) {
  Options options;
  ::attn::tool::OptionParser parser(
      "attnc", "Compiles the spec of an attention model.", details);
  parser.addArgument("SPEC", "a spec; - for standard input", options.spec);
  parser.addHeading("what is written");
  parser.addText("o", "FILE",
                 "where to write; without it text goes to standard output",
                 options.output);
  parser.addOption("emit", "KIND", "what to write (default lib), see below",
                   [&](const std::string &value, std::string &expected) {
                     expected = "one of";
                     for (auto [name, emit] : emitNames) {
                       if (value == name) {
                         options.emit = emit;
                         return true;
                       }
                       expected += std::string(" ") + name;
                     }
                     return false;
                   });
  parser.addText("print-ir-dir", "DIR",
                 "a folder for the IR after every pass, numbered",
                 options.irFolder);
  parser.addFlag("explain",
                 "write a report instead: what was hoisted and fused, what it "
                 "costs, and why not where not",
                 options.explain);
  parser.addHeading("what the model is made of");
  parser.addText("weights", "FILE",
                 "the trained weights (safetensors), which become part of the "
                 "library",
                 options.weights);
  parser.addOption("vocab", "NAME=FILE",
                   "the tokens of a vocabulary, one a line",
                   [&](const std::string &value, std::string &expected) {
                     expected = "NAME=FILE";
                     return addPair(value, expected, options.vocabularies);
                   });
  Pairs dims;
  parser.addOption(
      "dim", "NAME=N",
      "a dim instead of the spec's, or the size of a vocabulary of which no "
      "tokens are given",
      [&](const std::string &value, std::string &expected) {
        expected = "NAME=N, N a whole number";
        int64_t number;
        if (!addPair(value, expected, dims) ||
            llvm::StringRef(dims.back().second).getAsInteger(10, number))
          return false;
        options.dims.emplace_back(dims.back().first, number);
        return true;
      });
  parser.addFlag(
      "observe",
      "keep the value of every name of the spec, for attn-run --dump",
      options.observe);
  parser.addText("names", "FILE",
                 "foreign names of the parameters, instead of the spec's",
                 options.names);
  parser.addHeading("what code is written");
  parser.addOption(
      "target", "KIND",
      "what runs the model: cpu (the default), vulkan, cuda (NVIDIA), or "
      "opencl, by kernels that Halide makes",
      [&](const std::string &value, std::string &expected) {
        expected = "cpu, vulkan, cuda or opencl";
        options.device = mlir::attn::parseDeviceKind(value);
        options.openCl = value == "opencl";
        return options.device || options.openCl || value == "cpu";
      });
  parser.addOption(
      "kernels", "KIND",
      "what makes the kernels for the CPU: native (the default: this compiler) "
      "or halide",
      [&](const std::string &value, std::string &expected) {
        expected = "native or halide";
        options.halide = value == "halide";
        return value == "native" || value == "halide";
      });
  parser.addText("chip", "NAME",
                 "with --target cuda: the oldest chip that is to run it, sm_80 "
                 "(the default) or later",
                 options.chip);
  parser.addText(
      "cpu", "NAMES",
      "the processor, as LLVM names it: native (the default: this "
      "machine's), x86-64-v3, x86-64-v4, znver3, skylake-avx512 ...; "
      "several with commas between them: the library has code for "
      "each and takes the first that it can; any: for the levels of "
      "x86-64",
      options.cpus);
  parser.addInteger(
      "memory-length", "N",
      "positions of a memory that work is reckoned with: where "
      "memories are shorter, more of a step is done once for each "
      "of their positions (default 32)",
      1, options.memoryLength);
  parser.addText("schedule", "FILE",
                 "how the loops of kernels are arranged, in MLIR's transform "
                 "dialect, before what the compiler has for this processor; "
                 "or, with --kernels halide, auto: by Halide's autoscheduler",
                 options.schedule);
  parser.addOption(
      "numerics", "KIND",
      "fma (the default): equal bits on all processors that have fused "
      "multiply-add; portable: on those without too, somewhat slower",
      [&](const std::string &value, std::string &expected) {
        expected = "fma or portable";
        options.numerics = value == "portable" ? mlir::attn::Numerics::Portable
                                               : mlir::attn::Numerics::Fma;
        return value == "fma" || value == "portable";
      });
  parser.addOption(
      "precision", "KIND",
      "the weights of products: f32 (the default), bf16 (half the size), int8 "
      "(a quarter; a row that is multiplied becomes bytes too)",
      [&](const std::string &value, std::string &expected) {
        expected = "f32, bf16 or int8";
        std::optional<mlir::attn::Precision> precision =
            mlir::attn::parsePrecision(value);
        options.precision = precision.value_or(options.precision);
        return precision.has_value();
      });
  if (std::optional<int> status = parser.parse(argc, argv))
    std::exit(*status);
  auto refuse = [](const llvm::Twine &message) {
    mlir::attn::printError(message);
    std::exit(2);
  };
  // No other compiler has kernels for it.
  options.halide |= options.openCl;
  bool ofKernels =
      options.emit == Emit::Kernels || options.emit == Emit::KernelCode;
  if (ofKernels && !options.device && !options.halide)
    refuse("expected --target vulkan, cuda or opencl, or --kernels halide, for "
           "--emit "
           "kernels and kernel-code");
  if (options.device && options.halide)
    refuse("expected --target cpu or opencl for --kernels halide");
  if (options.schedule == "auto") {
    if (!options.halide)
      refuse("expected --kernels halide for --schedule auto; a file of that "
             "name is ./auto");
    if (options.openCl)
      refuse("expected --target cpu for --schedule auto");
    options.schedule.clear();
    options.autoSchedule = true;
  } else if (options.halide && !options.schedule.empty()) {
    refuse("expected --schedule auto, or --kernels native for a file of "
           "schedules, but got '" +
           llvm::Twine(options.schedule) + "'");
  }
  if (options.output == "-" && !options.explain &&
      mlir::attn::isLibrary(options.emit)) {
    mlir::attn::printError("expected -o FILE for what is not text");
    std::exit(2);
  }
  return options;
}
