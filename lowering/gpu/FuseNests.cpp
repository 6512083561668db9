//===- FuseNests.cpp - loops of the same iterations become one ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Accesses.h"
#include "lowering/gpu/Nests.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FUSENESTS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// So many iterations of a few operations are done one after the other, if that
/// saves a launch.
static constexpr int64_t maxShort = 16;

namespace {

/// An index in terms of the loops of a nest: which loop, times what; or a
/// number. A slot of the past is that of a loop's row: what a row writes into
/// its slot of this step no other row looks at (see runtime/past_slots.h).
struct Index {
  int64_t loop, factor;
  Value slots = {}; ///< The table that has the slot.

  bool operator==(const Index &other) const {
    return loop == other.loop && factor == other.factor && slots == other.slots;
  }
};

/// Whether a buffer is the table of slots of a program.
bool isSlots(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto program =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  auto buffers =
      program ? program->getAttrOfType<ArrayAttr>(programAttrName) : nullptr;
  if (!buffers)
    return false;
  // Extents come before buffers.
  size_t numExtents =
      llvm::count_if(program.getArgumentTypes(), llvm::IsaPred<IndexType>);
  size_t number = argument.getArgNumber() - numExtents;
  if (argument.getArgNumber() < numExtents || number >= buffers.size())
    return false;
  auto role = cast<DictionaryAttr>(buffers[number]).getAs<StringAttr>("role");
  return role && role.getValue() == "slot";
}

/// Nothing for what is none of these.
std::optional<Index> normalize(Value index, ArrayRef<scf::ForOp> nest) {
  if (auto number = getConstantIntValue(index))
    return Index{-1, *number};
  for (auto [number, each] : llvm::enumerate(nest)) {
    scf::ForOp loop = each;
    if (index == loop.getInductionVar())
      return Index{int64_t(number), 1};
  }
  if (auto cast = index.getDefiningOp<arith::IndexCastOp>()) {
    auto load = cast.getIn().getDefiningOp<memref::LoadOp>();
    if (!load || !isSlots(load.getMemRef()))
      return std::nullopt;
    auto row = normalize(load.getIndices().front(), nest);
    if (!row || row->loop < 0 || row->factor != 1)
      return std::nullopt;
    return Index{row->loop, 1, load.getMemRef()};
  }
  auto product = index.getDefiningOp<arith::MulIOp>();
  if (!product)
    return std::nullopt;
  auto factor = getConstantIntValue(product.getRhs());
  auto inner = normalize(product.getLhs(), nest);
  if (!factor || !inner || inner->loop < 0 || inner->slots)
    return std::nullopt;
  return Index{inner->loop, inner->factor * *factor};
}

class NestFuser {
public:
  /// Moves nests that have the same iterations into `later`.
  static void fuseInto(scf::ForOp later);

private:
  static bool haveSameIterations(ArrayRef<scf::ForOp> a,
                                 ArrayRef<scf::ForOp> b);
  static bool isShort(ArrayRef<scf::ForOp> loops);
  static bool isIterationLocal(ArrayRef<scf::ForOp> a, ArrayRef<Access> usesA,
                               ArrayRef<scf::ForOp> b, ArrayRef<Access> usesB);
};

} // namespace

bool NestFuser::haveSameIterations(ArrayRef<scf::ForOp> a,
                                   ArrayRef<scf::ForOp> b) {
  if (a.size() < b.size() || !isShort(a.drop_front(b.size())))
    return false;
  return llvm::all_of(llvm::zip_first(b, a), [](auto pair) {
    auto [x, y] = pair;
    return haveSameBounds(x, y);
  });
}

/// Whether loops around each other, if there are any, are no more than a few
/// operations, which need not be done side by side.
bool NestFuser::isShort(ArrayRef<scf::ForOp> loops) {
  if (loops.empty())
    return true;
  int64_t count = 1;
  for (scf::ForOp loop : loops) {
    std::optional<APInt> own = loop.getStaticTripCount();
    count *= own ? own->getSExtValue() : maxShort + 1;
  }
  scf::ForOp innermost = loops.back();
  return count <= maxShort &&
         llvm::none_of(*innermost.getBody(), [](Operation &op) {
           return op.getNumRegions() > 0 || isa<func::CallOp>(op);
         });
}

/// Whether an iteration of `b` uses of what `a` writes only what the same
/// iteration of `a` wrote, and the like. `a` may have loops more, inside.
bool NestFuser::isIterationLocal(ArrayRef<scf::ForOp> a, ArrayRef<Access> usesA,
                                 ArrayRef<scf::ForOp> b,
                                 ArrayRef<Access> usesB) {
  for (const Access &x : usesA)
    for (const Access &y : usesB) {
      if (x.root != y.root || (!x.isWrite && !y.isWrite))
        continue;
      if (x.view != y.view || x.indices.size() != y.indices.size())
        return false;
      // In a dimension in which both have an element of their own of an
      // iteration, no other iteration has it.
      llvm::SmallBitVector loops(b.size());
      for (auto [number, i, j] : llvm::enumerate(x.indices, y.indices)) {
        auto p = normalize(i, a), q = normalize(j, b);
        if (!p || !q || !(*p == *q) || p->loop < 0 ||
            p->loop >= int64_t(b.size()))
          continue;
        bool isLast = number + 1 == x.indices.size();
        scf::ForOp loop = b[p->loop];
        auto step = getConstantIntValue(loop.getStep());
        if (!isLast || (!x.isVector && !y.isVector) ||
            (step && p->factor * *step >= numLanes))
          loops.set(p->loop);
      }
      // Otherwise other iterations have the same elements.
      if (!loops.all())
        return false;
    }
  return true;
}

/// Moves nests before a choice into both ways, where there may be nests that
/// they can become one with. Of the ways one is gone, so that no work is done
/// twice.
static void sinkInto(scf::IfOp choice) {
  if (choice.getElseRegion().empty() || !hasParallel(choice))
    return;
  for (scf::ForOp nest : collectNestsBefore(choice)) {
    auto uses = collectUses(nest);
    if (!uses || !canMoveTo(nest, *uses, choice))
      continue;
    // A buffer that only the nest uses carries nothing from one iteration to
    // the next (see attn-outline-kernels), nor may it from one way to the
    // other: each has its own.
    IRMapping mapping;
    OpBuilder b(choice);
    for (const Access &use : *uses) {
      auto alloc = use.root.getDefiningOp<memref::AllocOp>();
      if (alloc && !mapping.contains(use.root) &&
          llvm::all_of(alloc->getUsers(),
                       [&](Operation *user) { return nest->isAncestor(user); }))
        b.clone(*alloc, mapping);
    }
    b.setInsertionPointToStart(&choice.getThenRegion().front());
    b.clone(*nest, mapping);
    nest->moveBefore(&choice.getElseRegion().front(),
                     choice.getElseRegion().front().begin());
  }
}

void NestFuser::fuseInto(scf::ForOp later) {
  for (scf::ForOp earlier : collectNestsBefore(later)) {
    SmallVector<scf::ForOp> nest = collectNest(earlier),
                            into = collectNest(later);
    // Most differ in that, which takes no walk to see.
    if (!haveSameIterations(nest, into))
      continue;
    auto uses = collectUses(earlier), usesOfLater = collectUses(later);
    if (!uses || !usesOfLater || !areFew(*uses, *usesOfLater) ||
        (nest.size() > into.size() && !mayTouch(*uses, *usesOfLater)) ||
        !isIterationLocal(nest, *uses, into, *usesOfLater) ||
        !canMoveTo(earlier, *uses, later))
      continue;
    // What the earlier one computes comes first in each iteration.
    IRMapping mapping;
    OpBuilder b(into.back().getBody(), into.back().getBody()->begin());
    auto shared = ArrayRef(nest).take_front(into.size());
    SmallVector<Operation *> loops(shared.begin(), shared.end());
    for (size_t i = 0; i < shared.size(); ++i)
      mapping.map(nest[i].getInductionVar(), into[i].getInductionVar());
    for (auto [index, each] : llvm::enumerate(shared)) {
      scf::ForOp loop = each;
      for (Operation &inner : loop.getBody()->without_terminator())
        if (index + 1 == shared.size() || &inner != loops[index + 1])
          b.clone(inner, mapping)->removeAttr(parallelAttrName);
    }
    earlier->erase();
  }
}

namespace {
struct FuseNests : attn::impl::FuseNestsBase<FuseNests> {
  using FuseNestsBase::FuseNestsBase;

  void runOnOperation() override {
    getOperation().walk<WalkOrder::PreOrder>([](scf::IfOp choice) {
      if (choice->hasAttr(longMemoryAttrName))
        sinkInto(choice);
    });
    forEachNest(getOperation(), NestFuser::fuseInto);
  }
};
} // namespace
