//===- Tool.h - runs attn-halide ------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Halide has an LLVM of its own, so its compiler is a program of its own.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_TOOL_H
#define ATTN_LOWERING_HALIDE_TOOL_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace mlir::attn {

/// How attn-halide is called.
struct HalideTool {
  std::string path;
  /// The processor, as Target has it, and whether it has fused multiply-add.
  std::string cpu = "native";
  bool portable = false;
  /// Whether a device of OpenCL runs the kernels.
  bool openCl = false;
  /// Whether Halide's autoscheduler arranges the kernels where it can; where it
  /// cannot, a remark is printed.
  bool autoSchedule = false;
};

/// The path of attn-halide in `folder`. Nothing and a message if it is not
/// there.
std::optional<std::string> findHalideTool(StringRef folder, std::string &error);

/// The module of the kernels that `program` calls; null where it calls none.
/// Call this before the calls have become code (attn-call-kernels).
ModuleOp getKernels(ModuleOp program);

/// Gives all kernels of `program` names that end in `suffix`.
void renameKernels(ModuleOp program, StringRef suffix);

/// What attn-halide makes of `kernels`: `emit` is obj or stmt. Nothing and a
/// message where it fails.
std::optional<std::string> runHalide(ModuleOp kernels, const HalideTool &tool,
                                     StringRef emit, std::string &error);

/// The archive that kernels of a device need beside them. Nothing and a message
/// where it cannot be made.
std::optional<std::string> getHalideRuntime(MLIRContext *context,
                                            const HalideTool &tool,
                                            std::string &error);

} // namespace mlir::attn

#endif // ATTN_LOWERING_HALIDE_TOOL_H
