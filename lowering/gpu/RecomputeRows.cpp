//===- RecomputeRows.cpp - rows again in each iteration that uses them ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/LoopTransforms.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Accesses.h"
#include "lowering/gpu/Nests.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_RECOMPUTEROWS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// What iterations take
//===----------------------------------------------------------------------===//

/// What a function of mathematics takes, if an access to memory takes 1.
static constexpr double costOfFunction = 16;

/// A buffer, or a view of one, before its sizes were forgotten.
static Value skipCasts(Value buffer) {
  while (auto cast = buffer.getDefiningOp<memref::CastOp>())
    buffer = cast.getSource();
  return buffer;
}

/// What a call takes: that of a product (see getOrCreateProduct) for `numRows`
/// rows the load of each vector of weights, and one of each row's input. Of
/// other functions nothing is known.
static double estimateCall(func::CallOp call, int64_t numRows) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
  auto kind =
      callee ? callee->getAttrOfType<StringAttr>(kernelAttrName) : nullptr;
  if (!kind || !kind.getValue().starts_with("product"))
    return 0;
  auto weights = cast<MemRefType>(skipCasts(call.getOperand(1)).getType());
  auto results =
      skipCasts(call.getOperand(3)).getDefiningOp<memref::ReinterpretCastOp>();
  if (weights.getRank() != 3 || weights.isDynamicDim(1) || !results)
    return 0;
  auto columns = getConstantIntValue(results.getMixedSizes()[1]);
  return double(weights.getDimSize(1)) *
         (columns ? llvm::divideCeil(*columns, numLanes) : 1) * (1 + numRows);
}

namespace {
/// What is reckoned with where it is not known how often a loop runs, or for
/// how many rows a product is.
struct Reckoning {
  std::optional<int64_t> loops; ///< Nothing: a cost without limit.
  int64_t numRows;
};
} // namespace

/// What operations take, about: so many accesses to memory.
static double estimate(Block &block, const Reckoning &reckoning) {
  double sum = 0;
  for (Operation &op : block) {
    if (describeAccess(&op)) {
      sum += 1;
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      sum += estimateCall(call, reckoning.numRows);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      double body = estimate(*loop.getBody(), reckoning);
      std::optional<APInt> count = loop.getStaticTripCount();
      if (count)
        sum += count->getSExtValue() * body;
      else if (reckoning.loops)
        sum += *reckoning.loops * body;
      else
        return std::numeric_limits<double>::infinity();
    } else if (isa<scf::WhileOp>(op) && !reckoning.loops) {
      return std::numeric_limits<double>::infinity();
    } else if (op.getNumRegions() > 0) {
      // Of a choice, the way that takes longest.
      double most = 0;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          most = std::max(most, estimate(inner, reckoning));
      sum += most;
    } else if (isa<math::MathDialect>(op.getDialect()) &&
               !isa<math::FmaOp, math::AbsFOp, math::SqrtOp>(op)) {
      // Numbers of 64 bits are slow on devices.
      sum += getElementTypeOrSelf(op.getResult(0)).isF64()
                 ? costOfFunction * numLanes
                 : costOfFunction;
    }
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// A nest that computes a row of a buffer in each iteration of its outermost
/// loop.
struct Rows {
  scf::ForOp loop;
  SmallVector<Access> uses;
  Value buffer;

  static std::optional<Rows> match(scf::ForOp loop);
};

/// Where a nest that uses rows does so.
struct RowsUser {
  scf::ForOp loop; ///< That over the rows; an iteration uses one, or a piece.
  SmallVector<scf::ForOp> nest;
  SmallVector<Access> uses;
  int64_t most = 1; ///< So many rows are a piece at most.
  SmallVector<memref::ReinterpretCastOp> views;
  SmallVector<Access> accesses; ///< Those not by way of views.

  static std::optional<RowsUser> match(scf::ForOp outermost, const Rows &rows);

private:
  bool addView(memref::ReinterpretCastOp view, MemRefType type);
};

} // namespace

std::optional<Rows> Rows::match(scf::ForOp loop) {
  auto uses = collectUses(loop);
  if (!uses || loop->hasAttr(piecesAttrName) || !isOneInteger(loop.getStep()))
    return std::nullopt;
  Rows rows{loop, std::move(*uses), {}};
  auto isOwn = [&](Value buffer) {
    return isa_and_present<memref::AllocOp>(buffer.getDefiningOp()) &&
           llvm::all_of(buffer.getUsers(), [&](Operation *user) {
             return loop->isAncestor(user);
           });
  };
  for (const Access &use : rows.uses) {
    if (isa<func::CallOp>(use.op))
      return std::nullopt;
    if (!use.isWrite || use.root == rows.buffer || isOwn(use.root))
      continue;
    if (rows.buffer)
      return std::nullopt;
    rows.buffer = use.root;
  }
  if (!rows.buffer)
    return std::nullopt;
  auto type = cast<MemRefType>(rows.buffer.getType());
  if (type.getRank() == 0 || type.getNumDynamicDims() != 1 ||
      !type.isDynamicDim(0) || !type.getLayout().isIdentity())
    return std::nullopt;
  for (const Access &use : rows.uses)
    if (use.root == rows.buffer &&
        (use.view != use.root || use.indices[0] != loop.getInductionVar()))
      return std::nullopt;
  return rows;
}

/// A view of the rows of the iteration's piece, or of its row.
bool RowsUser::addView(memref::ReinterpretCastOp view, MemRefType type) {
  int64_t size = llvm::product_of(type.getShape().drop_front());
  if (view.getType().getRank() != 2)
    return false;
  auto offset = dyn_cast<Value>(view.getMixedOffsets()[0]);
  auto start = offset ? offset.getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  if (!start || getConstantIntValue(start.getRhs()) != size ||
      getConstantIntValue(view.getMixedSizes()[1]) != size ||
      getConstantIntValue(view.getMixedStrides()[0]) != size ||
      getConstantIntValue(view.getMixedStrides()[1]) != 1)
    return false;
  auto argument = dyn_cast<BlockArgument>(start.getLhs());
  if (!argument || argument != loop.getInductionVar())
    return false;
  OpFoldResult count = view.getMixedSizes()[0];
  auto length = getPieceLength(loop);
  bool isPiece = length && dyn_cast<Value>(count) == length.getResult();
  if (!isPiece && (loop->hasAttr(piecesAttrName) || !isOneInteger(count)))
    return false;
  if (!llvm::is_contained(views, view))
    views.push_back(view);
  return true;
}

std::optional<RowsUser> RowsUser::match(scf::ForOp outermost,
                                        const Rows &rows) {
  RowsUser user;
  user.nest = collectNest(outermost);
  auto found = llvm::find_if(user.nest, [&](scf::ForOp loop) {
    return haveSameBounds(loop, rows.loop, /*anyStep=*/true);
  });
  auto uses = collectUses(outermost);
  if (found == user.nest.end() || !uses)
    return std::nullopt;
  user.loop = *found;
  user.uses = std::move(*uses);
  auto most = getConstantIntValue(user.loop.getStep());
  if (!most || (*most != 1 && !getPieceLength(user.loop)))
    return std::nullopt;
  user.most = *most;
  auto type = cast<MemRefType>(rows.buffer.getType());
  bool isUsed = false;
  for (const Access &use : user.uses) {
    if (use.root != rows.buffer)
      continue;
    isUsed = true;
    if (use.isWrite)
      return std::nullopt;
    // By its elements, or by a view that the iteration makes.
    if (use.view == use.root && !use.indices.empty() && user.most == 1 &&
        use.indices[0] == user.loop.getInductionVar()) {
      user.accesses.push_back(use);
      continue;
    }
    auto view = skipCasts(use.view).getDefiningOp<memref::ReinterpretCastOp>();
    if (!view || !outermost->isAncestor(view) || !user.addView(view, type))
      return std::nullopt;
  }
  if (!isUsed)
    return std::nullopt;
  return user;
}

/// The index of the row in an access to `buffer` becomes `row`, the buffer
/// another one.
static void redirect(Operation *access, Value buffer, Value other, Value row) {
  for (OpOperand &operand : access->getOpOperands())
    if (operand.get() == buffer) {
      operand.set(other);
      access->setOperand(operand.getOperandNumber() + 1, row);
      return;
    }
}

/// Moves the computation of rows into their user.
static void moveInto(const Rows &rows, const RowsUser &user, bool isShared) {
  scf::ForOp loop = rows.loop, userLoop = user.loop,
             innermost = user.nest.back();
  auto type = cast<MemRefType>(rows.buffer.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = user.most;
  ImplicitLocOpBuilder b(loop.getLoc(), user.nest.front());
  Value own =
      memref::AllocOp::create(b, MemRefType::get(shape, type.getElementType()));
  Value zero = arith::ConstantIndexOp::create(b, 0),
        one = arith::ConstantIndexOp::create(b, 1);

  b.setInsertionPointToStart(innermost.getBody());
  Value isFirst;
  for (scf::ForOp each : user.nest) {
    if (!isShared || each == userLoop)
      continue;
    Value begins =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                              each.getInductionVar(), each.getLowerBound());
    isFirst = isFirst ? arith::AndIOp::create(b, isFirst, begins) : begins;
  }
  Value row = userLoop.getInductionVar(), place = zero;
  if (user.most > 1) {
    Value left = arith::SubIOp::create(b, userLoop.getUpperBound(), row);
    Value count = arith::MinUIOp::create(b, left, userLoop.getStep());
    auto each = scf::ForOp::create(b, zero, count, one);
    b.setInsertionPointToStart(each.getBody());
    place = each.getInductionVar();
    row = arith::AddIOp::create(b, row, place);
  }
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), row);
  SmallVector<Operation *> copies;
  for (Operation &op : loop.getBody()->without_terminator())
    copies.push_back(b.clone(op, mapping));
  SmallVector<Access> accesses;
  for (Operation *copy : copies)
    copy->walk([&](Operation *op) {
      op->removeAttr(parallelAttrName);
      if (auto access = describeAccess(op);
          access && access->root == rows.buffer)
        accesses.push_back(*access);
    });
  for (const Access &access : accesses) {
    if (access.isWrite && isShared) {
      ImplicitLocOpBuilder at(access.op->getLoc(), access.op);
      at.setInsertionPointAfter(access.op);
      if (isFirst)
        at.setInsertionPointToStart(
            scf::IfOp::create(at, isFirst, /*withElseRegion=*/false)
                .thenBlock());
      at.clone(*access.op);
    }
    redirect(access.op, rows.buffer, own, place);
  }

  for (const Access &access : user.accesses)
    redirect(access.op, rows.buffer, own, zero);
  for (memref::ReinterpretCastOp view : user.views) {
    ImplicitLocOpBuilder at(view.getLoc(), view);
    auto ownView = memref::ReinterpretCastOp::create(
        at, view.getType(), own, OpFoldResult(zero), view.getMixedSizes(),
        view.getMixedStrides());
    view.replaceAllUsesWith(ownView.getResult());
    view.erase();
  }
  loop->erase();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Whether anything but two nests uses a buffer; those who were given it may.
static bool isUsedElsewhere(Value buffer, Operation *a, Operation *b) {
  if (!buffer.getDefiningOp<memref::AllocOp>())
    return true;
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<memref::CastOp, memref::ReinterpretCastOp>(user) &&
        !a->isAncestor(user) && !b->isAncestor(user))
      return isUsedElsewhere(user->getResult(0), a, b);
    return !a->isAncestor(user) && !b->isAncestor(user);
  });
}

/// Whether it pays to compute rows where they are used: together they take no
/// longer than half of what each iteration does besides.
static bool isCheap(const Rows &rows, const RowsUser &user) {
  scf::ForOp loop = rows.loop, innermost = user.nest.back();
  double again =
      user.most * estimate(*loop.getBody(), {std::nullopt, user.most});
  return 2 * again <= estimate(*innermost.getBody(), {1, user.most});
}

/// Moves one nest into `nest`, if there is one that may be.
static bool recomputeFor(scf::ForOp nest) {
  for (scf::ForOp earlier : collectNestsBefore(nest)) {
    auto rows = Rows::match(earlier);
    auto user = rows ? RowsUser::match(nest, *rows) : std::nullopt;
    if (!user || !areFew(rows->uses, user->uses) || !isCheap(*rows, *user) ||
        !canMoveTo(rows->loop, rows->uses, nest))
      continue;
    // Other iterations must not write what the rows are computed from.
    auto isInput = [&](const Access &use) {
      return use.isWrite && llvm::any_of(rows->uses, [&](const Access &other) {
               return other.root == use.root;
             });
    };
    if (llvm::any_of(user->uses, isInput))
      continue;
    moveInto(*rows, *user,
             isUsedElsewhere(rows->buffer, rows->loop, user->nest.front()));
    return true;
  }
  return false;
}

namespace {
struct RecomputeRows : attn::impl::RecomputeRowsBase<RecomputeRows> {
  using RecomputeRowsBase::RecomputeRowsBase;

  void runOnOperation() override {
    forEachNest(getOperation(), [](scf::ForOp nest) {
      while (recomputeFor(nest))
        ;
    });
  }
};
} // namespace
