//===- Product.cpp - matrix products with packed weights ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function multiplies all products of a library. Weights are packed in
// blocks of 16 outputs, so that a step over the inputs reads one vector of
// weights and one number per row. Each element is a chain of fused
// multiply-adds in the order of the inputs, whatever the number of rows is
// (R13).
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows that share one pass over a block of weights. Six rows of 16 lanes, the
/// weights and a broadcast fill the sixteen registers of AVX2.
static constexpr int64_t rowsPerTile = 6;

SmallVector<int64_t> attn::getPackedShape(int64_t numOutputs,
                                          int64_t numInputs) {
  return {(numOutputs + numLanes - 1) / numLanes, numInputs, numLanes};
}

func::FuncOp attn::getOrCreateProduct(ModuleOp module) {
  constexpr StringLiteral name = "product";
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  MLIRContext *context = module.getContext();
  Type f32 = Float32Type::get(context);
  constexpr int64_t any = ShapedType::kDynamic;
  auto matrix = MemRefType::get({any, any}, f32);
  auto packed = MemRefType::get({any, any, numLanes}, f32);
  auto vector = MemRefType::get({any}, f32);

  OpBuilder moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
  auto function = func::FuncOp::create(
      moduleBuilder, module.getLoc(), name,
      FunctionType::get(context, {matrix, packed, vector, matrix}, {}));
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // Inlining it into every product would multiply the code for nothing.
  function->setAttr(
      "passthrough",
      ArrayAttr::get(context, StringAttr::get(context, "noinline")));
  Block *entry = function.addEntryBlock();
  Value rows = entry->getArgument(0), weights = entry->getArgument(1),
        bias = entry->getArgument(2), results = entry->getArgument(3);

  Emitter emitter(function);
  ImplicitLocOpBuilder &b = emitter.getBuilder();
  auto lanes = VectorType::get({numLanes}, f32);
  auto dim = [&](Value buffer, int64_t index) -> Value {
    return memref::DimOp::create(b, buffer, index);
  };
  Value numRows = dim(rows, 0), numInputs = dim(rows, 1),
        numBlocks = dim(weights, 0), numOutputs = dim(results, 1);
  Value zero = emitter.constant(0), one = emitter.constant(1);
  Value tile = emitter.constant(rowsPerTile);
  Value rest = arith::RemUIOp::create(b, numRows, tile);
  Value full = arith::SubIOp::create(b, numRows, rest);
  Value hasBias =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, dim(bias, 0), zero);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(lanes));

  emitter.forEach(numBlocks, [&](Value block) {
    Value firstOutput =
        arith::MulIOp::create(b, block, emitter.constant(numLanes));
    Value mask = vector::CreateMaskOp::create(
        b, VectorType::get({numLanes}, b.getI1Type()),
        ValueRange{arith::SubIOp::create(b, numOutputs, firstOutput)});
    auto withBias = scf::IfOp::create(b, TypeRange{lanes}, hasBias, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(withBias.thenBlock());
      scf::YieldOp::create(
          b, ValueRange{vector::MaskedLoadOp::create(
                 b, lanes, bias, ValueRange{firstOutput}, mask, none)});
      b.setInsertionPointToStart(withBias.elseBlock());
      scf::YieldOp::create(b, none);
    }
    Value start = withBias.getResult(0);

    /// Multiplies `count` rows from `firstRow` on.
    auto multiply = [&](Value firstRow, int64_t count) {
      SmallVector<Value> rowIndices;
      for (int64_t i = 0; i < count; ++i)
        rowIndices.push_back(
            arith::AddIOp::create(b, firstRow, emitter.constant(i)));
      auto loop = scf::ForOp::create(b, zero, numInputs, one,
                                     SmallVector<Value>(count, start));
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value k = loop.getInductionVar();
        Value weight = vector::LoadOp::create(b, lanes, weights,
                                              ValueRange{block, k, zero});
        SmallVector<Value> sums;
        for (int64_t i = 0; i < count; ++i) {
          Value x =
              memref::LoadOp::create(b, rows, ValueRange{rowIndices[i], k});
          sums.push_back(math::FmaOp::create(b, emitter.splat(x), weight,
                                             loop.getRegionIterArg(i)));
        }
        scf::YieldOp::create(b, sums);
      }
      for (int64_t i = 0; i < count; ++i)
        vector::MaskedStoreOp::create(b, results,
                                      ValueRange{rowIndices[i], firstOutput},
                                      mask, loop.getResult(i));
    };
    auto tiles = scf::ForOp::create(b, zero, full, tile);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(tiles.getBody());
      multiply(tiles.getInductionVar(), rowsPerTile);
    }
    // What is left is one tile of exactly its height.
    SmallVector<int64_t> cases;
    for (int64_t count = 1; count < rowsPerTile; ++count)
      cases.push_back(count);
    auto remainder =
        scf::IndexSwitchOp::create(b, TypeRange{}, rest, cases, cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (auto [region, count] : llvm::zip(remainder.getCaseRegions(), cases)) {
      b.setInsertionPointToStart(&region.emplaceBlock());
      multiply(full, count);
      scf::YieldOp::create(b);
    }
    b.setInsertionPointToStart(&remainder.getDefaultRegion().emplaceBlock());
    scf::YieldOp::create(b);
  });
  func::ReturnOp::create(b);
  return function;
}

/// `buffer` as a matrix of `numRows` rows of `numColumns`.
static Value asMatrix(ImplicitLocOpBuilder &b, Value buffer, Value numRows,
                      int64_t numColumns) {
  Type f32 = b.getF32Type();
  auto fixed = MemRefType::get({ShapedType::kDynamic, numColumns}, f32);
  Value matrix = memref::ReinterpretCastOp::create(
      b, fixed, buffer, b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{numRows, b.getIndexAttr(numColumns)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(numColumns), b.getIndexAttr(1)});
  constexpr int64_t any = ShapedType::kDynamic;
  return memref::CastOp::create(b, MemRefType::get({any, any}, f32), matrix);
}

LogicalResult Emitter::emitProduct(Operation *op, Buffer input,
                                   ArrayRef<Value> axes, int64_t numInputs,
                                   Value weight, Value optionalBias,
                                   int64_t numOutputs, Buffer destination) {
  if (!packedWeight || getNumAxes(weight.getType()) != 0)
    return op->emitError(
        "expected a weight that is known when the model is opened");
  Value numRows = constant(1);
  for (Value size : axes)
    numRows = arith::MulIOp::create(builder, numRows, size);

  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  Value rows = asMatrix(builder, input, numRows, numInputs);
  Value results = asMatrix(builder, destination, numRows, numOutputs);
  Value weights = memref::CastOp::create(
      builder, MemRefType::get({any, any, numLanes}, f32),
      packedWeight(resolve(weight), numOutputs, numInputs));
  Value bias;
  if (optionalBias) {
    Value buffer = getOrMaterialize(optionalBias);
    bias = memref::ReinterpretCastOp::create(
        builder, MemRefType::get({numOutputs}, f32), buffer,
        builder.getIndexAttr(0),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(numOutputs)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  } else {
    // No bias: a vector of no elements.
    bias = memref::ReinterpretCastOp::create(
        builder, MemRefType::get({0}, f32), destination,
        builder.getIndexAttr(0),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  }
  bias = memref::CastOp::create(builder, MemRefType::get({any}, f32), bias);
  func::FuncOp product =
      getOrCreateProduct(function->getParentOfType<ModuleOp>());
  func::CallOp::create(builder, product,
                       ValueRange{rows, weights, bias, results});
  return success();
}
