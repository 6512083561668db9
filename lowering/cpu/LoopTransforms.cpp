//===- LoopTransforms.cpp - how the loops of a kernel are arranged --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/LoopTransforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

#include <numeric>

using namespace mlir;
using namespace mlir::attn;

/// The name of loops that `jamLoop` leaves alone.
static constexpr llvm::StringLiteral epilogueName = "epilogue";

void attn::nameLoop(scf::ForOp loop, StringRef name) {
  loop->setAttr(loopAttrName, StringAttr::get(loop.getContext(), name));
}

StringRef attn::getLoopName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(loopAttrName);
  return name ? name.getValue() : StringRef();
}

/// The outermost of the loops with names around `loop`, which may be itself.
static scf::ForOp getNest(scf::ForOp loop) {
  while (auto parent = dyn_cast<scf::ForOp>(loop->getParentOp())) {
    if (getLoopName(parent).empty())
      break;
    loop = parent;
  }
  return loop;
}

static LogicalResult refuse(scf::ForOp loop, const Twine &expected) {
  return loop.emitError("expected a loop ") << expected;
}

/// The nest of a loop that counts from 0 in steps of 1 to a number that is
/// known before the nest begins, so that the nest can be run for parts of the
/// loop. Fails with a message, if it is none.
static FailureOr<scf::ForOp> getCountedNest(scf::ForOp loop) {
  scf::ForOp nest = getNest(loop);
  if (!isZeroInteger(loop.getLowerBound()) || !isOneInteger(loop.getStep()))
    return refuse(loop, "that counts from 0 in steps of 1");
  if (nest.getRegion().isAncestor(loop.getUpperBound().getParentRegion()))
    return refuse(loop, "whose end is known before its nest begins");
  if (nest.getNumResults() != 0)
    return refuse(nest, "without results");
  return nest;
}

/// Lets all loops of `nest` that run from `begin` to `end` do so elsewhere.
static void replaceBounds(scf::ForOp nest, Value begin, Value end,
                          Value newBegin, Value newEnd) {
  nest->walk([&](scf::ForOp loop) {
    if (loop.getUpperBound() == end && loop.getLowerBound() == begin) {
      loop.setLowerBound(newBegin);
      loop.setUpperBound(newEnd);
    }
  });
}

/// A switch over `value` that takes the place before `op`, with an empty region
/// for each of the numbers and one for all others.
static scf::IndexSwitchOp createSwitch(ImplicitLocOpBuilder &b, Value value,
                                       ArrayRef<int64_t> numbers) {
  auto choice = scf::IndexSwitchOp::create(b, TypeRange{}, value, numbers,
                                           numbers.size());
  OpBuilder::InsertionGuard guard(b);
  for (Region &region : choice->getRegions()) {
    b.createBlock(&region);
    scf::YieldOp::create(b);
  }
  return choice;
}

FailureOr<SmallVector<scf::ForOp>>
attn::specializeLoop(RewriterBase &rewriter, scf::ForOp loop,
                     ArrayRef<int64_t> counts) {
  FailureOr<scf::ForOp> counted = getCountedNest(loop);
  if (failed(counted))
    return failure();
  scf::ForOp nest = *counted;
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  b.setInsertionPoint(nest);
  scf::IndexSwitchOp choice = createSwitch(b, end, counts);
  SmallVector<scf::ForOp> nests;
  for (auto [region, count] : llvm::zip(choice.getCaseRegions(), counts)) {
    b.setInsertionPoint(region.front().getTerminator());
    Value number = arith::ConstantIndexOp::create(b, count);
    auto version = cast<scf::ForOp>(b.clone(*nest));
    replaceBounds(version, begin, end, begin, number);
    nests.push_back(version);
  }
  rewriter.moveOpBefore(nest, choice.getDefaultBlock().getTerminator());
  nests.push_back(nest);
  return nests;
}

namespace {

/// How a number is divided into as few parts of at most `most` as will do, of
/// which none is larger than another by more than 1.
struct Parts {
  Parts(ImplicitLocOpBuilder &b, Value count, int64_t most) {
    number = arith::CeilDivUIOp::create(
        b, count, arith::ConstantIndexOp::create(b, most));
    // Nothing is divided into one part of nothing.
    one = arith::ConstantIndexOp::create(b, 1);
    Value least = arith::MaxUIOp::create(b, number, one);
    size = arith::DivUIOp::create(b, count, least);
    larger = arith::RemUIOp::create(b, count, least);
  }
  /// Where a part begins, and how many it has.
  std::pair<Value, Value> at(ImplicitLocOpBuilder &b, Value part) {
    Value begin =
        arith::AddIOp::create(b, arith::MulIOp::create(b, part, size),
                              Value(arith::MinUIOp::create(b, part, larger)));
    Value isLarger =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, part, larger);
    Value more = arith::AddIOp::create(b, size, one);
    return {begin, arith::SelectOp::create(b, isLarger, more, size)};
  }

  Value number, size, larger, one;
};

} // namespace

FailureOr<scf::ForOp> attn::blockLoop(RewriterBase &rewriter, scf::ForOp loop,
                                      int64_t size) {
  FailureOr<scf::ForOp> counted = getCountedNest(loop);
  if (failed(counted))
    return failure();
  scf::ForOp nest = *counted;
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  b.setInsertionPoint(nest);
  Parts parts(b, end, size);
  // The loop's own step may be a constant of the nest.
  Value zero = arith::ConstantIndexOp::create(b, 0);
  auto outer = scf::ForOp::create(b, zero, parts.number, parts.one);
  b.setInsertionPoint(outer.getBody()->getTerminator());
  auto [first, count] = parts.at(b, outer.getInductionVar());
  Value last = arith::AddIOp::create(b, first, count);
  rewriter.moveOpBefore(nest, outer.getBody()->getTerminator());
  replaceBounds(nest, begin, end, first, last);
  return outer;
}

FailureOr<SmallVector<scf::ForOp>> attn::tileLoop(RewriterBase &rewriter,
                                                  scf::ForOp loop,
                                                  ArrayRef<int64_t> sizes) {
  if (!isOneInteger(loop.getStep()) || loop.getNumResults() != 0)
    return refuse(loop, "without results that goes in steps of 1");
  if (sizes.empty())
    return refuse(loop, "and at least one size of a tile");
  Value begin = loop.getLowerBound();
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  b.setInsertionPoint(loop);
  Value count = arith::SubIOp::create(b, loop.getUpperBound(), begin);
  Parts parts(b, count, *llvm::max_element(sizes));
  Value zero = arith::ConstantIndexOp::create(b, 0);
  auto tiles = scf::ForOp::create(b, zero, parts.number, loop.getStep());
  tiles->setAttrs(loop->getDiscardableAttrDictionary());
  loop->removeDiscardableAttr(loopAttrName);
  b.setInsertionPoint(tiles.getBody()->getTerminator());
  auto [offset, size] = parts.at(b, tiles.getInductionVar());
  Value first = arith::AddIOp::create(b, begin, offset);
  scf::IndexSwitchOp choice = createSwitch(b, size, sizes);
  SmallVector<scf::ForOp> loops;
  auto place = [&](scf::ForOp tile, Value count) {
    b.setInsertionPoint(tile);
    tile.setLowerBound(first);
    tile.setUpperBound(arith::AddIOp::create(b, first, count));
  };
  for (auto [region, number] : llvm::zip(choice.getCaseRegions(), sizes)) {
    b.setInsertionPoint(region.front().getTerminator());
    Value count = arith::ConstantIndexOp::create(b, number);
    loops.push_back(cast<scf::ForOp>(b.clone(*loop)));
    place(loops.back(), count);
  }
  rewriter.moveOpBefore(loop, choice.getDefaultBlock().getTerminator());
  place(loop, size);
  return loops;
}

//===----------------------------------------------------------------------===//
// Jamming
//===----------------------------------------------------------------------===//

namespace {

/// Writes several iterations of a loop side by side.
class Jam {
public:
  Jam(RewriterBase &rewriter, scf::ForOp loop, Value first, int64_t factor);

  void write() { writeBlock(*loop.getBody()); }

private:
  void writeBlock(Block &block);
  void writeMerged(scf::ForOp inner);
  void writeApart(scf::ForOp inner);
  bool hasSharedBounds(scf::ForOp inner) const;
  bool standsAlone(scf::ForOp inner);

  RewriterBase &rewriter;
  scf::ForOp loop;
  Value first, last; ///< The loop's variable in these iterations.
  SmallVector<IRMapping> copies;
};

} // namespace

Jam::Jam(RewriterBase &rewriter, scf::ForOp loop, Value first, int64_t factor)
    : rewriter(rewriter), loop(loop), first(first), last(first),
      copies(factor) {
  Location loc = loop.getLoc();
  for (auto [number, copy] : llvm::enumerate(copies)) {
    if (number > 0) {
      Value offset = arith::MulIOp::create(
          rewriter, loc, loop.getStep(),
          arith::ConstantIndexOp::create(rewriter, loc, number));
      last = arith::AddIOp::create(rewriter, loc, first, offset);
    }
    copy.map(loop.getInductionVar(), last);
  }
}

/// Whether a loop has the same bounds in all copies.
bool Jam::hasSharedBounds(scf::ForOp inner) const {
  for (Value bound :
       {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()}) {
    OpFoldResult shared =
        getAsOpFoldResult(copies.front().lookupOrDefault(bound));
    for (const IRMapping &copy : copies)
      if (!isEqualConstantIntOrValue(
              shared, getAsOpFoldResult(copy.lookupOrDefault(bound))))
        return false;
  }
  return true;
}

/// Whether a loop needs nothing of the iteration but its number.
bool Jam::standsAlone(scf::ForOp inner) {
  bool alone = inner.getNumResults() == 0;
  auto check = [&](Value value) {
    alone &= value == loop.getInductionVar() ||
             matchPattern(value, m_Constant()) ||
             !loop.getRegion().isAncestor(value.getParentRegion());
  };
  llvm::for_each(inner->getOperands(), check);
  visitUsedValuesDefinedAbove(inner.getRegion(), inner.getRegion(),
                              [&](OpOperand *use) { check(use->get()); });
  return alone;
}

void Jam::writeBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    auto inner = dyn_cast<scf::ForOp>(op);
    bool isEpilogue = inner && getLoopName(inner) == epilogueName;
    if (isEpilogue && copies.size() > 1 && standsAlone(inner))
      writeApart(inner);
    else if (inner && !isEpilogue && hasSharedBounds(inner))
      writeMerged(inner);
    else
      for (IRMapping &copy : copies)
        rewriter.clone(op, copy);
  }
}

/// One loop for all copies of `inner`.
void Jam::writeMerged(scf::ForOp inner) {
  auto lookup = [&](Value value) {
    return copies.front().lookupOrDefault(value);
  };
  auto lookupAll = [&](ValueRange values) {
    SmallVector<Value> all;
    for (const IRMapping &copy : copies)
      for (Value value : values)
        all.push_back(copy.lookupOrDefault(value));
    return all;
  };
  auto merged = scf::ForOp::create(
      rewriter, inner.getLoc(), lookup(inner.getLowerBound()),
      lookup(inner.getUpperBound()), lookup(inner.getStep()),
      lookupAll(inner.getInitArgs()));
  merged->setDiscardableAttrs(inner->getDiscardableAttrDictionary());
  size_t carried = inner.getInitArgs().size();
  for (auto [number, copy] : llvm::enumerate(copies)) {
    copy.map(inner.getInductionVar(), merged.getInductionVar());
    copy.map(inner.getRegionIterArgs(),
             merged.getRegionIterArgs().slice(number * carried, carried));
    copy.map(inner.getResults(),
             merged.getResults().slice(number * carried, carried));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  if (carried == 0)
    rewriter.eraseOp(merged.getBody()->getTerminator());
  rewriter.setInsertionPointToEnd(merged.getBody());
  writeBlock(*inner.getBody());
  scf::YieldOp::create(
      rewriter, inner.getLoc(),
      lookupAll(inner.getBody()->getTerminator()->getOperands()));
}

/// `inner` for one iteration after the other.
void Jam::writeApart(scf::ForOp inner) {
  Location loc = inner.getLoc();
  Value end = arith::AddIOp::create(rewriter, loc, last, loop.getStep());
  auto each = scf::ForOp::create(rewriter, loc, first, end, loop.getStep());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(each.getBody()->getTerminator());
  // Constants of the iteration have copies already.
  IRMapping mapping(copies.front());
  mapping.map(loop.getInductionVar(), each.getInductionVar());
  rewriter.clone(*inner, mapping);
}

LogicalResult attn::jamLoop(RewriterBase &rewriter, scf::ForOp loop,
                            ArrayRef<int64_t> factors) {
  if (loop.getNumResults() != 0)
    return refuse(loop, "without results");
  if (llvm::any_of(factors, [](int64_t factor) { return factor < 1; }))
    return refuse(loop, "and factors of 1 or more");
  Location loc = loop.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop);
  Value begin = loop.getLowerBound(), end = loop.getUpperBound(),
        step = loop.getStep();
  std::optional<llvm::APInt> count = loop.getStaticTripCount();
  // A loop written with a constant distance between its bounds.
  if (!count && isOneInteger(step))
    if (auto sum = end.getDefiningOp<arith::AddIOp>())
      if (std::optional<int64_t> size = getConstantIntValue(sum.getRhs());
          size && sum.getLhs() == begin)
        count = llvm::APInt(64, *size);
  if (count && factors.size() == 1 && *count == uint64_t(factors.front())) {
    Jam(rewriter, loop, begin, factors.front()).write();
    rewriter.eraseOp(loop);
    return success();
  }
  SmallVector<int64_t> all(factors);
  if (all.empty() || all.back() != 1)
    all.push_back(1);
  Value from = begin;
  for (int64_t factor : all) {
    Value to = end, stride = step;
    if (factor > 1) {
      stride = arith::MulIOp::create(
          rewriter, loc, step,
          arith::ConstantIndexOp::create(rewriter, loc, factor));
      // Where iterations are missing the loop ends before.
      Value left = arith::SubIOp::create(rewriter, loc, end, from);
      Value over = arith::RemUIOp::create(rewriter, loc, left, stride);
      to = arith::SubIOp::create(rewriter, loc, end, over);
    }
    auto part = scf::ForOp::create(rewriter, loc, from, to, stride);
    part->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    OpBuilder::InsertionGuard inner(rewriter);
    rewriter.setInsertionPoint(part.getBody()->getTerminator());
    Jam(rewriter, loop, part.getInductionVar(), factor).write();
    from = to;
  }
  rewriter.eraseOp(loop);
  return success();
}

LogicalResult attn::prefetchInLoop(RewriterBase &rewriter, scf::ForOp loop,
                                   int64_t distance) {
  OpBuilder::InsertionGuard guard(rewriter);
  Value place = loop.getInductionVar(), ahead;
  for (auto load :
       llvm::make_early_inc_range(loop.getBody()->getOps<vector::LoadOp>())) {
    if (llvm::count(load.getIndices(), place) != 1)
      continue;
    if (!ahead) {
      rewriter.setInsertionPointToStart(loop.getBody());
      Value step = arith::MulIOp::create(
          rewriter, loop.getLoc(), loop.getStep(),
          arith::ConstantIndexOp::create(rewriter, loop.getLoc(), distance));
      ahead = arith::AddIOp::create(rewriter, loop.getLoc(), place, step);
    }
    SmallVector<Value> indices(load.getIndices());
    llvm::replace(indices, place, ahead);
    rewriter.setInsertionPoint(load);
    memref::PrefetchOp::create(rewriter, load.getLoc(), load.getBase(), indices,
                               /*isWrite=*/false, /*localityHint=*/3,
                               /*isDataCache=*/true);
  }
  return success();
}
