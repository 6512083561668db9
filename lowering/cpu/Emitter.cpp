//===- Emitter.cpp - evaluates attn values as loops and vectors -----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"

#include "dialect/Axes.h"
#include "lowering/cpu/Passes.h"
#include "lowering/graph/Operations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

Emitter::Emitter(func::FuncOp function)
    : function(function),
      builder(function.getLoc(), OpBuilder::atBlockEnd(&function.front())) {}

//===----------------------------------------------------------------------===//
// Constants, loops, memory
//===----------------------------------------------------------------------===//

Value Emitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, value);
}

Value Emitter::constantF32(double value) {
  return arith::ConstantOp::create(builder, builder.getF32FloatAttr(value));
}

Value Emitter::splat(Value value) {
  return vector::BroadcastOp::create(
      builder, VectorType::get({numLanes}, value.getType()), value);
}

void Emitter::forEach(Value size, const std::function<void(Value)> &body) {
  forEach(constant(0), size, body);
}

void Emitter::forEach(Value begin, Value end,
                      const std::function<void(Value)> &body) {
  auto loop = scf::ForOp::create(builder, begin, end, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void Emitter::forEach(ValueRange sizes,
                      const std::function<void(ArrayRef<Value>)> &body) {
  SmallVector<Value> indices;
  std::function<void()> next = [&] {
    if (indices.size() == sizes.size())
      return body(indices);
    forEach(sizes[indices.size()], [&](Value index) {
      indices.push_back(index);
      next();
      indices.pop_back();
    });
  };
  next();
}

void Emitter::forEachParallel(
    ValueRange sizes, const std::function<void(ArrayRef<Value>)> &body) {
  if (!shares && !products.device)
    return forEach(sizes, body);
  // Those of the outer loops are divided, before any of them begins; a device
  // divides all.
  Value zero = constant(0), one = constant(1);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> indices;
  for (Value size : sizes.take_front(products.device ? sizes.size() : 2)) {
    auto loop = scf::ForOp::create(builder, zero, size, one);
    loop->setAttr(parallelAttrName, builder.getUnitAttr());
    builder.setInsertionPointToStart(loop.getBody());
    indices.push_back(loop.getInductionVar());
  }
  forEach(sizes.drop_front(indices.size()), [&](ArrayRef<Value> inner) {
    SmallVector<Value> all(indices);
    llvm::append_range(all, inner);
    body(all);
  });
}

void Emitter::forEachShare(
    Value size, const std::function<void(Value, Value, Value)> &body) {
  if (products.device)
    return forEachParallel(size, [&](ArrayRef<Value> piece) {
      body(piece[0], piece[0],
           arith::AddIOp::create(builder, piece[0], constant(1)));
    });
  if (!shares)
    return body(constant(0), constant(0), size);
  forEachParallel(shares, [&](ArrayRef<Value> index) {
    Value next = arith::AddIOp::create(builder, index[0], constant(1));
    body(index[0], beginOfShare(builder, size, index[0], shares),
         beginOfShare(builder, size, next, shares));
  });
}

Value Emitter::choose(Type type, Value condition,
                      const std::function<Value()> &whole,
                      const std::function<Value()> &otherwise) {
  auto branch = scf::IfOp::create(builder, TypeRange{type}, condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, ValueRange{whole()});
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, ValueRange{otherwise()});
  return branch.getResult(0);
}

SmallVector<Value> Emitter::countChunks(ArrayRef<int64_t> features) {
  SmallVector<Value> counts;
  for (int64_t size : features)
    counts.push_back(constant(size));
  if (!features.empty())
    counts.back() = constant(llvm::divideCeil(features.back(), numLanes));
  return counts;
}

ElementIndex Emitter::chunkAt(ArrayRef<int64_t> features,
                              ArrayRef<Value> places) {
  ElementIndex index{.axes = {}, .features = SmallVector<Value>(places)};
  if (features.empty())
    return index;
  index.isVector = true;
  Value &start = index.features.back();
  start = arith::MulIOp::create(builder, start, constant(numLanes));
  if (features.back() % numLanes != 0)
    index.mask = vector::CreateMaskOp::create(
        builder, VectorType::get({numLanes}, builder.getI1Type()),
        ValueRange{
            arith::SubIOp::create(builder, constant(features.back()), start)});
  return index;
}

void Emitter::forEachChunk(ArrayRef<int64_t> features,
                           const std::function<void(ElementIndex)> &body) {
  if (features.empty())
    return body({});
  // On a device one loop of chunks that are alike.
  if (products.device)
    return forEachParallel(countChunks(features), [&](ArrayRef<Value> places) {
      body(chunkAt(features, places));
    });
  SmallVector<Value> outer;
  for (int64_t size : features.drop_back())
    outer.push_back(constant(size));
  int64_t last = features.back(), full = last / numLanes * numLanes;
  forEach(outer, [&](ArrayRef<Value> indices) {
    auto chunk = [&](Value start, Value mask) {
      ElementIndex index;
      index.features.assign(indices.begin(), indices.end());
      index.features.push_back(start);
      index.isVector = true;
      index.mask = mask;
      body(index);
    };
    if (full > 0) {
      auto loop = scf::ForOp::create(builder, constant(0), constant(full),
                                     constant(numLanes));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      chunk(loop.getInductionVar(), Value());
    }
    if (full < last) {
      Value mask = vector::CreateMaskOp::create(
          builder, VectorType::get({numLanes}, builder.getI1Type()),
          constant(last - full));
      chunk(constant(full), mask);
    }
  });
}

Value Emitter::reduce(Value size, std::optional<int64_t> staticSize,
                      Value neutral,
                      const std::function<Value(Value, Value, Value)> &body,
                      const std::function<Value(Value, Value)> &combine,
                      int64_t together,
                      const std::function<void(ArrayRef<Chunk>)> &before) {
  assert((staticSize || together == 1) && "groups are known when compiling");
  Value start = splat(neutral);
  Value step = constant(together * numLanes);
  // The tail runs the same code under a mask, so that an element is treated
  // alike wherever the end of its row lies (R13).
  Value full, rest;
  if (staticSize) {
    full = constant(*staticSize / (together * numLanes) * together * numLanes);
    rest = constant(*staticSize % numLanes);
  } else {
    rest = arith::RemUIOp::create(builder, size, step);
    full = arith::SubIOp::create(builder, size, rest);
  }
  Value accumulated = start;
  // The chunks of a group that begin at `first`, the last under `mask`.
  auto emitGroup = [&](Value first, int64_t count, Value mask) {
    SmallVector<Chunk> chunks;
    for (int64_t i = 0; i < count; ++i)
      chunks.push_back({i == 0 ? first
                               : arith::AddIOp::create(builder, first,
                                                       constant(i * numLanes))
                                     .getResult(),
                        i + 1 == count ? mask : Value()});
    if (before)
      before(chunks);
    for (auto [begin, lanes] : chunks) {
      Value sum = body(begin, lanes, accumulated);
      accumulated =
          lanes ? arith::SelectOp::create(builder, lanes, sum, accumulated)
                      .getResult()
                : sum;
    }
  };
  if (!staticSize || *staticSize >= together * numLanes) {
    auto loop = scf::ForOp::create(builder, constant(0), full, step, start);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    accumulated = loop.getRegionIterArg(0);
    emitGroup(loop.getInductionVar(), together, Value());
    scf::YieldOp::create(builder, accumulated);
    accumulated = loop.getResult(0);
  }
  if (!staticSize || *staticSize % (together * numLanes) != 0) {
    Value mask;
    if (!staticSize || *staticSize % numLanes != 0)
      mask = vector::CreateMaskOp::create(
          builder, VectorType::get({numLanes}, builder.getI1Type()), rest);
    emitGroup(full,
              staticSize ? llvm::divideCeil(*staticSize % (together * numLanes),
                                            numLanes)
                         : 1,
              mask);
  }
  // The fixed tree: lane i meets lane i + width / 2.
  for (int64_t width = numLanes / 2; width >= 1; width /= 2) {
    auto half = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          builder, accumulated, ArrayRef<int64_t>{offset},
          ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    };
    accumulated = combine(half(0), half(width));
  }
  return vector::ExtractOp::create(builder, accumulated, ArrayRef<int64_t>{0});
}

/// All indices of an element, axes first.
static SmallVector<Value> flatten(const ElementIndex &index) {
  SmallVector<Value> indices(index.axes);
  llvm::append_range(indices, index.features);
  return indices;
}

void Emitter::store(Buffer buffer, const ElementIndex &index, Value element) {
  cache.clear();
  SmallVector<Value> indices = flatten(index);
  if (getElementTypeOrSelf(element.getType()).isInteger(1)) {
    Type byte = builder.getI8Type();
    if (index.isVector)
      byte = VectorType::get({numLanes}, byte);
    element = arith::ExtUIOp::create(builder, byte, element);
  }
  if (!index.isVector)
    memref::StoreOp::create(builder, element, buffer, indices);
  else if (index.mask)
    vector::MaskedStoreOp::create(builder, buffer, indices, index.mask,
                                  element);
  else
    vector::StoreOp::create(builder, element, buffer, indices);
}

Value Emitter::load(Buffer buffer, const ElementIndex &index) {
  SmallVector<Value> indices = flatten(index);
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Value loaded;
  if (!index.isVector) {
    loaded = memref::LoadOp::create(builder, buffer, indices);
  } else {
    auto type = VectorType::get({numLanes}, element);
    if (index.mask) {
      Value zero =
          arith::ConstantOp::create(builder, builder.getZeroAttr(type));
      loaded = vector::MaskedLoadOp::create(builder, type, buffer, indices,
                                            index.mask, zero);
    } else {
      loaded = vector::LoadOp::create(builder, type, buffer, indices);
    }
  }
  if (element.isInteger(8)) {
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(loaded.getType()));
    loaded =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, loaded, zero);
  }
  return loaded;
}

Buffer Emitter::allocate(Type type, ValueRange sizes) {
  Type element = getElementTypeOrSelf(type);
  if (element.isInteger(1))
    element = builder.getI8Type();
  SmallVector<int64_t> shape(getNumAxes(type), ShapedType::kDynamic);
  llvm::append_range(shape, getFeatures(type));
  return allocateBuffer(MemRefType::get(shape, element), sizes);
}

Buffer Emitter::allocateBuffer(MemRefType type, ValueRange sizes) {
  // Buffers belong to the program as a whole: they are placed before the loop
  // that fills them.
  OpBuilder::InsertionGuard guard(builder);
  if (builder.getBlock() != &function.front()) {
    Operation *outermost = builder.getBlock()->getParentOp();
    while (outermost->getBlock() != &function.front())
      outermost = outermost->getParentOp();
    builder.setInsertionPoint(outermost);
  }
  return memref::AllocOp::create(builder, type, sizes);
}

//===----------------------------------------------------------------------===//
// Axis sizes
//===----------------------------------------------------------------------===//

ArrayRef<Value> Emitter::getAxisSizes(Value value) {
  auto known = axisSizes.find(value);
  if (known == axisSizes.end()) {
    SmallVector<Value> sizes = computeAxisSizes(value);
    known = axisSizes.try_emplace(value, sizes).first;
  }
  return known->second;
}

SmallVector<Value> Emitter::computeAxisSizes(Value value) {
  unsigned numAxes = getNumAxes(value.getType());
  if (numAxes == 0)
    return {};
  if (auto bound = bindings.find(value); bound != bindings.end())
    return SmallVector<Value>(
        getAxisSizes(bound->second.outer).take_back(numAxes));
  Operation *op = value.getDefiningOp();
  assert(op && "the sizes of arguments are set by the program");

  auto take = [&](Value from, unsigned count) {
    return SmallVector<Value>(getAxisSizes(from).take_front(count));
  };
  if (auto toRows = dyn_cast<ToRowsOp>(op)) {
    SmallVector<Value> sizes = take(toRows.getInput(), numAxes);
    sizes[0] = getAxisSizes(toRows.getRows())[0];
    return sizes;
  }
  if (isa<FirstOp, LastOp, MeanOp>(op))
    return take(op->getOperand(0), 1);
  int64_t stride = 1;
  if (isa<PairsOp>(op))
    stride = 2;
  else if (auto convolution = dyn_cast<Conv1dOp>(op))
    stride = convolution.getStride();
  if (stride > 1) {
    SmallVector<Value> sizes = take(op->getOperand(0), 2);
    sizes[1] = arith::CeilDivUIOp::create(builder, sizes[1], constant(stride));
    return sizes;
  }
  if (auto pair = dyn_cast<PairOpInterface>(op)) {
    SmallVector<Value> sizes;
    sizes.push_back(
        getAxisSizes(pair.getRows() ? pair.getRows() : pair.getLengths())[0]);
    Value keys, queries;
    for (auto [index, input] : llvm::enumerate(pair.getInputs())) {
      if (pair.indexes(index, PairOpInterface::Key) && !keys)
        keys = getAxisSizes(input)[1];
      if (pair.indexes(index, PairOpInterface::Query) && !queries)
        queries = getAxisSizes(input)[1];
    }
    if (pair.hasQueryAxis())
      sizes.push_back(queries);
    if (sizes.size() < numAxes)
      sizes.push_back(keys);
    return sizes;
  }
  for (Value operand : op->getOperands())
    if (getNumAxes(operand.getType()) == numAxes)
      return take(operand, numAxes);
  llvm_unreachable("a value with axes has an operand with them");
}

//===----------------------------------------------------------------------===//
// Which values get a buffer
//===----------------------------------------------------------------------===//

/// Operations that only say where an element comes from: evaluating them twice
/// costs a load.
static bool isRedirect(Operation *op) {
  return isa<BroadcastOp, SliceOp, EmbedOp, LookupOp, ToRowsOp, ReverseOp,
             FirstOp, LastOp, PositionOp, DetachOp, GetParameterOp,
             arith::ConstantOp>(op);
}

/// Whether `value`, of the region of a read's score, is used for the score of
/// one head at a time only.
static bool isUsedPerHead(Value value) {
  if (!value.hasOneUse())
    return false;
  Operation *user = *value.user_begin();
  if (isa<arith::ArithDialect, math::MathDialect>(user->getDialect()))
    return isUsedPerHead(user->getResult(0));
  auto read = dyn_cast<ReadOp>(user->getParentOp());
  return read && isa<YieldOp>(user) &&
         user->getParentRegion() == &read.getScore();
}

bool Emitter::isLazy(Operation *op) {
  if (isRedirect(op) || isa<SigmoidOp, OuterOp, StridedLengthOp>(op))
    return true;
  // A dot product whose elements are used one at a time is one reduction where
  // each is used.
  if (auto dot = dyn_cast<DotOp>(op))
    return getFeatures(dot.getResult().getType()).empty() ||
           isUsedPerHead(dot.getResult());
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

/// Whether `value` is a part of one that lies in a buffer.
static bool isPartOfBuffer(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return false;
  Operation *from = slice.getInput().getDefiningOp();
  return !from || !Emitter::isLazy(from) || isPartOfBuffer(slice.getInput());
}

/// Whether this use goes through memory several times, or in an order of its
/// own, so that the value must lie in a buffer.
static bool readsBuffer(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<LinearOp, Conv1dOp>(user))
    return true;
  auto pair = dyn_cast<PairOpInterface>(user);
  if (isa<ScanOp>(user) ||
      (pair && llvm::is_contained(pair.getInputs(), use.get())))
    return !isPartOfBuffer(use.get());
  return false;
}

/// The operations that evaluate `value`, looking through lazy ones whose
/// results are not stored themselves.
void Emitter::collectRoots(Value value,
                           llvm::SmallPtrSetImpl<Operation *> &roots) {
  for (Operation *user : value.getUsers()) {
    if (isLazy(user) && user->getBlock() == value.getParentBlock() &&
        !needsBuffer(user->getResult(0)))
      collectRoots(user->getResult(0), roots);
    else
      roots.insert(user);
  }
}

bool Emitter::isPrepared(Value value) {
  if (!preparedValue || getNumAxes(value.getType()) != 0)
    return false;
  auto [known, isNew] = dependsOnParametersAlone.try_emplace(value, false);
  if (!isNew)
    return known->second;
  Operation *op = value.getDefiningOp();
  bool prepared =
      op && isPure(op) && op->getNumResults() == 1 && !isa<PairOpInterface>(op);
  bool fromParameter = isa_and_present<GetParameterOp>(op);
  if (prepared)
    for (Value operand : op->getOperands()) {
      // What constants alone determine is cheap, and known to LLVM.
      if (matchPattern(operand, m_Constant()) || getUniformConstant(operand))
        continue;
      prepared &= isPrepared(operand);
      fromParameter |= prepared;
    }
  return dependsOnParametersAlone[value] = prepared && fromParameter;
}

bool Emitter::needsBuffer(Value value) {
  if (buffers.lookup(value))
    return true;
  auto known = storedValues.find(value);
  if (known == storedValues.end())
    known = storedValues.try_emplace(value, computeNeedsBuffer(value)).first;
  return known->second;
}

bool Emitter::computeNeedsBuffer(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<GetParameterOp>(op))
    return false;
  if (llvm::any_of(value.getUses(), readsBuffer))
    return true;
  if (isRedirect(op) || getNumAxes(value.getType()) == 0)
    return false;
  llvm::SmallPtrSet<Operation *, 4> roots;
  collectRoots(value, roots);
  return roots.size() > 1 || llvm::any_of(roots, [&](Operation *root) {
           return root->getBlock() != op->getBlock();
         });
}

bool Emitter::isLazy(Block &block) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    return isLazy(&op) && !needsBuffer(op.getResult(0));
  });
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Emitter::CacheKey Emitter::getCacheKey(Value value, const ElementIndex &index) {
  CacheKey key = {value.getAsOpaquePointer(), index.mask.getAsOpaquePointer(),
                  reinterpret_cast<void *>(size_t(index.isVector))};
  for (Value part : flatten(index))
    key.push_back(part.getAsOpaquePointer());
  return key;
}

Value Emitter::evaluate(Value value, const ElementIndex &index) {
  if (builder.getBlock() != cacheBlock) {
    cache.clear();
    cacheBlock = builder.getBlock();
  }
  CacheKey key = getCacheKey(value, index);
  if (auto known = cache.find(key); known != cache.end())
    return known->second;
  Value result = evaluateUncached(value, index);
  // What was evaluated in loops of its own is known after them.
  if (builder.getBlock() != cacheBlock) {
    cache.clear();
    cacheBlock = builder.getBlock();
  }
  return cache[key] = result;
}

Value Emitter::lastTruePosition(Value lengths, Value row) {
  Value length = evaluate(lengths, {.axes = {row}, .features = {}});
  Value one = arith::ConstantIntOp::create(builder, 1, 32);
  Value zero = arith::ConstantIntOp::create(builder, 0, 32);
  Value last = arith::SubIOp::create(builder, length, one);
  last = arith::MaxSIOp::create(builder, last, zero);
  return arith::IndexCastOp::create(builder, builder.getIndexType(), last);
}

Value Emitter::evaluateUncached(Value value, const ElementIndex &index) {
  if (Value scalar = scalars.lookup(value))
    return index.isVector && !isa<VectorType>(scalar.getType()) ? splat(scalar)
                                                                : scalar;
  if (Buffer buffer = buffers.lookup(value))
    return load(buffer, index);
  if (auto kept = histories.find(value); kept != histories.end()) {
    ElementIndex entry = index;
    entry.axes = {slotOf(kept->second, index.axes[0], index.axes[1])};
    return load(kept->second.data, entry);
  }
  if (auto bound = bindings.find(value); bound != bindings.end()) {
    ElementIndex outer = index;
    outer.axes = bound->second.axes(index.axes);
    return evaluate(bound->second.outer, outer);
  }
  Operation *op = value.getDefiningOp();
  assert(op && "an argument without a buffer or a binding");
  if (auto parameter = dyn_cast<GetParameterOp>(op))
    return load(parameterBuffer(parameter), index);
  if (!isRedirect(op) && isPrepared(value))
    return load(buffers[value] = preparedValue(value), index);
  assert(isLazy(op) && "a kernel's result is in a buffer");
  return evaluateElementwise(op, index);
}

Value Emitter::evaluateElementwise(Operation *op, const ElementIndex &index) {
  builder.setLoc(op->getLoc());
  Value result = op->getResult(0);
  auto perLane = [&](Value scalar) {
    return index.isVector ? splat(scalar) : scalar;
  };
  /// `element`, or zero where `condition` (one for all lanes) is false.
  auto orZero = [&](Value condition, Value element) -> Value {
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(element.getType()));
    return arith::SelectOp::create(builder, condition, element, zero);
  };

  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    Type from = broadcast.getInput().getType();
    ArrayRef<int64_t> features = getFeatures(from);
    ElementIndex inner = index;
    inner.axes.resize(getNumAxes(from));
    if (features == getFeatures(result.getType()))
      return evaluate(broadcast.getInput(), inner);
    inner.isVector = false;
    inner.mask = Value();
    if (isPrefix(features, getFeatures(result.getType())))
      inner.features.resize(features.size());
    else
      inner.features.assign(features.size(), constant(0));
    return perLane(evaluate(broadcast.getInput(), inner));
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    ElementIndex inner = index;
    Value start = constant(slice.getStart());
    if (slice.getDrop()) {
      inner.features.insert(inner.features.begin(), start);
    } else {
      Value &place = inner.features[slice.getFeature()];
      place = arith::AddIOp::create(builder, place, start);
    }
    return evaluate(slice.getInput(), inner);
  }
  if (auto embed = dyn_cast<EmbedOp>(op)) {
    ElementIndex token{.axes = index.axes, .features = {}};
    Value id = evaluate(embed.getTokens(), token);
    Value zero = arith::ConstantIntOp::create(builder, 0, 32);
    Value exists =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, id, zero);
    Value row = arith::IndexCastOp::create(
        builder, builder.getIndexType(),
        arith::SelectOp::create(builder, exists, id, zero));
    ElementIndex entry = index;
    entry.axes.clear();
    entry.features.insert(entry.features.begin(), row);
    return orZero(exists, evaluate(embed.getTable(), entry));
  }
  if (auto lookup = dyn_cast<LookupOp>(op)) {
    ElementIndex place{.axes = index.axes, .features = {}};
    Value position = evaluate(lookup.getIndex(), place);
    // The runtime refuses positions beyond the table; never read outside of it.
    int64_t size = getFeatures(lookup.getTable().getType()).front();
    Value last = arith::ConstantIntOp::create(builder, size - 1, 32);
    Value zero = arith::ConstantIntOp::create(builder, 0, 32);
    position = arith::MaxSIOp::create(builder, position, zero);
    position = arith::MinSIOp::create(builder, position, last);
    ElementIndex entry = index;
    entry.axes.clear();
    entry.features.insert(
        entry.features.begin(),
        arith::IndexCastOp::create(builder, builder.getIndexType(), position));
    return evaluate(lookup.getTable(), entry);
  }
  if (auto detach = dyn_cast<DetachOp>(op))
    return evaluate(detach.getInput(), index);
  if (auto toRows = dyn_cast<ToRowsOp>(op)) {
    ElementIndex inner = index;
    Value row =
        evaluate(toRows.getRows(), {.axes = {index.axes[0]}, .features = {}});
    inner.axes[0] =
        arith::IndexCastOp::create(builder, builder.getIndexType(), row);
    return evaluate(toRows.getInput(), inner);
  }
  if (auto reverse = dyn_cast<ReverseOp>(op)) {
    ElementIndex inner = index;
    Value last = lastTruePosition(reverse.getLengths(), index.axes[0]);
    Value length = arith::IndexCastOp::create(
        builder, builder.getIndexType(),
        evaluate(reverse.getLengths(), {.axes = {index.axes[0]}}));
    Value within = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                         index.axes[1], length);
    Value mirrored = arith::SubIOp::create(builder, last, index.axes[1]);
    inner.axes[1] =
        arith::SelectOp::create(builder, within, mirrored, constant(0));
    return orZero(within, evaluate(reverse.getInput(), inner));
  }
  if (isa<FirstOp, LastOp>(op)) {
    Value lengths = op->getOperand(1);
    ElementIndex inner = index;
    inner.axes.push_back(isa<FirstOp>(op)
                             ? constant(0)
                             : lastTruePosition(lengths, index.axes[0]));
    Value length = evaluate(lengths, {.axes = {index.axes[0]}, .features = {}});
    Value some =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::sgt, length,
                              arith::ConstantIntOp::create(builder, 0, 32));
    return orZero(some, evaluate(op->getOperand(0), inner));
  }
  if (isa<PositionOp>(op)) {
    Value position = arith::IndexCastOp::create(builder, builder.getI32Type(),
                                                index.axes[1]);
    return perLane(position);
  }
  if (auto strided = dyn_cast<StridedLengthOp>(op)) {
    Value length = evaluate(strided.getLengths(), index);
    Value stride =
        arith::ConstantIntOp::create(builder, strided.getStride(), 32);
    return arith::CeilDivSIOp::create(builder, length, stride);
  }
  if (auto outer = dyn_cast<OuterOp>(op)) {
    ElementIndex left = index;
    left.features.pop_back();
    left.isVector = false;
    left.mask = Value();
    ElementIndex right = index;
    size_t prefix = getFeatures(outer.getRhs().getType()).size() - 1;
    right.features.assign(index.features.begin(),
                          index.features.begin() + prefix);
    right.features.push_back(index.features.back());
    Value factor = perLane(evaluate(outer.getLhs(), left));
    return arith::MulFOp::create(builder, factor,
                                 evaluate(outer.getRhs(), right));
  }
  if (auto dot = dyn_cast<DotOp>(op))
    return evaluateDot(dot, index);
  if (auto choice = dyn_cast<arith::SelectOp>(op);
      choice && isRepair(choice) && !index.isVector) {
    Value usual = evaluate(choice.getFalseValue(), index);
    Value failed =
        arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, usual, usual);
    return choose(
        usual.getType(), failed,
        [&] { return evaluate(choice.getTrueValue(), index); },
        [&] { return usual; });
  }
  if (auto sigmoid = dyn_cast<SigmoidOp>(op)) {
    // exp(-|x|) never overflows, so small results keep their precision:
    // 1 / (1 + e) above zero, e / (1 + e) below.
    Value x = evaluate(sigmoid.getInput(), index);
    Value one = perLane(constantF32(1)), zero = perLane(constantF32(0));
    Value magnitude = math::AbsFOp::create(builder, x);
    Value e =
        math::ExpOp::create(builder, arith::NegFOp::create(builder, magnitude));
    Value negative =
        arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, x, zero);
    Value numerator = arith::SelectOp::create(builder, negative, e, one);
    return arith::DivFOp::create(builder, numerator,
                                 arith::AddFOp::create(builder, one, e));
  }
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constantOp.getValue());
    TypedAttr attribute = constantOp.getValue();
    if (dense)
      attribute = dense.getSplatValue<TypedAttr>();
    Value scalar = arith::ConstantOp::create(builder, attribute);
    return perLane(scalar);
  }

  // Arithmetic: the same operation on elements or lanes.
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, evaluate(operand, index));
  // Integer division by zero gives zero; lanes beyond the end divide by it.
  Value nonZero;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op)) {
    Value divisor = mapping.lookup(op->getOperand(1));
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(divisor.getType()));
    Value one = perLane(arith::ConstantOp::create(
        builder,
        builder.getIntegerAttr(getElementTypeOrSelf(divisor.getType()), 1)));
    nonZero =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, divisor, zero);
    mapping.map(op->getOperand(1),
                arith::SelectOp::create(builder, nonZero, divisor, one));
  }
  Operation *clone = builder.clone(*op, mapping);
  // What LLVM would make of such a flag depends on the processor (R21).
  if (auto quotient = dyn_cast<arith::DivFOp>(clone))
    quotient.setFastmath(arith::FastMathFlags::none);
  Type element = getElementTypeOrSelf(result.getType());
  clone->getResult(0).setType(
      index.isVector ? Type(VectorType::get({numLanes}, element)) : element);
  return nonZero ? orZero(nonZero, clone->getResult(0)) : clone->getResult(0);
}

/// The quotients of a number, of which several may share a division, that
/// `value` is made of element by element.
static void collectSharedQuotients(Value value,
                                   llvm::SetVector<Operation *> &quotients) {
  Operation *op = value.getDefiningOp();
  if (!op || !isElementwise(op))
    return;
  auto quotient = dyn_cast<arith::DivFOp>(op);
  if (quotient &&
      bitEnumContainsAll(quotient.getFastmath(), arith::FastMathFlags::arcp) &&
      getUniformConstant(quotient.getLhs()))
    quotients.insert(op);
  else
    for (Value operand : op->getOperands())
      collectSharedQuotients(operand, quotients);
}

void Emitter::shareDivision(arith::DivFOp quotient, const ElementIndex &first,
                            const ElementIndex &second) {
  Value a = evaluate(quotient.getRhs(), first);
  Value b = evaluate(quotient.getRhs(), second);
  // Lanes beyond the end must not touch those of the other chunk.
  if (second.mask)
    b = arith::SelectOp::create(builder, second.mask, b, splat(constantF32(1)));
  // c / (a b) times b is c / a.
  Value both =
      arith::DivFOp::create(builder, evaluate(quotient.getLhs(), first),
                            arith::MulFOp::create(builder, a, b));
  cache[getCacheKey(quotient.getResult(), first)] =
      arith::MulFOp::create(builder, both, b);
  cache[getCacheKey(quotient.getResult(), second)] =
      arith::MulFOp::create(builder, both, a);
}

Value Emitter::evaluateDot(DotOp op, const ElementIndex &index) {
  // Chunks 2 i and 2 i + 1 share divisions whatever the processor (R21). With
  // more of them, products would take longer than divisions.
  int64_t size = getFeatures(op.getLhs().getType()).back();
  llvm::SetVector<Operation *> quotients;
  for (Value operand : op->getOperands())
    collectSharedQuotients(operand, quotients);
  auto placeOf = [&](Value start, Value mask) {
    ElementIndex place{.axes = index.axes,
                       .features = index.features,
                       .isVector = true,
                       .mask = mask};
    place.features.push_back(start);
    return place;
  };
  return reduce(
      constant(size), size, constantF32(0),
      [&](Value start, Value mask, Value sum) -> Value {
        ElementIndex chunk = placeOf(start, mask);
        return math::FmaOp::create(builder, evaluate(op.getLhs(), chunk),
                                   evaluate(op.getRhs(), chunk), sum);
      },
      [&](Value a, Value b) -> Value {
        return arith::AddFOp::create(builder, a, b);
      },
      quotients.empty() ? 1 : 2,
      [&](ArrayRef<Chunk> chunks) {
        if (chunks.size() < 2)
          return;
        auto [first, noMask] = chunks.front();
        auto [second, mask] = chunks.back();
        for (Operation *quotient : quotients)
          shareDivision(cast<arith::DivFOp>(quotient), placeOf(first, noMask),
                        placeOf(second, mask));
      });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void Emitter::materialize(Value value, Buffer destination) {
  // What is computed already is copied here.
  if (products.external && !locate(value))
    return emitExternal(value, destination);
  SmallVector<Value> sizes(getAxisSizes(value));
  forEachParallel(sizes, [&](ArrayRef<Value> axes) {
    forEachChunk(getFeatures(value.getType()), [&](ElementIndex index) {
      index.axes.assign(axes.begin(), axes.end());
      store(destination, index, evaluate(value, index));
    });
  });
}

Buffer Emitter::getOrMaterialize(Value value) {
  if (Buffer buffer = buffers.lookup(value))
    return buffer;
  if (auto parameter = value.getDefiningOp<GetParameterOp>())
    return parameterBuffer(parameter);
  if (isPrepared(value))
    return buffers[value] = preparedValue(value);
  Buffer buffer = allocate(value.getType(), getAxisSizes(value));
  materialize(value, buffer);
  return buffers[value] = buffer;
}

/// The numbers of a constant whose elements are not all the same; null for
/// other operations.
static DenseElementsAttr getTable(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  auto values =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return values && !values.isSplat() ? values : nullptr;
}

Buffer Emitter::getOrCreateTable(DenseElementsAttr values) {
  auto module = function->getParentOfType<ModuleOp>();
  auto tensor = cast<RankedTensorType>(values.getType());
  // Booleans are bytes in memory.
  if (tensor.getElementType().isInteger(1))
    values = values.mapValues(builder.getI8Type(),
                              [](const APInt &value) { return value.zext(8); });
  // Data of the module is the host's: on a device, tables stand beside what is
  // made of parameters.
  if (products.device && preparedValue) {
    ModelOp model = *module.getOps<ModelOp>().begin();
    OpBuilder modelBuilder = OpBuilder::atBlockBegin(&model.getBody().front());
    return preparedValue(
        arith::ConstantOp::create(modelBuilder, builder.getLoc(), values));
  }
  auto type = MemRefType::get(
      tensor.getShape(),
      cast<RankedTensorType>(values.getType()).getElementType());
  memref::GlobalOp table;
  unsigned count = 0;
  for (auto known : module.getOps<memref::GlobalOp>()) {
    ++count;
    if (known.getType() == type && known.getInitialValueAttr() == values)
      table = known;
  }
  if (!table) {
    OpBuilder moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
    table = memref::GlobalOp::create(
        moduleBuilder, builder.getLoc(), "table" + std::to_string(count),
        builder.getStringAttr("private"), type, values, /*constant=*/true,
        /*alignment=*/builder.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(builder, type, table.getSymName());
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emit(&op)))
      return failure();
  return success();
}

std::optional<Emitter::Place> Emitter::locate(Value value) {
  if (Buffer buffer = buffers.lookup(value))
    return Place{.buffer = buffer};
  if (auto kept = histories.find(value); kept != histories.end())
    return Place{.buffer = kept->second.data, .slots = kept->second.slots};
  if (auto bound = bindings.find(value); bound != bindings.end())
    return Place{.outer = bound->second.outer,
                 .positions = bound->second.positions};
  Operation *op = value.getDefiningOp();
  assert(op && "an argument without a buffer or a binding");
  if (auto parameter = dyn_cast<GetParameterOp>(op))
    return Place{.buffer = parameterBuffer(parameter)};
  if (!isRedirect(op) && isPrepared(value))
    return Place{.buffer = buffers[value] = preparedValue(value)};
  return std::nullopt;
}

void Emitter::storeIfComputed(Value value) {
  if (products.external && !locate(value))
    getOrMaterialize(value);
}

Value Emitter::slotOf(const History &history, Value row, Value position) {
  Value slot = load(history.slots, {.axes = {row, position}, .features = {}});
  return arith::IndexCastOp::create(builder, builder.getIndexType(), slot);
}

LogicalResult Emitter::emitPast(PastOp op) {
  if (!history)
    return op.emitError("expected a past in the step of a model only");
  storeIfComputed(op.getInput());
  History kept = history(op);
  Value rows = getAxisSizes(op.getInput())[0];
  DecoderOp decoder = op->getParentOfType<DecoderOp>();
  forEachParallel(rows, [&](ArrayRef<Value> axes) {
    Value row = axes[0], slot;
    auto findSlot = [&] {
      Value position = arith::IndexCastOp::create(
          builder, builder.getIndexType(),
          evaluate(decoder.getPosition(), {.axes = {row}, .features = {}}));
      slot = slotOf(kept, row, position);
    };
    // On a device the loops are one, with nothing between them.
    if (!products.device)
      findSlot();
    forEachChunk(getFeatures(op.getInput().getType()), [&](ElementIndex index) {
      if (products.device)
        findSlot();
      index.axes = {row};
      Value element = evaluate(op.getInput(), index);
      index.axes = {slot};
      store(kept.data, index, element);
    });
  });
  histories[op.getResult()] = kept;
  setAxisSizes(op.getResult(), {rows, kept.positions});
  return success();
}

LogicalResult Emitter::emit(Operation *op) {
  builder.setLoc(op->getLoc());
  if (auto past = dyn_cast<PastOp>(op))
    return emitPast(past);
  // What is computed when the model is opened is there when it is needed.
  if (op->getNumResults() == 1 && isPrepared(op->getResult(0)))
    return success();
  if (isLazy(op)) {
    Value result = op->getResult(0);
    if (DenseElementsAttr table = getTable(op)) {
      buffers[result] = getOrCreateTable(table);
      return success();
    }
    if (needsBuffer(result)) {
      Buffer buffer = buffers.lookup(result);
      if (!buffer)
        buffer = allocate(result.getType(), getAxisSizes(result));
      buffers.erase(result);
      materialize(result, buffer);
      buffers[result] = buffer;
    }
    return success();
  }
  return emitKernel(op);
}

LogicalResult Emitter::emitExpression(Value value, Buffer destination) {
  Operation *op = value.getDefiningOp();
  if (op && !buffers.lookup(value)) {
    if (DenseElementsAttr table = getTable(op))
      buffers[value] = getOrCreateTable(table);
    for (Value operand : op->getOperands())
      if (failed(emitExpression(operand)))
        return failure();
    if (!isLazy(op)) {
      if (destination)
        buffers[value] = destination;
      return emitKernel(op);
    }
  }
  if (destination) {
    materialize(value, destination);
    buffers[value] = destination;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions of the module
//===----------------------------------------------------------------------===//

Value attn::beginOfShare(ImplicitLocOpBuilder &b, Value size, Value share,
                         Value shares) {
  // Rounded up: what cannot be divided is the first one's.
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value all = arith::MulIOp::create(b, size, share);
  all = arith::AddIOp::create(b, all, arith::SubIOp::create(b, shares, one));
  return arith::DivUIOp::create(b, all, shares);
}

func::FuncOp attn::getOrCreateFunction(ModuleOp module, StringRef name,
                                       ArrayRef<Type> types,
                                       function_ref<void(func::FuncOp)> write) {
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  MLIRContext *context = module.getContext();
  OpBuilder moduleBuilder = OpBuilder::atBlockBegin(module.getBody());
  auto function = func::FuncOp::create(moduleBuilder, module.getLoc(), name,
                                       FunctionType::get(context, types, {}));
  function->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // Inlining it into every product would multiply the code for nothing.
  function->setAttr(
      "passthrough",
      ArrayAttr::get(context, StringAttr::get(context, "noinline")));
  function.addEntryBlock();
  write(function);
  return function;
}
