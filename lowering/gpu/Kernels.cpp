//===- Kernels.cpp - code of kernels for devices --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Kernels.h"

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<DeviceKind> attn::parseDeviceKind(StringRef name) {
  if (name == "vulkan")
    return DeviceKind::Vulkan;
  if (name == "cuda")
    return DeviceKind::Cuda;
  return std::nullopt;
}

ByteDot attn::getByteDot(DeviceKind device) {
  // Vulkan 1.1 has no instruction for it.
  return device == DeviceKind::Cuda ? ByteDot::Dp4a : ByteDot::Generic;
}

FailureOr<DeviceCode> attn::compileKernels(ModuleOp module, DeviceKind device,
                                           StringRef chip) {
  return device == DeviceKind::Vulkan ? compileToSpirv(module)
                                      : compileToPtx(module, chip);
}

void attn::takeNotes(Operation *function, DeviceCode::Kernel &kernel) {
  auto groups = cast<IntegerAttr>(function->removeAttr(groupsAttrName));
  kernel.groupSize = groups.getInt() * numLanes;
  kernel.loopsOverPositions =
      function->removeAttr(positionLoopAttrName) != nullptr;
}

LogicalResult attn::expandDivisions(Operation *kernels) {
  RewritePatternSet patterns(kernels->getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyPatternsGreedily(kernels, std::move(patterns));
}
