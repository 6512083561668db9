//===- LinkedKernels.h - kernels of a device, for a test ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_EXECUTION_LINKEDKERNELS_H
#define ATTN_UNITTESTS_EXECUTION_LINKEDKERNELS_H

#include "mlir/Support/LLVM.h"

#include <memory>
#include <string>

namespace mlir::attn {

/// Empty, or why no kernel runs on a device of OpenCL.
std::string findOpenClDevice();

/// Kernels of Halide for a device, and its runtime for them, in a library that
/// is loaded: the runtime keeps state in ways that a linker has to know of.
class LinkedKernels {
public:
  /// Both are archives. Null and a message on failure.
  static std::unique_ptr<LinkedKernels>
  link(StringRef kernels, StringRef runtime, std::string &error);
  ~LinkedKernels();

  /// The address of a function, or null.
  void *lookup(const std::string &name) const;

private:
  void *library = nullptr;
};

} // namespace mlir::attn

#endif // ATTN_UNITTESTS_EXECUTION_LINKEDKERNELS_H
