//===- ScheduleKernels.cpp - arranges kernels as their schedules say ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/LoopTransforms.h"
#include "lowering/cpu/Passes.h"
#include "lowering/cpu/ScheduleOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SCHEDULEKERNELS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// A file of lowering/cpu/schedules.
struct BuiltinSchedule {
  llvm::StringLiteral instructionSet, name, text;
};

constexpr BuiltinSchedule builtinSchedules[] = {
#include "lowering/cpu/schedules.inc"
};

struct ScheduleKernels : attn::impl::ScheduleKernelsBase<ScheduleKernels> {
  using ScheduleKernelsBase::ScheduleKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    ScheduleKernelsBase::getDependentDialects(registry);
    registerScheduleOps(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    // The passes of one manager may be copied; schedules are read once.
    schedules = std::make_shared<SmallVector<OwningOpRef<ModuleOp>>>();
    if (!file.empty()) {
      auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
      if (!text)
        return emitError(UnknownLoc::get(context), "expected to read '")
               << file << "', but got: " << text.getError().message();
      auto own = parseSourceString<ModuleOp>((*text)->getBuffer(), context,
                                             file.getValue());
      if (!own)
        return failure();
      if (!(*own)->hasAttr(
              transform::TransformDialect::kWithNamedSequenceAttrName))
        return own->emitError("expected a schedule: a module with '")
               << transform::TransformDialect::kWithNamedSequenceAttrName
               << "'";
      schedules->push_back(std::move(own));
    }
    bool known = false;
    for (const BuiltinSchedule &builtin : builtinSchedules) {
      if (builtin.instructionSet != instructionSet)
        continue;
      known = true;
      auto module =
          parseSourceString<ModuleOp>(builtin.text, context, builtin.name);
      if (!module)
        return failure();
      schedules->push_back(std::move(module));
    }
    if (!known)
      return emitError(UnknownLoc::get(context),
                       "expected an instruction set that has schedules, but "
                       "got '")
             << instructionSet << "'";
    return success();
  }

  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    getOperation()->walk([&](Operation *op) {
      if (op->hasAttr(kernelAttrName))
        kernels.push_back(op);
    });
    for (Operation *kernel : kernels) {
      auto [module, sequence] =
          findSchedule(cast<StringAttr>(kernel->getAttr(kernelAttrName)));
      if (sequence &&
          failed(transform::applyTransformNamedSequence(
              kernel, sequence, module, transform::TransformOptions())))
        return signalPassFailure();
    }
  }

private:
  /// The sequence named like the kind of a kernel: in the user's file, or
  /// among those that come with the compiler.
  std::pair<ModuleOp, transform::NamedSequenceOp>
  findSchedule(StringAttr kind) {
    for (OwningOpRef<ModuleOp> &module : *schedules)
      if (auto sequence =
              module->lookupSymbol<transform::NamedSequenceOp>(kind))
        return {*module, sequence};
    return {};
  }

  std::shared_ptr<SmallVector<OwningOpRef<ModuleOp>>> schedules;
};

} // namespace
