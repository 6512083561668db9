//===- Jit.h - runs compiled code in a test -------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_EXECUTION_JIT_H
#define ATTN_UNITTESTS_EXECUTION_JIT_H

#include "lowering/cpu/Precision.h"
#include "runtime/compiled_model.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <array>
#include <memory>
#include <string>

namespace mlir::attn {

/// The machine code of a module, by the passes of a library.
class Jit {
public:
  /// Compiles `module`, which is consumed, for this machine, its kernels
  /// arranged for `instructionSet` (empty: the machine's). Null and a message
  /// on failure.
  static std::unique_ptr<Jit> compile(ModuleOp module, std::string &error,
                                      StringRef instructionSet = "",
                                      const ProductOptions &products = {});

  /// The address of a function.
  template <typename Function> Function *lookup(const std::string &name) {
    llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(name);
    if (!address)
      llvm::report_fatal_error(address.takeError());
    return address->toPtr<Function *>();
  }

  /// The bytes of workspace that a program of a model asks for.
  int64_t getWorkspaceSize(const std::string &program,
                           ArrayRef<int64_t> extents);
  /// Runs a program of a model (see runtime/compiled_model.h), all shares by
  /// one thread.
  void run(const std::string &program, ArrayRef<int64_t> extents,
           ArrayRef<void *> buffers);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// A memref of a dense array, as compiled functions take it.
template <size_t rank> struct Descriptor {
  Descriptor(void *data, std::array<int64_t, rank> shape)
      : allocated(data), aligned(data), sizes(shape) {
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0; stride *= sizes[i])
      strides[i] = stride;
  }
  void *allocated, *aligned;
  int64_t offset = 0;
  std::array<int64_t, rank> sizes, strides;
};

} // namespace mlir::attn

#endif // ATTN_UNITTESTS_EXECUTION_JIT_H
