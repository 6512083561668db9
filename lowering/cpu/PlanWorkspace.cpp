//===- PlanWorkspace.cpp - all buffers in one workspace -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is straight-line code at its top level, so the life of a buffer is
// the span between its allocation and the last top-level operation that touches
// it. Buffers of equal size whose lives do not meet share a place. A buffer in
// an inner block is that of a thread's share of a kernel (see DivideWork.cpp):
// its place is as many times as large as there are shares.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"

#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PLANWORKSPACE
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Every place begins at a multiple of this, a cache line.
constexpr int64_t alignment = 64;

/// A place in the workspace: its size is what all its tenants have.
struct Place {
  MemRefType type;
  SmallVector<Value> dynamicSizes;
  bool isOfShare;
  Operation *busyUntil = nullptr;
  Value offset, size;

  bool fits(memref::AllocOp alloc, bool ofShare) const {
    return alloc.getType() == type && isOfShare == ofShare &&
           SmallVector<Value>(alloc.getDynamicSizes()) == dynamicSizes;
  }
};

} // namespace

/// The last top-level operation that uses `value` or a view of it.
static Operation *findLastUse(Value value, Block *topLevel, Operation *last) {
  for (Operation *user : value.getUsers()) {
    Operation *outermost = topLevel->findAncestorOpInBlock(*user);
    if (last->isBeforeInBlock(outermost))
      last = outermost;
    for (Value result : user->getResults())
      if (isa<BaseMemRefType>(result.getType()))
        last = findLastUse(result, topLevel, last);
  }
  return last;
}

/// The bytes of a buffer, rounded up to the alignment.
static Value emitSize(ImplicitLocOpBuilder &b, MemRefType type,
                      ValueRange dynamicSizes) {
  int64_t fixed = type.getElementTypeBitWidth() / 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      fixed *= size;
  Value bytes = arith::ConstantIndexOp::create(b, fixed);
  for (Value size : dynamicSizes)
    bytes = arith::MulIOp::create(b, bytes, size);
  Value unit = arith::ConstantIndexOp::create(b, alignment);
  Value units = arith::CeilDivUIOp::create(b, bytes, unit);
  return arith::MulIOp::create(b, units, unit);
}

namespace {
struct PlanWorkspace : attn::impl::PlanWorkspaceBase<PlanWorkspace> {
  using PlanWorkspaceBase::PlanWorkspaceBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> programs;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(programAttrName))
        programs.push_back(function);
    for (func::FuncOp program : programs)
      plan(program);
  }

  void plan(func::FuncOp program) {
    Block &block = program.front();
    SmallVector<Place> places;
    DenseMap<Operation *, unsigned> placeOf;
    SmallVector<memref::AllocOp> allocs;
    block.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    auto isOfShare = [&](memref::AllocOp alloc) {
      return alloc->getBlock() != &block;
    };
    for (memref::AllocOp alloc : allocs) {
      Operation *first = block.findAncestorOpInBlock(*alloc);
      Operation *last = findLastUse(alloc.getResult(), &block, first);
      unsigned index = 0;
      while (index < places.size() &&
             !(places[index].fits(alloc, isOfShare(alloc)) &&
               places[index].busyUntil->isBeforeInBlock(first)))
        ++index;
      if (index == places.size())
        places.push_back({alloc.getType(),
                          SmallVector<Value>(alloc.getDynamicSizes()),
                          isOfShare(alloc), nullptr, Value(), Value()});
      places[index].busyUntil = last;
      placeOf[alloc] = index;
    }

    auto workspaceType = MemRefType::get(
        {ShapedType::kDynamic}, IntegerType::get(program.getContext(), 8));
    unsigned workspaceIndex = block.getNumArguments();
    (void)program.insertArgument(workspaceIndex, workspaceType, {},
                                 program.getLoc());
    Value workspace = block.getArgument(workspaceIndex);

    // The sizes are made of extents by arithmetic, so the same arithmetic, in a
    // function of its own, answers how much is needed.
    OpBuilder moduleBuilder(program);
    unsigned numExtents = 0;
    while (block.getArgument(numExtents).getType().isIndex())
      ++numExtents;
    Type index = moduleBuilder.getIndexType();
    auto sizing = func::FuncOp::create(
        moduleBuilder, program.getLoc(),
        (program.getSymName() + "_workspace").str(),
        moduleBuilder.getFunctionType(SmallVector<Type>(numExtents, index),
                                      {index}));
    Block *sizingBlock = sizing.addEntryBlock();
    auto b = ImplicitLocOpBuilder::atBlockEnd(program.getLoc(), sizingBlock);
    IRMapping mapping;
    for (unsigned i = 0; i < numExtents; ++i)
      mapping.map(block.getArgument(i), sizingBlock->getArgument(i));
    std::function<Value(Value)> cloneSize = [&](Value value) -> Value {
      if (Value known = mapping.lookupOrNull(value))
        return known;
      Operation *op = value.getDefiningOp();
      for (Value operand : op->getOperands())
        cloneSize(operand);
      b.clone(*op, mapping);
      return mapping.lookup(value);
    };
    Value total = arith::ConstantIndexOp::create(b, 0);
    for (Place &place : places) {
      SmallVector<Value> sizes;
      for (Value size : place.dynamicSizes)
        sizes.push_back(cloneSize(size));
      Value size = emitSize(b, place.type, sizes);
      if (place.isOfShare)
        size = arith::MulIOp::create(
            b, size, cloneSize(program.getArgument(ATTN_EXTENT_SHARES)));
      total = arith::AddIOp::create(b, total, size);
    }
    func::ReturnOp::create(b, total);

    // In the program, a place begins where the one before it ends.
    Value end;
    for (auto [index, place] : llvm::enumerate(places)) {
      memref::AllocOp first =
          *llvm::find_if(allocs, [&](memref::AllocOp alloc) {
            return placeOf[alloc] == index;
          });
      ImplicitLocOpBuilder at(first.getLoc(),
                              block.findAncestorOpInBlock(*first));
      place.offset = end ? end : arith::ConstantIndexOp::create(at, 0);
      place.size = emitSize(at, place.type, place.dynamicSizes);
      Value size = place.size;
      if (place.isOfShare)
        size = arith::MulIOp::create(at, size,
                                     program.getArgument(ATTN_EXTENT_SHARES));
      end = arith::AddIOp::create(at, place.offset, size);
    }
    for (memref::AllocOp alloc : allocs) {
      ImplicitLocOpBuilder at(alloc.getLoc(), alloc);
      const Place &place = places[placeOf[alloc]];
      Value offset = place.offset;
      if (place.isOfShare)
        offset = arith::AddIOp::create(
            at, offset,
            arith::MulIOp::create(at, alloc->getBlock()->getArgument(0),
                                  place.size));
      Value view = memref::ViewOp::create(at, alloc.getType(), workspace,
                                          offset, alloc.getDynamicSizes());
      alloc.replaceAllUsesWith(view);
      alloc.erase();
    }
  }
};
} // namespace
