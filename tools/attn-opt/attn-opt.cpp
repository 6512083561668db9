//===- attn-opt.cpp - runs passes on attn IR ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "lowering/cpu/Passes.h"
#include "lowering/cpu/Pipeline.h"
#include "lowering/cpu/ScheduleOps.h"
#include "lowering/gpu/Passes.h"
#include "lowering/gpu/Pipeline.h"
#include "lowering/graph/Passes.h"
#include "lowering/halide/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mlir::attn::registerAttnGraphPasses();
  mlir::attn::registerAttnCpuPasses();
  mlir::attn::registerAttnGpuPasses();
  mlir::attn::registerAttnHalidePasses();
  mlir::attn::registerCpuPipelines();
  mlir::attn::registerGpuPipelines();

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::attn::AttnDialect>();
  mlir::attn::registerScheduleOps(registry);

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "runs passes on attention models\n", registry));
}
