//===- CachePast.cpp - keep what was computed for earlier steps -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f(past(x), past(y)) = past(f(x, y)) for every f that treats each position by
// itself and needs nothing else of the step. Read from left to right, this
// turns a function of the whole prefix into a value of the step whose history
// is kept: a cache. It follows from dependence; no operation but attn.past and
// attn.position is known by name.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CACHEPAST
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Finds the values of one decoder that are histories of values of the step.
class PastSinker {
public:
  explicit PastSinker(DecoderOp decoder) : decoder(decoder) {}

  void run();

private:
  /// Whether `value` is the history of something the step can compute.
  bool isPast(Value value);
  /// The value of the step whose history `value` is; `isPast` must hold.
  Value getStepValue(Value value);

  DecoderOp decoder;
  DenseMap<Value, bool> known;
  DenseMap<Value, Value> stepValues;
};

} // namespace

bool PastSinker::isPast(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &decoder.getBody().front())
    return false;
  if (auto [entry, inserted] = known.try_emplace(value, false); !inserted)
    return entry->second;
  bool result = false;
  if (isa<PastOp>(op)) {
    result = true;
  } else if (auto position = dyn_cast<PositionOp>(op)) {
    // The positions of a past are the steps themselves.
    result = isPast(position.getLike());
  } else if (isLiftable(op) && getNumAxes(value.getType()) == 2) {
    // Parameters and constants are the same at every step. Any other value
    // without a position axis belongs to this step alone.
    bool any = false;
    result = llvm::all_of(op->getOperands(), [&](Value operand) {
      if (getNumAxes(operand.getType()) == 0)
        return true;
      any = true;
      return isPast(operand);
    });
    result &= any;
  }
  return known[value] = result;
}

Value PastSinker::getStepValue(Value value) {
  if (Value step = stepValues.lookup(value))
    return step;
  Operation *op = value.getDefiningOp();
  if (auto past = dyn_cast<PastOp>(op))
    return stepValues[value] = past.getInput();
  if (isa<PositionOp>(op))
    return stepValues[value] = decoder.getPosition();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (getNumAxes(operand.getType()) > 0)
      mapping.map(operand, getStepValue(operand));
  OpBuilder builder(op);
  Operation *clone = builder.clone(*op, mapping);
  for (auto [old, result] : llvm::zip(op->getResults(), clone->getResults())) {
    result.setType(withNumAxes(old.getType(), 1));
    stepValues[old] = result;
  }
  return stepValues[value];
}

void PastSinker::run() {
  Block &block = decoder.getBody().front();
  // The last value of each computation over a past: used by something that is
  // no such computation.
  SmallVector<Value> frontier;
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      if (isa<PastOp>(op) || !isPast(result))
        continue;
      // Positions and conditions are cheaper to compute than to keep.
      if (!getElementTypeOrSelf(result.getType()).isF32())
        continue;
      bool leaves = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return user->getNumResults() == 0 || !isPast(user->getResult(0));
      });
      if (leaves)
        frontier.push_back(result);
    }
  for (Value value : frontier) {
    Value step = getStepValue(value);
    OpBuilder builder(value.getDefiningOp());
    Value past = PastOp::create(builder, value.getLoc(), value.getType(), step);
    value.replaceAllUsesWith(past);
  }
  // What nobody reads any more would be kept for nothing.
  eraseDead(block);
}

namespace {
struct CachePast : attn::impl::CachePastBase<CachePast> {
  using CachePastBase::CachePastBase;

  void runOnOperation() override {
    getOperation()->walk([](DecoderOp decoder) { PastSinker(decoder).run(); });
  }
};
} // namespace
