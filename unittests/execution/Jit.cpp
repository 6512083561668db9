//===- Jit.cpp - runs compiled code in a test -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "lowering/cpu/Load.h"
#include "lowering/cpu/Pipeline.h"
#include "lowering/halide/Tool.h"
#include "runtime/halide_memory.h"
#include "runtime/halide_opencl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One thread that does all shares of every kernel, one after the other.
struct LonelyMember : attn_team_member {
  explicit LonelyMember(int64_t shares) : shares(shares) {
    next_share = [](attn_team_member *member) {
      auto *own = static_cast<LonelyMember *>(member);
      int64_t share = own->next;
      own->next = share == own->shares ? 0 : share + 1;
      return share;
    };
  }
  int64_t shares, next = 0;
};

/// Adds the object with the kernels, and what they ask for.
llvm::Error addKernels(llvm::orc::LLJIT &jit, StringRef object) {
  auto define = [&](StringRef name, auto *function) {
    return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(
        {{jit.mangleAndIntern(name),
          {llvm::orc::ExecutorAddr::fromPtr(function),
           llvm::JITSymbolFlags::Exported}}}));
  };
  if (llvm::Error error = define("halide_malloc", &halide_malloc))
    return error;
  if (llvm::Error error = define("halide_free", &halide_free))
    return error;
  if (llvm::Error error = define("attn_kernel_failed", &attn_kernel_failed))
    return error;
  return jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object));
}

/// Links the kernels of a device, and says where they are.
std::unique_ptr<LinkedKernels>
addDeviceKernels(llvm::orc::LLJIT &jit, MLIRContext *context,
                 const HalideTool &tool, StringRef archive,
                 ArrayRef<std::string> names, std::string &error) {
  // The same for all tests.
  static const std::optional<std::string> runtime =
      getHalideRuntime(context, tool, error);
  if (!runtime)
    return nullptr;
  std::unique_ptr<LinkedKernels> linked =
      LinkedKernels::link(archive, *runtime, error);
  if (!linked)
    return nullptr;
  llvm::orc::SymbolMap symbols;
  auto define = [&](StringRef name, void *address) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported};
  };
  for (const std::string &name : names)
    define(name, linked->lookup(name));
  for (const char *name : {"halide_copy_to_host", "halide_device_free"})
    define(name, linked->lookup(name));
  // What goes wrong is thrown by the function that is called then.
  using Handler = void(void *, const char *);
  for (auto [setter, handler] : {std::pair<const char *, Handler *>(
                                     "halide_set_error_handler", &halide_error),
                                 {"halide_set_custom_print", &halide_print}})
    reinterpret_cast<Handler *(*)(Handler *)>(linked->lookup(setter))(handler);
  define("attn_device_kernel_failed",
         reinterpret_cast<void *>(&attn_device_kernel_failed));
  if (llvm::Error problem = jit.getMainJITDylib().define(
          llvm::orc::absoluteSymbols(std::move(symbols)))) {
    error += llvm::toString(std::move(problem));
    return nullptr;
  }
  return linked;
}

} // namespace

KernelMaker mlir::attn::getTestedKernels() {
  const char *name = getenv("ATTN_TEST_KERNELS");
  if (!name || !*name)
    return KernelMaker::Own;
  if (name == StringRef("halide"))
    return KernelMaker::Halide;
  if (name == StringRef("halide-auto"))
    return KernelMaker::HalideAuto;
  if (name == StringRef("opencl"))
    return KernelMaker::OpenCl;
  llvm::report_fatal_error(("expected halide, halide-auto or opencl in "
                            "ATTN_TEST_KERNELS, but got '" +
                            StringRef(name) + "'")
                               .str()
                               .c_str());
}

std::unique_ptr<Jit> Jit::compile(ModuleOp module, std::string &error,
                                  const JitOptions &jitOptions) {
  const bool byHalide = jitOptions.kernels != KernelMaker::Own,
             onOpenCl = jitOptions.kernels == KernelMaker::OpenCl;
  auto load = [&](std::unique_ptr<OnDevice> device) -> std::unique_ptr<Jit> {
    auto result = std::make_unique<Jit>();
    result->device = std::move(device);
    result->jit = loadCode(module, Target(), error);
    return result->jit ? std::move(result) : nullptr;
  };
  if (jitOptions.onDevice) {
    std::unique_ptr<OnDevice> device =
        OnDevice::compile(module, error, jitOptions.products);
    return device ? load(std::move(device)) : nullptr;
  }
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(Target(), error);
  if (!machine)
    return nullptr;
  KernelOptions kernels;
  kernels.instructionSet = jitOptions.instructionSet.empty()
                               ? getInstructionSet(*machine).str()
                               : jitOptions.instructionSet;
  PassManager loops(module.getContext()), manager(module.getContext());
  ProductOptions options = jitOptions.products;
  if (byHalide) {
    options.external = kernels.external = true;
    kernels.externalDevice = onOpenCl;
    options.byteDot = ByteDot::Generic;
  }
  buildGraphPipeline(loops);
  buildLoopsPipeline(loops, options);
  if (failed(loops.run(module)))
    return nullptr;
  std::optional<std::string> object;
  std::vector<std::string> kernelNames;
  HalideTool tool;
  if (ModuleOp made = getKernels(module)) {
    std::optional<std::string> path = findHalideTool(ATTN_TOOLS, error);
    if (!path)
      return nullptr;
    tool.path = *path;
    tool.openCl = onOpenCl;
    tool.autoSchedule = jitOptions.kernels == KernelMaker::HalideAuto;
    for (auto kernel : made.getOps<func::FuncOp>())
      kernelNames.push_back(kernel.getSymName().str());
    object = runHalide(made, tool, "obj", error);
    if (!object)
      return nullptr;
  }
  buildLlvmPipeline(manager, kernels);
  if (failed(manager.run(module)))
    return nullptr;
  std::unique_ptr<Jit> result = load(nullptr);
  if (result && object) {
    if (onOpenCl) {
      result->kernels = addDeviceKernels(*result->jit, module.getContext(),
                                         tool, *object, kernelNames, error);
      return result->kernels ? std::move(result) : nullptr;
    }
    if (llvm::Error problem = addKernels(*result->jit, *object)) {
      error += llvm::toString(std::move(problem));
      return nullptr;
    }
  }
  return result;
}

void Jit::call(const std::string &function, ArrayRef<Array> arrays) {
  if (device) {
    // Each size that is not fixed is an axis; the others are known.
    SmallVector<int64_t> extents(ATTN_EXTENT_AXIS);
    extents[ATTN_EXTENT_SHARES] = 1;
    SmallVector<void *> buffers;
    for (auto [array, isDynamic] :
         llvm::zip(arrays, device->getDynamicSizes(function))) {
      buffers.push_back(array.data);
      for (auto [size, dynamic] : llvm::zip(array.shape, isDynamic))
        if (dynamic)
          extents.push_back(size);
    }
    return run(function, extents, buffers);
  }
  // The fields of memref descriptors.
  std::vector<SmallVector<int64_t>> descriptors;
  SmallVector<void *> pointers;
  descriptors.reserve(arrays.size());
  for (const Array &array : arrays) {
    SmallVector<int64_t> &own = descriptors.emplace_back();
    auto address = reinterpret_cast<int64_t>(array.data);
    own = {address, address, 0};
    llvm::append_range(own, array.shape);
    size_t rank = array.shape.size();
    own.resize(3 + 2 * rank, 1);
    for (size_t i = rank; i-- > 1;)
      own[3 + rank + i - 1] = own[3 + rank + i] * array.shape[i];
    pointers.push_back(own.data());
  }
  reference::callWithPointers(
      reinterpret_cast<void *>(lookup<void()>("_mlir_ciface_" + function)),
      pointers);
}

void Jit::call(const std::string &function,
               MutableArrayRef<reference::Buffer> buffers) {
  SmallVector<Array> arrays;
  for (reference::Buffer &buffer : buffers)
    arrays.push_back({buffer.data(), llvm::to_vector<6>(buffer.shape())});
  call(function, arrays);
}

int64_t Jit::getWorkspaceSize(const std::string &program,
                              ArrayRef<int64_t> extents) {
  return lookup<int64_t(const int64_t *)>("attn_" + program +
                                          "_workspace")(extents.data());
}

void Jit::run(const std::string &program, ArrayRef<int64_t> extents,
              ArrayRef<void *> buffers) {
  auto *code =
      lookup<std::remove_pointer_t<attn_program_function>>("attn_" + program);
  // Weights are prepared by the CPU.
  if (device && program != "prepare")
    return device->run(
        program,
        {code, lookup<std::remove_pointer_t<attn_workspace_function>>(
                   "attn_" + program + "_workspace")},
        extents, buffers);
  LonelyMember member(extents[ATTN_EXTENT_SHARES]);
  // A program may not read what it has not written.
  std::vector<char> workspace(getWorkspaceSize(program, extents) + 63,
                              char(0xff));
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  code(extents.data(), buffers.data(), workspace.data() + -address % 64,
       &member);
}
