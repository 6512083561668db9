//===- Accesses.cpp - what operations do with buffers ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Accesses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

/// A kernel has so many buffers at most, if it can be helped: drivers may take
/// few (lavapipe: 32).
static constexpr size_t maxBuffers = 16;

Value attn::findRoot(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (!isa<memref::CastOp, memref::ReinterpretCastOp>(op))
      break;
    view = op->getOperand(0);
  }
  return view;
}

std::optional<Access> attn::describeAccess(Operation *op) {
  auto access = [&](Value view, ValueRange indices, bool isWrite,
                    bool isVector) {
    return Access{op, findRoot(view), view, indices, isWrite, isVector};
  };
  return llvm::TypeSwitch<Operation *, std::optional<Access>>(op)
      .Case([&](memref::LoadOp load) {
        return access(load.getMemRef(), load.getIndices(), false, false);
      })
      .Case([&](memref::StoreOp store) {
        return access(store.getMemRef(), store.getIndices(), true, false);
      })
      .Case<vector::LoadOp, vector::MaskedLoadOp>([&](auto load) {
        return access(load.getBase(), load.getIndices(), false, true);
      })
      .Case([&](vector::GatherOp gather) {
        // Elements of any place.
        return access(gather.getBase(), {}, false, false);
      })
      .Case<vector::StoreOp, vector::MaskedStoreOp>([&](auto store) {
        return access(store.getBase(), store.getIndices(), true, true);
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether a function may write what it is passed as an argument.
static bool mayWrite(func::FuncOp callee, unsigned number) {
  if (!callee || callee.isExternal())
    return true;
  Value argument = callee.getArgument(number);
  return callee
      ->walk([&](Operation *op) {
        auto access = describeAccess(op);
        bool writes = access ? access->isWrite && access->root == argument
                             : isa<func::CallOp>(op);
        return writes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::optional<SmallVector<Access>> attn::collectUses(Operation *top) {
  SmallVector<Access> uses;
  WalkResult known = top->walk([&](Operation *op) {
    if (auto access = describeAccess(op)) {
      uses.push_back(*access);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      for (auto [number, operand] : llvm::enumerate(call.getOperands()))
        if (isa<MemRefType>(operand.getType()))
          uses.push_back({op,
                          findRoot(operand),
                          operand,
                          {},
                          mayWrite(callee, number),
                          false});
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

bool attn::mayTouch(ArrayRef<Access> a, ArrayRef<Access> b) {
  return llvm::any_of(a, [&](const Access &x) {
    return llvm::any_of(b, [&](const Access &y) {
      return x.root == y.root && (x.isWrite || y.isWrite);
    });
  });
}

bool attn::areFew(ArrayRef<Access> a, ArrayRef<Access> b) {
  llvm::SmallPtrSet<Value, maxBuffers> roots;
  for (const Access &access : llvm::concat<const Access>(a, b)) {
    auto alloc = access.root.getDefiningOp<memref::AllocOp>();
    if (!alloc || !alloc.getType().hasStaticShape())
      roots.insert(access.root);
  }
  return roots.size() <= maxBuffers;
}

bool attn::canMoveTo(Operation *op, ArrayRef<Access> uses, Operation *place) {
  for (op = op->getNextNode(); op != place; op = op->getNextNode()) {
    auto others = collectUses(op);
    if (!others || mayTouch(uses, *others))
      return false;
  }
  return true;
}
