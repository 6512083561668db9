//===- OnDevice.h - runs compiled code of a test on a device --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With ATTN_TEST_TARGET=vulkan the tests of this folder run on the first device
// of Vulkan; where there is none, all of them are skipped.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_EXECUTION_ONDEVICE_H
#define ATTN_UNITTESTS_EXECUTION_ONDEVICE_H

#include "lowering/cpu/Precision.h"
#include "runtime/compiled_model.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::attn {

/// Whether tests run on a device.
bool usesDevice();

/// The kernels of a module, and a device that has them.
class OnDevice {
public:
  /// Makes kernels of `module`, of which the code of the host is left, in the
  /// LLVM dialect. Its functions of tensors are programs afterwards, with an
  /// axis for each size that is not fixed. Null and a message on failure.
  static std::unique_ptr<OnDevice> compile(ModuleOp module, std::string &error,
                                           const ProductOptions &products);
  ~OnDevice();

  /// For each buffer of a program, which of its sizes are extents.
  SmallVector<SmallVector<bool>> getDynamicSizes(llvm::StringRef program) const;
  /// Empty, or why kernels cannot go through so many positions of a sequence.
  std::string checkLength(int64_t positions) const;
  /// Runs a program of the host on copies of `buffers`, which then get what it
  /// has left there. Throws a DeviceError where the device fails.
  void run(llvm::StringRef name, attn_program program,
           ArrayRef<int64_t> extents, ArrayRef<void *> buffers);

private:
  struct State;
  /// Bytes of a buffer: those of an element and its sizes, each a number or,
  /// where negative, the place of an extent: -1 - place.
  struct Buffer {
    int64_t elementBytes = 0;
    SmallVector<int64_t> sizes;
    std::vector<char> table; ///< Of constants, which nobody else gives.
  };

  OnDevice();

  llvm::StringMap<SmallVector<Buffer>> programs;
  std::unique_ptr<State> state;
};

} // namespace mlir::attn

#endif // ATTN_UNITTESTS_EXECUTION_ONDEVICE_H
