//===- Elementwise.cpp - how values meet ----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that meet are brought to one kind of element, one level, one axis and
// one shape; then elementwise operations are `arith` and `math` on whole
// tensors.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

static Type getElementType(Element element, OpBuilder &builder) {
  switch (element) {
  case Element::Real:
    return builder.getF32Type();
  case Element::Boolean:
    return builder.getI1Type();
  case Element::Integer:
  case Element::Token:
    return builder.getI32Type();
  }
  return Type();
}

//===----------------------------------------------------------------------===//
// What values have in common
//===----------------------------------------------------------------------===//

std::string Importer::describeAxis(const SpecValue &value) const {
  if (value.axis)
    return "the sequence '" + value.axis->name + "'";
  if (value.level == Level::Row)
    return ("the decoder's positions '" + body->positions + "'").str();
  return "no axis";
}

std::optional<Common> Importer::unify(ArrayRef<SpecValue> values, SMLoc loc,
                                      bool shapes) {
  Common common;
  for (const SpecValue &value : values) {
    if (value.isError())
      return std::nullopt;
    if (value.isState()) {
      error(loc, "expected values, but got the state of an lstm; use its "
                 "'.hidden' or '.cell'");
      return std::nullopt;
    }
  }

  common.element = values.front().element;
  for (const SpecValue &value : values) {
    if (value.element == common.element)
      continue;
    auto isNumeric = [](Element element) {
      return element == Element::Real || element == Element::Integer;
    };
    if (!isNumeric(value.element) || !isNumeric(common.element)) {
      error(loc, "expected values of one kind, but got " +
                     describe(common.element) + " and " +
                     describe(value.element));
      return std::nullopt;
    }
    common.element = Element::Real;
  }

  // Values without an axis meet any other; two axes never meet.
  const SpecValue *onAxis = nullptr;
  for (const SpecValue &value : values) {
    common.level = std::max(common.level, value.level);
    bool ofStep = value.level == Level::Row && !value.axis;
    if (!value.axis && !ofStep)
      continue;
    if (onAxis && onAxis->axis != value.axis) {
      Report report =
          error(loc, "expected values on one axis, but got one on " +
                         describeAxis(*onAxis) + " and one on " +
                         describeAxis(value) +
                         "; they meet only in an attention block");
      for (const SequenceAxis *axis : {onAxis->axis, value.axis})
        if (axis && axis->declared.isValid())
          report.note(axis->declared, "'" + axis->name + "' is declared here");
      return std::nullopt;
    }
    onAxis = &value;
    common.axis = value.axis;
  }
  for (const SpecValue &value : values)
    if (value.isTensor() && value.level == common.level &&
        value.axis == common.axis)
      common.like = value.ir;

  if (!shapes)
    return common;
  common.shape = Shape(values.front().getShape());
  for (const SpecValue &value : values.drop_front()) {
    std::optional<Shape> combined =
        combineShapes(common.shape, value.getShape());
    if (!combined) {
      error(loc, "expected shapes that combine (equal, one a prefix of the "
                 "other, or a single number), but got " +
                     toString(common.shape) + " and " +
                     toString(value.getShape()));
      return std::nullopt;
    }
    common.shape = *combined;
  }
  return common;
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

SpecValue Importer::fill(double value, ShapeRef shape, SMLoc loc) {
  Type type = getValueType(0, shape, builder.getF32Type());
  TypedAttr attribute = builder.getF32FloatAttr(value);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    attribute = DenseElementsAttr::get(tensor, Attribute(attribute));
  return SpecValue::getTensor(
      arith::ConstantOp::create(builder, locate(loc), attribute), Element::Real,
      Level::Constant);
}

SpecValue Importer::toTensor(const SpecValue &value, SMLoc loc) {
  if (!value.isNumber())
    return value;
  if (!value.number.isInteger)
    return fill(value.number.real, {}, loc);
  if (!llvm::isInt<32>(value.number.integer))
    return fail(loc, "expected a whole number of 32 bits, but got " +
                         Twine(value.number.integer));
  return SpecValue::getTensor(
      arith::ConstantOp::create(builder, locate(loc),
                                builder.getI32IntegerAttr(static_cast<int32_t>(
                                    value.number.integer))),
      Element::Integer, Level::Constant);
}

SpecValue Importer::convertElement(const SpecValue &value, Element element,
                                   SMLoc loc) {
  if (value.isError())
    return value;
  if (value.isNumber())
    return element == Element::Real ? fill(value.number.real, {}, loc)
                                    : toTensor(value, loc);
  if (value.element == element)
    return value;
  if (value.element != Element::Integer || element != Element::Real)
    return fail(loc, "expected " + describe(element) + ", but got " +
                         describe(value.element));
  Type type = withElement(value.ir.getType(), builder.getF32Type());
  return value.withTensor(
      arith::SIToFPOp::create(builder, locate(loc), type, value.ir),
      Element::Real);
}

SpecValue Importer::toReal(const SpecValue &value, SMLoc loc) {
  if (value.isState())
    return fail(loc, "expected a value, but got the state of an lstm; use its "
                     "'.hidden' or '.cell'");
  return convertElement(value, Element::Real, loc);
}

SpecValue Importer::toRows(const SpecValue &value, SMLoc loc) {
  if (value.isError() || value.level != Level::Sentence)
    return value;
  SpecValue result = value;
  auto repeat = [&](mlir::Value sentences) -> mlir::Value {
    return ToRowsOp::create(builder, locate(loc), sentences.getType(),
                            sentences, body->sentence);
  };
  result.ir = repeat(value.ir);
  if (value.cell)
    result.cell = repeat(value.cell);
  result.level = Level::Row;
  return result;
}

SpecValue Importer::convertAxes(const SpecValue &value, const Common &common,
                                SMLoc loc) {
  Common target = common;
  target.element = value.element;
  target.shape = Shape(value.getShape());
  return convert(value, target, loc);
}

SpecValue Importer::convert(const SpecValue &value, const Common &common,
                            SMLoc loc) {
  SpecValue result = convertElement(value, common.element, loc);
  if (result.isError())
    return result;
  if (common.level == Level::Row)
    result = toRows(result, loc);
  unsigned numAxes = 0;
  if (common.level == Level::Sentence || common.level == Level::Row)
    numAxes = common.axis ? 2 : 1;
  Type type = getValueType(numAxes, common.shape,
                           getElementType(common.element, builder));
  mlir::Value tensor = result.ir;
  if (tensor.getType() != type)
    tensor = BroadcastOp::create(builder, locate(loc), type, tensor,
                                 result.getNumAxes() < numAxes ? common.like
                                                               : mlir::Value());
  SpecValue converted =
      SpecValue::getTensor(tensor, common.element, common.level, common.axis);
  converted.vocabulary = result.vocabulary;
  return converted;
}

SpecValue Importer::broadcastShape(const SpecValue &value, ShapeRef shape,
                                   SMLoc loc) {
  if (value.isError() || value.getShape() == shape)
    return value;
  return value.withTensor(BroadcastOp::create(
      builder, locate(loc), withFeatures(value.ir.getType(), shape), value.ir,
      mlir::Value()));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

SpecValue Importer::arithmeticOnNumbers(Token::Kind op, const Constant &lhs,
                                        const Constant &rhs, SMLoc loc) {
  if (op == Token::slash) {
    if (rhs.real == 0)
      return fail(loc, "expected a divisor other than 0");
    return SpecValue::get(Constant::get(lhs.real / rhs.real));
  }
  if (op == Token::slash_slash || op == Token::percent) {
    int64_t a = lhs.integer, b = rhs.integer;
    if (b == 0)
      return fail(loc, "expected a divisor other than 0");
    if (b == -1 && a == INT64_MIN)
      return fail(loc, "expected a whole number below 2^63");
    int64_t quotient = llvm::divideFloorSigned(a, b);
    return SpecValue::get(
        Constant::get(op == Token::percent ? a - quotient * b : quotient));
  }
  if (lhs.isInteger && rhs.isInteger) {
    int64_t result = 0;
    bool overflow = op == Token::plus
                        ? llvm::AddOverflow(lhs.integer, rhs.integer, result)
                    : op == Token::minus
                        ? llvm::SubOverflow(lhs.integer, rhs.integer, result)
                        : llvm::MulOverflow(lhs.integer, rhs.integer, result);
    if (overflow)
      return fail(loc, "expected a whole number below 2^63");
    return SpecValue::get(Constant::get(result));
  }
  return SpecValue::get(Constant::get(op == Token::plus ? lhs.real + rhs.real
                                      : op == Token::minus
                                          ? lhs.real - rhs.real
                                          : lhs.real * rhs.real));
}

SpecValue Importer::arithmetic(Token::Kind op, const SpecValue &lhs,
                               const SpecValue &rhs, SMLoc loc) {
  if (lhs.isError() || rhs.isError())
    return SpecValue();
  if (lhs.isNumber() && rhs.isNumber())
    return arithmeticOnNumbers(op, lhs.number, rhs.number, loc);
  for (const SpecValue *value : {&lhs, &rhs})
    if (!value->isState() && value->element != Element::Real &&
        value->element != Element::Integer)
      return fail(loc, "expected numbers, but got " + describe(value->element));
  std::optional<Common> common = unify({lhs, rhs}, loc);
  if (!common)
    return SpecValue();
  if (op == Token::slash)
    common->element = Element::Real;

  // What is multiplied by the weights of a sum is the summand itself.
  if (op == Token::star && (lhs.isOne || rhs.isOne)) {
    common->element = Element::Real;
    SpecValue product = convert(lhs.isOne ? rhs : lhs, *common, loc);
    product.isOne = lhs.isOne && rhs.isOne;
    return product;
  }

  SpecValue left = convert(lhs, *common, loc);
  SpecValue right = convert(rhs, *common, loc);
  if (left.isError() || right.isError())
    return SpecValue();
  Location location = locate(loc);
  mlir::Value a = left.ir, b = right.ir, result;
  bool real = common->element == Element::Real;
  switch (op) {
  case Token::plus:
    result = real ? arith::AddFOp::create(builder, location, a, b).getResult()
                  : arith::AddIOp::create(builder, location, a, b).getResult();
    break;
  case Token::minus:
    result = real ? arith::SubFOp::create(builder, location, a, b).getResult()
                  : arith::SubIOp::create(builder, location, a, b).getResult();
    break;
  case Token::star:
    result = real ? arith::MulFOp::create(builder, location, a, b).getResult()
                  : arith::MulIOp::create(builder, location, a, b).getResult();
    break;
  default:
    result = arith::DivFOp::create(builder, location, a, b).getResult();
    break;
  }
  return left.withTensor(result);
}

SpecValue Importer::divideWhole(Token::Kind op, const SpecValue &lhs,
                                const SpecValue &rhs, SMLoc loc) {
  if (lhs.isError() || rhs.isError())
    return SpecValue();
  StringRef spelling = op == Token::percent ? "%" : "//";
  for (const SpecValue *value : {&lhs, &rhs})
    if (value->isState() || value->element != Element::Integer)
      return fail(loc, "expected whole numbers for '" + spelling +
                           "', but got " +
                           (value->isState() ? StringRef("the state of an lstm")
                                             : describe(value->element)));
  if (lhs.isNumber() && rhs.isNumber())
    return arithmeticOnNumbers(op, lhs.number, rhs.number, loc);
  if (rhs.isNumber() && rhs.number.integer == 0)
    return fail(loc, "expected a divisor other than 0");
  std::optional<Common> common = unify({lhs, rhs}, loc);
  if (!common)
    return SpecValue();
  SpecValue left = convert(lhs, *common, loc);
  SpecValue right = convert(rhs, *common, loc);
  if (left.isError() || right.isError())
    return SpecValue();
  Location location = locate(loc);
  mlir::Value quotient =
      arith::FloorDivSIOp::create(builder, location, left.ir, right.ir);
  if (op == Token::slash_slash)
    return left.withTensor(quotient);
  mlir::Value product =
      arith::MulIOp::create(builder, location, quotient, right.ir);
  return left.withTensor(
      arith::SubIOp::create(builder, location, left.ir, product));
}

SpecValue Importer::compare(Token::Kind op, const SpecValue &lhs,
                            const SpecValue &rhs, SMLoc loc) {
  if (lhs.isError() || rhs.isError())
    return SpecValue();
  for (const SpecValue *value : {&lhs, &rhs})
    if (!value->isState() && value->element != Element::Real &&
        value->element != Element::Integer)
      return fail(loc, "expected numbers to compare, but got " +
                           describe(value->element));
  std::optional<Common> common = unify({lhs, rhs}, loc);
  if (!common)
    return SpecValue();
  SpecValue left = convert(lhs, *common, loc);
  SpecValue right = convert(rhs, *common, loc);
  if (left.isError() || right.isError())
    return SpecValue();
  mlir::Value result;
  if (common->element == Element::Real) {
    // Comparisons with NaN are false, but for "not equal".
    using Predicate = arith::CmpFPredicate;
    Predicate predicate = op == Token::less            ? Predicate::OLT
                          : op == Token::less_equal    ? Predicate::OLE
                          : op == Token::greater       ? Predicate::OGT
                          : op == Token::greater_equal ? Predicate::OGE
                          : op == Token::equal_equal   ? Predicate::OEQ
                                                       : Predicate::UNE;
    result = arith::CmpFOp::create(builder, locate(loc), predicate, left.ir,
                                   right.ir);
  } else {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = op == Token::less            ? Predicate::slt
                          : op == Token::less_equal    ? Predicate::sle
                          : op == Token::greater       ? Predicate::sgt
                          : op == Token::greater_equal ? Predicate::sge
                          : op == Token::equal_equal   ? Predicate::eq
                                                       : Predicate::ne;
    result = arith::CmpIOp::create(builder, locate(loc), predicate, left.ir,
                                   right.ir);
  }
  return left.withTensor(result, Element::Boolean);
}

SpecValue Importer::logic(Token::Kind op, const SpecValue &lhs,
                          const SpecValue &rhs, SMLoc loc) {
  if (lhs.isError() || rhs.isError())
    return SpecValue();
  for (const SpecValue *value : {&lhs, &rhs})
    if (!value->isState() && value->element != Element::Boolean)
      return fail(loc,
                  "expected booleans, but got " + describe(value->element));
  std::optional<Common> common = unify({lhs, rhs}, loc);
  if (!common)
    return SpecValue();
  SpecValue left = convert(lhs, *common, loc);
  SpecValue right = convert(rhs, *common, loc);
  mlir::Value result =
      op == Token::kw_and
          ? arith::AndIOp::create(builder, locate(loc), left.ir, right.ir)
                .getResult()
          : arith::OrIOp::create(builder, locate(loc), left.ir, right.ir)
                .getResult();
  return left.withTensor(result);
}

SpecValue Importer::negate(const SpecValue &value, SMLoc loc) {
  if (value.isError())
    return value;
  if (value.isNumber()) {
    Constant number = value.number;
    number.integer = -number.integer;
    number.real = -number.real;
    return SpecValue::get(number);
  }
  if (value.element == Element::Integer)
    return arithmetic(Token::minus, SpecValue::get(Constant::get(int64_t(0))),
                      value, loc);
  SpecValue real = toReal(value, loc);
  if (real.isError())
    return real;
  return real.withTensor(arith::NegFOp::create(builder, locate(loc), real.ir));
}

SpecValue Importer::invert(const SpecValue &value, SMLoc loc) {
  if (value.isError())
    return value;
  if (value.isState() || value.element != Element::Boolean)
    return fail(loc, "expected booleans, but got " +
                         (value.isState() ? StringRef("the state of an lstm")
                                          : describe(value.element)));
  SpecValue yes =
      SpecValue::getTensor(arith::ConstantOp::create(builder, locate(loc),
                                                     builder.getBoolAttr(true)),
                           Element::Boolean, Level::Constant);
  std::optional<Common> common = unify({value, yes}, loc);
  yes = convert(yes, *common, loc);
  return value.withTensor(
      arith::XOrIOp::create(builder, locate(loc), value.ir, yes.ir));
}
