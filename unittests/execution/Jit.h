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
#include "unittests/execution/LinkedKernels.h"
#include "unittests/execution/OnDevice.h"
#include "unittests/reference/Buffer.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>
#include <string>

namespace mlir::attn {

/// Who makes the kernels that are run.
enum class KernelMaker {
  Own,        ///< This compiler.
  Halide,     ///< Halide, as a library has them with `attnc --kernels halide`.
  HalideAuto, ///< The same, as Halide's autoscheduler arranges them.
  OpenCl      ///< Halide, for a device of OpenCL.
};

/// What ATTN_TEST_KERNELS says: halide, halide-auto, opencl, or nothing for our
/// own.
KernelMaker getTestedKernels();

/// How a test compiles code.
struct JitOptions {
  /// For what the kernels are arranged; empty: this machine.
  std::string instructionSet;
  ProductOptions products;
  /// Whether kernels run on a device of Vulkan.
  bool onDevice = usesDevice();
  KernelMaker kernels = getTestedKernels();
};

/// The machine code of a module, by the passes of a library.
class Jit {
public:
  /// What a function of tensors is given and gives: dense, row-major, elements
  /// as compiled code has them.
  struct Array {
    void *data;
    SmallVector<int64_t> shape;
  };

  /// Compiles `module`, which is consumed, for this machine. Null and a message
  /// on failure.
  static std::unique_ptr<Jit> compile(ModuleOp module, std::string &error,
                                      const JitOptions &options = {});

  /// The address of a function.
  template <typename Function> Function *lookup(const std::string &name) {
    llvm::Expected<llvm::orc::ExecutorAddr> address = jit->lookup(name);
    if (!address)
      llvm::report_fatal_error(address.takeError());
    return address->toPtr<Function *>();
  }

  /// Empty, or why programs cannot go through so many positions of a sequence.
  std::string checkLength(int64_t positions) {
    return device ? device->checkLength(positions) : "";
  }
  /// The bytes of workspace that a program of a model asks for.
  int64_t getWorkspaceSize(const std::string &program,
                           ArrayRef<int64_t> extents);
  /// Calls a function of tensors with its arguments, then its results. Where a
  /// device fails, it throws a DeviceError.
  void call(const std::string &function, ArrayRef<Array> arrays);
  void call(const std::string &function,
            MutableArrayRef<reference::Buffer> buffers);
  /// Runs a program of a model (see runtime/compiled_model.h), all shares by
  /// one thread.
  void run(const std::string &program, ArrayRef<int64_t> extents,
           ArrayRef<void *> buffers);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::unique_ptr<LinkedKernels> kernels; ///< Of Halide's, on a device.
  std::unique_ptr<OnDevice> device;       ///< Null: programs run on the CPU.
};

} // namespace mlir::attn

#endif // ATTN_UNITTESTS_EXECUTION_JIT_H
