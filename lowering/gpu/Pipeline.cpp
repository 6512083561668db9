//===- Pipeline.cpp - the passes of a library for a device in order -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Pipeline.h"

#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

void attn::buildKernelsPipeline(OpPassManager &manager, DeviceKind device,
                                const KernelOptions &options) {
  bool isVulkan = device == DeviceKind::Vulkan;
  KernelOptions schedules = options;
  schedules.instructionSet = "gpu";
  addSchedules(manager, schedules);
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFuseNests());
  manager.addPass(createFitPieces());
  manager.addPass(createRecomputeRows());
  OutlineKernelsOptions outline;
  // Where lanes wait for each other at a barrier of the workgroup, it has no
  // other ones; 128 invocations are four warps.
  outline.groups = isVulkan ? 1 : 8;
  // Of 16 KiB that each device of Vulkan has, and 48 of CUDA.
  outline.localBytes = (isVulkan ? 12 : 32) * 1024;
  manager.addPass(createOutlineKernels(outline));
  addMath(manager, options.numerics);
  OpPassManager &kernels = manager.nest<gpu::GPUModuleOp>();
  DistributeLanesOptions lanes;
  lanes.exchange = isVulkan ? "memory" : "shuffle";
  kernels.addPass(createDistributeLanes(lanes));
  addCleanup(kernels);
  manager.addPass(createPlanWorkspace());
  manager.addPass(createLaunchKernels());
}

void attn::registerGpuPipelines() {
  static PassPipelineRegistration<> vulkan(
      "attn-vulkan-pipeline", "makes kernels for Vulkan of loops for a device",
      [](OpPassManager &manager) {
        buildKernelsPipeline(manager, DeviceKind::Vulkan);
      });
  static PassPipelineRegistration<> cuda(
      "attn-cuda-pipeline", "makes kernels for CUDA of loops for a device",
      [](OpPassManager &manager) {
        buildKernelsPipeline(manager, DeviceKind::Cuda);
      });
}

void attn::buildHostPipeline(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  addLlvmConversions(manager);
}
