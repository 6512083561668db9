//===- FuseNests.cpp - loops of the same iterations become one ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Accesses.h"
#include "lowering/gpu/Nests.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FUSENESTS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// A kernel has so many buffers at most, if it can be helped: drivers may take
/// few (lavapipe: 32).
static constexpr size_t maxBuffers = 16;

namespace {

/// What an operation, and those in it, do with buffers; without indices where
/// it is not known which elements. Nothing where it is not known which buffers.
std::optional<SmallVector<Access>> collectUses(Operation *top) {
  SmallVector<Access> uses;
  WalkResult known = top->walk([&](Operation *op) {
    if (auto access = describeAccess(op)) {
      uses.push_back(*access);
    } else if (isa<func::CallOp>(op)) {
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType()))
          uses.push_back({op, findRoot(operand), operand, {}, true, false});
    } else if (!isa<memref::AllocOp>(op) && op->getNumRegions() == 0 &&
               !isMemoryEffectFree(op)) {
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (known.wasInterrupted())
    return std::nullopt;
  return uses;
}

/// Whether a kernel may have the buffers of both.
bool areFew(ArrayRef<Access> a, ArrayRef<Access> b) {
  llvm::SmallPtrSet<Value, maxBuffers> roots;
  for (const Access &access : a)
    roots.insert(access.root);
  for (const Access &access : b)
    roots.insert(access.root);
  return roots.size() <= maxBuffers;
}

bool isEqual(Value a, Value b) {
  auto x = getConstantIntValue(a), y = getConstantIntValue(b);
  return a == b || (x && y && *x == *y);
}

/// An index in terms of the loops of a nest: which loop, times what; or a
/// number. Nothing for others.
using Index = std::pair<int64_t, int64_t>;
std::optional<Index> normalize(Value index, ArrayRef<scf::ForOp> nest) {
  if (auto number = getConstantIntValue(index))
    return Index(-1, *number);
  for (auto [number, each] : llvm::enumerate(nest)) {
    scf::ForOp loop = each;
    if (index == loop.getInductionVar())
      return Index(number, 1);
  }
  auto product = index.getDefiningOp<arith::MulIOp>();
  if (!product)
    return std::nullopt;
  auto factor = getConstantIntValue(product.getRhs());
  auto inner = normalize(product.getLhs(), nest);
  if (!factor || !inner || inner->first < 0)
    return std::nullopt;
  return Index(inner->first, inner->second * *factor);
}

class NestFuser {
public:
  void run(Block &block);

private:
  static bool haveSameIterations(ArrayRef<scf::ForOp> a,
                                 ArrayRef<scf::ForOp> b);
  static bool mayTouch(ArrayRef<Access> a, ArrayRef<Access> b);
  static bool isIterationLocal(ArrayRef<scf::ForOp> a, ArrayRef<Access> usesA,
                               ArrayRef<scf::ForOp> b, ArrayRef<Access> usesB);
  bool canMoveTo(scf::ForOp nest, ArrayRef<Access> uses, Operation *place);
};

} // namespace

bool NestFuser::haveSameIterations(ArrayRef<scf::ForOp> a,
                                   ArrayRef<scf::ForOp> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           auto [x, y] = pair;
           scf::ForOp p = x, q = y;
           return isEqual(p.getLowerBound(), q.getLowerBound()) &&
                  isEqual(p.getUpperBound(), q.getUpperBound()) &&
                  isEqual(p.getStep(), q.getStep());
         });
}

/// Whether one may write what the other uses.
bool NestFuser::mayTouch(ArrayRef<Access> a, ArrayRef<Access> b) {
  return llvm::any_of(a, [&](const Access &x) {
    return llvm::any_of(b, [&](const Access &y) {
      return x.root == y.root && (x.isWrite || y.isWrite);
    });
  });
}

/// Whether an iteration of `b` uses of what `a` writes only what the same
/// iteration of `a` wrote, and the like.
bool NestFuser::isIterationLocal(ArrayRef<scf::ForOp> a, ArrayRef<Access> usesA,
                                 ArrayRef<scf::ForOp> b,
                                 ArrayRef<Access> usesB) {
  for (const Access &x : usesA)
    for (const Access &y : usesB) {
      if (x.root != y.root || (!x.isWrite && !y.isWrite))
        continue;
      if (x.view != y.view || x.isVector != y.isVector ||
          x.indices.size() != y.indices.size())
        return false;
      llvm::SmallBitVector loops(a.size());
      for (auto [i, j] : llvm::zip(x.indices, y.indices)) {
        auto p = normalize(i, a), q = normalize(j, b);
        if (!p || !q || *p != *q)
          return false;
        if (p->first >= 0)
          loops.set(p->first);
      }
      // Otherwise other iterations have the same elements.
      if (!loops.all())
        return false;
    }
  return true;
}

/// Whether what stands between has nothing to do with the nest.
bool NestFuser::canMoveTo(scf::ForOp nest, ArrayRef<Access> uses,
                          Operation *place) {
  for (Operation *op = nest->getNextNode(); op != place;
       op = op->getNextNode()) {
    auto others = collectUses(op);
    if (!others || mayTouch(uses, *others))
      return false;
  }
  return true;
}

void NestFuser::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isParallel(&op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          run(inner);
      continue;
    }
    auto later = cast<scf::ForOp>(op);
    SmallVector<Operation *> before;
    for (Operation &other : block) {
      if (&other == &op)
        break;
      if (isParallel(&other))
        before.push_back(&other);
    }
    for (Operation *candidate : llvm::reverse(before)) {
      auto earlier = cast<scf::ForOp>(candidate);
      SmallVector<scf::ForOp> nest = collectNest(earlier),
                              into = collectNest(later);
      // Most differ in that, which takes no walk to see.
      if (!haveSameIterations(nest, into))
        continue;
      auto uses = collectUses(earlier), usesOfLater = collectUses(later);
      if (!uses || !usesOfLater || !areFew(*uses, *usesOfLater) ||
          !isIterationLocal(nest, *uses, into, *usesOfLater) ||
          !canMoveTo(earlier, *uses, later))
        continue;
      // What the earlier one computes comes first in each iteration.
      IRMapping mapping;
      OpBuilder b(into.back().getBody(), into.back().getBody()->begin());
      SmallVector<Operation *> loops(nest.begin(), nest.end());
      for (size_t i = 0; i < nest.size(); ++i)
        mapping.map(nest[i].getInductionVar(), into[i].getInductionVar());
      for (auto [index, each] : llvm::enumerate(nest)) {
        scf::ForOp loop = each;
        for (Operation &inner : loop.getBody()->without_terminator())
          if (index + 1 == nest.size() || &inner != loops[index + 1])
            b.clone(inner, mapping);
      }
      earlier->erase();
    }
  }
}

namespace {
struct FuseNests : attn::impl::FuseNestsBase<FuseNests> {
  using FuseNestsBase::FuseNestsBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (program->hasAttr(programAttrName))
        NestFuser().run(program.front());
  }
};
} // namespace
