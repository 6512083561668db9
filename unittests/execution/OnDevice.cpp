//===- OnDevice.cpp - runs compiled code of a test on a device ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/OnDevice.h"

#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Pipeline.h"
#include "runtime/device.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::usesDevice() {
  const char *target = std::getenv("ATTN_TEST_TARGET");
  return target && StringRef(target) == "vulkan";
}

struct OnDevice::State {
  DeviceCode code;
  std::vector<attn_kernel> kernels;
  attn_compiled_model model = {};
  std::unique_ptr<::attn::Device> device;
  ::attn::DeviceQueuePtr queue;
};

OnDevice::OnDevice() : state(std::make_unique<State>()) {}
OnDevice::~OnDevice() = default;

/// Makes a program of a function of buffers.
static void makeProgram(func::FuncOp function) {
  Builder b(function.getContext());
  Block &block = function.front();
  SmallVector<Value> buffers(block.getArguments());
  SmallVector<Attribute> descriptions;
  for (unsigned i = 0; i < ATTN_EXTENT_AXIS; ++i)
    block.insertArgument(i, b.getIndexType(), function.getLoc());
  unsigned numExtents = ATTN_EXTENT_AXIS;
  for (Value buffer : buffers) {
    SmallVector<Attribute> dims;
    SmallVector<Value> sizes;
    for (int64_t size : cast<MemRefType>(buffer.getType()).getShape()) {
      sizes.emplace_back();
      if (!ShapedType::isDynamic(size)) {
        dims.push_back(b.getI64IntegerAttr(size));
        continue;
      }
      dims.push_back(b.getStringAttr(
          "axis" + std::to_string(numExtents - ATTN_EXTENT_AXIS)));
      sizes.back() = block.insertArgument(numExtents++, b.getIndexType(),
                                          function.getLoc());
    }
    descriptions.push_back(
        b.getDictionaryAttr({b.getNamedAttr("dims", b.getArrayAttr(dims))}));
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      if (auto dim = dyn_cast<memref::DimOp>(user)) {
        dim.replaceAllUsesWith(sizes[*dim.getConstantIndex()]);
        dim.erase();
      }
  }
  function.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  // Tables are data of the host: programs are given them.
  llvm::StringMap<Value> tables;
  function.walk([&](memref::GetGlobalOp use) {
    auto [table, isNew] = tables.try_emplace(use.getName());
    if (isNew) {
      auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
          use, use.getNameAttr());
      SmallVector<Attribute> dims;
      for (int64_t size : use.getType().getShape())
        dims.push_back(b.getI64IntegerAttr(size));
      descriptions.push_back(b.getDictionaryAttr(
          {b.getNamedAttr("dims", b.getArrayAttr(dims)),
           b.getNamedAttr("table", *global.getInitialValue())}));
      table->second = block.addArgument(use.getType(), use.getLoc());
    }
    use.replaceAllUsesWith(table->second);
    use.erase();
  });
  function.setFunctionType(b.getFunctionType(block.getArgumentTypes(), {}));
  function->setAttr(programAttrName, b.getArrayAttr(descriptions));
  function->removeAttr("llvm.emit_c_interface");
}

std::unique_ptr<OnDevice> OnDevice::compile(ModuleOp module, std::string &error,
                                            const ProductOptions &products) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  std::unique_ptr<OnDevice> result(new OnDevice());
  PassManager loops(module.getContext()), kernels(module.getContext()),
      host(module.getContext());
  buildGraphPipeline(loops);
  ProductOptions forDevice = products;
  forDevice.device = true;
  forDevice.byteDot = getByteDot(DeviceKind::Vulkan);
  buildLoopsPipeline(loops, forDevice);
  if (failed(loops.run(module)))
    return nullptr;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr("llvm.emit_c_interface"))
      makeProgram(function);
    auto buffers = function->getAttrOfType<ArrayAttr>(programAttrName);
    if (!buffers)
      continue;
    SmallVector<Buffer> &own = result->programs[function.getSymName()];
    unsigned first = function.getNumArguments() - buffers.size();
    for (auto [index, buffer] : llvm::enumerate(buffers)) {
      auto type =
          cast<MemRefType>(function.getArgument(first + index).getType());
      own.emplace_back();
      own.back().elementBytes = type.getElementTypeBitWidth() / 8;
      if (auto table =
              cast<DictionaryAttr>(buffer).getAs<DenseElementsAttr>("table"))
        // Of elements that are all the same, one is stored.
        for (int64_t i = table.isSplat() ? table.getNumElements() : 1; i > 0;
             --i)
          llvm::append_range(own.back().table, table.getRawData());
      for (Attribute dim :
           cast<DictionaryAttr>(buffer).getAs<ArrayAttr>("dims")) {
        if (auto size = dyn_cast<IntegerAttr>(dim))
          own.back().sizes.push_back(size.getInt());
        else
          own.back().sizes.push_back(
              -1 - getExtent(cast<StringAttr>(dim).getValue()));
      }
    }
  }
  // Devices differ in what they fuse.
  KernelOptions options;
  options.numerics = Numerics::Portable;
  buildKernelsPipeline(kernels, DeviceKind::Vulkan, options);
  if (failed(kernels.run(module)))
    return nullptr;
  State &state = *result->state;
  FailureOr<DeviceCode> code =
      compileKernels(module, DeviceKind::Vulkan, /*chip=*/"");
  if (failed(code))
    return nullptr;
  state.code = std::move(*code);
  for (const DeviceCode::Kernel &kernel : state.code.kernels) {
    if (kernel.name == "gather")
      state.model.gather_kernel = state.kernels.size();
    const std::string &own = state.code.code[kernel.code];
    state.kernels.push_back({kernel.name.c_str(), own.data(), own.size(),
                             kernel.numBuffers, kernel.numScalars,
                             kernel.groupSize, kernel.loopsOverPositions});
  }
  state.model.version = ATTN_COMPILED_MODEL_VERSION;
  state.model.driver = &attn_vulkan_driver;
  state.model.kernels = state.kernels.data();
  state.model.kernel_count = state.kernels.size();
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
    kernel.erase();
  buildHostPipeline(host);
  if (failed(host.run(module)))
    return nullptr;
  try {
    state.device = attn_vulkan_driver.open(nullptr, state.model);
    state.queue = state.device->makeQueue();
  } catch (const ::attn::DeviceError &problem) {
    error += problem.what();
    return nullptr;
  }
  return result;
}

SmallVector<SmallVector<bool>>
OnDevice::getDynamicSizes(llvm::StringRef program) const {
  SmallVector<SmallVector<bool>> result;
  for (const Buffer &buffer : programs.lookup(program)) {
    result.emplace_back();
    for (int64_t size : buffer.sizes)
      result.back().push_back(size < 0);
  }
  return result;
}

std::string OnDevice::checkLength(int64_t positions) const {
  try {
    state->device->checkLength(positions);
    return "";
  } catch (const ::attn::DeviceError &error) {
    return error.what();
  }
}

void OnDevice::run(llvm::StringRef name, attn_program program,
                   ArrayRef<int64_t> extents, ArrayRef<void *> buffers) {
  ::attn::DeviceQueue &queue = *state->queue;
  auto upload = [&](const void *from, int64_t bytes) {
    void *to = queue.allocate(bytes);
    queue.write(to, from, bytes);
    return to;
  };
  const SmallVector<Buffer> described = programs.lookup(name);
  SmallVector<void *> addresses;
  SmallVector<int64_t> sizes;
  for (auto [buffer, host] : llvm::zip(described, buffers)) {
    int64_t bytes = host ? buffer.elementBytes : 0;
    for (int64_t size : buffer.sizes)
      bytes *= size < 0 ? extents[-1 - size] : size;
    sizes.push_back(bytes);
    addresses.push_back(upload(host, bytes));
  }
  for (const Buffer &buffer : llvm::drop_begin(described, buffers.size()))
    addresses.push_back(upload(buffer.table.data(), buffer.table.size()));
  // A program may not read what it has not written.
  std::vector<char> workspace(program.workspace(extents.data()), char(0xff));
  program.run(extents.data(), addresses.data(),
              upload(workspace.data(), workspace.size()),
              static_cast<attn_launcher *>(&queue));
  for (auto [host, address, bytes] : llvm::zip(buffers, addresses, sizes))
    if (host)
      queue.read(host, address, bytes);
  queue.finish();
}
