//===- Barriers.cpp - where lanes of a group wait -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through a kernel in its order and keeps what was accessed since the last
// barrier. A loop is gone through twice, so that its iterations meet each
// other.
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Barriers.h"

#include "lowering/cpu/Emitter.h"
#include "lowering/gpu/Accesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Whether a number is a multiple of the lanes, wherever it is computed.
bool isMultiple(Value value) {
  if (auto number = getConstantIntValue(value))
    return *number % numLanes == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() &&
           isMultiple(loop.getLowerBound()) && isMultiple(loop.getStep());
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isMultiple);
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return llvm::all_of(op->getOperands(), isMultiple);
  return false;
}

/// Of vectors: whether lane i has elements i, i + 16, ... of rows of the view.
bool isAligned(const Access &access) {
  return !access.indices.empty() && isMultiple(access.indices.back());
}

class BarrierPlacer {
public:
  void run(Block &block);
  void collectWritten(Operation *kernel) {
    kernel->walk([&](Operation *op) {
      if (auto access = describeAccess(op); access && access->isWrite)
        written.insert(access->root);
    });
  }

private:
  static bool conflict(const Access &a, const Access &b) {
    if (a.root != b.root || (!a.isWrite && !b.isWrite))
      return false;
    if (a.isVector && b.isVector)
      return a.view != b.view || !isAligned(a) || !isAligned(b);
    // The first lane writes all that is one number.
    return a.isVector || b.isVector || !a.isWrite || !b.isWrite;
  }
  bool conflicts(const Access &access) const {
    return llvm::any_of(
        pending, [&](const Access &other) { return conflict(access, other); });
  }
  void wait(Operation *before) {
    OpBuilder b(before);
    gpu::BarrierOp::create(b, before->getLoc());
    pending.clear();
  }
  void add(const Access &access) {
    for (const Access &other : pending)
      if (other.op == access.op)
        return;
    pending.push_back(access);
  }
  void merge(ArrayRef<Access> others) {
    for (const Access &access : others)
      add(access);
  }

  llvm::SetVector<Value> written;
  SmallVector<Access> pending;
};

} // namespace

void BarrierPlacer::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<gpu::BarrierOp>(op)) {
      pending.clear();
      continue;
    }
    if (auto access = describeAccess(&op)) {
      if (!written.contains(access->root))
        continue;
      if (conflicts(*access))
        wait(&op);
      add(*access);
      continue;
    }
    if (op.getNumRegions() == 0)
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      SmallVector<Access> before = pending, after;
      for (Region &region : branch->getRegions()) {
        pending = before;
        if (!region.empty())
          run(region.front());
        after.append(pending.begin(), pending.end());
      }
      pending.clear();
      merge(after);
      continue;
    }
    // A loop. What it would wait for in its first iteration only, it waits for
    // before.
    bool waits = false;
    op.walk([&](Operation *inner) {
      if (auto access = describeAccess(inner))
        waits |= written.contains(access->root) && conflicts(*access);
    });
    if (waits)
      wait(&op);
    SmallVector<Access> before = pending;
    for (int time = 0; time < 2; ++time)
      for (Region &region : op.getRegions())
        run(region.front());
    merge(before);
  }
}

void attn::placeBarriers(gpu::GPUFuncOp kernel) {
  BarrierPlacer placer;
  placer.collectWritten(kernel);
  placer.run(kernel.getBody().front());
}
