//===- Engine.cpp - runs what a test writes: one kernel of Halide ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the tests of unittests/reference a third engine: the whole function as
// one kernel, by Halide alone. Neither the passes that write loops nor LLVM's
// newer version have a part in it.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Pipeline.h"
#include "lowering/halide/Compile.h"
#include "unittests/reference/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"

#include <HalideBuffer.h>

#include <cstdlib>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

const double reference::engineTolerance = 1e-6;

namespace {

using AnyBuffer = ::Halide::Runtime::Buffer<void>;

void *allocate(void *, size_t size) {
  return std::aligned_alloc(128, (size + 127) / 128 * 128);
}
void release(void *, void *memory) { std::free(memory); }

/// Numbers as compiled code has them.
class Argument {
public:
  explicit Argument(const Tensor &tensor) : tensor(tensor) {
    std::vector<int> sizes;
    for (int64_t size : llvm::reverse(tensor.shape))
      sizes.push_back(size);
    halide_type_t type(tensor.width == 0   ? halide_type_float
                       : tensor.width == 1 ? halide_type_uint
                                           : halide_type_int,
                       tensor.width == 1 ? 8 : 32);
    // One element more, so that an empty array has an address.
    bytes.resize(tensor.size() * type.bytes() + 64);
    buffer = AnyBuffer(type, bytes.data(), sizes);
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (tensor.width == 0)
        as<float>()[i] = static_cast<float>(tensor.data[i]);
      else if (tensor.width == 1)
        as<uint8_t>()[i] = tensor.data[i] != 0;
      else
        as<int32_t>()[i] = static_cast<int32_t>(tensor.data[i]);
  }

  halide_buffer_t *get() { return buffer.raw_buffer(); }

  Tensor read() {
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.data[i] = tensor.width == 0   ? as<float>()[i]
                       : tensor.width == 1 ? as<uint8_t>()[i]
                                           : as<int32_t>()[i];
    return tensor;
  }

private:
  template <typename T> T *as() { return reinterpret_cast<T *>(bytes.data()); }

  Tensor tensor;
  std::vector<char> bytes;
  AnyBuffer buffer;
};

} // namespace

/// The object of a module's functions, loaded. Null after a message.
static std::unique_ptr<llvm::orc::LLJIT> load(ModuleOp module,
                                              std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("attn-halide", "o", path))
    return nullptr;
  halide::CompileOptions options;
  options.output = path.str().str();
  LogicalResult compiled = halide::compileKernels(module, options);
  auto object = llvm::MemoryBuffer::getFile(path);
  llvm::sys::fs::remove(path);
  if (failed(compiled) || !object)
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
  llvm::cantFail((*jit)->addObjectFile(std::move(*object)));
  return std::move(*jit);
}

FailureOr<SmallVector<Tensor>> Module::tryEvaluate(ArrayRef<Tensor> arguments,
                                                   Environment &environment) {
  auto function = module->lookupSymbol<func::FuncOp>("f");
  FailureOr<SmallVector<Tensor>> expected =
      reference::evaluate(function.getBody().front(), arguments, environment);
  if (failed(expected))
    return failure();

  OwningOpRef<ModuleOp> clone(module->clone());
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    environment.error += d.str() + "\n";
    return success();
  });
  PassManager manager(&context);
  buildGraphPipeline(manager);
  if (failed(manager.run(*clone)))
    return failure();
  std::unique_ptr<llvm::orc::LLJIT> jit = load(*clone, environment.error);
  if (!jit)
    return failure();
  std::vector<Argument> buffers;
  buffers.reserve(arguments.size() + expected->size());
  for (const Tensor &tensor : arguments)
    buffers.emplace_back(tensor);
  for (Tensor tensor : *expected) {
    // What the code does not write is not mistaken for a result.
    std::fill(tensor.data.begin(), tensor.data.end(), tensor.width ? 1 : -77);
    buffers.emplace_back(tensor);
  }
  constexpr size_t most = 12;
  if (buffers.size() > most)
    llvm::report_fatal_error("expected at most 12 arrays");
  halide_buffer_t *b[most] = {};
  for (auto [index, buffer] : llvm::enumerate(buffers))
    b[index] = buffer.get();
  // A call with more arguments than the function has is harmless in the calling
  // conventions of the machines that tests run on.
  using Function = int(halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                       halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                       halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                       halide_buffer_t *, halide_buffer_t *, halide_buffer_t *);
  auto *code = llvm::cantFail(jit->lookup("f")).toPtr<Function *>();
  code(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
       b[11]);
  SmallVector<Tensor> results;
  for (size_t i = arguments.size(); i < buffers.size(); ++i)
    results.push_back(buffers[i].read());
  return results;
}
