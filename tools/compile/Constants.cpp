//===- Constants.cpp - runs `prepare` in the compiler ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/compile/Constants.h"

#include "lowering/cpu/Load.h"
#include "runtime/constants.h"
#include "runtime/weights.h"
#include "tools/compile/Compile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr llvm::StringLiteral entryPoint = "attn_prepare",
                                     sizing = "attn_prepare_workspace";

/// The entry points of `prepare` as code of this process. Null after a message.
static std::unique_ptr<llvm::orc::LLJIT> compilePrepare(ModuleOp module) {
  // What only other programs need is dropped by LLVM with their entry points.
  OwningOpRef<ModuleOp> clone(module.clone());
  for (auto function :
       llvm::make_early_inc_range(clone->getOps<LLVM::LLVMFuncOp>()))
    if (function.getLinkage() == LLVM::Linkage::External &&
        function.getSymName() != entryPoint &&
        function.getSymName() != sizing && !function.isExternal())
      function.erase();
  std::string error;
  // Code that asks for a fused multiply-add gets one from libm where the
  // processor has none.
  std::unique_ptr<llvm::orc::LLJIT> jit =
      loadCode(*clone, {"native", Numerics::Portable}, error);
  if (!jit)
    printError("expected code that prepares weights, but got: " + error);
  return jit;
}

LogicalResult mlir::attn::writeConstants(ModuleOp module, StringRef description,
                                         ::attn::Weights &weights,
                                         llvm::raw_ostream &output) {
  ::attn::Description parsed;
  std::string error;
  if (!::attn::parseDescription({description.data(), description.size()},
                                parsed, error)) {
    printError(error);
    return failure();
  }
  std::unique_ptr<llvm::orc::LLJIT> jit = compilePrepare(module);
  if (!jit)
    return failure();
  auto run = jit->lookup(entryPoint), workspace = jit->lookup(sizing);
  if (!run || !workspace) {
    printError(llvm::toString(
        llvm::joinErrors(run.takeError(), workspace.takeError())));
    return failure();
  }
  ::attn::Constants constants(parsed);
  constants.make({run->toPtr<attn_program_function>(),
                  workspace->toPtr<attn_workspace_function>()},
                 parsed, weights);
  output.write(static_cast<const char *>(constants.data()), constants.size());
  return success();
}
