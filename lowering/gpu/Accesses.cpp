//===- Accesses.cpp - what operations do with buffers ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/gpu/Accesses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

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
