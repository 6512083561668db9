//===- Jit.cpp - runs compiled code in a test -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "lowering/cpu/Load.h"
#include "lowering/cpu/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::attn;

std::unique_ptr<Jit> Jit::compile(ModuleOp module, std::string &error,
                                  StringRef instructionSet,
                                  const ProductOptions &products) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(Target(), error);
  if (!machine)
    return nullptr;
  KernelOptions kernels;
  if (instructionSet.empty())
    instructionSet = getInstructionSet(*machine);
  kernels.instructionSet = instructionSet.str();
  PassManager manager(module.getContext());
  buildGraphPipeline(manager);
  buildLoopsPipeline(manager, products);
  buildLlvmPipeline(manager, kernels);
  if (failed(manager.run(module)))
    return nullptr;
  std::unique_ptr<llvm::orc::LLJIT> loaded = loadCode(module, Target(), error);
  if (!loaded)
    return nullptr;
  auto result = std::make_unique<Jit>();
  result->jit = std::move(loaded);
  return result;
}
