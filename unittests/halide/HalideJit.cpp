//===- HalideJit.cpp - runs kernels of Halide in a test -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/halide/HalideJit.h"

#include "lowering/cpu/Pipeline.h"
#include "lowering/halide/Tool.h"
#include "unittests/execution/Jit.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/TargetSelect.h"

#include <HalideBuffer.h>

#include <cstdlib>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

static void *allocate(void *, size_t size) {
  return std::aligned_alloc(128, (size + 127) / 128 * 128);
}
static void release(void *, void *memory) { std::free(memory); }

/// The object of a module's functions, loaded. Null and a message on failure.
static std::unique_ptr<llvm::orc::LLJIT> load(ModuleOp module,
                                              std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  // By its own program: Halide's version of LLVM does not bear others beside it
  // that are loaded later, as devices of OpenCL have them.
  std::optional<std::string> path = findHalideTool(ATTN_TOOLS, error);
  if (!path)
    return nullptr;
  HalideTool tool;
  tool.path = *path;
  tool.autoSchedule = getTestedKernels() == KernelMaker::HalideAuto;
  std::optional<std::string> object = runHalide(module, tool, "obj", error);
  if (!object)
    return nullptr;
  auto jit = llvm::orc::LLJITBuilder().create();
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[(*jit)->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported};
  };
  add("halide_malloc", &allocate);
  add("halide_free", &release);
  llvm::cantFail((*jit)->getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols))));
  llvm::cantFail(
      (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(*object)));
  return std::move(*jit);
}

std::unique_ptr<HalideJit> HalideJit::compile(ModuleOp module,
                                              std::string &error) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  PassManager manager(module.getContext());
  buildGraphPipeline(manager);
  if (failed(manager.run(module)))
    return nullptr;
  auto result = std::make_unique<HalideJit>();
  result->jit = load(module, error);
  return result->jit ? std::move(result) : nullptr;
}

void HalideJit::call(const std::string &function,
                     MutableArrayRef<Buffer> buffers) {
  std::vector<::Halide::Runtime::Buffer<void>> described;
  SmallVector<void *> pointers;
  described.reserve(buffers.size());
  for (Buffer &buffer : buffers) {
    halide_type_t type(buffer.width() == 0   ? halide_type_float
                       : buffer.width() == 1 ? halide_type_uint
                                             : halide_type_int,
                       buffer.width() == 1 ? 8 : 32);
    std::vector<int> sizes;
    for (int64_t size : llvm::reverse(buffer.shape()))
      sizes.push_back(size);
    described.emplace_back(type, buffer.data(), sizes);
    pointers.push_back(described.back().raw_buffer());
  }
  callWithPointers(llvm::cantFail(jit->lookup(function)).toPtr<void *>(),
                   pointers);
}
