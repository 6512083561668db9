//===- Functions.cpp - calls, labels, functions on features ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AttentionBlock.h"
#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace mlir::attn::frontend {
/// A line of the table of functions.
struct FunctionInfo {
  enum Place { Anywhere, Outside };
  using Handler = SpecValue (Importer::*)(const Call &);

  StringRef name;
  Handler handler;
  Place place;
  StringRef positional, required, optional, parameters;

  static const FunctionInfo *find(StringRef name);
  static ArrayRef<FunctionInfo> all();
};
} // namespace mlir::attn::frontend

ArrayRef<FunctionInfo> FunctionInfo::all() {
  static const FunctionInfo functions[] = {
#define FUNCTION(Name, Handler, Place, Positional, Required, Optional,         \
                 Parameters)                                                   \
  {#Name,    &Importer::Handler, Place,     Positional,                        \
   Required, Optional,           Parameters},
#include "frontend/Functions.def"
  };
  return functions;
}

const FunctionInfo *FunctionInfo::find(StringRef name) {
  for (const FunctionInfo &function : all())
    if (function.name == name)
      return &function;
  return nullptr;
}

SpecValue Importer::evaluateCall(const CallExpr *expr) {
  StringRef callee = expr->callee.text;
  StringRef label = expr->label           ? expr->label.text
                    : expr == predictCall ? StringRef("predict")
                                          : callee;
  if (const BlockDecl *block = findBlock(callee)) {
    calledBlocks.insert(block);
    if (badBlocks.contains(block))
      return SpecValue();
    if (!block->isAttention)
      return importLayer(*block, expr, label);
    if (pairing)
      return fail(expr->loc, "expected no attention inside an attention block, "
                             "but got a call of '" +
                                 callee + "'");
    return std::make_shared<AttentionCall>(*this, *block, expr, label)
        ->import();
  }

  const FunctionInfo *function = FunctionInfo::find(callee);
  if (!function) {
    if (frame.scope && frame.scope->find(callee))
      return fail(expr->callee.loc, "expected a function or a block, but '" +
                                        callee + "' is a value");
    SmallVector<StringRef> candidates;
    for (const FunctionInfo &candidate : FunctionInfo::all())
      candidates.push_back(candidate.name);
    for (const std::unique_ptr<BlockDecl> &block : spec.blocks)
      candidates.push_back(block->name.text);
    return fail(expr->callee.loc, "expected a function or a block, but got '" +
                                      callee + "'" +
                                      suggest(callee, candidates));
  }
  if (function->place == FunctionInfo::Outside && pairing)
    return fail(expr->callee.loc, "expected what can be computed for one pair "
                                  "in an attention block, but got '" +
                                      callee + "'");
  Call call;
  call.expr = expr;
  call.label = label;
  if (!bindArguments(call, function->positional, function->required,
                     function->optional, function->parameters))
    return SpecValue();
  return (this->*function->handler)(call);
}

/// A number as messages show it.
static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// The words of a list like "x size".
static SmallVector<StringRef> split(StringRef words) {
  SmallVector<StringRef> result;
  words.split(result, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return result;
}

bool Importer::bindArguments(Call &call, StringRef positionalWords,
                             StringRef requiredWords, StringRef optionalWords,
                             StringRef parameterWords) {
  StringRef function = call.getFunction();
  SmallVector<StringRef> positional = split(positionalWords);
  SmallVector<StringRef> required = split(requiredWords);
  SmallVector<StringRef> known(required);
  llvm::append_range(known, split(optionalWords));
  llvm::append_range(known, split(parameterWords));
  bool isVariadic = positional == ArrayRef<StringRef>("...");
  if (!isVariadic)
    known.append(positional.begin(), positional.end());

  size_t place = 0;
  for (const Argument &argument : call.expr->arguments) {
    if (argument.name) {
      StringRef name = argument.name.text;
      if (!llvm::is_contained(known, name)) {
        error(argument.name.loc, "expected an argument that '" + function +
                                     "' has, but got '" + name + "'" +
                                     suggest(name, known));
        return false;
      }
      if (!call.arguments.try_emplace(name, argument.value).second) {
        error(argument.name.loc,
              "expected '" + name + "' once, but got it by place and by name");
        return false;
      }
      continue;
    }
    if (isVariadic) {
      call.variadic.push_back(argument.value);
      continue;
    }
    if (place == positional.size()) {
      error(argument.value->start,
            "expected " + Twine(positional.size()) +
                (positional.size() == 1 ? " argument" : " arguments") +
                " of '" + function + "' by place, but got " +
                Twine(llvm::count_if(
                    call.expr->arguments,
                    [](const Argument &other) { return !other.name; })));
      return false;
    }
    call.arguments[positional[place++]] = argument.value;
  }
  if (!isVariadic)
    for (StringRef name : positional)
      if (!call.arguments.count(name)) {
        error(call.getLoc(), "expected the argument '" + name + "' of '" +
                                 function + "', but got " +
                                 Twine(call.expr->arguments.size()) +
                                 " arguments");
        return false;
      }
  for (StringRef name : required)
    if (!call.arguments.count(name)) {
      StringRef choices = name == "reset"    ? "after or before"
                          : name == "layout" ? "interleaved or halves"
                                             : "...";
      error(call.getLoc(), "expected '" + name + " = " + choices +
                               "' in the call of '" + function +
                               "', which has no default");
      return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

SpecValue Importer::valueOf(ParameterOp parameter) {
  mlir::Value &value = body->parameters[parameter];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body->block);
    if (body->lastParameter)
      builder.setInsertionPointAfter(body->lastParameter);
    auto get =
        GetParameterOp::create(builder, parameter.getLoc(), parameter.getType(),
                               parameter.getSymName());
    body->lastParameter = get;
    value = get;
  }
  SpecValue result =
      SpecValue::getTensor(value, Element::Real, Level::Constant);
  return pairing ? pairing->enter(result) : result;
}

ParameterOp Importer::createParameter(const Twine &path, ShapeRef shape,
                                      ArrayRef<const CallExpr *> calls,
                                      SMLoc loc) {
  if (frame.unnamedRepeat) {
    error(frame.unnamedRepeat->loc,
          "expected 'as NAME' after the count of a repeat whose body has "
          "parameters")
        .note(loc, "a parameter is needed here");
    return nullptr;
  }
  return parameters->get(path.str(), shape, calls, loc);
}

SpecValue Importer::supplied(const Expr *expr, StringRef name, ShapeRef shape) {
  SpecValue value;
  auto *field = dyn_cast<FieldExpr>(expr);
  auto *base = field ? dyn_cast<NameExpr>(field->base) : nullptr;
  auto vocabulary = base ? vocabularies.find(base->name) : vocabularies.end();
  if (vocabulary != vocabularies.end() && field->field.text == "embedding" &&
      shape.size() == 2 && vocabulary->second.size == shape[0])
    value = embedding(vocabulary->second, shape[1], expr->start);
  else
    value = evaluateReal(expr);
  if (value.isError())
    return value;
  if (value.level != Level::Constant)
    return fail(expr->start, "expected a parameter as '" + name +
                                 "', but got a value that depends on the "
                                 "input");
  if (value.getShape() != shape)
    return fail(expr->start, "expected '" + name + "' of shape " +
                                 toString(shape) + ", but got " +
                                 toString(value.getShape()));
  return value;
}

SpecValue Importer::parameterOf(const Call &call, StringRef name,
                                ShapeRef shape) {
  if (const Expr *expr = call.get(name))
    return supplied(expr, name, shape);
  SmallVector<const CallExpr *, 4> calls(site);
  calls.push_back(call.expr);
  ParameterOp parameter =
      createParameter(frame.path + "." + call.label + "." + name, shape, calls,
                      call.expr->start);
  return parameter ? valueOf(parameter) : SpecValue();
}

SpecValue Importer::embedding(const VocabularyInfo &vocabulary,
                              std::optional<int64_t> size, SMLoc loc) {
  if (vocabulary.size == 0)
    return SpecValue();
  std::string path = (vocabulary.decl->name.text + ".embedding").str();
  ParameterOp parameter = parameters->find(path);
  if (size)
    parameter = parameters->getEmbedding(path, {vocabulary.size, *size}, loc);
  else if (!parameter)
    return fail(loc, "expected a known width of '" + path +
                         "', but nothing before embeds '" +
                         vocabulary.decl->name.text + "'");
  return parameter ? valueOf(parameter) : SpecValue();
}

SpecValue Importer::callEmbed(const Call &call) {
  const Expr *first = call.get("vocabulary");
  auto *name = dyn_cast<NameExpr>(first);
  auto vocabulary = name ? vocabularies.find(name->name) : vocabularies.end();
  if (vocabulary == vocabularies.end()) {
    SmallVector<StringRef> candidates;
    for (auto &[candidate, info] : vocabularies)
      candidates.push_back(candidate);
    return fail(first->start,
                "expected a vocabulary as the first argument of 'embed'" +
                    (name ? ", but got '" + name->name + "'" +
                                suggest(name->name, candidates)
                          : Twine("")));
  }
  SpecValue tokens = evaluate(call.get("tokens"));
  std::optional<int64_t> size = evaluatePositive(call.get("size"), "a size");
  if (tokens.isError() || !size)
    return SpecValue();
  SMLoc loc = call.get("tokens")->start;
  if (!tokens.isTensor() || tokens.element != Element::Token)
    return fail(loc, "expected tokens to embed, but got " +
                         (tokens.isState() ? StringRef("the state of an lstm")
                                           : describe(tokens.element)));
  if (tokens.vocabulary != &vocabulary->second)
    return fail(loc, "expected tokens of '" + name->name +
                         "', but got tokens "
                         "of '" +
                         tokens.vocabulary->decl->name.text + "'");
  SpecValue table = embedding(vocabulary->second, *size, call.getLoc());
  if (table.isError())
    return table;
  Type type = getValueType(tokens.getNumAxes(), {*size}, builder.getF32Type());
  SpecValue result =
      tokens.withTensor(EmbedOp::create(builder, locate(call.getLoc()), type,
                                        tokens.ir, table.ir),
                        Element::Real);
  return result;
}

std::optional<int64_t> Importer::inputSize(SpecValue &value, const Call &call) {
  if (value.isError())
    return std::nullopt;
  ShapeRef shape = value.getShape();
  if (shape.empty()) {
    value = broadcastShape(value, {1}, call.getLoc());
    return 1;
  }
  if (shape.size() == 1)
    return shape[0];
  error(call.getLoc(), "expected one feature dimension for '" +
                           call.getFunction() + "', but got " +
                           toString(shape));
  return std::nullopt;
}

SpecValue Importer::callLinear(const Call &call) {
  SpecValue x = evaluateReal(call.get("x"));
  std::optional<int64_t> size = evaluatePositive(call.get("size"), "a size");
  std::optional<int64_t> inputs = inputSize(x, call);
  if (!size || !inputs)
    return SpecValue();
  SpecValue weight = parameterOf(call, "weight", {*size, *inputs});
  if (weight.isError())
    return weight;
  mlir::Value bias;
  const Expr *flag = call.get("bias");
  bool hasBias = !flag || !isa<BoolExpr>(flag) || cast<BoolExpr>(flag)->value;
  if (hasBias) {
    Call own = call;
    if (flag && isa<BoolExpr>(flag))
      own.arguments.erase("bias");
    SpecValue value = parameterOf(own, "bias", {*size});
    if (value.isError())
      return value;
    bias = value.ir;
  }
  Type type = withFeatures(x.ir.getType(), {*size});
  return x.withTensor(LinearOp::create(builder, locate(call.getLoc()), type,
                                       x.ir, weight.ir, bias));
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

/// The value of a function of one number that is known.
static std::optional<double> foldUnary(StringRef function, double x) {
  if (function == "tanh")
    return std::tanh(x);
  if (function == "sigmoid")
    return 1 / (1 + std::exp(-x));
  if (function == "relu")
    return x > 0 ? x : 0;
  if (function == "silu")
    return x / (1 + std::exp(-x));
  if (function == "gelu")
    return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
  if (function == "gelu_tanh")
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (function == "exp")
    return std::exp(x);
  if (function == "log" && x > 0)
    return std::log(x);
  if (function == "sqrt" && x >= 0)
    return std::sqrt(x);
  return std::nullopt;
}

SpecValue Importer::callUnary(const Call &call) {
  SpecValue x = evaluateValue(call.get("x"));
  return unary(call.getFunction(), x, call.getLoc());
}

SpecValue Importer::unary(StringRef function, const SpecValue &value,
                          SMLoc loc) {
  if (value.isError())
    return value;
  Location location = locate(loc);
  if (function == "abs" && value.element == Element::Integer) {
    if (value.isNumber())
      return SpecValue::get(Constant::get(std::abs(value.number.integer)));
    return value.withTensor(math::AbsIOp::create(builder, location, value.ir));
  }
  if (value.isNumber()) {
    if (function == "abs")
      return SpecValue::get(Constant::get(std::abs(value.number.real)));
    std::optional<double> folded = foldUnary(function, value.number.real);
    if (!folded)
      return fail(loc, "expected a number in the domain of '" + function +
                           "', but got " + toText(value.number.real));
    return SpecValue::get(Constant::get(*folded));
  }
  SpecValue x = toReal(value, loc);
  if (x.isError())
    return x;
  auto number = [&](double value) {
    return SpecValue::get(Constant::get(value));
  };
  auto times = [&](const SpecValue &a, const SpecValue &b) {
    return arithmetic(Token::star, a, b, loc);
  };
  auto plus = [&](const SpecValue &a, const SpecValue &b) {
    return arithmetic(Token::plus, a, b, loc);
  };
  if (function == "tanh")
    return x.withTensor(math::TanhOp::create(builder, location, x.ir));
  if (function == "exp")
    return x.withTensor(math::ExpOp::create(builder, location, x.ir));
  if (function == "log")
    return x.withTensor(math::LogOp::create(builder, location, x.ir));
  if (function == "sqrt")
    return x.withTensor(math::SqrtOp::create(builder, location, x.ir));
  if (function == "abs")
    return x.withTensor(math::AbsFOp::create(builder, location, x.ir));
  if (function == "sigmoid")
    return x.withTensor(SigmoidOp::create(builder, location, x.ir));
  if (function == "relu") {
    std::optional<Common> common = unify({x, number(0.0)}, loc);
    SpecValue zero = convert(number(0.0), *common, loc);
    return x.withTensor(
        arith::MaximumFOp::create(builder, location, x.ir, zero.ir));
  }
  if (function == "silu")
    return times(x, x.withTensor(SigmoidOp::create(builder, location, x.ir)));
  if (function == "gelu") {
    SpecValue scaled = times(x, number(M_SQRT1_2));
    SpecValue erf =
        x.withTensor(math::ErfOp::create(builder, location, scaled.ir));
    return times(times(x, number(0.5)), plus(erf, number(1.0)));
  }
  // gelu_tanh
  SpecValue cube = times(times(x, x), x);
  SpecValue inner = times(plus(x, times(cube, number(0.044715))),
                          number(std::sqrt(2 / M_PI)));
  SpecValue tanh =
      x.withTensor(math::TanhOp::create(builder, location, inner.ir));
  return times(times(x, number(0.5)), plus(tanh, number(1.0)));
}

SpecValue Importer::callFloor(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue x = evaluateValue(call.get("x"));
  if (x.isError() || x.element == Element::Integer)
    return x;
  if (x.isNumber()) {
    double whole = std::floor(x.number.real);
    if (!(std::abs(whole) < 9e18))
      return fail(loc, "expected a whole number below 2^63");
    return SpecValue::get(Constant::get(static_cast<int64_t>(whole)));
  }
  x = toReal(x, loc);
  if (x.isError())
    return x;
  // What no whole number of 32 bits is near becomes the nearest one, NaN the
  // least: the conversion is defined for what remains.
  Location location = locate(loc);
  std::optional<Common> common = unify({x}, loc);
  auto real = [&](double number) {
    return convert(SpecValue::get(Constant::get(number)), *common, loc).ir;
  };
  mlir::Value least = real(-2147483648.0), most = real(2147483520.0);
  mlir::Value above = arith::CmpFOp::create(
      builder, location, arith::CmpFPredicate::OGE, x.ir, least);
  mlir::Value v =
      arith::SelectOp::create(builder, location, above, x.ir, least);
  v = arith::MinimumFOp::create(builder, location, v, most);
  Type integer = withElement(x.ir.getType(), builder.getI32Type());
  mlir::Value whole = arith::FPToSIOp::create(builder, location, integer, v);
  // The conversion went towards zero.
  mlir::Value back =
      arith::SIToFPOp::create(builder, location, x.ir.getType(), whole);
  mlir::Value isAbove = arith::CmpFOp::create(
      builder, location, arith::CmpFPredicate::OGT, back, v);
  mlir::Value excess =
      arith::ExtUIOp::create(builder, location, integer, isAbove);
  return x.withTensor(arith::SubIOp::create(builder, location, whole, excess),
                      Element::Integer);
}

SpecValue Importer::callMinMax(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue a = evaluateValue(call.get("a"));
  SpecValue b = evaluateValue(call.get("b"));
  if (a.isError() || b.isError())
    return SpecValue();
  bool isMin = call.getFunction() == "min";
  if (a.isNumber() && b.isNumber()) {
    bool first = (a.number.real < b.number.real) == isMin;
    SpecValue result = first ? a : b;
    if (!a.number.isInteger || !b.number.isInteger)
      result = SpecValue::get(Constant::get(result.number.real));
    return result;
  }
  for (const SpecValue *value : {&a, &b})
    if (value->element != Element::Real && value->element != Element::Integer)
      return fail(loc, "expected numbers, but got " + describe(value->element));
  std::optional<Common> common = unify({a, b}, loc);
  if (!common)
    return SpecValue();
  a = convert(a, *common, loc);
  b = convert(b, *common, loc);
  if (a.isError() || b.isError())
    return SpecValue();
  Location location = locate(loc);
  mlir::Value result;
  if (common->element == Element::Real)
    result = isMin ? arith::MinimumFOp::create(builder, location, a.ir, b.ir)
                         .getResult()
                   : arith::MaximumFOp::create(builder, location, a.ir, b.ir)
                         .getResult();
  else
    result =
        isMin
            ? arith::MinSIOp::create(builder, location, a.ir, b.ir).getResult()
            : arith::MaxSIOp::create(builder, location, a.ir, b.ir).getResult();
  return a.withTensor(result);
}

SpecValue Importer::callWhere(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue condition = evaluateValue(call.get("condition"));
  SpecValue a = evaluateValue(call.get("a"));
  SpecValue b = evaluateValue(call.get("b"));
  if (condition.isError() || a.isError() || b.isError())
    return SpecValue();
  if (condition.element != Element::Boolean)
    return fail(call.get("condition")->start,
                "expected booleans as a condition, but got " +
                    describe(condition.element));
  // The condition meets the others in level, axis and shape, not in kind.
  std::optional<Common> choices = unify({a, b}, loc);
  if (!choices)
    return SpecValue();
  SpecValue placeholder = condition;
  placeholder.element = choices->element;
  std::optional<Common> common = unify({placeholder, a, b}, loc);
  if (!common)
    return SpecValue();
  common->element = choices->element;
  a = convert(a, *common, loc);
  b = convert(b, *common, loc);
  common->element = Element::Boolean;
  condition = convert(condition, *common, loc);
  if (a.isError() || b.isError() || condition.isError())
    return SpecValue();
  return a.withTensor(
      arith::SelectOp::create(builder, locate(loc), condition.ir, a.ir, b.ir));
}

SpecValue Importer::callDropout(const Call &call) {
  SpecValue x = evaluateReal(call.get("x"));
  std::optional<double> p = evaluateConstant(call.get("p"));
  if (!p)
    return SpecValue();
  if (!(*p >= 0 && *p < 1))
    return fail(call.get("p")->start,
                "expected a probability of at least 0 and below 1, but got " +
                    toText(*p));
  return x;
}

//===----------------------------------------------------------------------===//
// Functions on features
//===----------------------------------------------------------------------===//

SpecValue Importer::callConcat(const Call &call) {
  SmallVector<SpecValue> parts;
  for (const Expr *expr : call.variadic)
    parts.push_back(evaluateReal(expr));
  if (parts.empty())
    return fail(call.getLoc(), "expected at least one argument of 'concat'");
  std::optional<Common> common = unify(parts, call.getLoc(), /*shapes=*/false);
  if (!common)
    return SpecValue();
  Shape shape(parts.front().getShape());
  if (!shape.empty())
    shape.back() = 0;
  SmallVector<mlir::Value> operands;
  for (auto [part, expr] : llvm::zip(parts, call.variadic)) {
    ShapeRef other = part.getShape();
    if (other.empty())
      return fail(expr->start, "expected a value with features to concatenate, "
                               "but got a single number");
    if (other.drop_back() != ShapeRef(shape).drop_back())
      return fail(expr->start,
                  "expected values that agree in all but the last dimension, "
                  "but got " +
                      toString(parts.front().getShape()) + " and " +
                      toString(other));
    shape.back() += other.back();
    operands.push_back(convertAxes(part, *common, expr->start).ir);
  }
  Type type = withFeatures(operands.front().getType(), shape);
  return SpecValue::getTensor(
      ConcatOp::create(builder, locate(call.getLoc()), type, operands),
      Element::Real, common->level, common->axis);
}

SpecValue Importer::callZeros(const Call &call) {
  Shape shape;
  for (const Expr *expr : call.variadic) {
    std::optional<int64_t> size = evaluatePositive(expr, "a size");
    if (!size)
      return SpecValue();
    shape.push_back(*size);
  }
  if (!getNumElements(shape))
    return fail(call.getLoc(), "expected fewer than 2^63 elements");
  return fill(0, shape, call.getLoc());
}

/// The numbers of a range are part of the program.
static constexpr int64_t maxRange = 1 << 16;

SpecValue Importer::callRange(const Call &call) {
  const Expr *expr = call.get("size");
  std::optional<int64_t> size = evaluatePositive(expr, "a size");
  if (!size)
    return SpecValue();
  if (*size > maxRange)
    return fail(expr->start, "expected at most " + Twine(maxRange) +
                                 " numbers, but got " + Twine(*size));
  SmallVector<int32_t> numbers(*size);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto type = RankedTensorType::get({*size}, builder.getI32Type());
  return SpecValue::getTensor(
      arith::ConstantOp::create(
          builder, locate(call.getLoc()),
          DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers))),
      Element::Integer, Level::Constant);
}

/// The value with its leading features, all but the last, repeated to `lead`.
/// The caller has checked that they combine.
SpecValue Importer::expandLead(const SpecValue &value, ShapeRef lead,
                               SMLoc loc) {
  ShapeRef own = value.getShape().drop_back();
  if (own == lead)
    return value;
  SpecValue v = value;
  // A single number in front, other than a prefix, goes away first.
  if (!isPrefix(own, lead))
    for (size_t i = own.size(); i > 0; --i)
      v = v.withTensor(SliceOp::create(
          builder, locate(loc),
          withFeatures(v.ir.getType(), v.getShape().drop_front()), v.ir, 0, 1,
          /*drop=*/true));
  // Ones times the last feature: the only way to repeat in the middle.
  Type onesType = withFeatures(v.ir.getType(), lead);
  SpecValue ones = fill(1, {}, loc);
  if (ones.ir.getType() != onesType)
    ones.ir = BroadcastOp::create(builder, locate(loc), onesType, ones.ir,
                                  v.getNumAxes() > 0 ? v.ir : mlir::Value());
  Shape shape(lead);
  shape.push_back(v.getShape().back());
  return v.withTensor(OuterOp::create(builder, locate(loc),
                                      withFeatures(v.ir.getType(), shape),
                                      ones.ir, v.ir));
}

SpecValue Importer::callDot(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue a = evaluateReal(call.get("a"));
  SpecValue b = evaluateReal(call.get("b"));
  std::optional<Common> common = unify({a, b}, loc, /*shapes=*/false);
  if (!common)
    return SpecValue();
  if (a.getShape().empty() || b.getShape().empty() ||
      a.getShape().back() != b.getShape().back())
    return fail(loc, "expected operands of 'dot' with equal last dimensions, "
                     "but got " +
                         toString(a.getShape()) + " and " +
                         toString(b.getShape()));
  std::optional<Shape> lead =
      combineShapes(a.getShape().drop_back(), b.getShape().drop_back());
  if (!lead)
    return fail(loc, "expected operands of 'dot' whose shapes before the last "
                     "dimension combine, but got " +
                         toString(a.getShape()) + " and " +
                         toString(b.getShape()));
  a = expandLead(convertAxes(a, *common, loc), *lead, loc);
  b = expandLead(convertAxes(b, *common, loc), *lead, loc);
  return a.withTensor(DotOp::create(
      builder, locate(loc), withFeatures(a.ir.getType(), *lead), a.ir, b.ir));
}

SpecValue Importer::callOuter(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue a = evaluateReal(call.get("a"));
  SpecValue v = evaluateReal(call.get("v"));
  std::optional<Common> common = unify({a, v}, loc, /*shapes=*/false);
  if (!common)
    return SpecValue();
  if (v.getShape().empty())
    return fail(call.get("v")->start,
                "expected a value with features as the second operand of "
                "'outer', but got a single number");
  std::optional<Shape> lead =
      combineShapes(a.getShape(), v.getShape().drop_back());
  if (!lead)
    return fail(loc, "expected operands of 'outer' that combine before the "
                     "last dimension of the second, but got " +
                         toString(a.getShape()) + " and " +
                         toString(v.getShape()));
  if (a.isOne && v.getShape().drop_back() == ShapeRef(*lead))
    return v;
  a = broadcastShape(convertAxes(a, *common, loc), *lead, loc);
  v = convertAxes(v, *common, loc);
  ShapeRef own = v.getShape().drop_back();
  if (!isPrefix(own, *lead))
    v = expandLead(v, *lead, loc);
  Shape shape(*lead);
  shape.push_back(v.getShape().back());
  return v.withTensor(OuterOp::create(
      builder, locate(loc), withFeatures(v.ir.getType(), shape), a.ir, v.ir));
}

/// Whether a value has features; an error of the call where not.
static bool hasFeatures(const SpecValue &value) {
  return !value.getShape().empty();
}

SpecValue Importer::callSoftmax(const Call &call) {
  SpecValue x = evaluateReal(call.get("x"));
  if (x.isError())
    return x;
  if (!hasFeatures(x))
    return fail(call.getLoc(), "expected a value with features for '" +
                                   call.getFunction() +
                                   "', but got a single number");
  Location loc = locate(call.getLoc());
  return x.withTensor(
      call.getFunction() == "softmax"
          ? SoftmaxOp::create(builder, loc, x.ir.getType(), x.ir).getResult()
          : HardmaxOp::create(builder, loc, x.ir.getType(), x.ir).getResult());
}

SpecValue Importer::callMaxout(const Call &call) {
  SpecValue x = evaluateReal(call.get("x"));
  std::optional<int64_t> k = evaluatePositive(call.get("k"), "a number");
  if (x.isError() || !k)
    return SpecValue();
  if (!hasFeatures(x) || x.getShape().back() % *k != 0)
    return fail(call.getLoc(), "expected a last dimension that " + Twine(*k) +
                                   " divides, but got " +
                                   toString(x.getShape()));
  Shape shape(x.getShape());
  shape.back() /= *k;
  return x.withTensor(MaxoutOp::create(builder, locate(call.getLoc()),
                                       withFeatures(x.ir.getType(), shape),
                                       x.ir, *k));
}

SpecValue Importer::callNorm(const Call &call) {
  SpecValue x = evaluateReal(call.get("x"));
  std::optional<double> epsilon = 1e-5;
  if (const Expr *expr = call.get("epsilon")) {
    epsilon = evaluateConstant(expr);
    if (epsilon && !(*epsilon >= 0))
      return fail(expr->start, "expected an epsilon of at least 0, but got " +
                                   toText(*epsilon));
  }
  if (x.isError() || !epsilon)
    return SpecValue();
  if (!hasFeatures(x))
    return fail(call.getLoc(), "expected a value with features for '" +
                                   call.getFunction() +
                                   "', but got a single number");
  int64_t size = x.getShape().back();
  SpecValue weight = parameterOf(call, "weight", {size});
  if (weight.isError())
    return weight;
  Location loc = locate(call.getLoc());
  FloatAttr attribute = builder.getF64FloatAttr(*epsilon);
  if (call.getFunction() == "rms_norm")
    return x.withTensor(RmsNormOp::create(builder, loc, x.ir.getType(), x.ir,
                                          weight.ir, attribute));
  SpecValue bias = parameterOf(call, "bias", {size});
  if (bias.isError())
    return bias;
  return x.withTensor(LayerNormOp::create(builder, loc, x.ir.getType(), x.ir,
                                          weight.ir, bias.ir, attribute));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static const StringRef layouts[] = {"interleaved", "halves"};

SpecValue Importer::callSinusoid(const Call &call) {
  SpecValue p = evaluateValue(call.get("p"));
  std::optional<int64_t> size = evaluatePositive(call.get("size"), "a size");
  std::optional<unsigned> layout = evaluateChoice(call.get("layout"), layouts);
  std::optional<double> steps = evaluateConstant(call.get("steps"));
  if (p.isError() || !size || !layout || !steps)
    return SpecValue();
  if (*size % 2 != 0)
    return fail(call.get("size")->start,
                "expected an even size, but got " + Twine(*size));
  if (!(*steps > 0))
    return fail(call.get("steps")->start,
                "expected positive steps, but got " + toText(*steps));
  if ((p.element != Element::Integer && p.element != Element::Real) ||
      hasFeatures(p))
    return fail(call.get("p")->start,
                "expected a position, a single number, but got " +
                    describe(p.element) + " of shape " +
                    toString(p.getShape()));
  p = toTensor(p, call.getLoc());
  Type type = getValueType(p.getNumAxes(), {*size}, builder.getF32Type());
  return p.withTensor(
      SinusoidOp::create(
          builder, locate(call.getLoc()), type, p.ir,
          LayoutAttr::get(builder.getContext(), static_cast<Layout>(*layout)),
          builder.getF64FloatAttr(*steps)),
      Element::Real);
}

SpecValue Importer::callRotary(const Call &call) {
  SMLoc loc = call.getLoc();
  SpecValue v = evaluateReal(call.get("v"));
  SpecValue p = evaluateValue(call.get("p"));
  std::optional<unsigned> layout = evaluateChoice(call.get("layout"), layouts);
  std::optional<double> base = 10000.0;
  if (const Expr *expr = call.get("base"))
    base = evaluateConstant(expr);
  if (v.isError() || p.isError() || !layout || !base)
    return SpecValue();
  if (!hasFeatures(v) || v.getShape().back() % 2 != 0)
    return fail(call.get("v")->start,
                "expected an even last dimension to rotate, but got " +
                    toString(v.getShape()));
  if (p.element != Element::Integer || hasFeatures(p))
    return fail(call.get("p")->start,
                "expected a position, a single whole number, but got " +
                    describe(p.element) + " of shape " +
                    toString(p.getShape()));
  if (!(*base > 0))
    return fail(call.get("base")->start,
                "expected a positive base, but got " + toText(*base));
  // The position and the value meet in level and axis only.
  p = toTensor(p, loc);
  SpecValue placeholder = p;
  placeholder.element = Element::Real;
  std::optional<Common> common = unify({v, placeholder}, loc, /*shapes=*/false);
  if (!common)
    return SpecValue();
  v = convertAxes(v, *common, loc);
  p = convertAxes(p, *common, loc);
  return v.withTensor(RotaryOp::create(
      builder, locate(loc), v.ir.getType(), v.ir, p.ir,
      LayoutAttr::get(builder.getContext(), static_cast<Layout>(*layout)),
      builder.getF64FloatAttr(*base)));
}

SpecValue Importer::callSum(const Call &call) {
  if (!frame.attention)
    return fail(call.getLoc(), "expected 'sum' in the 'read' of an attention "
                               "block only");
  return frame.attention->sum(call);
}

SpecValue Importer::callCausal(const Call &call) {
  if (!frame.attention)
    return fail(call.getLoc(), "expected 'causal' in the 'mask' of an "
                               "attention block only");
  return frame.attention->causal(call);
}
