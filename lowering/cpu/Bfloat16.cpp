//===- Bfloat16.cpp - numbers of 16 bits ----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bfloat16 is the upper half of an f32. Both directions are written in
// operations on integers, so that no processor and no library decides (R21),
// and no device has to know the type.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Bfloat16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

static Value splatI32(Emitter &emitter, int64_t number) {
  return emitter.splat(
      arith::ConstantIntOp::create(emitter.getBuilder(), number, 32));
}

/// 16 lanes of f32 as the bits of bf16.
static Value emitRounding(Emitter &emitter, Value numbers) {
  ImplicitLocOpBuilder &b = emitter.getBuilder();
  auto lanesOf = [&](Type type) { return VectorType::get({numLanes}, type); };
  Value bits = vector::BitCastOp::create(b, lanesOf(b.getI32Type()), numbers);
  Value shift = splatI32(emitter, 16);
  Value upper = arith::ShRUIOp::create(b, bits, shift);
  // Half of the last place, and less by one bit where it is even.
  Value odd = arith::AndIOp::create(b, upper, splatI32(emitter, 1));
  Value half = arith::AddIOp::create(b, odd, splatI32(emitter, 0x7fff));
  Value rounded =
      arith::ShRUIOp::create(b, arith::AddIOp::create(b, bits, half), shift);
  // A NaN stays one, whatever is cut off.
  Value nan = arith::OrIOp::create(b, upper, splatI32(emitter, 0x40));
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, numbers, numbers);
  Value chosen = arith::SelectOp::create(b, isNan, nan, rounded);
  return arith::TruncIOp::create(b, lanesOf(b.getI16Type()), chosen);
}

func::FuncOp attn::getOrCreateWeightRounder(ModuleOp module) {
  Builder types(module.getContext());
  constexpr int64_t any = ShapedType::kDynamic;
  auto shape = {any, any, numLanes};
  return getOrCreateFunction(
      module, "round_weights",
      {MemRefType::get(shape, types.getF32Type()),
       MemRefType::get(shape, types.getI16Type())},
      [](func::FuncOp function) {
        Emitter emitter(function);
        ImplicitLocOpBuilder &b = emitter.getBuilder();
        Value packed = function.getArgument(0);
        SmallVector<Value> sizes = {memref::DimOp::create(b, packed, 0),
                                    memref::DimOp::create(b, packed, 1)};
        emitter.forEach(sizes, [&](ArrayRef<Value> place) {
          ElementIndex index;
          index.features = {place[0], place[1], emitter.constant(0)};
          index.isVector = true;
          emitter.store(function.getArgument(1), index,
                        emitRounding(emitter, emitter.load(packed, index)));
        });
        func::ReturnOp::create(b);
      });
}

Value attn::emitExtension(ImplicitLocOpBuilder &b, Value numbers) {
  auto words = VectorType::get({numLanes}, b.getI32Type());
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(words, b.getI32IntegerAttr(16)));
  Value shifted = arith::ShLIOp::create(
      b, arith::ExtUIOp::create(b, words, numbers), shift);
  return vector::BitCastOp::create(
      b, VectorType::get({numLanes}, b.getF32Type()), shifted);
}
