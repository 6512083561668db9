//===- Arithmetic.cpp - arith and math on whole values --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "reference/Frame.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The number that `width` bits hold of `value`.
static double wrap(int64_t value, unsigned width) {
  if (width == 1)
    return static_cast<double>(value & 1);
  unsigned unused = 64 - width;
  return static_cast<double>(
      static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused);
}

static int64_t asSigned(double value, unsigned width) {
  // Booleans are stored as 0 and 1, but their one bit is a sign.
  return static_cast<int64_t>(width == 1 ? -value : value);
}

static uint64_t asUnsigned(double value, unsigned width) {
  uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

static double minimum(double a, double b) { return -maximum(-a, -b); }

/// The integer next to `value` towards zero. The IR says nothing of numbers
/// that no integer holds, but they may stand in padding: they saturate.
static double truncate(double value, double lowest, double highest) {
  if (std::isnan(value))
    return 0;
  return std::trunc(std::clamp(value, lowest, highest));
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown predicate");
}

static bool compare(arith::CmpIPredicate predicate, double lhs, double rhs,
                    unsigned width) {
  int64_t a = asSigned(lhs, width), b = asSigned(rhs, width);
  uint64_t c = asUnsigned(lhs, width), d = asUnsigned(rhs, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return c < d;
  case arith::CmpIPredicate::ule:
    return c <= d;
  case arith::CmpIPredicate::ugt:
    return c > d;
  case arith::CmpIPredicate::uge:
    return c >= d;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// The result of an elementwise operation, in the shape of its last operand
/// (which for a selection is not the condition).
static Tensor &ownResult(Operation *op, Frame &frame) {
  Value like = op->getOperands().back();
  return frame.own(op->getResult(0), getAxes(frame, like));
}

/// Checks that operands agree in the sizes that their types leave open.
static LogicalResult checkSizes(Operation *op, Frame &frame, const Tensor &lhs,
                                const Tensor &rhs) {
  if (lhs.shape == rhs.shape)
    return success();
  return frame.fail(op, "expected operands of one shape, but got " +
                            lhs.describe() + " and " + rhs.describe());
}

template <auto function>
static LogicalResult unary(Operation *op, Frame &frame) {
  const Tensor &input = frame.get(op->getOperand(0));
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = input.size(); i < e; ++i)
    result.data[i] = function(input.data[i]);
  return success();
}

template <auto function>
static LogicalResult binary(Operation *op, Frame &frame) {
  const Tensor &lhs = frame.get(op->getOperand(0));
  const Tensor &rhs = frame.get(op->getOperand(1));
  if (failed(checkSizes(op, frame, lhs, rhs)))
    return failure();
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = lhs.size(); i < e; ++i)
    result.data[i] = function(lhs.data[i], rhs.data[i]);
  return success();
}

/// A binary operation on integers, read as signed numbers.
template <auto function>
static LogicalResult binarySigned(Operation *op, Frame &frame) {
  const Tensor &lhs = frame.get(op->getOperand(0));
  const Tensor &rhs = frame.get(op->getOperand(1));
  if (failed(checkSizes(op, frame, lhs, rhs)))
    return failure();
  Tensor &result = ownResult(op, frame);
  unsigned width = lhs.width;
  for (int64_t i = 0, e = lhs.size(); i < e; ++i)
    result.data[i] = wrap(
        function(asSigned(lhs.data[i], width), asSigned(rhs.data[i], width)),
        width);
  return success();
}

/// A change of the element type; the function is given both widths.
template <auto function>
static LogicalResult convert(Operation *op, Frame &frame) {
  const Tensor &input = frame.get(op->getOperand(0));
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = input.size(); i < e; ++i)
    result.data[i] = function(input.data[i], input.width, result.width);
  return success();
}

static LogicalResult evaluateCmpF(arith::CmpFOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  if (failed(checkSizes(op, frame, lhs, rhs)))
    return failure();
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = lhs.size(); i < e; ++i)
    result.data[i] = compare(op.getPredicate(), lhs.data[i], rhs.data[i]);
  return success();
}

static LogicalResult evaluateCmpI(arith::CmpIOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  if (failed(checkSizes(op, frame, lhs, rhs)))
    return failure();
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = lhs.size(); i < e; ++i)
    result.data[i] =
        compare(op.getPredicate(), lhs.data[i], rhs.data[i], lhs.width);
  return success();
}

static LogicalResult evaluateSelect(arith::SelectOp op, Frame &frame) {
  const Tensor &condition = frame.get(op.getCondition());
  const Tensor &yes = frame.get(op.getTrueValue());
  const Tensor &no = frame.get(op.getFalseValue());
  bool single = !isa<ShapedType>(op.getCondition().getType());
  if (failed(checkSizes(op, frame, yes, no)) ||
      (!single && failed(checkSizes(op, frame, condition, yes))))
    return failure();
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = yes.size(); i < e; ++i)
    result.data[i] =
        condition.data[single ? 0 : i] != 0 ? yes.data[i] : no.data[i];
  return success();
}

static LogicalResult evaluateFma(math::FmaOp op, Frame &frame) {
  const Tensor &a = frame.get(op.getA()), &b = frame.get(op.getB()),
               &c = frame.get(op.getC());
  if (failed(checkSizes(op, frame, a, b)) ||
      failed(checkSizes(op, frame, b, c)))
    return failure();
  Tensor &result = ownResult(op, frame);
  for (int64_t i = 0, e = a.size(); i < e; ++i)
    result.data[i] = std::fma(a.data[i], b.data[i], c.data[i]);
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult evaluateConstant(arith::ConstantOp op, Frame &frame) {
  if (getNumAxes(op.getType()) != 0)
    return frame.fail(op, "expected a constant without axes");
  Tensor &result = frame.own(op.getResult(), {});
  auto ofFloat = [](const APFloat &value) {
    bool losesInfo;
    APFloat wide = value;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return wide.convertToDouble();
  };
  auto ofInteger = [](const APInt &value) {
    return value.getBitWidth() == 1 ? static_cast<double>(value.getZExtValue())
                                    : static_cast<double>(value.getSExtValue());
  };
  Attribute value = op.getValue();
  if (auto number = dyn_cast<FloatAttr>(value)) {
    result.data[0] = ofFloat(number.getValue());
    return success();
  }
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    result.data[0] = ofInteger(number.getValue());
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(value);
  if (!elements)
    return frame.fail(op, "expected a number or dense numbers as constant");
  if (isa<FloatType>(elements.getElementType()))
    llvm::transform(elements.getValues<APFloat>(), result.data.begin(),
                    ofFloat);
  else
    llvm::transform(elements.getValues<APInt>(), result.data.begin(),
                    ofInteger);
  return success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void addFloatKernels(KernelTable &table) {
  table.add<arith::AddFOp>(binary<[](double a, double b) { return a + b; }>);
  table.add<arith::SubFOp>(binary<[](double a, double b) { return a - b; }>);
  table.add<arith::MulFOp>(binary<[](double a, double b) { return a * b; }>);
  table.add<arith::DivFOp>(binary<[](double a, double b) { return a / b; }>);
  table.add<arith::RemFOp>(
      binary<[](double a, double b) { return std::fmod(a, b); }>);
  table.add<arith::MaximumFOp>(binary<maximum>);
  table.add<arith::MinimumFOp>(binary<minimum>);
  table.add<arith::MaxNumFOp>(
      binary<[](double a, double b) { return std::fmax(a, b); }>);
  table.add<arith::MinNumFOp>(
      binary<[](double a, double b) { return std::fmin(a, b); }>);
  table.add<arith::NegFOp>(unary<[](double x) { return -x; }>);
  table.add<math::PowFOp>(
      binary<[](double a, double b) { return std::pow(a, b); }>);
  table.add<math::Atan2Op>(
      binary<[](double a, double b) { return std::atan2(a, b); }>);
  table.add<math::CopySignOp>(
      binary<[](double a, double b) { return std::copysign(a, b); }>);
  table.add<math::FmaOp, evaluateFma>();
  table.add<math::AbsFOp>(unary<[](double x) { return std::fabs(x); }>);
  table.add<math::CeilOp>(unary<[](double x) { return std::ceil(x); }>);
  table.add<math::CosOp>(unary<[](double x) { return std::cos(x); }>);
  table.add<math::ErfOp>(unary<[](double x) { return std::erf(x); }>);
  table.add<math::ExpOp>(unary<[](double x) { return std::exp(x); }>);
  table.add<math::Exp2Op>(unary<[](double x) { return std::exp2(x); }>);
  table.add<math::ExpM1Op>(unary<[](double x) { return std::expm1(x); }>);
  table.add<math::FloorOp>(unary<[](double x) { return std::floor(x); }>);
  table.add<math::LogOp>(unary<[](double x) { return std::log(x); }>);
  table.add<math::Log1pOp>(unary<[](double x) { return std::log1p(x); }>);
  table.add<math::Log2Op>(unary<[](double x) { return std::log2(x); }>);
  table.add<math::RoundEvenOp>(
      unary<[](double x) { return std::nearbyint(x); }>);
  table.add<math::RsqrtOp>(unary<[](double x) { return 1 / std::sqrt(x); }>);
  table.add<math::SinOp>(unary<[](double x) { return std::sin(x); }>);
  table.add<math::SqrtOp>(unary<[](double x) { return std::sqrt(x); }>);
  table.add<math::TanhOp>(unary<[](double x) { return std::tanh(x); }>);
  table.add<math::TruncOp>(unary<[](double x) { return std::trunc(x); }>);
}

static void addIntegerKernels(KernelTable &table) {
  table.add<arith::AddIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a + b; }>);
  table.add<arith::SubIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a - b; }>);
  table.add<arith::MulIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a * b; }>);
  // The IR says nothing of a division by zero, but one may stand in padding.
  table.add<arith::DivSIOp>(
      binarySigned<[](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }>);
  table.add<arith::RemSIOp>(
      binarySigned<[](int64_t a, int64_t b) { return b == 0 ? 0 : a % b; }>);
  table.add<arith::FloorDivSIOp>(binarySigned<[](int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
  }>);
  table.add<arith::CeilDivSIOp>(binarySigned<[](int64_t a, int64_t b) {
    return b == 0 ? 0 : a / b + (a % b != 0 && (a < 0) == (b < 0));
  }>);
  table.add<arith::AndIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a & b; }>);
  table.add<arith::OrIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a | b; }>);
  table.add<arith::XOrIOp>(
      binarySigned<[](int64_t a, int64_t b) { return a ^ b; }>);
  table.add<arith::MinSIOp>(
      binarySigned<[](int64_t a, int64_t b) { return std::min(a, b); }>);
  table.add<arith::MaxSIOp>(
      binarySigned<[](int64_t a, int64_t b) { return std::max(a, b); }>);
  table.add<math::AbsIOp>(convert<[](double x, unsigned from, unsigned to) {
    return wrap(std::abs(asSigned(x, from)), to);
  }>);
}

static void addConversionKernels(KernelTable &table) {
  table.add<arith::SIToFPOp>(convert<[](double x, unsigned from, unsigned) {
    return static_cast<double>(asSigned(x, from));
  }>);
  table.add<arith::UIToFPOp>(convert<[](double x, unsigned from, unsigned) {
    return static_cast<double>(asUnsigned(x, from));
  }>);
  table.add<arith::FPToSIOp>(convert<[](double x, unsigned, unsigned to) {
    double bound = std::ldexp(1.0, static_cast<int>(to) - 1);
    return truncate(x, -bound, bound - 1);
  }>);
  table.add<arith::FPToUIOp>(convert<[](double x, unsigned, unsigned to) {
    double bound = std::ldexp(1.0, static_cast<int>(to));
    return wrap(static_cast<int64_t>(truncate(x, 0, bound - 1)), to);
  }>);
  table.add<arith::ExtUIOp>(convert<[](double x, unsigned from, unsigned to) {
    return wrap(static_cast<int64_t>(asUnsigned(x, from)), to);
  }>);
  table.add<arith::ExtSIOp>(convert<[](double x, unsigned from, unsigned to) {
    return wrap(asSigned(x, from), to);
  }>);
  table.add<arith::TruncIOp>(convert<[](double x, unsigned, unsigned to) {
    return wrap(static_cast<int64_t>(x), to);
  }>);
}

void reference::addArithmeticKernels(KernelTable &table) {
  table.add<arith::ConstantOp, evaluateConstant>();
  table.add<arith::CmpFOp, evaluateCmpF>();
  table.add<arith::CmpIOp, evaluateCmpI>();
  table.add<arith::SelectOp, evaluateSelect>();
  addFloatKernels(table);
  addIntegerKernels(table);
  addConversionKernels(table);
}
