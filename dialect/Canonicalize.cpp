//===- Canonicalize.cpp - simpler forms of the same value -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Folders and canonicalisation patterns. They change no bit of a result, but
// for what the description of the dialect allows ("What may be simplified").
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isElementwise(Operation *op) {
  return isa<SigmoidOp>(op) ||
         (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
          !op->hasTrait<OpTrait::ConstantLike>());
}

std::optional<APFloat> attn::getUniformConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<BroadcastOp, SliceOp, ToRowsOp>(op))
    return getUniformConstant(op->getOperand(0));
  Attribute attribute;
  if (!matchPattern(op, m_Constant(&attribute)))
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValue();
  if (auto dense = dyn_cast<DenseFPElementsAttr>(attribute);
      dense && dense.isSplat())
    return dense.getSplatValue<APFloat>();
  return std::nullopt;
}

static bool isZero(Value value) {
  std::optional<APFloat> number = getUniformConstant(value);
  return number && number->isZero();
}

/// A value of `type` that is `number` everywhere, with the axes of `like`.
static Value createUniform(OpBuilder &builder, Location location, Type type,
                           double number, Value like) {
  Value scalar = arith::ConstantOp::create(builder, location,
                                           builder.getF32FloatAttr(number));
  if (scalar.getType() == type)
    return scalar;
  return BroadcastOp::create(builder, location, type, scalar,
                             getNumAxes(type) ? like : Value());
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput()
                                                       : OpFoldResult();
}

/// broadcast(broadcast(x)) is one broadcast.
LogicalResult BroadcastOp::canonicalize(BroadcastOp op,
                                        PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  Value input = inner.getInput(), like = op.getLike();
  if (getNumAxes(input.getType()) == getNumAxes(op.getType()))
    like = Value();
  else if (!like)
    like = inner.getLike();
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), input, like);
  return success();
}

//===----------------------------------------------------------------------===//
// ConcatOp, SliceOp
//===----------------------------------------------------------------------===//

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : OpFoldResult();
}

LogicalResult ConcatOp::canonicalize(ConcatOp op, PatternRewriter &rewriter) {
  int64_t feature = op.getFeatureNumber();
  // A concat of concats is one, and a range next to its neighbour is one range.
  SmallVector<Value> inputs;
  bool changed = false;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getFeatureNumber() == feature) {
      llvm::append_range(inputs, inner.getInputs());
      changed = true;
      continue;
    }
    auto slice = input.getDefiningOp<SliceOp>();
    auto before =
        inputs.empty() ? SliceOp() : inputs.back().getDefiningOp<SliceOp>();
    if (slice && before && slice.getInput() == before.getInput() &&
        slice.getStart() == before.getStop() && !slice.getDrop() &&
        !before.getDrop() &&
        slice.getFeature() == static_cast<uint64_t>(feature) &&
        before.getFeature() == static_cast<uint64_t>(feature)) {
      SmallVector<int64_t> shape(getFeatures(slice.getType()));
      shape[feature] = static_cast<int64_t>(slice.getStop()) -
                       static_cast<int64_t>(before.getStart());
      inputs.back() = SliceOp::create(rewriter, op.getLoc(),
                                      withFeatures(slice.getType(), shape),
                                      slice.getInput(), before.getStart(),
                                      slice.getStop(), /*drop=*/false, feature);
      changed = true;
      continue;
    }
    inputs.push_back(input);
  }
  if (!changed)
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs,
                                        op.getFeatureAttr());
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput()
                                                       : OpFoldResult();
}

LogicalResult SliceOp::canonicalize(SliceOp op, PatternRewriter &rewriter) {
  int64_t start = op.getStart(), stop = op.getStop();
  auto replace = [&](Value input, int64_t offset) {
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input,
                                         start + offset, stop + offset,
                                         op.getDrop(), op.getFeature());
    return success();
  };
  // A range of a range.
  if (auto inner = op.getInput().getDefiningOp<SliceOp>();
      inner && !inner.getDrop() && inner.getFeature() == op.getFeature())
    return replace(inner.getInput(), inner.getStart());
  // A range of what lies side by side, if it lies in one of the operands.
  if (auto concat = op.getInput().getDefiningOp<ConcatOp>();
      concat &&
      concat.getFeatureNumber() == static_cast<int64_t>(op.getFeature())) {
    int64_t begin = 0;
    for (Value input : concat.getInputs()) {
      int64_t end = begin + getFeatures(input.getType())[op.getFeature()];
      if (start >= begin && stop <= end)
        return replace(input, -begin);
      begin = end;
    }
  }
  // A range of every operand, where that is another feature. Only of what has
  // no axes: to put weights side by side costs nothing.
  if (auto concat = op.getInput().getDefiningOp<ConcatOp>();
      concat && !op.getDrop() && getNumAxes(op.getType()) == 0 &&
      concat.getFeatureNumber() != static_cast<int64_t>(op.getFeature())) {
    SmallVector<Value> parts;
    for (Value input : concat.getInputs()) {
      SmallVector<int64_t> shape(getFeatures(input.getType()));
      shape[op.getFeature()] = stop - start;
      parts.push_back(SliceOp::create(
          rewriter, op.getLoc(), withFeatures(input.getType(), shape), input,
          start, stop, /*drop=*/false, op.getFeature()));
    }
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), parts,
                                          concat.getFeatureAttr());
    return success();
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

/// The product with a zero vector is the bias.
LogicalResult LinearOp::canonicalize(LinearOp op, PatternRewriter &rewriter) {
  if (!isZero(op.getInput()) || !op.getEpilogue().empty())
    return failure();
  Value result = op.getBias()
                     ? BroadcastOp::create(
                           rewriter, op.getLoc(), op.getType(), op.getBias(),
                           getNumAxes(op.getType()) ? op.getInput() : Value())
                           .getResult()
                     : createUniform(rewriter, op.getLoc(), op.getType(), 0,
                                     op.getInput());
  rewriter.replaceOp(op, result);
  return success();
}

//===----------------------------------------------------------------------===//
// ReverseOp, FirstOp, LastOp
//===----------------------------------------------------------------------===//

/// Twice backwards is forwards; padding is nobody's business (R10).
OpFoldResult ReverseOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<ReverseOp>();
  return inner && inner.getLengths() == getLengths() ? inner.getInput()
                                                     : OpFoldResult();
}

/// The first position of what runs backwards is the last, and the other way
/// round.
template <typename To, typename From>
static LogicalResult turnEnds(From op, PatternRewriter &rewriter) {
  auto reverse = op.getInput().template getDefiningOp<ReverseOp>();
  if (!reverse || reverse.getLengths() != op.getLengths())
    return failure();
  rewriter.replaceOpWithNewOp<To>(op, op.getType(), reverse.getInput(),
                                  op.getLengths());
  return success();
}

LogicalResult FirstOp::canonicalize(FirstOp op, PatternRewriter &rewriter) {
  return turnEnds<LastOp>(op, rewriter);
}

LogicalResult LastOp::canonicalize(LastOp op, PatternRewriter &rewriter) {
  return turnEnds<FirstOp>(op, rewriter);
}

//===----------------------------------------------------------------------===//
// Arithmetic with numbers that are known
//===----------------------------------------------------------------------===//

/// Whether `value` is a number between bounds, or NaN, whatever it is made of.
static bool isBounded(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<SigmoidOp, math::TanhOp, SoftmaxOp, HardmaxOp>(op);
}

namespace {

/// x + 0, x - 0, x * 1, x / 1, bounded * 0. arith folds them where a constant
/// has the shape of x; here it is a broadcast, because axes are dynamic.
template <typename Op> struct KnownOperand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    // Scalars are left alone: in generated code they must stay what the lanes
    // of vectors are.
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || !type.getElementType().isF32())
      return failure();
    constexpr bool isSum = std::is_same_v<Op, arith::AddFOp>;
    constexpr bool isProduct = std::is_same_v<Op, arith::MulFOp>;
    constexpr double neutral =
        isSum || std::is_same_v<Op, arith::SubFOp> ? 0 : 1;
    auto isNeutral = [&](Value value) {
      std::optional<APFloat> number = getUniformConstant(value);
      return number && number->convertToDouble() == neutral;
    };
    if (isNeutral(op.getRhs())) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    if (isSum || isProduct) {
      if (isNeutral(op.getLhs())) {
        rewriter.replaceOp(op, op.getRhs());
        return success();
      }
    }
    if (isProduct)
      for (auto [zero, other] : {std::pair(op.getLhs(), op.getRhs()),
                                 std::pair(op.getRhs(), op.getLhs())})
        if (isZero(zero) && isBounded(other)) {
          rewriter.replaceOp(op, zero);
          return success();
        }
    return failure();
  }
};

} // namespace

void AttnDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<KnownOperand<arith::AddFOp>, KnownOperand<arith::SubFOp>,
               KnownOperand<arith::MulFOp>, KnownOperand<arith::DivFOp>>(
      getContext());
}
