//===- Ptx.cpp - kernels as PTX -------------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups of 16 lanes are halves of warps, which go their own ways: exchanges
// and barriers name the lanes of their half. Mathematics is arithmetic by now,
// so that no library of a toolkit is needed.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/cpu/Pipeline.h"
#include "lowering/gpu/Kernels.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace mlir::attn;

/// Makes the kernel one that MLIR's conversion takes; fills in what is known
/// of it.
static void prepareKernel(gpu::GPUFuncOp function, DeviceCode::Kernel &kernel) {
  Block &entry = function.getBody().front();
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type) {
      ++kernel.numScalars;
      continue;
    }
    ++kernel.numBuffers;
    // Passed as an address: of a buffer of so many elements as there can be.
    argument.setType(
        MemRefType::get({int64_t(1) << 48}, type.getElementType()));
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(), entry.getArgumentTypes(), {}));
  takeNotes(function, kernel);
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  for (memref::AllocOp alloc : allocs) {
    auto type = MemRefType::get(
        alloc.getType().getShape(), alloc.getType().getElementType(),
        MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(function.getContext(),
                                   gpu::AddressSpace::Workgroup));
    alloc.getResult().replaceAllUsesWith(
        function.addWorkgroupAttribution(type, alloc.getLoc()));
    alloc.erase();
  }

  // The lanes of the half of the warp.
  ImplicitLocOpBuilder b =
      ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &entry);
  Type i32 = b.getI32Type();
  auto constant = [&](ImplicitLocOpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 32);
  };
  Value thread = arith::IndexCastOp::create(
      b, i32, gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value mask = arith::ShLIOp::create(
      b, constant(b, 0xffff),
      arith::AndIOp::create(b, thread, constant(b, numLanes)));
  SmallVector<Operation *> waits;
  function.walk([&](Operation *op) {
    if (isa<gpu::ShuffleOp, gpu::BarrierOp>(op))
      waits.push_back(op);
  });
  for (Operation *op : waits) {
    ImplicitLocOpBuilder at(op->getLoc(), op);
    if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
      // Of segments of 16.
      Value segment = constant(at, (32 - numLanes) << 8 | 0x1f);
      shuffle.getShuffleResult().replaceAllUsesWith(NVVM::ShflOp::create(
          at, shuffle.getValue().getType(), mask, shuffle.getValue(),
          shuffle.getOffset(), segment, NVVM::ShflKind::bfly, UnitAttr()));
    } else {
      NVVM::SyncWarpOp::create(at, mask);
    }
    op->erase();
  }
}

/// Converts to the LLVM dialect. MLIR's own pass would make calls of a
/// toolkit's library of what remains of mathematics, which are instructions.
static LogicalResult convert(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  if (failed(expandDivisions(module)))
    return failure();
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(context);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect,
                           gpu::GPUDialect, math::MathDialect,
                           memref::MemRefDialect>();
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

static std::unique_ptr<llvm::TargetMachine>
createNvidiaMachine(StringRef chip, std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  // A machine of a chip that there is none of would say so itself, often.
  std::unique_ptr<llvm::MCSubtargetInfo> chips(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!chips->isCPUStringValid(chip)) {
    error = "expected a chip that LLVM knows, such as sm_80, but got '" +
            chip.str() + "'";
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, "", options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

FailureOr<DeviceCode> attn::compileToPtx(ModuleOp module, StringRef chip) {
  MLIRContext *context = module.getContext();
  context->loadDialect<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(*context);
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      createNvidiaMachine(chip, error);
  if (!machine)
    return emitError(module.getLoc(), error);
  DeviceCode result;
  result.driver = "attn_cuda_driver";
  OwningOpRef<ModuleOp> own(ModuleOp::create(module.getLoc()));
  OpBuilder b = OpBuilder::atBlockEnd(own->getBody());
  auto all = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
  b.setInsertionPointToStart(all.getBody());
  for (auto original : module.getOps<gpu::GPUModuleOp>()) {
    DeviceCode::Kernel kernel;
    kernel.name = original.getName();
    auto copy = cast<gpu::GPUFuncOp>(
        b.clone(**original.getOps<gpu::GPUFuncOp>().begin()));
    prepareKernel(copy, kernel);
    result.kernels.push_back(std::move(kernel));
  }
  PassManager manager(context);
  OpPassManager &inner = manager.nest<gpu::GPUModuleOp>();
  inner.addPass(createSCFToControlFlowPass());
  if (failed(manager.run(*own)) || failed(convert(all)))
    return failure();
  // The functions as a module of their own.
  for (Operation &op : llvm::make_early_inc_range(*all.getBody()))
    op.moveBefore(all);
  all.erase();
  own->getOperation()->removeAttr(
      gpu::GPUDialect::getContainerModuleAttrName());
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      translate(*own, "kernels", *machine, llvmContext);
  if (!translated)
    return failure();
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  if (!emitCode(*translated, *machine, out, /*assembly=*/true))
    return emitError(module.getLoc(), "expected a target that writes PTX");
  result.code.push_back(text.str().str());
  return result;
}
