//===- Options.h - the command line of attnc --------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTNC_OPTIONS_H
#define ATTNC_OPTIONS_H

#include "tools/compile/Compile.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attnc {

/// The command line, read and checked.
struct Options {
  std::string spec;
  /// The output; "-" for standard output.
  std::string output = "-";
  mlir::attn::Emit emit = mlir::attn::Emit::Lib;
  /// A report instead of what `emit` says.
  bool explain = false;
  /// What runs the model; none: the CPU.
  std::optional<mlir::attn::DeviceKind> device;
  /// Whether Halide makes the kernels.
  bool halide = false;
  /// Whether a device of OpenCL runs these.
  bool openCl = false;
  /// The oldest chip that PTX is for.
  std::string chip = "sm_80";
  /// The processors that code is for.
  std::string cpus = "native";
  mlir::attn::Numerics numerics = mlir::attn::Numerics::Fma;
  /// Positions of a memory that work is reckoned with.
  int64_t memoryLength = mlir::attn::GraphOptions().memoryLength;
  /// A file of schedules of kernels that come first, or empty.
  std::string schedule;
  /// Whether Halide's autoscheduler arranges Halide's kernels.
  bool autoSchedule = false;
  /// What the weights of products are kept as.
  mlir::attn::Precision precision = mlir::attn::Precision::F32;
  /// A file with a `names` block instead of the spec's, or empty.
  std::string names;
  /// A safetensors file that becomes part of the library, or empty.
  std::string weights;
  /// Whether names of the spec can be looked at while the model runs.
  bool observe = false;
  /// A folder for the IR after every pass, or empty.
  std::string irFolder;
  /// NAME=FILE and NAME=N.
  std::vector<std::pair<std::string, std::string>> vocabularies;
  std::vector<std::pair<std::string, int64_t>> dims;
};

/// Reads the command line. On a wrong one a message is printed and the process
/// ends with status 2.
Options parseOptions(int argc, char **argv);

} // namespace attnc

#endif // ATTNC_OPTIONS_H
