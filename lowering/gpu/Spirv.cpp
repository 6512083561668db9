//===- Spirv.cpp - kernels as SPIR-V --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions are MLIR's, but for two: numbers that a kernel is launched with
// are push constants (MLIR would bind a buffer for each), and a barrier orders
// accesses to buffers as well as to memory of the workgroup.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Kernels.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/FuncToSPIRV/FuncToSPIRV.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/MemRefToSPIRV/MemRefToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::attn;

/// On a cast of nothing: the number of the push constant that it stands for.
static constexpr StringLiteral scalarAttrName = "attn.scalar";

namespace {

/// Reads a number that the kernel was launched with.
struct ScalarPattern : OpConversionPattern<UnrealizedConversionCastOp> {
  ScalarPattern(const TypeConverter &converter, MLIRContext *context,
                unsigned numScalars)
      : OpConversionPattern(converter, context), numScalars(numScalars) {}

  LogicalResult
  matchAndRewrite(UnrealizedConversionCastOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto number = op->getAttrOfType<IntegerAttr>(scalarAttrName);
    if (!number)
      return failure();
    rewriter.replaceOp(
        op, spirv::getPushConstantValue(op, numScalars, number.getInt(),
                                        rewriter.getI32Type(), rewriter));
    return success();
  }

  unsigned numScalars;
};

struct BarrierPattern : OpConversionPattern<gpu::BarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(gpu::BarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    using Semantics = spirv::MemorySemantics;
    rewriter.replaceOpWithNewOp<spirv::ControlBarrierOp>(
        op, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
        Semantics::AcquireRelease | Semantics::WorkgroupMemory |
            Semantics::UniformMemory);
    return success();
  }
};

} // namespace

/// What the modules may use; those that do not use it do not ask for it.
static spirv::TargetEnvAttr getEnvironment(MLIRContext *context) {
  using spirv::Capability;
  Capability capabilities[] = {Capability::Shader,
                               Capability::Int8,
                               Capability::Int16,
                               Capability::Int64,
                               Capability::Float64,
                               Capability::StorageBuffer8BitAccess,
                               Capability::StorageBuffer16BitAccess};
  spirv::Extension extensions[] = {
      spirv::Extension::SPV_KHR_storage_buffer_storage_class,
      spirv::Extension::SPV_KHR_8bit_storage,
      spirv::Extension::SPV_KHR_16bit_storage};
  auto triple = spirv::VerCapExtAttr::get(spirv::Version::V_1_3, capabilities,
                                          extensions, context);
  return spirv::TargetEnvAttr::get(
      triple, spirv::getDefaultResourceLimits(context),
      spirv::ClientAPI::Vulkan, spirv::Vendor::Unknown,
      spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
}

/// Makes the kernel one that MLIR's conversion takes; fills in what is known
/// of it.
static void prepareKernel(gpu::GPUFuncOp function, DeviceCode::Kernel &kernel) {
  MLIRContext *context = function.getContext();
  OpBuilder b(context);
  Block &entry = function.getBody().front();
  for (BlockArgument argument : entry.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType())) {
      argument.setType(MemRefType::get(
          type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
          spirv::StorageClassAttr::get(context,
                                       spirv::StorageClass::StorageBuffer)));
      ++kernel.numBuffers;
    }
  b.setInsertionPointToStart(&entry);
  for (BlockArgument argument :
       entry.getArguments().drop_front(kernel.numBuffers)) {
    auto scalar = UnrealizedConversionCastOp::create(
        b, function.getLoc(), TypeRange{b.getI32Type()}, ValueRange());
    scalar->setAttr(scalarAttrName, b.getI32IntegerAttr(kernel.numScalars++));
    Value value = scalar.getResult(0);
    if (argument.getType() != value.getType())
      value = arith::BitcastOp::create(b, function.getLoc(), argument.getType(),
                                       value);
    argument.replaceAllUsesWith(value);
  }
  entry.eraseArguments(kernel.numBuffers, kernel.numScalars);
  function.setFunctionType(
      FunctionType::get(context, entry.getArgumentTypes(), {}));
  function.walk([&](memref::AllocOp alloc) {
    alloc.getResult().setType(MemRefType::get(
        alloc.getType().getShape(), alloc.getType().getElementType(),
        MemRefLayoutAttrInterface(),
        spirv::StorageClassAttr::get(context, spirv::StorageClass::Workgroup)));
  });
  takeNotes(function, kernel);
  int32_t size[] = {static_cast<int32_t>(kernel.groupSize), 1, 1};
  function->setAttr(spirv::getEntryPointABIAttrName(),
                    spirv::getEntryPointABIAttr(context, size));
}

/// Writes a choice among cases as choices between two.
static void expandSwitch(scf::IndexSwitchOp choice) {
  ImplicitLocOpBuilder b(choice.getLoc(), choice);
  TypeRange types = choice.getResultTypes();
  // The last of the regions stands where no condition holds.
  SmallVector<scf::IfOp> branches;
  auto take = [&](Region &from, Block *to) {
    if (!to->empty())
      to->getTerminator()->erase();
    to->getOperations().splice(to->end(), from.front().getOperations());
  };
  for (auto [number, region] :
       llvm::zip(choice.getCases(), choice.getCaseRegions())) {
    Value condition =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, choice.getArg(),
                              arith::ConstantIndexOp::create(b, number));
    auto branch =
        scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
    take(region, branch.thenBlock());
    branches.push_back(branch);
    b.setInsertionPointToStart(branch.elseBlock());
  }
  take(choice.getDefaultRegion(), branches.back().elseBlock());
  for (size_t i = branches.size() - 1; i-- > 0;) {
    // What the inner choice has, the outer one has.
    Block *block = branches[i].elseBlock();
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      block->back().erase();
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, branches[i + 1].getResults());
  }
  choice.replaceAllUsesWith(branches.front().getResults());
  choice.erase();
}

/// Chooses what a loop that never runs yields. MLIR's conversion keeps results
/// in variables that only iterations write.
static void chooseInitial(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop->getContext());
  b.setInsertionPointAfter(loop);
  Value runs = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  for (auto [result, initial] :
       llvm::zip(loop.getResults(), loop.getInitArgs())) {
    Value chosen = arith::SelectOp::create(b, runs, result, initial);
    result.replaceAllUsesExcept(chosen, chosen.getDefiningOp());
  }
}

/// Writes a loop whose condition takes branches or loops as one that is told by
/// its last iteration whether another one follows: the header of a loop of
/// SPIR-V is one block.
static void simplifyCondition(scf::WhileOp loop) {
  if (llvm::none_of(loop.getBeforeBody()->getOperations(),
                    [](Operation &op) { return op.getNumRegions() > 0; }))
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  size_t numInits = loop.getInits().size();
  // Whether to go on, what the condition takes, and what the loop results in.
  SmallVector<Value> inits = {arith::ConstantIntOp::create(b, 1, 1)};
  llvm::append_range(inits, loop.getInits());
  for (Type type : loop.getResultTypes())
    inits.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  SmallVector<Type> types(ValueRange(inits).getTypes());
  IRMapping mapping;
  auto clone = [&](Block *block) {
    for (Operation &op : block->without_terminator())
      b.clone(op, mapping);
    SmallVector<Value> operands;
    for (Value operand : block->getTerminator()->getOperands())
      operands.push_back(mapping.lookupOrDefault(operand));
    return operands;
  };
  auto simple = scf::WhileOp::create(
      b, types, inits,
      [&](OpBuilder &, Location, ValueRange carried) {
        scf::ConditionOp::create(b, carried.front(), carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        ValueRange before = carried.drop_front().take_front(numInits);
        mapping.map(loop.getBeforeArguments(), before);
        SmallVector<Value> yielded = clone(loop.getBeforeBody());
        auto body = scf::IfOp::create(b, before.getTypes(), yielded.front(),
                                      /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(body.thenBlock());
          mapping.map(loop.getAfterArguments(),
                      ArrayRef<Value>(yielded).drop_front());
          scf::YieldOp::create(b, clone(loop.getAfterBody()));
          b.setInsertionPointToStart(body.elseBlock());
          scf::YieldOp::create(b, before);
        }
        yielded.insert(yielded.begin() + 1, body.result_begin(),
                       body.result_end());
        scf::YieldOp::create(b, yielded);
      });
  loop.replaceAllUsesWith(simple.getResults().drop_front(1 + numInits));
  loop.erase();
}

static LogicalResult convert(gpu::GPUModuleOp module, unsigned numScalars) {
  MLIRContext *context = module.getContext();
  if (failed(expandDivisions(module)))
    return failure();
  SmallVector<scf::WhileOp> searches;
  module.walk([&](scf::WhileOp loop) { searches.push_back(loop); });
  llvm::for_each(searches, simplifyCondition);
  SmallVector<scf::IndexSwitchOp> choices;
  module.walk([&](scf::IndexSwitchOp choice) { choices.push_back(choice); });
  llvm::for_each(choices, expandSwitch);
  SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) {
    if (loop.getNumResults() > 0)
      loops.push_back(loop);
  });
  llvm::for_each(loops, chooseInitial);

  spirv::TargetEnvAttr environment = getEnvironment(context);
  module->setAttr(spirv::getTargetEnvAttrName(), environment);
  SPIRVTypeConverter converter(environment);
  std::unique_ptr<ConversionTarget> target =
      SPIRVConversionTarget::get(environment);
  RewritePatternSet patterns(context);
  ScfToSPIRVContext scfContext;
  populateGPUToSPIRVPatterns(converter, patterns);
  populateSCFToSPIRVPatterns(converter, scfContext, patterns);
  arith::populateArithToSPIRVPatterns(converter, patterns);
  populateMathToSPIRVPatterns(converter, patterns);
  populateMemRefToSPIRVPatterns(converter, patterns);
  populateFuncToSPIRVPatterns(converter, patterns);
  patterns.add<ScalarPattern>(converter, context, numScalars);
  patterns.add<BarrierPattern>(converter, context, PatternBenefit(2));
  return applyFullConversion(module, *target, std::move(patterns));
}

FailureOr<DeviceCode> attn::compileToSpirv(ModuleOp module) {
  DeviceCode result;
  result.driver = "attn_vulkan_driver";
  module.getContext()->loadDialect<spirv::SPIRVDialect>();
  for (auto original : module.getOps<gpu::GPUModuleOp>()) {
    DeviceCode::Kernel kernel;
    kernel.name = original.getName();
    kernel.code = result.code.size();
    OwningOpRef<ModuleOp> own(ModuleOp::create(original.getLoc()));
    OpBuilder b = OpBuilder::atBlockEnd(own->getBody());
    auto copy = cast<gpu::GPUModuleOp>(b.clone(*original));
    prepareKernel(*copy.getOps<gpu::GPUFuncOp>().begin(), kernel);
    if (kernel.numScalars > 32)
      return original.emitError("expected at most 32 numbers that a kernel is "
                                "launched with, but got ")
             << kernel.numScalars;
    if (failed(convert(copy, kernel.numScalars)))
      return failure();
    PassManager manager(module.getContext());
    OpPassManager &inner = manager.nest<spirv::ModuleOp>();
    inner.addPass(spirv::createSPIRVLowerABIAttributesPass());
    inner.addPass(createCanonicalizerPass());
    inner.addPass(createCSEPass());
    inner.addPass(spirv::createSPIRVUpdateVCEPass());
    if (failed(manager.run(*own)))
      return failure();
    // Drivers would take sums apart, or fuse products with them.
    own->walk([&](Operation *op) {
      if (isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp,
              spirv::FNegateOp>(op))
        op->setAttr("no_contraction", b.getUnitAttr());
    });
    SmallVector<uint32_t> words;
    if (failed(
            spirv::serialize(*own->getOps<spirv::ModuleOp>().begin(), words)))
      return failure();
    result.code.emplace_back(reinterpret_cast<const char *>(words.data()),
                             words.size() * sizeof(uint32_t));
    result.kernels.push_back(std::move(kernel));
  }
  return result;
}
