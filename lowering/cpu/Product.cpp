//===- Product.cpp - matrix products with packed weights ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function multiplies all products of a library that have the same
// epilogue. Weights are packed in blocks of 16 outputs, so that a step over the
// inputs reads one vector of weights and one number per row. Each element is a
// chain of fused multiply-adds in the order of the inputs, however a schedule
// arranges the loops (R13).
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Bfloat16.h"
#include "lowering/cpu/Epilogue.h"
#include "lowering/cpu/LoopTransforms.h"
#include "lowering/cpu/Passes.h"
#include "lowering/cpu/QuantizedProduct.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<int64_t> attn::getPackedShape(int64_t numOutputs,
                                          int64_t numInputs) {
  return {(numOutputs + numLanes - 1) / numLanes, numInputs, numLanes};
}

/// The attribute of a product function that says what its epilogue is.
static constexpr StringLiteral epilogueAttrName = "attn.epilogue";

namespace {

/// Writes the body of a product function.
class ProductWriter {
public:
  ProductWriter(func::FuncOp function, LinearOp linear,
                const ProductOptions &options)
      : linear(linear), options(options), emitter(function),
        b(emitter.getBuilder()),
        lanes(VectorType::get({numLanes}, b.getF32Type())) {
    Block &entry = function.front();
    rows = entry.getArgument(0);
    weights = entry.getArgument(1);
    bias = entry.getArgument(2);
    results = entry.getArgument(3);
    firstBlock = entry.getArgument(4);
    elements = entry.getArguments().drop_front(5);
    zero = emitter.constant(0);
    // Of packed weights: where they are quantised, of their vectors.
    numInputs = dim(weights, 1);
    numResults = dim(results, 1);
    hasBias =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, dim(bias, 0), zero);
    none = arith::ConstantOp::create(b, b.getZeroAttr(lanes));
  }

  void run();

private:
  Value dim(Value buffer, int64_t index) {
    return memref::DimOp::create(b, buffer, index);
  }
  /// Runs `body` from 0 to `size`, in a loop of this name.
  void forEach(StringRef name, Value size,
               const std::function<void(Value)> &body) {
    auto loop = scf::ForOp::create(b, zero, size, emitter.constant(1));
    nameLoop(loop, name);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  /// 16 outputs: their block of weights, their first output, the column of the
  /// results where that goes, which of them there are, and whether all.
  struct Outputs {
    Value block, first, column, mask, areAll;
  };
  Outputs locate(Value number);
  Value startFor(const Outputs &outputs);
  Value multiply(Value row, Value block, Value start);
  Value finish(Value row, const Outputs &outputs);
  void store(Value row, const Outputs &outputs, Value value);

  LinearOp linear;
  ProductOptions options;
  Emitter emitter;
  ImplicitLocOpBuilder &b;
  VectorType lanes;
  Value rows, weights, bias, results, firstBlock, zero, numInputs, numResults,
      hasBias, none;
  Block::BlockArgListType elements;
};

} // namespace

ProductWriter::Outputs ProductWriter::locate(Value number) {
  Outputs outputs;
  Value width = emitter.constant(numLanes);
  outputs.block = arith::AddIOp::create(b, firstBlock, number);
  outputs.first = arith::MulIOp::create(b, outputs.block, width);
  outputs.column = arith::MulIOp::create(b, number, width);
  Value left = arith::SubIOp::create(b, numResults, outputs.column);
  outputs.mask = vector::CreateMaskOp::create(
      b, VectorType::get({numLanes}, b.getI1Type()), ValueRange{left});
  outputs.areAll =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge, left, width);
  return outputs;
}

/// What the sums of 16 outputs begin with: the bias, or zero.
Value ProductWriter::startFor(const Outputs &outputs) {
  auto withBias = scf::IfOp::create(b, TypeRange{lanes}, hasBias, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(withBias.thenBlock());
  scf::YieldOp::create(
      b, ValueRange{vector::MaskedLoadOp::create(
             b, lanes, bias, ValueRange{outputs.first}, outputs.mask, none)});
  b.setInsertionPointToStart(withBias.elseBlock());
  scf::YieldOp::create(b, none);
  return withBias.getResult(0);
}

/// The sums of 16 outputs of a row.
Value ProductWriter::multiply(Value row, Value block, Value start) {
  if (options.precision == Precision::Int8)
    return emitQuantizedDot(emitter, options.byteDot, rows, row, weights, block,
                            numInputs, start);
  auto loop =
      scf::ForOp::create(b, zero, numInputs, emitter.constant(1), start);
  nameLoop(loop, "inputs");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  Value input =
      emitter.splat(memref::LoadOp::create(b, rows, ValueRange{row, k}));
  Value weight = vector::LoadOp::create(
      b, VectorType::get({numLanes}, getElementTypeOrSelf(weights)), weights,
      ValueRange{block, k, zero});
  if (options.precision == Precision::BF16)
    weight = emitExtension(b, weight);
  scf::YieldOp::create(b, ValueRange{math::FmaOp::create(
                              b, input, weight, loop.getRegionIterArg(0))});
  return loop.getResult(0);
}

/// What the epilogue makes of 16 sums, which stand among the results.
Value ProductWriter::finish(Value row, const Outputs &outputs) {
  Value sums = vector::MaskedLoadOp::create(
      b, lanes, results, ValueRange{row, outputs.column}, outputs.mask, none);
  return applyEpilogue(emitter, linear, elements, sums, row, outputs.first,
                       outputs.mask);
}

/// Without a mask where all outputs are there: with one, a store may take as
/// long as many (AVX2).
void ProductWriter::store(Value row, const Outputs &outputs, Value value) {
  auto storeMasked = [&] {
    vector::MaskedStoreOp::create(b, results, ValueRange{row, outputs.column},
                                  outputs.mask, value);
  };
  if (options.device)
    return storeMasked();
  auto choice = scf::IfOp::create(b, TypeRange{}, outputs.areAll,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  vector::StoreOp::create(b, value, results, ValueRange{row, outputs.column});
  b.setInsertionPointToStart(choice.elseBlock());
  storeMasked();
}

void ProductWriter::run() {
  Value numRows = dim(rows, 0);
  Value numBlocks =
      arith::CeilDivUIOp::create(b, numResults, emitter.constant(numLanes));
  forEach("outputs", numBlocks, [&](Value number) {
    Outputs outputs = locate(number);
    Value start = startFor(outputs);
    forEach("rows", numRows, [&](Value row) {
      store(row, outputs, multiply(row, outputs.block, start));
    });
    if (!linear || linear.getEpilogue().empty())
      return;
    // The sums come back from the nearest cache, so that the code of the
    // epilogue stands once and not for every sum in a register.
    forEach("epilogue", numRows, [&](Value row) {
      Outputs own = locate(number);
      store(row, own, finish(row, own));
    });
  });
  func::ReturnOp::create(b);
}

func::FuncOp attn::getOrCreateProduct(ModuleOp module, LinearOp linear,
                                      const ProductOptions &options) {
  std::string name = options.device ? "device_product" : "product";
  if (options.precision != Precision::F32)
    name += "_" + stringifyPrecision(options.precision).str();
  std::string epilogue = name + " " + describeEpilogue(linear);
  unsigned count = 0;
  for (auto known : module.getOps<func::FuncOp>())
    if (auto other = known->getAttrOfType<StringAttr>(epilogueAttrName)) {
      if (other.getValue() == epilogue)
        return known;
      ++count;
    }
  if (count > 0)
    name += "_" + std::to_string(count);
  Builder builder(module.getContext());
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  bool quantized = options.precision == Precision::Int8;
  constexpr int64_t any = ShapedType::kDynamic;
  // Results may be some columns of a wider matrix.
  auto columns = MemRefType::get(
      {any, any}, f32,
      StridedLayoutAttr::get(module.getContext(), any, {any, 1}));
  auto packed = MemRefType::get(
      {any, any, numLanes},
      getPackedType(options.precision, 1, 1, builder).getElementType());
  // A device passes some rows of matrices.
  auto matrix = options.device ? columns : MemRefType::get({any, any}, f32);
  SmallVector<Type> types = {
      quantized ? MemRefType(MemRefType::Builder(matrix).setElementType(i32))
                : matrix,
      packed, MemRefType::get({any}, f32), columns, builder.getIndexType()};
  for (Type type : getEpilogueOperandTypes(linear))
    types.push_back(cast<MemRefType>(type).getRank() == 2 ? matrix : type);
  return getOrCreateFunction(module, name, types, [&](func::FuncOp function) {
    function->setAttr(epilogueAttrName, builder.getStringAttr(epilogue));
    function->setAttr(
        kernelAttrName,
        builder.getStringAttr(quantized ? "product_int8" : "product"));
    ProductWriter(function, linear, options).run();
  });
}

MemRefType attn::getPackedType(Precision precision, int64_t numOutputs,
                               int64_t numInputs, Builder &builder) {
  if (precision == Precision::Int8)
    return MemRefType::get(getQuantizedWeightShape(numOutputs, numInputs),
                           builder.getI32Type());
  return MemRefType::get(getPackedShape(numOutputs, numInputs),
                         precision == Precision::BF16
                             ? Type(builder.getI16Type())
                             : builder.getF32Type());
}

/// `buffer` as a matrix of `numRows` rows of `numColumns`.
static Value asMatrix(ImplicitLocOpBuilder &b, Value buffer, Value numRows,
                      int64_t numColumns) {
  Type element = getElementTypeOrSelf(buffer);
  auto fixed = MemRefType::get({ShapedType::kDynamic, numColumns}, element);
  Value matrix = memref::ReinterpretCastOp::create(
      b, fixed, buffer, b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{numRows, b.getIndexAttr(numColumns)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(numColumns), b.getIndexAttr(1)});
  constexpr int64_t any = ShapedType::kDynamic;
  return memref::CastOp::create(b, MemRefType::get({any, any}, element),
                                matrix);
}

Value Emitter::viewResults(Buffer destination, Value numRows, Value first,
                           Value numColumns, Value stride) {
  constexpr int64_t any = ShapedType::kDynamic;
  return memref::ReinterpretCastOp::create(
      builder,
      MemRefType::get(
          {any, any}, getElementTypeOrSelf(destination),
          StridedLayoutAttr::get(builder.getContext(), any, {any, 1})),
      destination, OpFoldResult(first),
      ArrayRef<OpFoldResult>{numRows, numColumns},
      ArrayRef<OpFoldResult>{stride, builder.getIndexAttr(1)});
}

Emitter::QuantizedRows Emitter::quantizeRows(Value matrix, ArrayRef<Value> axes,
                                             int64_t numInputs) {
  int64_t size = getQuantizedRowSize(numInputs, products.byteDot);
  Type i32 = builder.getI32Type();
  SmallVector<int64_t> shape(axes.size(), ShapedType::kDynamic);
  shape.push_back(size);
  Buffer rows = allocateBuffer(MemRefType::get(shape, i32), axes);
  Value quantized =
      asMatrix(builder, rows, memref::DimOp::create(builder, matrix, 0), size);
  func::CallOp::create(
      builder,
      getOrCreateRowQuantizer(function->getParentOfType<ModuleOp>(), products),
      ValueRange{matrix, quantized});
  return {rows, quantized};
}

void Emitter::multiplyOnDevice(func::FuncOp product,
                               SmallVector<Value> operands, Value numRows,
                               Value numOutputs) {
  ImplicitLocOpBuilder &b = builder;
  Value width = constant(numLanes), zero = constant(0);
  SmallVector<Value> matrices(operands);
  OpBuilder::InsertionGuard guard(b);
  /// Begins a loop of pieces, and answers where one begins and how long it is.
  auto enterPieces = [&](Value size, Value most) {
    auto loop = scf::ForOp::create(b, zero, size, most);
    loop->setAttr(parallelAttrName, b.getUnitAttr());
    loop->setAttr(piecesAttrName, b.getUnitAttr());
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  auto lengthOf = [&](Value size, Value begin, Value most) -> Value {
    return arith::MinUIOp::create(b, most,
                                  arith::SubIOp::create(b, size, begin));
  };
  Value height = constant(rowsOfGroup);
  Value row = enterPieces(numRows, height),
        column = enterPieces(numOutputs, width);
  Value count = lengthOf(numRows, row, height);
  for (auto [index, matrix] : llvm::enumerate(matrices)) {
    if (!matrix || cast<MemRefType>(matrix.getType()).getRank() != 2 ||
        index == 3)
      continue;
    Value size = memref::DimOp::create(b, matrix, 1);
    operands[index] = viewResults(
        matrix, count, arith::MulIOp::create(b, row, size), size, size);
  }
  Value first = arith::AddIOp::create(
      b, arith::MulIOp::create(b, row, numOutputs), column);
  operands[3] = viewResults(matrices[3], count, first,
                            lengthOf(numOutputs, column, width), numOutputs);
  operands[4] = arith::DivUIOp::create(b, column, constant(numLanes));
  func::CallOp::create(b, product, operands);
}

LogicalResult Emitter::checkWeight(Operation *op, Value weight,
                                   int64_t numInputs, Precision precision) {
  if (!packedWeight || getNumAxes(weight.getType()) != 0 ||
      (preparedValue && !isPrepared(weight) && !getUniformConstant(weight)))
    return op->emitError(
        "expected a weight that is known when the model is opened");
  if (precision == Precision::Int8 && numInputs > maxQuantizedInputs)
    return op->emitError("expected at most ")
           << maxQuantizedInputs << " inputs of a product in int8, but got "
           << numInputs;
  return success();
}

LogicalResult Emitter::emitProduct(Operation *op, Buffer input,
                                   ArrayRef<Value> axes, int64_t numInputs,
                                   Value weight, Value optionalBias,
                                   int64_t numOutputs, Buffer destination) {
  weight = resolve(weight);
  // What a read computes for every pair is no product of weights that many rows
  // share, and stays f32 at every precision like all of a score.
  ProductOptions options = products;
  if (op->getParentOfType<PairOpInterface>())
    options.precision = Precision::F32;
  bool quantized = options.precision == Precision::Int8;
  if (failed(checkWeight(op, weight, numInputs, options.precision)))
    return failure();
  Value numRows = constant(1);
  for (Value size : axes)
    numRows = arith::MulIOp::create(builder, numRows, size);
  if (products.external) {
    if (quantized)
      input = quantizeRows(asMatrix(builder, input, numRows, numInputs), axes,
                           numInputs)
                  .rows;
    emitExternalProduct(op, input, axes, numInputs, weight, optionalBias,
                        numOutputs, destination);
    return success();
  }

  constexpr int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  auto asVector = [&](Value buffer, int64_t size) -> Value {
    Value fixed = memref::ReinterpretCastOp::create(
        builder, MemRefType::get({size}, f32), buffer, builder.getIndexAttr(0),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(size)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
    return memref::CastOp::create(builder, MemRefType::get({any}, f32), fixed);
  };
  Value weights =
      packedWeight(weight, numOutputs, numInputs, options.precision);
  weights = memref::CastOp::create(
      builder,
      MemRefType::get({any, any, numLanes}, getElementTypeOrSelf(weights)),
      weights);
  Value rows = asMatrix(builder, input, numRows, numInputs);
  if (quantized)
    rows = quantizeRows(rows, axes, numInputs).matrix;
  bool isRanked = ranking && op->getResult(0) == ranking->logits;
  SmallVector<Value> operands = {
      rows, weights,
      // No bias: a vector of no elements.
      optionalBias ? asVector(getOrMaterialize(optionalBias), numOutputs)
                   : asVector(destination, 0),
      destination, Value()};
  auto linear = dyn_cast<LinearOp>(op);
  if (linear)
    for (Value element : linear.getElements()) {
      Value buffer = getOrMaterialize(element);
      operands.push_back(getNumAxes(element.getType()) == 0
                             ? asVector(buffer, numOutputs)
                             : asMatrix(builder, buffer, numRows, numOutputs));
    }
  auto product = getOrCreateProduct(function->getParentOfType<ModuleOp>(),
                                    linear, options);
  Value numBlocks = constant(llvm::divideCeil(numOutputs, numLanes));
  if (isRanked && products.device)
    emitOutputLayerOnDevice(product, operands, numRows);
  else if (isRanked)
    emitOutputLayer(destination, numRows, [&](Value results, Value firstBlock) {
      operands[3] = results;
      operands[4] = firstBlock;
      func::CallOp::create(builder, product, operands);
    });
  else if (products.device)
    multiplyOnDevice(product, operands, numRows, constant(numOutputs));
  else
    forEachShare(numBlocks, [&](Value, Value begin, Value end) {
      Value lanes = constant(numLanes), stride = constant(numOutputs);
      Value first = arith::MulIOp::create(builder, begin, lanes);
      // Of the last block there may be less.
      Value last = arith::MinUIOp::create(
          builder, arith::MulIOp::create(builder, end, lanes), stride);
      first = arith::MinUIOp::create(builder, first, last);
      operands[3] =
          viewResults(destination, numRows, first,
                      arith::SubIOp::create(builder, last, first), stride);
      operands[4] = begin;
      func::CallOp::create(builder, product, operands);
    });
  return success();
}
