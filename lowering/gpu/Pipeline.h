//===- Pipeline.h - from loops to kernels of a device -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GPU_PIPELINE_H
#define ATTN_LOWERING_GPU_PIPELINE_H

#include "lowering/cpu/Pipeline.h"
#include "lowering/gpu/Kernels.h"

namespace mlir::attn {

/// Loops for a device to kernels, a `gpu.module` each with one lane of vectors
/// for each invocation, and host programs that launch them.
void buildKernelsPipeline(OpPassManager &manager, DeviceKind device,
                          const KernelOptions &options = {});
/// The host programs to the LLVM dialect, with the runtime's entry points. The
/// kernels have been taken away.
void buildHostPipeline(OpPassManager &manager);
/// Makes the first known to attn-opt: -attn-vulkan-pipeline,
/// -attn-cuda-pipeline.
void registerGpuPipelines();

} // namespace mlir::attn

#endif // ATTN_LOWERING_GPU_PIPELINE_H
