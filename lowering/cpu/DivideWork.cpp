//===- DivideWork.cpp - threads share the kernels of a program ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads run the same program on the same buffers. A kernel becomes a loop
// over its shares: whoever comes to it takes those that nobody has, and goes on
// when all of them are done. So nobody waits for a thread that has not come
// yet, and which thread computes an element changes nothing of it.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"

#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DIVIDEWORK
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static bool isParallel(Operation *op) {
  return isa<scf::ForOp>(op) && op->hasAttr(parallelAttrName);
}

static bool hasParallel(Operation *op) {
  return op
      ->walk([](scf::ForOp loop) {
        return isParallel(loop) ? WalkResult::interrupt()
                                : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether anything in `op` uses a result of `others`.
static bool usesResultOf(Operation *op,
                         const llvm::SetVector<Operation *> &others) {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (others.contains(operand.getDefiningOp()))
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

/// Divides one program.
class ProgramDivider {
public:
  ProgramDivider(func::FuncOp program, Value member)
      : block(program.front()),
        b(ImplicitLocOpBuilder::atBlockBegin(program.getLoc(), &block)),
        shares(program.getArgument(ATTN_EXTENT_SHARES)), member(member),
        one(arith::ConstantIndexOp::create(b, 1)) {}

  LogicalResult run() {
    if (failed(divide(block)))
      return failure();
    SmallVector<memref::AllocOp> allocs(block.getOps<memref::AllocOp>());
    for (memref::AllocOp alloc : allocs)
      if (scf::WhileOp only = findOnlyUser(alloc.getResult()))
        alloc->moveBefore(only.getAfterBody(), only.getAfterBody()->begin());
    return success();
  }

private:
  LogicalResult divide(Block &block);
  LogicalResult leaveToOne(ArrayRef<Operation *> ops, Operation *place);
  void divideLoop(scf::ForOp loop);
  scf::WhileOp makeShared(Operation *kernel);
  Value nextShare(Value before);
  scf::WhileOp findOnlyUser(Value buffer);

  Block &block;
  ImplicitLocOpBuilder b;
  Value shares, member, one;
  llvm::SmallPtrSet<Operation *, 16> kernels;
};

} // namespace

/// Whoever is alone has one share. A function, because there are many kernels.
Value ProgramDivider::nextShare(Value before) {
  Type index = b.getIndexType(), pointer = member.getType();
  SmallVector<Type> types = {pointer, index, index};
  auto function = getOrCreateFunction(
      block.getParentOp()->getParentOfType<ModuleOp>(), "next_share", types,
      [&](func::FuncOp function) {
        Block &body = function.front();
        Value member = body.getArgument(0);
        auto b = ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &body);
        function.setFunctionType(b.getFunctionType(types, {index}));
        Value one = arith::ConstantIndexOp::create(b, 1);
        Value isAlone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                              body.getArgument(1), one);
        auto next = scf::IfOp::create(b, TypeRange{index}, isAlone, true);
        b.setInsertionPointAfter(next);
        func::ReturnOp::create(b, next.getResult(0));
        b.setInsertionPointToStart(next.thenBlock());
        Value second = arith::AddIOp::create(b, body.getArgument(2), one);
        scf::YieldOp::create(b, second);
        b.setInsertionPointToStart(next.elseBlock());
        Value asked = LLVM::LoadOp::create(b, pointer, member);
        auto type = LLVM::LLVMFunctionType::get(b.getI64Type(), {pointer});
        Value share = LLVM::CallOp::create(b, type, ValueRange{asked, member})
                          .getResult();
        Value place = arith::IndexCastOp::create(b, index, share);
        scf::YieldOp::create(b, place);
      });
  return func::CallOp::create(b, function, ValueRange{member, shares, before})
      .getResult(0);
}

/// Puts `kernel` into a loop over the shares that this thread takes, whose
/// variable is the first argument of its body.
scf::WhileOp ProgramDivider::makeShared(Operation *kernel) {
  b.setInsertionPoint(kernel);
  b.setLoc(kernel->getLoc());
  Value none = arith::ConstantIndexOp::create(b, -1);
  auto shared = scf::WhileOp::create(
      b, TypeRange{b.getIndexType()}, ValueRange{none},
      [&](OpBuilder &, Location, ValueRange before) {
        Value share = nextShare(before[0]);
        Value exists =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, share, shares);
        scf::ConditionOp::create(b, exists, ValueRange{share});
      },
      [&](OpBuilder &, Location, ValueRange share) {
        scf::YieldOp::create(b, share);
      });
  kernel->moveBefore(shared.getAfterBody()->getTerminator());
  return shared;
}

/// Gives each share some iterations of `loop`, or where it has few, of the loop
/// that is all that it consists of.
void ProgramDivider::divideLoop(scf::ForOp loop) {
  scf::ForOp inner;
  bool isNest = true;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isParallel(&op) && !inner)
      inner = cast<scf::ForOp>(op);
    else
      isNest &= isMemoryEffectFree(&op);
  }
  if (!isNest ||
      (inner && llvm::any_of(inner.getOperands(), [&](Value bound) {
         return loop->isAncestor(bound.getParentBlock()->getParentOp());
       })))
    inner = scf::ForOp();

  scf::WhileOp shared = makeShared(loop);
  kernels.insert(shared);
  Value share = shared.getAfterBody()->getArgument(0);
  b.setInsertionPoint(loop);
  auto sizeOf = [&](scf::ForOp loop) -> Value {
    return arith::SubIOp::create(b, loop.getUpperBound(), loop.getLowerBound());
  };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, condition, x, y);
  };
  Value size = sizeOf(loop), divideInner;
  if (inner) {
    auto has = [&](arith::CmpIPredicate predicate, Value size) -> Value {
      return arith::CmpIOp::create(b, predicate, size, shares);
    };
    Value innerSize = sizeOf(inner);
    Value isFew = has(arith::CmpIPredicate::ult, size),
          isMany = has(arith::CmpIPredicate::uge, innerSize);
    divideInner = arith::AndIOp::create(b, isFew, isMany);
    size = select(divideInner, innerSize, size);
  }
  Value begin = beginOfShare(b, size, share, shares);
  Value end =
      beginOfShare(b, size, arith::AddIOp::create(b, share, one), shares);
  for (scf::ForOp divided : {loop, inner}) {
    if (!divided)
      continue;
    Value from = divided.getLowerBound(), to = divided.getUpperBound();
    Value first = arith::AddIOp::create(b, from, begin);
    Value last = arith::AddIOp::create(b, from, end);
    if (inner) {
      bool isInner = divided == inner;
      std::tie(first, last) = std::pair(
          select(divideInner, isInner ? first : from, isInner ? from : first),
          select(divideInner, isInner ? last : to, isInner ? to : last));
    }
    divided.setLowerBound(first);
    divided.setUpperBound(last);
  }
}

LogicalResult ProgramDivider::divide(Block &block) {
  llvm::SetVector<Operation *> rest;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isDivided = hasParallel(&op);
    if (isDivided || &op == block.getTerminator()) {
      if (failed(leaveToOne(rest.getArrayRef(), &op)))
        return failure();
      rest.clear();
    }
    if (&op == block.getTerminator())
      break;
    if (isParallel(&op)) {
      divideLoop(cast<scf::ForOp>(op));
    } else if (isDivided) {
      // All threads take the same way through it.
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(divide(inner)))
            return failure();
    } else if ((!isa<memref::AllocOp>(op) && !isMemoryEffectFree(&op)) ||
               usesResultOf(&op, rest)) {
      rest.insert(&op);
    }
  }
  return success();
}

/// Has one thread do what stands between two loops that are shared, at `place`
/// before the second.
LogicalResult ProgramDivider::leaveToOne(ArrayRef<Operation *> ops,
                                         Operation *place) {
  if (ops.empty())
    return success();
  ops[0]->moveBefore(place);
  Value share = makeShared(ops[0]).getAfterBody()->getArgument(0);
  b.setInsertionPoint(ops[0]);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, share,
                                        arith::ConstantIndexOp::create(b, 0));
  auto only = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  for (Operation *op : ops)
    op->moveBefore(only.thenBlock()->getTerminator());
  for (Operation *op : ops)
    for (Operation *user : op->getUsers())
      if (!only->isAncestor(user))
        return op->emitError("expected no loop that is shared to use what one "
                             "thread computes alone");
  return success();
}

/// The kernel that alone uses a buffer and the views of it, or null. Its
/// iterations do not depend on each other, so that none reads there what
/// another one wrote.
scf::WhileOp ProgramDivider::findOnlyUser(Value buffer) {
  scf::WhileOp only;
  for (Operation *user : buffer.getUsers()) {
    Operation *kernel = user;
    while (kernel && !kernels.contains(kernel))
      kernel = kernel->getParentOp();
    if (!kernel || (only && kernel != only))
      return nullptr;
    only = cast<scf::WhileOp>(kernel);
  }
  return only;
}

namespace {
struct DivideWork : attn::impl::DivideWorkBase<DivideWork> {
  using DivideWorkBase::DivideWorkBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> programs;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(programAttrName))
        programs.push_back(function);
    for (func::FuncOp program : programs) {
      unsigned index = program.getNumArguments();
      if (failed(program.insertArgument(
              index, LLVM::LLVMPointerType::get(&getContext()), {},
              program.getLoc())))
        return signalPassFailure();
      if (hasParallel(program) &&
          failed(ProgramDivider(program, program.getArgument(index)).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
