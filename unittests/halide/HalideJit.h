//===- HalideJit.h - runs kernels of Halide in a test ---------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_HALIDE_HALIDEJIT_H
#define ATTN_UNITTESTS_HALIDE_HALIDEJIT_H

#include "unittests/reference/Buffer.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>
#include <string>

namespace mlir::attn {

/// The functions of a module, each one kernel of Halide.
class HalideJit {
public:
  /// Compiles `module`, which is changed. Null and a message on failure.
  static std::unique_ptr<HalideJit> compile(ModuleOp module,
                                            std::string &error);

  /// Calls a function with its arguments, then its results.
  void call(const std::string &function,
            MutableArrayRef<reference::Buffer> buffers);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace mlir::attn

#endif // ATTN_UNITTESTS_HALIDE_HALIDEJIT_H
