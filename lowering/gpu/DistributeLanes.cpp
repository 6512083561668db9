//===- DistributeLanes.cpp - one lane of all vectors for each invocation --===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/gpu/Barriers.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DISTRIBUTELANES
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What ends a reduction: the halves of a vector are combined, and theirs, down
/// to one number. All levels do it alike.
struct Tree {
  /// Of the vector of 16, which is known when the tree is rewritten: what made
  /// it has been, by then.
  vector::ExtractStridedSliceOp half;
  Value root;      ///< The last combination, of one number.
  Value low, high; ///< What it combines.
};

/// Finds the two slices that `value` is computed from.
bool findHalves(Value value, Value &low, Value &high) {
  auto slice = value.getDefiningOp<vector::ExtractStridedSliceOp>();
  if (!slice) {
    Operation *op = value.getDefiningOp();
    return op && llvm::all_of(op->getOperands(), [&](Value operand) {
             return findHalves(operand, low, high);
           });
  }
  bool isLow = cast<IntegerAttr>(slice.getOffsets()[0]).getInt() == 0;
  Value &half = isLow ? low : high;
  if (half && half != value)
    return false;
  half = value;
  return true;
}

std::optional<Tree> findTree(Value single) {
  Tree tree;
  tree.root = single;
  if (!findHalves(single, tree.low, tree.high) || !tree.low || !tree.high)
    return std::nullopt;
  Value low = tree.low, high = tree.high;
  while (true) {
    auto half = low.getDefiningOp<vector::ExtractStridedSliceOp>();
    Value source = half.getSource();
    if (high.getDefiningOp<vector::ExtractStridedSliceOp>().getSource() !=
        source)
      return std::nullopt;
    if (cast<VectorType>(source.getType()).getNumElements() == numLanes) {
      tree.half = half;
      return tree;
    }
    low = high = Value();
    if (!findHalves(source, low, high) || !low || !high)
      return std::nullopt;
  }
}

/// Distributes the vectors of one kernel.
class LaneDistributor {
public:
  LaneDistributor(gpu::GPUFuncOp kernel, bool throughMemory)
      : kernel(kernel), throughMemory(throughMemory),
        b(ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(),
                                             &kernel.getBody().front())) {}

  LogicalResult run();

private:
  LogicalResult rewrite(Operation *op);
  void flatten();
  Value combine(const Tree &tree, Value low, Value high);
  Value exchange(Value mine, const std::function<Value(Value, Value)> &combine,
                 bool isCommutative);
  Value
  exchangeThroughMemory(Value mine,
                        const std::function<Value(Value, Value)> &combine);
  SmallVector<Value> atLane(OperandRange indices) {
    SmallVector<Value> result(indices);
    result.back() = arith::AddIOp::create(b, result.back(), lane);
    return result;
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value when(Value condition, Type type, const std::function<Value()> &then,
             Value otherwise);

  /// Where an element of a view stands: in what the kernel takes.
  struct Place {
    Value root;
    OpFoldResult offset;
    SmallVector<OpFoldResult> strides;
  };
  Place locate(Value view);
  Value sizeOf(memref::DimOp dim);
  Value asValue(OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
  }
  Value linearize(const Place &place, OperandRange indices);

  gpu::GPUFuncOp kernel;
  bool throughMemory;
  ImplicitLocOpBuilder b;
  int64_t numGroups; ///< of lanes in a workgroup.
  Value lane, group; ///< Those of an invocation, in its workgroup.
  Value handed;      ///< Workgroup memory for exchanges, i32.
  DenseMap<Value, Tree> trees;
};

} // namespace

Value LaneDistributor::when(Value condition, Type type,
                            const std::function<Value()> &then,
                            Value otherwise) {
  auto branch = scf::IfOp::create(b, type ? TypeRange(type) : TypeRange(),
                                  condition, /*withElseRegion=*/bool(type));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value value = then();
  if (!type)
    return Value();
  scf::YieldOp::create(b, ValueRange(value));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange(otherwise));
  return branch.getResult(0);
}

Value LaneDistributor::combine(const Tree &tree, Value low, Value high) {
  std::function<Value(Value)> clone = [&](Value value) -> Value {
    if (value == tree.low)
      return low;
    if (value == tree.high)
      return high;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value mine = clone(operand);
      mapping.map(operand, mine);
    }
    Operation *copy = b.clone(*op, mapping);
    for (OpResult result : copy->getResults())
      result.setType(getElementTypeOrSelf(result.getType()));
    return copy->getResult(cast<OpResult>(value).getResultNumber());
  };
  return clone(tree.root);
}

/// All lanes get the root of the tree: lane i meets lane i + 8, and so on.
Value LaneDistributor::exchange(
    Value mine, const std::function<Value(Value, Value)> &combine,
    bool isCommutative) {
  if (throughMemory)
    return exchangeThroughMemory(mine, combine);
  Type type = mine.getType(), i32 = b.getI32Type();
  bool isFlag = type.isInteger(1);
  for (int32_t width = numLanes / 2; width >= 1; width /= 2) {
    Value passed =
        isFlag ? arith::ExtUIOp::create(b, i32, mine).getResult() : mine;
    auto shuffled = gpu::ShuffleOp::create(b, passed, width, numLanes,
                                           gpu::ShuffleMode::XOR);
    Value theirs = shuffled.getShuffleResult();
    if (isFlag)
      theirs = arith::TruncIOp::create(b, type, theirs);
    if (isCommutative) {
      mine = combine(mine, theirs);
      continue;
    }
    Value isHigh = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, lane, constant(width)), constant(0));
    mine = combine(arith::SelectOp::create(b, isHigh, theirs, mine),
                   arith::SelectOp::create(b, isHigh, mine, theirs));
  }
  return mine;
}

Value LaneDistributor::exchangeThroughMemory(
    Value mine, const std::function<Value(Value, Value)> &combine) {
  Type type = mine.getType(), i32 = b.getI32Type();
  if (!handed) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&kernel.getBody().front());
    handed = memref::AllocOp::create(b, MemRefType::get({numLanes}, i32));
  }
  auto toBits = [&](Value value) -> Value {
    if (type.isInteger(1))
      return arith::ExtUIOp::create(b, i32, value);
    return type == i32 ? value : arith::BitcastOp::create(b, i32, value);
  };
  auto fromBits = [&](Value bits) -> Value {
    if (type.isInteger(1))
      return arith::TruncIOp::create(b, type, bits);
    return type == i32 ? bits : arith::BitcastOp::create(b, type, bits);
  };
  Value bits = toBits(mine);
  memref::StoreOp::create(b, bits, handed, lane);
  gpu::BarrierOp::create(b);
  SmallVector<Value> all;
  for (int64_t i = 0; i < numLanes; ++i)
    all.push_back(fromBits(memref::LoadOp::create(b, handed, constant(i))));
  gpu::BarrierOp::create(b);
  for (int64_t width = numLanes / 2; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i)
      all[i] = combine(all[i], all[i + width]);
  return all[0];
}

LogicalResult LaneDistributor::rewrite(Operation *op) {
  b.setInsertionPoint(op);
  b.setLoc(op->getLoc());
  auto replace = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp constantOp) -> LogicalResult {
        auto dense = dyn_cast<DenseElementsAttr>(constantOp.getValue());
        if (!dense)
          return success();
        auto elements = dense.getValues<TypedAttr>();
        if (dense.isSplat())
          return replace(
              arith::ConstantOp::create(b, dense.getSplatValue<TypedAttr>()));
        Value value = arith::ConstantOp::create(b, elements[0]);
        for (int64_t i = 1; i < dense.getNumElements(); ++i)
          value = arith::SelectOp::create(
              b,
              arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane,
                                    constant(i)),
              arith::ConstantOp::create(b, elements[i]), value);
        return replace(value);
      })
      .Case([&](vector::BroadcastOp broadcast) {
        return replace(broadcast.getSource());
      })
      .Case([&](vector::LoadOp load) {
        return replace(memref::LoadOp::create(b, load.getBase(),
                                              atLane(load.getIndices())));
      })
      .Case([&](vector::StoreOp store) {
        memref::StoreOp::create(b, store.getValueToStore(), store.getBase(),
                                atLane(store.getIndices()));
        op->erase();
        return success();
      })
      .Case([&](vector::MaskedLoadOp load) {
        return replace(when(
            load.getMask(), load.getResult().getType(),
            [&]() -> Value {
              return memref::LoadOp::create(b, load.getBase(),
                                            atLane(load.getIndices()));
            },
            load.getPassThru()));
      })
      .Case([&](vector::MaskedStoreOp store) {
        when(
            store.getMask(), Type(),
            [&]() -> Value {
              memref::StoreOp::create(b, store.getValueToStore(),
                                      store.getBase(),
                                      atLane(store.getIndices()));
              return Value();
            },
            Value());
        op->erase();
        return success();
      })
      .Case([&](vector::GatherOp gather) {
        return replace(when(
            gather.getMask(), gather.getResult().getType(),
            [&]() -> Value {
              SmallVector<Value> place(gather.getOffsets());
              place.back() =
                  arith::AddIOp::create(b, place.back(), gather.getIndices());
              return memref::LoadOp::create(b, gather.getBase(), place);
            },
            gather.getPassThru()));
      })
      .Case([&](vector::StepOp) { return replace(lane); })
      .Case([&](vector::CreateMaskOp mask) {
        return replace(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lane,
                                             mask.getOperands()[0]));
      })
      .Case([&](vector::ConstantMaskOp mask) {
        return replace(
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, lane,
                                  constant(mask.getMaskDimSizes()[0])));
      })
      .Case([&](vector::BitCastOp cast) {
        return replace(
            arith::BitcastOp::create(b, cast.getType(), cast.getSource()));
      })
      .Case([&](vector::ReductionOp reduction) -> LogicalResult {
        // Those that are the same in any order.
        vector::CombiningKind kind = reduction.getKind();
        if (kind != vector::CombiningKind::OR &&
            kind != vector::CombiningKind::MAXIMUMF)
          return op->emitError("expected a reduction whose order is known");
        return replace(exchange(
            reduction.getVector(),
            [&](Value x, Value y) -> Value {
              if (kind == vector::CombiningKind::OR)
                return arith::OrIOp::create(b, x, y);
              return arith::MaximumFOp::create(b, x, y);
            },
            /*isCommutative=*/true));
      })
      .Case([&](vector::ExtractOp extract) -> LogicalResult {
        auto found = trees.find(extract.getResult());
        if (found == trees.end())
          return op->emitError("expected the end of a reduction over lanes");
        Tree tree = found->second;
        Operation *last = tree.root.getDefiningOp();
        return replace(exchange(
            tree.half.getSource(),
            [&](Value low, Value high) { return combine(tree, low, high); },
            last->hasTrait<OpTrait::IsCommutative>()));
      })
      .Case([&](memref::StoreOp store) {
        // One number is the same for all lanes.
        Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane,
                                              constant(0));
        when(
            isFirst, Type(),
            [&]() -> Value {
              memref::StoreOp::create(b, store.getValueToStore(),
                                      store.getMemRef(), store.getIndices());
              return Value();
            },
            Value());
        op->erase();
        return success();
      })
      .Default([&](Operation *) { return success(); });
}

LaneDistributor::Place LaneDistributor::locate(Value view) {
  if (auto cast = view.getDefiningOp<memref::CastOp>())
    return locate(cast.getSource());
  if (auto cast = view.getDefiningOp<memref::ReinterpretCastOp>())
    // Its offset counts from where the buffer begins.
    return {locate(cast.getSource()).root, cast.getMixedOffsets()[0],
            cast.getMixedStrides()};
  Place place{view, b.getIndexAttr(0), {}};
  int64_t stride = 1;
  for (int64_t size :
       llvm::reverse(cast<MemRefType>(view.getType()).getShape())) {
    place.strides.insert(place.strides.begin(), b.getIndexAttr(stride));
    stride *= size;
  }
  return place;
}

Value LaneDistributor::sizeOf(memref::DimOp dim) {
  int64_t number = *dim.getConstantIndex();
  Value view = dim.getSource();
  while (true) {
    auto type = cast<MemRefType>(view.getType());
    if (!type.isDynamicDim(number))
      return constant(type.getDimSize(number));
    if (auto cast = view.getDefiningOp<memref::CastOp>()) {
      view = cast.getSource();
      continue;
    }
    auto cast = view.getDefiningOp<memref::ReinterpretCastOp>();
    return cast ? asValue(cast.getMixedSizes()[number]) : Value();
  }
}

Value LaneDistributor::linearize(const Place &place, OperandRange indices) {
  Value sum;
  auto add = [&](Value term) {
    sum = sum ? arith::AddIOp::create(b, sum, term).getResult() : term;
  };
  for (auto [index, stride] : llvm::zip(indices, place.strides)) {
    Value term = index;
    if (!isConstantIntValue(stride, 1))
      term = arith::MulIOp::create(b, term, asValue(stride));
    add(term);
  }
  if (!isConstantIntValue(place.offset, 0))
    add(asValue(place.offset));
  return sum ? sum : constant(0);
}

/// Replaces views by what they are views of.
void LaneDistributor::flatten() {
  SmallVector<Operation *> accesses;
  kernel.walk([&](Operation *op) {
    if (isa<memref::LoadOp, memref::StoreOp, memref::DimOp>(op))
      accesses.push_back(op);
  });
  // Buffers that a group of lanes has for itself, with one dimension, and
  // booleans as words.
  DenseMap<Value, Value> locals;
  kernel.walk([&](memref::AllocOp alloc) {
    b.setInsertionPointToStart(&kernel.getBody().front());
    Type element = alloc.getType().getElementType();
    if (element.isInteger(8))
      element = b.getI32Type();
    int64_t size = alloc.getType().getNumElements();
    locals[alloc.getResult()] = memref::AllocOp::create(
        b, MemRefType::get({size * numGroups}, element));
  });
  for (Operation *op : accesses) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      if (Value size = sizeOf(dim)) {
        dim.replaceAllUsesWith(size);
        dim.erase();
      }
      continue;
    }
    auto load = dyn_cast<memref::LoadOp>(op);
    auto store = dyn_cast<memref::StoreOp>(op);
    Place place = locate(load ? load.getMemRef() : store.getMemRef());
    Value index =
        linearize(place, load ? load.getIndices() : store.getIndices());
    Value root = place.root;
    if (Value local = locals.lookup(root)) {
      int64_t size = cast<MemRefType>(root.getType()).getNumElements();
      if (numGroups > 1)
        index = arith::AddIOp::create(
            b, index, arith::MulIOp::create(b, group, constant(size)));
      root = local;
    }
    Type element = cast<MemRefType>(root.getType()).getElementType();
    if (load) {
      Value loaded = memref::LoadOp::create(b, root, index);
      if (element != load.getType())
        loaded = arith::TruncIOp::create(b, load.getType(), loaded);
      load.replaceAllUsesWith(loaded);
      load.erase();
    } else {
      Value stored = store.getValueToStore();
      if (element != stored.getType())
        stored = arith::ExtUIOp::create(b, element, stored);
      memref::StoreOp::create(b, stored, root, index);
      store.erase();
    }
  }
  // Views are used by views only, by now.
  SmallVector<Operation *> views;
  kernel.walk([&](Operation *op) {
    if (isa<memref::CastOp, memref::ReinterpretCastOp, memref::AllocOp>(op))
      views.push_back(op);
  });
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      view->erase();
}

LogicalResult LaneDistributor::run() {
  placeBarriers(kernel);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  numGroups = kernel->getAttrOfType<IntegerAttr>(groupsAttrName).getInt();
  if (throughMemory && numGroups > 1)
    return kernel.emitError("expected one group of lanes in a workgroup, all "
                            "of which waits at a barrier");
  lane = thread;
  if (numGroups > 1) {
    lane = arith::RemUIOp::create(b, thread, constant(numLanes));
    group = arith::DivUIOp::create(b, thread, constant(numLanes));
  }

  SmallVector<Operation *> ops, slices;
  LogicalResult known = success();
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto extract = dyn_cast<vector::ExtractOp>(op))
      if (std::optional<Tree> tree = findTree(extract.getSource()))
        trees[extract.getResult()] = *tree;
    auto isPart = [](Type type) {
      auto vector = dyn_cast<VectorType>(type);
      return vector && vector.getShape() != ArrayRef<int64_t>{numLanes};
    };
    if (llvm::any_of(op->getResultTypes(), isPart)) {
      slices.push_back(op);
      return;
    }
    if (isa<vector::VectorDialect>(op->getDialect()) &&
        !isa<vector::BroadcastOp, vector::LoadOp, vector::StoreOp,
             vector::MaskedLoadOp, vector::MaskedStoreOp, vector::CreateMaskOp,
             vector::ConstantMaskOp, vector::BitCastOp, vector::ReductionOp,
             vector::GatherOp, vector::StepOp, vector::ExtractOp>(op)) {
      op->emitError("expected vectors as kernels of a device have them, but "
                    "got '")
          << op->getName() << "'";
      known = failure();
    }
    ops.push_back(op);
  });
  if (failed(known))
    return failure();
  auto distribute = [](Value value) {
    if (isa<VectorType>(value.getType()))
      value.setType(getElementTypeOrSelf(value.getType()));
  };
  for (Operation *op : ops) {
    for (Value result : op->getResults())
      distribute(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          distribute(argument);
  }
  for (Operation *op : ops)
    if (failed(rewrite(op)))
      return failure();
  for (Operation *slice : llvm::reverse(slices)) {
    if (!slice->use_empty())
      return slice->emitError("expected a part of a vector to end in one "
                              "number");
    slice->erase();
  }
  flatten();
  return success();
}

namespace {
struct DistributeLanes : attn::impl::DistributeLanesBase<DistributeLanes> {
  using DistributeLanesBase::DistributeLanesBase;

  void runOnOperation() override {
    if (exchange != "shuffle" && exchange != "memory") {
      getOperation().emitError("expected an exchange by shuffle or memory, but "
                               "got '")
          << exchange << "'";
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(LaneDistributor(kernel, exchange == "memory").run()))
        return signalPassFailure();
  }
};
} // namespace
