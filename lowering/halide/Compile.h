//===- Compile.h - kernels to objects -------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_COMPILE_H
#define ATTN_LOWERING_HALIDE_COMPILE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::attn::halide {

/// What is written of kernels.
enum class Emit {
  Object,    ///< Native code of all kernels, one function each.
  Assembly,  ///< The same as text.
  Statement, ///< What Halide made of algorithm and schedule.
  Html,      ///< The same as a page that folds.
  Schedule,  ///< A line for each stage.
  Runtime    ///< What kernels of a device need of Halide, as an object.
};

/// What runs kernels.
enum class Runs {
  Cpu,
  OpenCl ///< A device of OpenCL, which the runtime opens with dlopen.
};

/// Who arranges the loops of kernels for the CPU.
enum class Scheduler {
  Own, ///< This compiler.
  Auto ///< Halide's autoscheduler; where it fails, this compiler.
};

struct CompileOptions {
  /// The processor, as LLVM names it.
  std::string cpu = "native";
  Runs runs = Runs::Cpu;
  /// Whether products and sums are fused where kernels say so.
  bool fused = true;
  Scheduler scheduler = Scheduler::Own;
  Emit emit = Emit::Object;
  std::string output = "-";
};

/// Compiles the functions of a module and writes what is asked for. Fails after
/// a diagnostic, with nothing written.
LogicalResult compileKernels(ModuleOp module, const CompileOptions &options);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_COMPILE_H
