//===- Load.cpp - generated code in this process --------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Load.h"

#include "lowering/cpu/Pipeline.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::attn;

std::unique_ptr<llvm::orc::LLJIT>
attn::loadCode(ModuleOp module, const Target &target, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return nullptr;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translate(module, "attn", *machine, context);
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  if (!code || !emitCode(*code, *machine, stream, /*assembly=*/false)) {
    error += "expected code that can be translated";
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit =
      llvm::orc::LLJITBuilder().create();
  llvm::Error problem =
      jit ? (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object))
          : jit.takeError();
  if (problem) {
    error += llvm::toString(std::move(problem));
    return nullptr;
  }
  return std::move(*jit);
}
