//===- LaunchKernels.cpp - launches as calls of the runtime ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LAUNCHKERNELS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

struct LaunchKernels : attn::impl::LaunchKernelsBase<LaunchKernels> {
  using LaunchKernelsBase::LaunchKernelsBase;

  void runOnOperation() override {
    dropUnused();
    shareEqual();
    llvm::StringMap<int64_t> numbers;
    for (auto [number, kernel] :
         llvm::enumerate(getOperation().getOps<gpu::GPUModuleOp>()))
      numbers[kernel.getName()] = number;
    for (auto program : getOperation().getOps<func::FuncOp>()) {
      if (!program->hasAttr(programAttrName))
        continue;
      SmallVector<gpu::LaunchFuncOp> launches;
      program.walk(
          [&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
      if (launches.empty())
        continue;
      // Before the workspace stands the executor.
      Value executor =
          *llvm::find_if(program.getArguments(), [](Value argument) {
            return isa<LLVM::LLVMPointerType>(argument.getType());
          });
      size_t most = 1;
      for (gpu::LaunchFuncOp launch : launches)
        most = std::max<size_t>(most, launch.getNumKernelOperands());
      auto b = ImplicitLocOpBuilder::atBlockBegin(program.getLoc(),
                                                  &program.front());
      Value size = LLVM::ConstantOp::create(b, b.getI64Type(),
                                            b.getI64IntegerAttr(most));
      auto pointer = LLVM::LLVMPointerType::get(&getContext());
      Value buffers = LLVM::AllocaOp::create(b, pointer, pointer, size);
      Value scalars = LLVM::AllocaOp::create(b, pointer, b.getI32Type(), size);
      for (gpu::LaunchFuncOp launch : launches) {
        write(launch, executor, buffers, scalars,
              numbers.lookup(launch.getKernelModuleName()));
        launch.erase();
      }
    }
    dropFunctions();
  }

  /// Removes the functions that kernels have in them: hosts need not know the
  /// instructions of a device.
  void dropFunctions() {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function->hasAttr("llvm.linkage") &&
          SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        function.erase();
  }

  /// Removes what kernels are launched with and do not look at.
  void dropUnused() {
    llvm::StringMap<gpu::LaunchFuncOp> launches;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      launches[launch.getKernelModuleName()] = launch;
    });
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>()) {
      gpu::LaunchFuncOp launch = launches.lookup(module.getName());
      auto kernel = *module.getOps<gpu::GPUFuncOp>().begin();
      if (!launch)
        continue;
      for (unsigned i = kernel.getNumArguments(); i-- > 0;) {
        if (!kernel.getArgument(i).use_empty())
          continue;
        kernel.getBody().front().eraseArgument(i);
        launch.getKernelOperandsMutable().erase(i);
      }
      kernel.setFunctionType(FunctionType::get(
          &getContext(), kernel.getBody().front().getArgumentTypes(), {}));
    }
  }

  /// Makes one kernel of those that are the same code: layers have many.
  void shareEqual() {
    llvm::StringMap<std::string> known, shared;
    for (auto module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      auto kernel = *module.getOps<gpu::GPUFuncOp>().begin();
      std::string name = kernel.getName().str(), text;
      kernel.setName("kernel");
      llvm::raw_string_ostream(text) << kernel;
      kernel.setName(name);
      auto [first, isNew] = known.try_emplace(text, name);
      if (isNew)
        continue;
      shared[name] = first->second;
      module.erase();
    }
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      auto first = shared.find(launch.getKernelModuleName());
      if (first == shared.end())
        return;
      StringRef name = first->second;
      launch.setKernelAttr(SymbolRefAttr::get(
          &getContext(), name, {FlatSymbolRefAttr::get(&getContext(), name)}));
    });
  }

  void write(gpu::LaunchFuncOp launch, Value executor, Value buffers,
             Value scalars, int64_t number) {
    ImplicitLocOpBuilder b(launch.getLoc(), launch);
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = b.getI64Type(), i32 = b.getI32Type();
    auto toI64 = [&](Value index) -> Value {
      return arith::IndexCastOp::create(b, i64, index);
    };
    auto put = [&](Value array, Type element, int32_t place, Value value) {
      Value address = LLVM::GEPOp::create(b, pointer, element, array,
                                          ArrayRef<LLVM::GEPArg>{place});
      LLVM::StoreOp::create(b, value, address);
    };
    int32_t numBuffers = 0, numScalars = 0;
    for (Value operand : launch.getKernelOperands()) {
      if (isa<MemRefType>(operand.getType())) {
        Value address =
            toI64(memref::ExtractAlignedPointerAsIndexOp::create(b, operand));
        put(buffers, pointer, numBuffers++,
            LLVM::IntToPtrOp::create(b, pointer, address));
        continue;
      }
      if (operand.getType().isF32())
        operand = arith::BitcastOp::create(b, i32, operand);
      put(scalars, i32, numScalars++, operand);
    }
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {pointer, i64, i64, pointer, pointer});
    SmallVector<Value> operands = {
        LLVM::LoadOp::create(b, pointer, executor),
        executor,
        LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(number)),
        toI64(launch.getGridSizeX()),
        buffers,
        scalars};
    LLVM::CallOp::create(b, type, operands);
  }
};

} // namespace
