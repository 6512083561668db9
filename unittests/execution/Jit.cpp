//===- Jit.cpp - runs compiled code in a test -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "lowering/cpu/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::attn;

std::unique_ptr<Jit> Jit::compile(ModuleOp module, std::string &error) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  PassManager manager(module.getContext());
  buildGraphPipeline(manager);
  buildLoopsPipeline(manager);
  buildLlvmPipeline(manager);
  if (failed(manager.run(module)))
    return nullptr;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(Target(), error);
  if (!machine)
    return nullptr;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translate(module, /*contents=*/nullptr, *machine, context);
  if (!code)
    return nullptr;
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  emitCode(*code, *machine, stream, /*assembly=*/false);

  auto result = std::make_unique<Jit>();
  result->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(result->jit->addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy(object, "test.o")));
  return result;
}
