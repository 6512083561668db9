//===- Kernels.h - code of kernels for devices ------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_KERNELS_H
#define ATTN_LOWERING_GPU_KERNELS_H

#include "lowering/cpu/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace mlir::attn {

/// What runs kernels.
enum class DeviceKind { Vulkan, Cuda };

/// The device of a target that users call `name`.
std::optional<DeviceKind> parseDeviceKind(llvm::StringRef name);

/// How it multiplies bytes.
ByteDot getByteDot(DeviceKind device);

/// Makes the code of the kernels of `module`, in the order of their modules;
/// `chip` matters for CUDA. Fails after a diagnostic.
FailureOr<DeviceCode> compileKernels(ModuleOp module, DeviceKind device,
                                     llvm::StringRef chip);

/// Writes divisions that round up or down as those that devices have.
LogicalResult expandDivisions(Operation *kernels);

/// Takes from the function of a kernel what passes have noted of it.
void takeNotes(Operation *function, DeviceCode::Kernel &kernel);

/// Makes SPIR-V 1.3 of each `gpu.module` of `module`, whose lanes have been
/// distributed. Fails after a diagnostic.
FailureOr<DeviceCode> compileToSpirv(ModuleOp module);

/// Makes PTX of all of them together, for a processor like sm_80. Fails after a
/// diagnostic.
FailureOr<DeviceCode> compileToPtx(ModuleOp module, llvm::StringRef chip);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_KERNELS_H
