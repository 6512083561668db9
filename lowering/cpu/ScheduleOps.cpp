//===- ScheduleOps.cpp - what schedules of kernels are made of ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/ScheduleOps.h"

#include "lowering/cpu/LoopTransforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/TransformOps/DialectExtension.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/TransformOps/SCFTransformOps.h"
#include "mlir/Dialect/Transform/LoopExtension/LoopExtension.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The loops of a handle. Empty after a message, if it has something else.
std::optional<SmallVector<scf::ForOp>>
getLoops(transform::TransformState &state, Operation *user, Value handle) {
  SmallVector<scf::ForOp> loops;
  for (Operation *op : state.getPayloadOps(handle)) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop) {
      user->emitError("expected loops, but got '") << op->getName() << "'";
      return std::nullopt;
    }
    loops.push_back(loop);
  }
  return loops;
}

/// Splits loops by `split`, which answers as many for each as there are
/// results.
template <typename Split>
DiagnosedSilenceableFailure
splitLoops(Operation *op, Value handle, transform::TransformState &state,
           transform::TransformResults &results, Split split) {
  auto loops = getLoops(state, op, handle);
  if (!loops)
    return DiagnosedSilenceableFailure::definiteFailure();
  SmallVector<SmallVector<Operation *>> parts(op->getNumResults());
  for (scf::ForOp loop : *loops) {
    FailureOr<SmallVector<scf::ForOp>> made = split(loop);
    if (failed(made))
      return DiagnosedSilenceableFailure::definiteFailure();
    if (made->size() != parts.size())
      return emitDefiniteFailure(op, "expected ")
             << made->size() << " results, but got " << parts.size();
    for (auto [part, one] : llvm::zip(parts, *made))
      part.push_back(one);
  }
  for (auto [result, part] : llvm::zip(op->getResults(), parts))
    results.set(cast<OpResult>(result), part);
  return DiagnosedSilenceableFailure::success();
}

/// Changes each of the loops in place.
DiagnosedSilenceableFailure
changeLoops(Operation *op, Value handle, transform::TransformState &state,
            function_ref<LogicalResult(scf::ForOp)> change) {
  auto loops = getLoops(state, op, handle);
  if (!loops || llvm::any_of(*loops, [&](scf::ForOp loop) {
        return failed(change(loop));
      }))
    return DiagnosedSilenceableFailure::definiteFailure();
  return DiagnosedSilenceableFailure::success();
}

} // namespace

DiagnosedSilenceableFailure
MatchLoopsOp::apply(transform::TransformRewriter &rewriter,
                    transform::TransformResults &results,
                    transform::TransformState &state) {
  SmallVector<Operation *> loops;
  for (Operation *within : state.getPayloadOps(getWithin()))
    within->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (getLoopName(loop) == getLoop())
        loops.push_back(loop);
    });
  results.set(cast<OpResult>(getLoops()), loops);
  return DiagnosedSilenceableFailure::success();
}

void MatchLoopsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getWithinMutable(), effects);
  transform::producesHandle(getOperation()->getOpResults(), effects);
  transform::onlyReadsPayload(effects);
}

DiagnosedSilenceableFailure
SpecializeOp::apply(transform::TransformRewriter &rewriter,
                    transform::TransformResults &results,
                    transform::TransformState &state) {
  return splitLoops(*this, getLoop(), state, results, [&](scf::ForOp loop) {
    return specializeLoop(rewriter, loop, getCounts());
  });
}

DiagnosedSilenceableFailure
BlockOp::apply(transform::TransformRewriter &rewriter,
               transform::TransformResults &results,
               transform::TransformState &state) {
  return splitLoops(*this, getLoop(), state, results,
                    [&](scf::ForOp loop) -> FailureOr<SmallVector<scf::ForOp>> {
                      FailureOr<scf::ForOp> parts =
                          blockLoop(rewriter, loop, getSize());
                      if (failed(parts))
                        return failure();
                      return SmallVector<scf::ForOp>{*parts};
                    });
}

DiagnosedSilenceableFailure
TileOp::apply(transform::TransformRewriter &rewriter,
              transform::TransformResults &results,
              transform::TransformState &state) {
  return splitLoops(*this, getLoop(), state, results, [&](scf::ForOp loop) {
    return tileLoop(rewriter, loop, getSizes());
  });
}

DiagnosedSilenceableFailure JamOp::apply(transform::TransformRewriter &rewriter,
                                         transform::TransformResults &results,
                                         transform::TransformState &state) {
  return changeLoops(*this, getLoop(), state, [&](scf::ForOp loop) {
    return jamLoop(rewriter, loop, getFactors());
  });
}

DiagnosedSilenceableFailure
PrefetchOp::apply(transform::TransformRewriter &rewriter,
                  transform::TransformResults &results,
                  transform::TransformState &state) {
  return changeLoops(*this, getLoop(), state, [&](scf::ForOp loop) {
    return prefetchInLoop(rewriter, loop, getDistance());
  });
}

void PrefetchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getLoopMutable(), effects);
  transform::modifiesPayload(effects);
}

#define GET_OP_CLASSES
#include "lowering/cpu/ScheduleOps.cpp.inc"

namespace {

struct ScheduleOps : transform::TransformDialectExtension<ScheduleOps> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScheduleOps)

  void init() {
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<memref::MemRefDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "lowering/cpu/ScheduleOps.cpp.inc"
        >();
  }
};

} // namespace

void attn::registerScheduleOps(DialectRegistry &registry) {
  registry.addExtensions<ScheduleOps>();
  linalg::registerTransformDialectExtension(registry);
  scf::registerTransformDialectExtension(registry);
  transform::registerLoopExtension(registry);
}
