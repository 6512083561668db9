//===- ExternalKernels.cpp - kernels that another compiler makes ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where kernels are made elsewhere, what one computes becomes a function of
// tensors: the operation and all that is evaluated where it is used, down to
// values that lie in buffers, which are the arguments. The program calls it for
// parts of the results. Attributes of arguments say where a buffer is not what
// the type says (see attn-convert-to-loops).
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"
#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Makes the function of one kernel.
class KernelWriter {
public:
  KernelWriter(Emitter &emitter, Location location)
      : emitter(emitter), attributes(location.getContext()),
        kernel(func::FuncOp::create(location, "kernel",
                                    attributes.getFunctionType({}, {}))),
        body(kernel->addEntryBlock()),
        b(location, OpBuilder::atBlockEnd(body)) {}

  ImplicitLocOpBuilder &getBuilder() { return b; }
  ArrayRef<Buffer> getBuffers() const { return buffers; }

  /// The argument for what lies in `buffer`; without, in a part of one that
  /// every call names.
  Value addArgument(Type type, Buffer buffer,
                    ArrayRef<NamedAttribute> attrs = {});
  Value addPackedWeight(Value weight, int64_t numOutputs, int64_t numInputs);
  /// Says that only `size` of the first dimension of an argument may be there.
  void limit(Value argument, Value size);
  /// What `value` of the program is here.
  Value get(Value value);
  /// Copies an operation, and what it is evaluated from but for the operands
  /// that are given.
  Operation *copy(Operation *op, ArrayRef<std::pair<unsigned, Value>> given);
  /// Ends the function and answers the one that calls it.
  func::FuncOp finish(ValueRange results, std::optional<int64_t> divided);

private:
  NamedAttribute named(StringRef name, Attribute value) {
    return attributes.getNamedAttr(name, value);
  }
  /// The attribute that names the argument which has `numbers`.
  NamedAttribute refer(StringRef name, Buffer numbers, unsigned numAxes);
  Value compute(Value value);
  Value findWithAxes(Value value);
  Value getAt(Value outer, Buffer positions);
  bool isSame(func::FuncOp other);
  func::FuncOp insert(ModuleOp program);

  Emitter &emitter;
  Builder attributes;
  OwningOpRef<func::FuncOp> kernel;
  Block *body;
  ImplicitLocOpBuilder b;
  IRMapping values;
  SmallVector<Buffer> buffers; ///< Of the arguments.
  SmallVector<Attribute> argumentAttrs;
};

} // namespace

//===----------------------------------------------------------------------===//
// What is in the function
//===----------------------------------------------------------------------===//

Value KernelWriter::addArgument(Type type, Buffer buffer,
                                ArrayRef<NamedAttribute> attrs) {
  DictionaryAttr dictionary = attributes.getDictionaryAttr(attrs);
  for (auto [index, known] : llvm::enumerate(buffers)) {
    BlockArgument argument = body->getArgument(index);
    if (buffer && known == buffer && argument.getType() == type &&
        argumentAttrs[index] == dictionary)
      return argument;
  }
  buffers.push_back(buffer);
  argumentAttrs.push_back(dictionary);
  return body->addArgument(type, b.getLoc());
}

Value KernelWriter::addPackedWeight(Value weight, int64_t numOutputs,
                                    int64_t numInputs) {
  weight = emitter.resolve(weight);
  Precision precision = emitter.products.precision;
  return addArgument(
      weight.getType(),
      emitter.packedWeight(weight, numOutputs, numInputs, precision),
      named(packedAttrName,
            attributes.getStringAttr(stringifyPrecision(precision))));
}

void KernelWriter::limit(Value argument, Value size) {
  Buffer &buffer = buffers[cast<BlockArgument>(argument).getArgNumber()];
  auto type = cast<MemRefType>(buffer.getType());
  ArrayRef<int64_t> shape = type.getShape();
  ImplicitLocOpBuilder &program = emitter.getBuilder();
  SmallVector<OpFoldResult> sizes(shape.size()), strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    sizes[i] = i == 0 ? OpFoldResult(size)
                      : OpFoldResult(attributes.getIndexAttr(shape[i]));
    strides[i] = attributes.getIndexAttr(stride);
  }
  SmallVector<int64_t> limited(shape);
  limited.front() = ShapedType::kDynamic;
  buffer = memref::ReinterpretCastOp::create(
      program, MemRefType::get(limited, type.getElementType()), buffer,
      attributes.getIndexAttr(0), sizes, strides);
}

NamedAttribute KernelWriter::refer(StringRef name, Buffer numbers,
                                   unsigned numAxes) {
  Value argument =
      addArgument(getValueType(numAxes, {}, attributes.getI32Type()), numbers);
  return named(name, attributes.getI64IntegerAttr(
                         cast<BlockArgument>(argument).getArgNumber()));
}

Value KernelWriter::get(Value value) {
  if (Value known = values.lookupOrNull(value))
    return known;
  Value result = compute(value);
  values.map(value, result);
  return result;
}

/// A value with the axes of another one, of which no more is needed: if that
/// would be computed, what it is computed from.
Value KernelWriter::findWithAxes(Value value) {
  while (!emitter.locate(value)) {
    ArrayRef<Value> axes = emitter.getAxisSizes(value);
    auto operands = value.getDefiningOp()->getOperands();
    auto found = llvm::find_if(operands, [&](Value operand) {
      return getNumAxes(operand.getType()) == axes.size() &&
             emitter.getAxisSizes(operand) == axes;
    });
    if (found == operands.end())
      break;
    value = *found;
  }
  return value;
}

Value KernelWriter::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::ConstantOp>(op))
    return copy(op, {})->getResult(0);
  std::optional<Emitter::Place> place = emitter.locate(value);
  if (!place) {
    SmallVector<std::pair<unsigned, Value>> given;
    if (auto broadcast = dyn_cast<BroadcastOp>(op);
        broadcast && broadcast.getLike())
      given.push_back({broadcast.getLikeMutable().begin()->getOperandNumber(),
                       get(findWithAxes(broadcast.getLike()))});
    return copy(op, given)->getResult(0);
  }
  if (place->outer)
    return getAt(place->outer, place->positions);
  if (place->slots)
    return addArgument(value.getType(), place->buffer,
                       refer(slotsAttrName, place->slots, 2));
  return addArgument(value.getType(), place->buffer);
}

/// A sequence at the position where each row is.
Value KernelWriter::getAt(Value outer, Buffer positions) {
  Type type = withNumAxes(outer.getType(), getNumAxes(outer.getType()) - 1);
  auto slice = outer.getDefiningOp<SliceOp>();
  if (std::optional<Emitter::Place> place = emitter.locate(outer)) {
    assert(place->buffer && !place->slots && "a sequence of its own");
    return addArgument(type, place->buffer,
                       refer(positionAttrName, positions, 1));
  }
  assert(slice && "parts of what lies in a buffer");
  IRMapping input;
  input.map(slice.getInput(), getAt(slice.getInput(), positions));
  Operation *part = b.clone(*slice, input);
  part->getResult(0).setType(type);
  return part->getResult(0);
}

Operation *KernelWriter::copy(Operation *op,
                              ArrayRef<std::pair<unsigned, Value>> given) {
  for (OpOperand &operand : op->getOpOperands())
    if (llvm::none_of(given, [&](auto pair) {
          return pair.first == operand.getOperandNumber();
        }))
      get(operand.get());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    get(value);
  Operation *own = b.clone(*op, values);
  for (auto [number, operand] : given)
    own->setOperand(number, operand);
  return own;
}

//===----------------------------------------------------------------------===//
// The function and the one that calls it
//===----------------------------------------------------------------------===//

bool KernelWriter::isSame(func::FuncOp other) {
  return other.getFunctionType() == kernel->getFunctionType() &&
         other.getArgAttrsAttr() == kernel->getArgAttrsAttr() &&
         OperationEquivalence::isRegionEquivalentTo(
             &other.getBody(), &kernel->getBody(),
             OperationEquivalence::IgnoreLocations);
}

/// The function in the module of kernels: this one, or one that is the same.
func::FuncOp KernelWriter::insert(ModuleOp program) {
  auto kernels = program.lookupSymbol<ModuleOp>(kernelsModuleName);
  if (!kernels) {
    OpBuilder moduleBuilder = OpBuilder::atBlockBegin(program.getBody());
    kernels = ModuleOp::create(moduleBuilder, program.getLoc(),
                               StringRef(kernelsModuleName));
  }
  unsigned count = 0;
  for (auto known : kernels.getOps<func::FuncOp>()) {
    if (isSame(known))
      return known;
    ++count;
  }
  kernel->setSymName("kernel" + std::to_string(count));
  func::FuncOp inserted = kernel.release();
  kernels.push_back(inserted);
  return inserted;
}

func::FuncOp KernelWriter::finish(ValueRange results,
                                  std::optional<int64_t> divided) {
  func::ReturnOp::create(b, results);
  kernel->setFunctionType(
      attributes.getFunctionType(body->getArgumentTypes(), results.getTypes()));
  kernel->setAllArgAttrs(argumentAttrs);
  SmallVector<Type> types;
  auto getPartType = [&](Type value) {
    Type element = getElementTypeOrSelf(value);
    if (element.isInteger(1))
      element = attributes.getI8Type();
    // A part of a buffer, which begins somewhere.
    constexpr int64_t any = ShapedType::kDynamic;
    size_t rank = getNumAxes(value) + getFeatures(value).size();
    SmallVector<int64_t> shape(rank, any), strides(shape);
    if (rank > 0)
      strides.back() = 1;
    return MemRefType::get(
        shape, element,
        StridedLayoutAttr::get(attributes.getContext(), any, strides));
  };
  for (auto [buffer, argument] : llvm::zip(buffers, body->getArguments())) {
    if (!buffer) {
      types.push_back(getPartType(argument.getType()));
      continue;
    }
    // Where one call has all of a buffer, another may have less (see limit).
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (!shape.empty())
      shape.front() = ShapedType::kDynamic;
    types.push_back(MemRefType::get(shape, type.getElementType()));
  }
  for (Type result : results.getTypes())
    types.push_back(getPartType(result));
  types.push_back(attributes.getIndexType());

  auto program = emitter.getFunction()->getParentOfType<ModuleOp>();
  func::FuncOp own = insert(program);
  std::string name = "call_" + own.getSymName().str();
  if (auto known = program.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder moduleBuilder(program.lookupSymbol(kernelsModuleName));
  moduleBuilder.setInsertionPointAfter(program.lookupSymbol(kernelsModuleName));
  auto caller = func::FuncOp::create(moduleBuilder, own.getLoc(), name,
                                     attributes.getFunctionType(types, {}));
  caller.setPrivate();
  caller->setAttr(
      externalAttrName,
      SymbolRefAttr::get(attributes.getContext(), kernelsModuleName,
                         FlatSymbolRefAttr::get(own.getSymNameAttr())));
  if (divided)
    caller->setAttr(dividedAttrName, attributes.getI64IntegerAttr(*divided));
  return caller;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Calls a kernel, to write `results`, which begin at `begin`.
static void callKernel(ImplicitLocOpBuilder &b, func::FuncOp caller,
                       ArrayRef<Buffer> arguments, ArrayRef<Value> results,
                       Value begin) {
  SmallVector<Value> operands(arguments);
  llvm::append_range(operands, results);
  operands.push_back(begin);
  for (auto [operand, type] : llvm::zip(operands, caller.getArgumentTypes()))
    if (operand.getType() != type)
      operand = memref::CastOp::create(b, type, operand);
  func::CallOp::create(b, caller, operands);
}

/// What of a buffer begins at `begin` in one dimension.
static Value viewPart(ImplicitLocOpBuilder &b, Buffer buffer, int64_t dimension,
                      Value begin, Value size) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)),
      sizes = memref::getMixedSizes(b, b.getLoc(), buffer);
  offsets[dimension] = begin;
  sizes[dimension] = size;
  return memref::SubViewOp::create(b, buffer, offsets, sizes, strides);
}

/// Calls a kernel for parts of the rows of its results, or once where they have
/// none.
static void callForRows(Emitter &emitter, KernelWriter &writer,
                        ValueRange results, ArrayRef<Buffer> destinations,
                        Value numRows) {
  ImplicitLocOpBuilder &b = emitter.getBuilder();
  func::FuncOp caller = writer.finish(
      results, numRows ? std::optional<int64_t>(0) : std::nullopt);
  if (!numRows)
    return callKernel(b, caller, writer.getBuffers(), destinations,
                      emitter.constant(0));
  emitter.forEachShare(numRows, [&](Value, Value begin, Value end) {
    Value size = arith::SubIOp::create(b, end, begin);
    SmallVector<Value> parts;
    for (Buffer buffer : destinations)
      parts.push_back(viewPart(b, buffer, 0, begin, size));
    callKernel(b, caller, writer.getBuffers(), parts, begin);
  });
}

void Emitter::emitExternal(ValueRange values, ArrayRef<Buffer> destinations) {
  KernelWriter writer(*this, builder.getLoc());
  Operation *op = values.front().getDefiningOp();
  SmallVector<std::pair<unsigned, Value>> given;
  if (auto convolution = dyn_cast<Conv1dOp>(op)) {
    ArrayRef<int64_t> weight = getFeatures(convolution.getWeight().getType());
    given.push_back({convolution.getWeightMutable().getOperandNumber(),
                     writer.addPackedWeight(convolution.getWeight(), weight[0],
                                            weight[1] * weight[2])});
  }
  Operation *own = writer.copy(op, given);
  ArrayRef<Value> axes = getAxisSizes(values.front());
  callForRows(*this, writer, own->getResults(), destinations,
              axes.empty() ? Value() : axes[0]);
}

void Emitter::emitExternalProduct(Operation *op, Buffer input,
                                  ArrayRef<Value> axes, int64_t numInputs,
                                  Value weight, Value optionalBias,
                                  int64_t numOutputs, Buffer destination) {
  ImplicitLocOpBuilder &b = builder;
  KernelWriter writer(*this, b.getLoc());
  Value result = op->getResult(0);
  ArrayRef<int64_t> outputs = getFeatures(result.getType()),
                    inputs = getFeatures(weight.getType())
                                 .drop_front(outputs.size());
  SmallVector<NamedAttribute> attrs;
  if (products.precision == Precision::Int8)
    attrs.push_back(
        b.getNamedAttr(quantizedAttrName,
                       b.getStringAttr(stringifyByteDot(products.byteDot))));
  Value ownInput = writer.addArgument(
            getValueType(axes.size(), inputs, b.getF32Type()), input, attrs),
        ownWeight = writer.addPackedWeight(weight, numOutputs, numInputs),
        ownResult;
  if (auto linear = dyn_cast<LinearOp>(op)) {
    std::pair<unsigned, Value> given[] = {
        {linear.getInputMutable().getOperandNumber(), ownInput},
        {linear.getWeightMutable().getOperandNumber(), ownWeight}};
    ownResult = writer.copy(linear, given)->getResult(0);
  } else {
    ownResult = LinearOp::create(
        writer.getBuilder(), result.getType(), ownInput, ownWeight,
        optionalBias ? writer.get(optionalBias) : Value());
  }
  // One feature has all outputs: they can be divided whatever the rows are.
  if (outputs.size() != 1)
    return callForRows(*this, writer, ownResult, destination,
                       axes.empty() ? Value() : axes[0]);
  const auto rank = static_cast<int64_t>(axes.size());
  const bool isRanked = ranking && result == ranking->logits;
  if (isRanked) {
    // Weights of fewer outputs may have the place of these.
    writer.limit(ownWeight, arith::CeilDivUIOp::create(b, ranking->outputs,
                                                       constant(numLanes)));
    if (optionalBias)
      if (auto argument = dyn_cast<BlockArgument>(writer.get(optionalBias)))
        writer.limit(argument, ranking->outputs);
  }
  func::FuncOp caller = writer.finish(ownResult, rank);
  if (isRanked)
    return emitOutputLayer(
        destination, axes[0], [&](Value results, Value firstBlock) {
          callKernel(b, caller, writer.getBuffers(), results,
                     arith::MulIOp::create(b, firstBlock, constant(numLanes)));
        });
  Value numBlocks = constant(llvm::divideCeil(numOutputs, numLanes));
  forEachShare(numBlocks, [&](Value, Value begin, Value end) {
    Value lanes = constant(numLanes);
    // Of the last block there may be less.
    Value last = arith::MinUIOp::create(b, arith::MulIOp::create(b, end, lanes),
                                        constant(numOutputs));
    Value first =
        arith::MinUIOp::create(b, arith::MulIOp::create(b, begin, lanes), last);
    Value part = viewPart(b, destination, rank, first,
                          arith::SubIOp::create(b, last, first));
    callKernel(b, caller, writer.getBuffers(), part, first);
  });
}

std::function<void(const Emitter::Ranking &, const Emitter::RankedChunk &)>
Emitter::prepareExternalRanking(Value numRows) {
  ImplicitLocOpBuilder &b = builder;
  Type f32 = b.getF32Type(), i32 = b.getI32Type(),
       numbers = getValueType(2, {}, f32), tokens = getValueType(2, {}, i32);
  KernelWriter writer(*this, b.getLoc());
  SmallVector<Value> arguments;
  for (Type type : {numbers, tokens, numbers, getValueType(0, {}, i32)})
    arguments.push_back(writer.addArgument(type, Buffer()));
  auto rank = RankOp::create(
      writer.getBuilder(),
      TypeRange{tokens, numbers, getValueType(1, {2}, f32)}, arguments);
  func::FuncOp caller = writer.finish(rank->getResults(), std::nullopt);

  // A kernel does not write where it reads: every share has a place for what is
  // new, and for the number of its first token.
  constexpr int64_t any = ShapedType::kDynamic;
  SmallVector<Value> ranks = {shares, numRows, ranking->count},
                     rows = {shares, numRows};
  Buffer allTokens =
             allocateBuffer(MemRefType::get({any, any, any}, i32), ranks),
         allBest = allocateBuffer(MemRefType::get({any, any, any}, f32), ranks),
         allSums = allocateBuffer(MemRefType::get({any, any, 2}, f32), rows),
         allFirst = allocateBuffer(MemRefType::get({any}, i32), shares);
  return [=, this](const Ranking &own, const RankedChunk &chunk) {
    ImplicitLocOpBuilder &b = builder;
    auto view = [&](Buffer buffer, Value width) {
      Value size = arith::MulIOp::create(b, numRows, width);
      return viewResults(buffer, numRows,
                         arith::MulIOp::create(b, chunk.share, size), width,
                         width);
    };
    Value newTokens = view(allTokens, own.count),
          newBest = view(allBest, own.count),
          newSums = view(allSums, constant(2)),
          first = memref::ReinterpretCastOp::create(
              b,
              MemRefType::get({}, i32,
                              StridedLayoutAttr::get(b.getContext(), any, {})),
              allFirst, OpFoldResult(chunk.share), ArrayRef<OpFoldResult>(),
              ArrayRef<OpFoldResult>());
    memref::StoreOp::create(
        b, arith::IndexCastOp::create(b, i32, chunk.firstToken), first,
        ValueRange{});
    callKernel(b, caller, {chunk.logits, own.tokens, own.best, first},
               {newTokens, newBest, newSums}, constant(0));
    forEach(numRows, [&](Value row) {
      forEach(own.count, [&](Value place) {
        ElementIndex at{.axes = {row}, .features = {place}};
        store(own.tokens, at, load(newTokens, at));
        store(own.best, at, load(newBest, at));
      });
      for (int64_t place : {0, 1}) {
        Value number = constant(place);
        store(own.sums, {.axes = {row}, .features = {number, chunk.number}},
              load(newSums, {.axes = {row}, .features = {number}}));
      }
    });
  };
}
