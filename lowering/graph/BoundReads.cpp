//===- BoundReads.cpp - visit only what a mask can let through ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is a condition on a pair. What it says of the position of the memory
// is solved for that position: `i - j < 4` gives j > i - 4. Conditions joined
// by "and" give the intersection of their intervals, those joined by "or" the
// smallest interval around both. Where the interval says all that the mask
// says, the mask goes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/PairInputs.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace mlir::attn {
#define GEN_PASS_DEF_BOUNDREADS
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What is known of the numbers that something can be: i64, or f32 for floats.
/// Null: no bound.
struct Bounds {
  Value least, most;

  bool any() const { return least || most; }
};

/// The positions j, `least` to `most`, at which a condition can hold; if
/// `exact`, it holds at all of them.
struct Interval : Bounds {
  bool exact = false;
};

/// Solves the mask of a read for the position of the memory.
class MaskSolver {
public:
  MaskSolver(ReadOp read, Block &interval)
      : read(read), mask(read.getMask().front()),
        b(ImplicitLocOpBuilder::atBlockEnd(read.getLoc(), &interval)) {
    for (auto [from, to] :
         llvm::zip(mask.getArguments(), interval.getArguments()))
      mapping.map(from, to);
  }

  Interval solve() {
    return solve(mask.getTerminator()->getOperand(0), /*holds=*/true);
  }
  /// Ends the region.
  void yield(const Interval &interval);

private:
  /// Whether a value of the mask is another one at each position.
  bool isOfKey(Value value);
  /// A value that is the same at all positions, in the interval's region.
  Value clone(Value value) { return cloneExpression(b, value, mapping); }
  /// The extreme element of such a value, as a bound.
  Value extreme(Value value, bool largest, bool *exact = nullptr);
  /// What a value of the mask can be, at any position.
  Bounds boundsOf(Value value);

  /// Where a condition holds, or does not.
  Interval solve(Value condition, bool holds);
  Interval solveIntegers(arith::CmpIOp compare, bool holds);
  Interval solveFloats(arith::CmpFOp compare, bool holds);
  /// Where a number lies within bounds.
  Interval solve(Value number, Bounds bounds, bool exact);
  Interval solveSum(Value lhs, Value rhs, bool subtract, Bounds bounds,
                    bool exact);
  Interval intersect(const Interval &x, const Interval &y);
  Interval enclose(const Interval &x, const Interval &y);

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value constantF32(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  /// The larger, or the smaller, of two.
  Value choose(Value x, Value y, bool larger);
  /// Sums and differences of bounds. Those of floats give way by more than
  /// rounding can have taken.
  Value add(Value x, Value y, bool upwards);
  Value negate(Value x);
  /// The whole number at or beyond a float, or far away.
  Value round(Value x, bool upwards);

  ReadOp read;
  Block &mask;
  ImplicitLocOpBuilder b;
  IRMapping mapping;
  DenseMap<Value, bool> ofKey;
};

} // namespace

/// A value that stands for another one in every feature.
static Value skipBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? skipBroadcast(broadcast.getInput()) : value;
}

/// The one integer that a value is, whatever its shape.
static std::optional<int64_t> getInteger(Value value) {
  APInt constant;
  DenseIntElementsAttr elements;
  value = skipBroadcast(value);
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<APInt>().getSExtValue();
  return std::nullopt;
}

bool MaskSolver::isOfKey(Value value) {
  if (auto found = ofKey.find(value); found != ofKey.end())
    return found->second;
  bool result;
  if (auto argument = dyn_cast<BlockArgument>(value))
    result = argument == getPositionArgument(mask, KeyPosition) ||
             (argument.getArgNumber() < read.getInputs().size() &&
              cast<PairOpInterface>(*read).indexes(argument.getArgNumber(),
                                                   PairOpInterface::Key));
  else
    result = llvm::any_of(value.getDefiningOp()->getOperands(),
                          [&](Value operand) { return isOfKey(operand); });
  return ofKey[value] = result;
}

Value MaskSolver::choose(Value x, Value y, bool larger) {
  if (x.getType().isF32())
    return larger ? arith::MaximumFOp::create(b, x, y).getResult()
                  : arith::MinimumFOp::create(b, x, y).getResult();
  return larger ? arith::MaxSIOp::create(b, x, y).getResult()
                : arith::MinSIOp::create(b, x, y).getResult();
}

Value MaskSolver::add(Value x, Value y, bool upwards) {
  if (!x || !y)
    return Value();
  if (!x.getType().isF32())
    return arith::AddIOp::create(b, x, y);
  // An error of half a unit in the last place here, and in what is bounded.
  Value sum = arith::AddFOp::create(b, x, y);
  Value slack =
      arith::MulFOp::create(b,
                            arith::AddFOp::create(b, math::AbsFOp::create(b, x),
                                                  math::AbsFOp::create(b, y)),
                            constantF32(upwards ? 0x1p-20 : -0x1p-20));
  return arith::AddFOp::create(b, sum, slack);
}

Value MaskSolver::negate(Value x) {
  if (!x)
    return Value();
  if (x.getType().isF32())
    return arith::NegFOp::create(b, x);
  return arith::SubIOp::create(b, constant(0), x);
}

Value MaskSolver::round(Value x, bool upwards) {
  // NaN, too, bounds nothing.
  Value limit = constantF32(upwards ? 0x1p30 : -0x1p30);
  Value within =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                            math::AbsFOp::create(b, x), constantF32(0x1p30));
  x = arith::SelectOp::create(b, within, x, limit);
  Value whole = arith::FPToSIOp::create(b, b.getI64Type(), x);
  // The conversion cuts off what is behind the point.
  return arith::AddIOp::create(b, whole, constant(upwards ? 1 : -1));
}

Value MaskSolver::extreme(Value value, bool largest, bool *exact) {
  value = clone(skipBroadcast(value));
  Type element = getElementTypeOrSelf(value);
  ArrayRef<int64_t> features = getFeatures(value.getType());
  int64_t count = getNumFeatureElements(value.getType());
  // So many comparisons are less than a visit.
  constexpr int64_t most = 64;
  if (count > most || !(element.isF32() || element.isInteger(32)))
    return Value();
  if (exact && count > 1)
    *exact = false;
  Value result;
  for (int64_t i = 0; i < count; ++i) {
    Value one = value;
    int64_t rest = i, below = count;
    for (size_t dim = 0; dim < features.size(); ++dim) {
      below /= features[dim];
      one = SliceOp::create(
          b,
          features.size() == dim + 1
              ? element
              : getValueType(0, features.drop_front(dim + 1), element),
          one, rest / below, rest / below + 1, /*drop=*/true, /*feature=*/0);
      rest %= below;
    }
    if (element.isInteger(32))
      one = arith::ExtSIOp::create(b, b.getI64Type(), one);
    result = result ? choose(result, one, largest) : one;
  }
  return result;
}

Bounds MaskSolver::boundsOf(Value value) {
  value = skipBroadcast(value);
  if (!isOfKey(value))
    return {extreme(value, /*largest=*/false), extreme(value, true)};
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    Bounds x = boundsOf(select.getTrueValue());
    Bounds y = boundsOf(select.getFalseValue());
    return {x.least && y.least ? choose(x.least, y.least, /*larger=*/false)
                               : Value(),
            x.most && y.most ? choose(x.most, y.most, true) : Value()};
  }
  return {};
}

Interval MaskSolver::intersect(const Interval &x, const Interval &y) {
  auto both = [&](Value a, Value c, bool larger) {
    return a && c ? choose(a, c, larger) : a ? a : c;
  };
  return {
      {both(x.least, y.least, /*larger=*/true), both(x.most, y.most, false)},
      x.exact && y.exact};
}

Interval MaskSolver::enclose(const Interval &x, const Interval &y) {
  auto outer = [&](Value a, Value c, bool larger) {
    return a && c ? choose(a, c, larger) : Value();
  };
  // There may be something between the two.
  return {
      {outer(x.least, y.least, /*larger=*/false), outer(x.most, y.most, true)},
      false};
}

Interval MaskSolver::solve(Value condition, bool holds) {
  condition = skipBroadcast(condition);
  if (!isOfKey(condition)) {
    // Everything or nothing: then the first lies behind the last.
    Value all = clone(condition);
    if (!all.getType().isInteger(1))
      return {};
    Value far = constant((holds ? 1 : -1) * (int64_t(1) << 40));
    Value near = negate(far);
    return {{arith::SelectOp::create(b, all, near, far),
             arith::SelectOp::create(b, all, far, near)},
            true};
  }
  Operation *op = condition.getDefiningOp();
  if (!op) // a boolean of the memory
    return {};
  auto join = [&](Value x, bool xHolds, Value y, bool yHolds, bool both) {
    Interval first = solve(x, xHolds), second = solve(y, yHolds);
    if (both)
      return intersect(first, second);
    Interval around = enclose(first, second);
    // One of them is everything or nothing.
    around.exact = first.exact && second.exact &&
                   (!isOfKey(skipBroadcast(x)) || !isOfKey(skipBroadcast(y)));
    return around;
  };
  if (isa<arith::AndIOp, arith::OrIOp>(op))
    return join(op->getOperand(0), holds, op->getOperand(1), holds,
                isa<arith::AndIOp>(op) == holds);
  if (isa<arith::XOrIOp>(op)) {
    for (unsigned i : {0, 1})
      if (std::optional<int64_t> flip = getInteger(op->getOperand(i)))
        return solve(op->getOperand(1 - i), holds != (*flip != 0));
    return {};
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return solveIntegers(compare, holds);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return solveFloats(compare, holds);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Interval x = join(select.getCondition(), true, select.getTrueValue(), holds,
                      /*both=*/true);
    Interval y = join(select.getCondition(), false, select.getFalseValue(),
                      holds, /*both=*/true);
    return enclose(x, y);
  }
  return {};
}

Interval MaskSolver::solveIntegers(arith::CmpIOp compare, bool holds) {
  using Predicate = arith::CmpIPredicate;
  Value x = compare.getLhs(), y = compare.getRhs();
  Predicate predicate = compare.getPredicate();
  if (!holds)
    predicate = arith::invertPredicate(predicate);
  if (!isOfKey(x)) {
    std::swap(x, y);
    switch (predicate) {
    case Predicate::slt:
      predicate = Predicate::sgt;
      break;
    case Predicate::sle:
      predicate = Predicate::sge;
      break;
    case Predicate::sgt:
      predicate = Predicate::slt;
      break;
    case Predicate::sge:
      predicate = Predicate::sle;
      break;
    default:
      break;
    }
  }
  if (isOfKey(y) || !getElementTypeOrSelf(y).isInteger(32))
    return {};
  bool below = predicate == Predicate::slt || predicate == Predicate::sle;
  bool above = predicate == Predicate::sgt || predicate == Predicate::sge;
  bool exact = true;
  Bounds bounds;
  if (below || predicate == Predicate::eq)
    bounds.most = extreme(y, /*largest=*/true, &exact);
  if (above || predicate == Predicate::eq)
    bounds.least = extreme(y, /*largest=*/false, &exact);
  if (predicate == Predicate::slt)
    bounds.most = add(bounds.most, constant(-1), true);
  if (predicate == Predicate::sgt)
    bounds.least = add(bounds.least, constant(1), false);
  return bounds.any() ? solve(x, bounds, exact) : Interval();
}

Interval MaskSolver::solveFloats(arith::CmpFOp compare, bool holds) {
  using Predicate = arith::CmpFPredicate;
  Value x = compare.getLhs(), y = compare.getRhs();
  // What holds for NaN too says nothing of positions.
  bool below = false, above = false;
  switch (compare.getPredicate()) {
  case Predicate::OEQ:
    below = above = holds;
    break;
  case Predicate::OLT:
  case Predicate::OLE:
    below = holds;
    break;
  case Predicate::OGT:
  case Predicate::OGE:
    above = holds;
    break;
  case Predicate::UGT:
  case Predicate::UGE:
    below = !holds;
    break;
  case Predicate::ULT:
  case Predicate::ULE:
    above = !holds;
    break;
  default:
    break;
  }
  if (!isOfKey(x)) {
    std::swap(x, y);
    std::swap(below, above);
  }
  if (isOfKey(y) || !getElementTypeOrSelf(y).isF32())
    return {};
  Bounds bounds;
  if (below)
    bounds.most = extreme(y, /*largest=*/true);
  if (above)
    bounds.least = extreme(y, /*largest=*/false);
  return bounds.any() ? solve(x, bounds, /*exact=*/false) : Interval();
}

Interval MaskSolver::solveSum(Value lhs, Value rhs, bool subtract,
                              Bounds bounds, bool exact) {
  // What the other side can be is moved over.
  for (bool left : {true, false}) {
    Value inner = left ? lhs : rhs, other = left ? rhs : lhs;
    if (!isOfKey(inner))
      continue;
    Bounds moved = boundsOf(other);
    if (!moved.any())
      continue;
    exact &= !isOfKey(other) && getNumFeatureElements(other.getType()) == 1;
    Bounds result;
    if (!subtract) {
      // inner + other within bounds
      result = {add(bounds.least, negate(moved.most), false),
                add(bounds.most, negate(moved.least), true)};
    } else if (left) {
      // inner - other
      result = {add(bounds.least, moved.least, false),
                add(bounds.most, moved.most, true)};
    } else {
      // other - inner
      result = {add(moved.least, negate(bounds.most), false),
                add(moved.most, negate(bounds.least), true)};
    }
    return result.any() ? solve(inner, result, exact) : Interval();
  }
  return {};
}

Interval MaskSolver::solve(Value number, Bounds bounds, bool exact) {
  number = skipBroadcast(number);
  if (number == getPositionArgument(mask, KeyPosition))
    return {bounds, exact};
  Operation *op = number.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::AddIOp, arith::AddFOp, arith::SubIOp, arith::SubFOp>(op))
    return solveSum(op->getOperand(0), op->getOperand(1),
                    isa<arith::SubIOp, arith::SubFOp>(op), bounds, exact);
  if (isa<arith::NegFOp>(op))
    return solve(op->getOperand(0), {negate(bounds.most), negate(bounds.least)},
                 exact);
  if (isa<math::AbsIOp, math::AbsFOp>(op)) {
    if (!bounds.most)
      return {};
    return solve(op->getOperand(0), {negate(bounds.most), bounds.most},
                 exact && !bounds.least);
  }
  if (isa<arith::SIToFPOp>(op)) {
    if (!getElementTypeOrSelf(op->getOperand(0)).isInteger(32))
      return {};
    return solve(op->getOperand(0),
                 {bounds.least ? round(bounds.least, false) : Value(),
                  bounds.most ? round(bounds.most, true) : Value()},
                 false);
  }
  if (isa<arith::MaxSIOp, arith::MinSIOp, arith::MaximumFOp, arith::MinimumFOp>(
          op)) {
    // The larger of two lies below a bound only if both do.
    bool larger = isa<arith::MaxSIOp, arith::MaximumFOp>(op);
    Bounds kept = larger ? Bounds{{}, bounds.most} : Bounds{bounds.least, {}};
    Interval result;
    for (Value operand : op->getOperands())
      if (kept.any() && isOfKey(operand))
        result = intersect(result, solve(operand, kept, false));
    return result;
  }
  if (isa<arith::FloorDivSIOp, arith::MulIOp>(op)) {
    bool divides = isa<arith::FloorDivSIOp>(op);
    Value inner = op->getOperand(0);
    std::optional<int64_t> by = getInteger(op->getOperand(1));
    if (!by && !divides) {
      inner = op->getOperand(1);
      by = getInteger(op->getOperand(0));
    }
    if (!by || *by <= 0 || !isOfKey(inner))
      return {};
    Value factor = constant(*by);
    Bounds result;
    if (divides) {
      // x // d >= l: x >= l d; x // d <= u: x < (u + 1) d.
      if (bounds.least)
        result.least = arith::MulIOp::create(b, bounds.least, factor);
      if (bounds.most)
        result.most = arith::AddIOp::create(
            b, arith::MulIOp::create(b, bounds.most, factor),
            constant(*by - 1));
    } else {
      if (bounds.least)
        result.least = arith::CeilDivSIOp::create(b, bounds.least, factor);
      if (bounds.most)
        result.most = arith::FloorDivSIOp::create(b, bounds.most, factor);
    }
    return solve(inner, result, exact);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto branch = [&](Value value, bool holds) -> Interval {
      Interval chosen = solve(select.getCondition(), holds);
      return isOfKey(value) ? intersect(chosen, solve(value, bounds, false))
                            : chosen;
    };
    return enclose(branch(select.getTrueValue(), true),
                   branch(select.getFalseValue(), false));
  }
  return {};
}

void MaskSolver::yield(const Interval &interval) {
  Value length = mapping.lookup(getPositionArgument(mask, MemoryLength));
  auto finish = [&](Value position) -> Value {
    Value least = arith::MaxSIOp::create(b, position, constant(0));
    Value most = arith::MinSIOp::create(
        b, least, arith::ExtSIOp::create(b, b.getI64Type(), length));
    return arith::TruncIOp::create(b, b.getI32Type(), most);
  };
  Value begin = interval.least
                    ? finish(interval.least)
                    : arith::ConstantIntOp::create(b, 0, 32).getResult();
  Value end =
      interval.most ? finish(add(interval.most, constant(1), true)) : length;
  YieldOp::create(b, ValueRange{begin, end});
}

/// Gives a read the interval that its mask implies.
static void boundRead(ReadOp read) {
  static constexpr auto remarkOpts =
      remark::RemarkOpts::name("interval").category("attn-bound-reads");
  if (read.getMask().empty() || !read.getInterval().empty())
    return;
  Block &block = addBlockLike(read.getInterval(), read.getMask().front());
  MaskSolver solver(read, block);
  Interval interval = solver.solve();
  Location location = read.getMask().front().getTerminator()->getLoc();
  if (!interval.any()) {
    read.getInterval().getBlocks().clear();
    remark::missed(location, remarkOpts)
        << "the mask bounds no position of the memory: all are visited";
    return;
  }
  solver.yield(interval);
  eraseDead(block);
  if (interval.exact)
    read.getMask().getBlocks().clear();
  StringRef sides = !interval.most    ? "from a first one on"
                    : !interval.least ? "up to a last one"
                                      : "from a first to a last one";
  remark::passed(location, remarkOpts)
      << ("positions of the memory are visited " + sides +
          (interval.exact ? "; that is all that the mask says"
                          : ", and the mask is asked there"))
             .str();
  dropUnusedInputs(read);
}

namespace {
struct BoundReads : attn::impl::BoundReadsBase<BoundReads> {
  using BoundReadsBase::BoundReadsBase;

  void runOnOperation() override {
    getOperation()->walk([](ReadOp read) { boundRead(read); });
  }
};
} // namespace
