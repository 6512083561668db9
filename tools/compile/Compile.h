//===- Compile.h - from attn IR to what attnc emits -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILE_COMPILE_H
#define ATTN_TOOLS_COMPILE_COMPILE_H

#include "lowering/cpu/Description.h"
#include "lowering/cpu/Pipeline.h"
#include "lowering/gpu/Kernels.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::attn {

/// What attnc writes, from the text of the model to the library.
enum class Emit {
  Params,
  Attn,
  AttnFused,
  Loops,
  Kernels,
  KernelCode,
  Llvm,
  Asm,
  Obj,
  Header,
  Static,
  Lib
};

/// Whether this is made of all of the model: code, description, tokens.
inline bool isLibrary(Emit emit) {
  return emit == Emit::Obj || emit == Emit::Static || emit == Emit::Lib;
}

struct CompileOptions {
  Emit emit = Emit::Lib;
  /// Write a report of what the passes made of the model instead.
  bool explain = false;
  /// Where to write; "-" is standard output.
  std::string output = "-";
  /// The processors that code is for, the one to be preferred first. At least
  /// one; all have the same numerics.
  std::vector<Target> targets = {Target()};
  GraphOptions graph;
  /// The device that runs all but `prepare`, or none: the CPU.
  std::optional<DeviceKind> device;
  /// Whether Halide makes the kernels (of the CPU).
  bool halide = false;
  /// Whether a device of OpenCL runs these.
  bool openCl = false;
  /// Whether Halide's autoscheduler arranges these.
  bool autoSchedule = false;
  /// The chip that PTX is for.
  std::string chip = "sm_80";
  /// A file of schedules of kernels that come before the compiler's, or empty.
  std::string schedule;
  /// What the weights of products are kept as.
  Precision precision = Precision::F32;
  /// A safetensors file to check and embed, or empty.
  std::string weights;
  /// A folder for the IR after each pass, or empty.
  std::string irFolder;
  /// The tokens of the vocabularies.
  VocabularyTokens vocabularies;
  /// The path of the running compiler, beside which its libraries lie.
  std::string compilerPath;
};

/// Runs the passes that `options.emit` needs on `module` and writes the result.
/// Fails after a message; then nothing is written.
LogicalResult compile(ModuleOp module, const CompileOptions &options);

/// Writes `contents` to `path` ("-": standard output) as a whole or not at all.
LogicalResult writeOutput(llvm::StringRef path, llvm::StringRef contents);

/// Prints "attnc: error: MESSAGE".
void printError(const llvm::Twine &message);

} // namespace mlir::attn

#endif // ATTN_TOOLS_COMPILE_COMPILE_H
