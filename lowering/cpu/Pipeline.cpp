//===- Pipeline.cpp - the passes of a CPU library in order ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Pipeline.h"

#include "lowering/cpu/Passes.h"
#include "lowering/graph/Passes.h"
#include "lowering/halide/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

void attn::buildGraphPipeline(OpPassManager &manager,
                              const GraphOptions &options) {
  manager.addPass(createFuseRead());
  manager.addPass(createExpandRecurrences());
  HoistContextsOptions contexts;
  contexts.memoryLength = options.memoryLength;
  manager.addPass(createHoistContexts(contexts));
  manager.addPass(createSplitExponentials());
  manager.addPass(createHoistMemory());
  manager.addPass(createParallelDecoder());
  manager.addPass(createCachePast());
  manager.addPass(createBoundReads());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFuseProducts());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createFoldWeights());
  manager.addPass(createFuseEpilogues());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void attn::buildLoopsPipeline(OpPassManager &manager,
                              const ProductOptions &products) {
  ConvertToLoopsOptions options;
  options.precision = products.precision;
  options.byteDot = products.byteDot;
  options.device = products.device;
  options.external = products.external;
  manager.addPass(createConvertToLoops(options));
}

void attn::addSchedules(OpPassManager &manager, const KernelOptions &options) {
  ScheduleKernelsOptions schedule;
  schedule.instructionSet = options.instructionSet;
  schedule.file = options.scheduleFile;
  manager.addPass(createScheduleKernels(schedule));
}

void attn::addMath(OpPassManager &manager, Numerics numerics) {
  ExpandMathOptions math;
  math.portable = numerics == Numerics::Portable;
  manager.addPass(createExpandMath(math));
  addCleanup(manager);
}

void attn::addCleanup(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
}

void attn::buildLlvmPipeline(OpPassManager &manager,
                             const KernelOptions &options) {
  addSchedules(manager, options);
  manager.addPass(createDivideWork());
  manager.addPass(createPlanWorkspace());
  if (options.external)
    manager.addPass(createCallKernels({options.externalDevice}));
  addMath(manager, options.numerics);
  addLlvmConversions(manager);
}

void attn::addLlvmConversions(OpPassManager &manager) {
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createEmitEntryPoints());
}

void attn::registerCpuPipelines() {
  static PassPipelineRegistration<> graph(
      "attn-graph-pipeline",
      "fuses reads and products, hoists memories and weights",
      [](OpPassManager &manager) { buildGraphPipeline(manager); });
  static PassPipelineRegistration<> loops(
      "attn-loops-pipeline", "writes a fused model as loops over buffers",
      [](OpPassManager &manager) { buildLoopsPipeline(manager); });
  static PassPipelineRegistration<> llvm(
      "attn-llvm-pipeline", "lowers these loops to the LLVM dialect",
      [](OpPassManager &manager) { buildLlvmPipeline(manager); });
}
