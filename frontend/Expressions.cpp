//===- Expressions.cpp - names, fields, indices, sizes --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AttentionBlock.h"
#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

SpecValue Importer::evaluate(const Expr *expr) {
  switch (expr->kind) {
  case Expr::Kind::Number: {
    auto *number = cast<NumberExpr>(expr);
    return SpecValue::get(number->isInteger ? Constant::get(number->integer)
                                            : Constant::get(number->real));
  }
  case Expr::Kind::Bool:
    return SpecValue::getTensor(
        arith::ConstantOp::create(
            builder, locate(expr->loc),
            builder.getBoolAttr(cast<BoolExpr>(expr)->value)),
        Element::Boolean, Level::Constant);
  case Expr::Kind::String:
    return fail(expr->loc, "expected a value, but got a string, which only "
                           "stands beside '==' or '!=' and a token");
  case Expr::Kind::Name:
    return evaluateName(cast<NameExpr>(expr));
  case Expr::Kind::Unary:
    return evaluateUnary(cast<UnaryExpr>(expr));
  case Expr::Kind::Binary:
    return evaluateBinary(cast<BinaryExpr>(expr));
  case Expr::Kind::Call:
    return evaluateCall(cast<CallExpr>(expr));
  case Expr::Kind::Field:
    return evaluateField(cast<FieldExpr>(expr));
  case Expr::Kind::Index:
    return evaluateIndex(cast<IndexExpr>(expr));
  }
  return SpecValue();
}

SpecValue Importer::evaluateValue(const Expr *expr) {
  SpecValue value = evaluate(expr);
  if (value.isState())
    return fail(expr->start, "expected a value, but got the state of an lstm; "
                             "use its '.hidden' or '.cell'");
  return value;
}

SpecValue Importer::evaluateReal(const Expr *expr) {
  return toReal(evaluate(expr), expr->start);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

SpecValue Importer::nameOfModel(StringRef name) {
  if (auto dim = dims.find(name); dim != dims.end())
    return SpecValue::get(Constant::get(dim->second));
  if (auto found = vocabularies.find(name);
      found != vocabularies.end() && found->second.size > 0)
    return SpecValue::get(Constant::get(found->second.size));
  return SpecValue();
}

SpecValue Importer::unknownName(StringRef name, SMLoc loc,
                                ArrayRef<StringRef> local) {
  // What was declared wrongly has been reported.
  if (declared.count(name) && !findBlock(name))
    return SpecValue();
  if (findBlock(name))
    return fail(loc, "expected a value, but '" + name +
                         "' is a block; call it with its arguments");
  // The decoder sees of the encoder what it shows.
  if (frame.kind == Frame::Kind::Decoder && !frame.attention && spec.encoder)
    for (const InputSpec &input : spec.encoder->inputs)
      if (input.name.text == name) {
        error(loc, "expected a name that the decoder knows, but '" + name +
                       "' is an input of the encoder, which shows what "
                       "'memory' says")
            .note(input.name.loc, "the input is declared here");
        return SpecValue();
      }
  SmallVector<StringRef> candidates(local);
  if (frame.scope)
    frame.scope->collect(candidates);
  for (auto &[dim, value] : dims)
    candidates.push_back(dim);
  for (auto &[vocabulary, info] : vocabularies)
    candidates.push_back(vocabulary);
  return fail(loc, "expected a known name, but got '" + name + "'" +
                       suggest(name, candidates));
}

SpecValue Importer::evaluateName(const NameExpr *expr) {
  if (frame.attention) {
    if (std::optional<SpecValue> value =
            frame.attention->lookUp(expr->name, expr->loc))
      return *value;
  } else if (frame.scope) {
    if (Binding *binding = frame.scope->find(expr->name)) {
      if (binding->isArray())
        return fail(expr->loc, "expected an index after '" + expr->name +
                                   "', which is " +
                                   Twine(binding->values.size()) +
                                   " states, as in " + expr->name + "[0]");
      return binding->values.front();
    }
  }
  SpecValue value = nameOfModel(expr->name);
  if (!value.isError())
    return value;
  SmallVector<StringRef> local;
  if (frame.attention)
    frame.attention->collectNames(local);
  return unknownName(expr->name, expr->loc, local);
}

SpecValue Importer::evaluateField(const FieldExpr *expr) {
  StringRef field = expr->field.text;
  if (auto *name = dyn_cast<NameExpr>(expr->base)) {
    auto vocabulary = vocabularies.find(name->name);
    bool hidden = frame.scope && frame.scope->find(name->name);
    if (vocabulary != vocabularies.end() && !hidden) {
      if (field != "embedding")
        return fail(expr->loc, "expected 'embedding' of a vocabulary, but got "
                               "'" +
                                   field + "'" + suggest(field, {"embedding"}));
      return embedding(vocabulary->second, std::nullopt, name->loc);
    }
  }
  SpecValue base = evaluate(expr->base);
  if (base.isError())
    return base;
  if (base.isState()) {
    if (field == "hidden" || field == "cell") {
      SpecValue part = base;
      part.kind = SpecValue::Kind::Tensor;
      part.ir = field == "hidden" ? base.ir : base.cell;
      part.cell = mlir::Value();
      return part;
    }
    return fail(expr->loc, "expected 'hidden' or 'cell' of the state of an "
                           "lstm, but got '" +
                               field + "'" +
                               suggest(field, {"hidden", "cell"}));
  }
  if (base.read) {
    if (field == "valid")
      return base.read->valid;
    if (field == "weights" && !base.read->queries)
      return base.read->weights;
    if (field == "scores" && base.read->makeScores && !base.read->queries) {
      base.read->scoresUsed = true;
      return base.read->makeScores();
    }
    if (field == "weights" || field == "scores")
      return fail(expr->loc, "expected the " + field +
                                 " of one query, but these lie on two "
                                 "axes: the queries' sequence '" +
                                 base.read->queries->name +
                                 "' and the memory's '" +
                                 base.read->weights.axis->name + "'");
    return fail(expr->loc,
                "expected 'weights', 'scores' or 'valid' of a read, but got '" +
                    field + "'" +
                    suggest(field, {"weights", "scores", "valid"}));
  }
  return fail(expr->loc, "expected a read, the state of an lstm or a "
                         "vocabulary before '." +
                             field + "', but got a plain value");
}

/// Whether an index is known at compile time: a size.
static bool isSizeExpr(const Expr *expr,
                       llvm::function_ref<bool(StringRef)> isSizeName) {
  if (auto *name = dyn_cast<NameExpr>(expr))
    return isSizeName(name->name);
  if (isa<CallExpr, FieldExpr, IndexExpr, BoolExpr, StringExpr>(expr))
    return false;
  bool all = true;
  forEachChild(
      expr, [&](const Expr *child) { all &= isSizeExpr(child, isSizeName); });
  return all;
}

SpecValue Importer::evaluateIndex(const IndexExpr *expr) {
  auto *name = dyn_cast<NameExpr>(expr->base);
  if (name && !frame.attention && frame.scope) {
    Binding *binding = frame.scope->find(name->name);
    if (binding && binding->isArray()) {
      if (expr->stop)
        return fail(expr->loc, "expected one index of states, but got a slice");
      std::optional<int64_t> index = evaluateSize(expr->first);
      if (!index)
        return SpecValue();
      int64_t count = binding->values.size();
      if (*index < 0 || *index >= count)
        return fail(expr->first->start, "expected an index below " +
                                            Twine(count) + ", but got " +
                                            Twine(*index));
      return binding->values[*index];
    }
  }
  SpecValue base = evaluateValue(expr->base);
  if (base.isError())
    return base;
  if (base.getShape().empty())
    return fail(expr->loc, "expected a value with features before an index, "
                           "but got a single number");
  auto isSizeName = [&](StringRef name) {
    if (frame.scope && !frame.attention)
      if (Binding *binding = frame.scope->find(name))
        return binding->kind == Binding::Kind::Index;
    return !nameOfModel(name).isError();
  };
  int64_t size = base.getShape().front();
  if (expr->stop || isSizeExpr(expr->first, isSizeName)) {
    std::optional<int64_t> start = evaluateSize(expr->first);
    std::optional<int64_t> stop =
        expr->stop ? evaluateSize(expr->stop) : std::nullopt;
    if (!start || (expr->stop && !stop))
      return SpecValue();
    if (!stop)
      stop = *start + 1;
    if (*start < 0 || *stop <= *start || *stop > size)
      return fail(expr->loc,
                  (expr->stop ? "expected a range within the "
                              : "expected an index below the ") +
                      Twine(size) + " features, but got " + Twine(*start) +
                      (expr->stop ? " : " + Twine(*stop) : Twine("")));
    Shape shape(base.getShape().drop_front());
    if (expr->stop)
      shape.insert(shape.begin(), *stop - *start);
    SpecValue real = toReal(base, expr->start);
    if (real.isError())
      return real;
    return real.withTensor(SliceOp::create(
        builder, locate(expr->loc), withFeatures(real.ir.getType(), shape),
        real.ir, *start, *stop, /*drop=*/!expr->stop));
  }
  // In an attention block a value of the query or the memory is whole.
  if (base.level != Level::Constant && base.level != Level::Pair)
    return fail(expr->loc, "expected a parameter before an index that is "
                           "computed, but got a value that depends on the "
                           "input");
  SpecValue index = evaluateValue(expr->first);
  if (index.isError())
    return index;
  if (index.element != Element::Integer || !index.getShape().empty())
    return fail(expr->first->start,
                "expected a whole number as an index, but got " +
                    describe(index.element) + " of shape " +
                    toString(index.getShape()));
  index = toTensor(index, expr->first->start);
  base = toReal(base, expr->start);
  if (base.isError() || index.isError())
    return SpecValue();
  index.level = std::max(index.level, base.level);
  Type type = getValueType(index.getNumAxes(), base.getShape().drop_front(),
                           builder.getF32Type());
  return index.withTensor(
      LookupOp::create(builder, locate(expr->loc), type, base.ir, index.ir),
      Element::Real);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

SpecValue Importer::evaluateUnary(const UnaryExpr *expr) {
  SpecValue operand = evaluate(expr->operand);
  return expr->op == Token::minus ? negate(operand, expr->loc)
                                  : invert(operand, expr->loc);
}

SpecValue Importer::evaluateBinary(const BinaryExpr *expr) {
  if (expr->op == Token::at)
    return evaluateMatrixProduct(expr);
  if (expr->op == Token::equal_equal || expr->op == Token::not_equal) {
    if (auto *text = dyn_cast<StringExpr>(expr->rhs))
      return compareToken(expr, expr->lhs, text);
    if (auto *text = dyn_cast<StringExpr>(expr->lhs))
      return compareToken(expr, expr->rhs, text);
  }
  SpecValue lhs = evaluate(expr->lhs);
  SpecValue rhs = evaluate(expr->rhs);
  switch (expr->op) {
  case Token::slash_slash:
  case Token::percent:
    return divideWhole(expr->op, lhs, rhs, expr->loc);
  case Token::plus:
  case Token::minus:
  case Token::star:
  case Token::slash:
    return arithmetic(expr->op, lhs, rhs, expr->loc);
  case Token::kw_and:
  case Token::kw_or:
    return logic(expr->op, lhs, rhs, expr->loc);
  default:
    return compare(expr->op, lhs, rhs, expr->loc);
  }
}

SpecValue Importer::compareToken(const BinaryExpr *expr, const Expr *operand,
                                 const StringExpr *text) {
  SpecValue tokens = evaluate(operand);
  if (tokens.isError())
    return tokens;
  if (!tokens.isTensor() || tokens.element != Element::Token)
    return fail(operand->start,
                "expected a token beside a string, but got " +
                    (tokens.isState() ? StringRef("the state of an lstm")
                                      : describe(tokens.element)));
  const VocabularyInfo &vocabulary = *tokens.vocabulary;
  StringRef name = vocabulary.decl->name.text;
  if (!vocabulary.contents)
    return fail(text->loc, "expected the tokens of '" + name + "' to find \"" +
                               text->value +
                               "\" among them, but only their number is given");
  ArrayRef<std::string> all = vocabulary.contents->tokens;
  auto found = llvm::find(all, text->value);
  if (found == all.end()) {
    SmallVector<StringRef> candidates(all.begin(), all.end());
    return fail(text->loc, "expected a token of '" + name + "', but got \"" +
                               text->value + "\"" +
                               suggest(text->value, candidates));
  }
  SpecValue ids = tokens.withTensor(tokens.ir, Element::Integer);
  return compare(expr->op, ids,
                 SpecValue::get(Constant::get(int64_t(found - all.begin()))),
                 expr->loc);
}

SpecValue Importer::evaluateMatrixProduct(const BinaryExpr *expr) {
  SpecValue weight = evaluateReal(expr->lhs);
  SpecValue x = evaluateReal(expr->rhs);
  if (weight.isError() || x.isError())
    return SpecValue();
  if (weight.level != Level::Constant)
    return fail(expr->loc, "expected a parameter on the left of '@', but got a "
                           "value that depends on the input");
  ShapeRef all = weight.getShape(), contracted = x.getShape();
  if (contracted.size() > all.size() ||
      all.take_back(contracted.size()) != contracted)
    return fail(expr->loc, "expected a left operand of '@' whose last "
                           "dimensions are the right one's " +
                               toString(contracted) + ", but got " +
                               toString(all));
  Type type = withFeatures(x.ir.getType(), all.drop_back(contracted.size()));
  return x.withTensor(LinearOp::create(builder, locate(expr->loc), type, x.ir,
                                       weight.ir, mlir::Value()));
}

//===----------------------------------------------------------------------===//
// What must be known at compile time
//===----------------------------------------------------------------------===//

std::optional<int64_t> Importer::evaluateSize(const Expr *expr) {
  auto reject = [&](const Twine &what) -> std::optional<int64_t> {
    error(expr->start, "expected a size, made of numbers, dims, indices of "
                       "repeats and vocabularies, but got " +
                           what);
    return std::nullopt;
  };
  switch (expr->kind) {
  case Expr::Kind::Number: {
    auto *number = cast<NumberExpr>(expr);
    if (number->isInteger)
      return number->integer;
    return reject("a number that is not whole");
  }
  case Expr::Kind::Name: {
    StringRef name = cast<NameExpr>(expr)->name;
    if (frame.scope && !frame.attention)
      if (Binding *binding = frame.scope->find(name)) {
        if (binding->kind == Binding::Kind::Index)
          return binding->values.front().number.integer;
        return reject("the value '" + name + "'");
      }
    SpecValue value = nameOfModel(name);
    if (!value.isError())
      return value.number.integer;
    unknownName(name, expr->loc);
    return std::nullopt;
  }
  case Expr::Kind::Unary: {
    auto *unary = cast<UnaryExpr>(expr);
    if (unary->op != Token::minus)
      return reject("a boolean");
    std::optional<int64_t> operand = evaluateSize(unary->operand);
    return operand ? std::optional(-*operand) : std::nullopt;
  }
  case Expr::Kind::Binary: {
    auto *binary = cast<BinaryExpr>(expr);
    if (!llvm::is_contained({Token::plus, Token::minus, Token::star,
                             Token::slash, Token::slash_slash, Token::percent},
                            binary->op))
      return reject("another operator than + - * / // %");
    std::optional<int64_t> lhs = evaluateSize(binary->lhs);
    std::optional<int64_t> rhs = evaluateSize(binary->rhs);
    if (!lhs || !rhs)
      return std::nullopt;
    if (binary->op == Token::slash) {
      if (*rhs == 0 || *lhs % *rhs != 0) {
        error(binary->loc, "expected an exact division in a size, but got " +
                               Twine(*lhs) + " / " + Twine(*rhs));
        return std::nullopt;
      }
      return *lhs / *rhs;
    }
    SpecValue result = arithmeticOnNumbers(binary->op, Constant::get(*lhs),
                                           Constant::get(*rhs), binary->loc);
    return result.isError() ? std::nullopt
                            : std::optional(result.number.integer);
  }
  case Expr::Kind::Bool:
    return reject("a boolean");
  case Expr::Kind::String:
    return reject("a string");
  case Expr::Kind::Call:
    return reject("a call of '" + cast<CallExpr>(expr)->callee.text + "'");
  case Expr::Kind::Field:
  case Expr::Kind::Index:
    return reject("a part of a value");
  }
  return std::nullopt;
}

std::optional<int64_t> Importer::evaluatePositive(const Expr *expr,
                                                  const Twine &what) {
  std::optional<int64_t> size = evaluateSize(expr);
  if (size && (*size < 1 || *size > INT32_MAX)) {
    error(expr->start,
          "expected " + what + " from 1 to 2^31 - 1, but got " + Twine(*size));
    return std::nullopt;
  }
  return size;
}

std::optional<Shape> Importer::evaluateShape(const ShapeSpec &spec) {
  Shape shape;
  bool good = true;
  for (const Expr *expr : spec.sizes) {
    std::optional<int64_t> size = evaluatePositive(expr, "a size");
    good &= size.has_value();
    shape.push_back(size.value_or(1));
  }
  return good ? std::optional(shape) : std::nullopt;
}

std::optional<double> Importer::evaluateConstant(const Expr *expr) {
  SpecValue value = evaluate(expr);
  if (value.isNumber())
    return value.number.real;
  if (!value.isError())
    error(expr->start, "expected a number that is known at compile time");
  return std::nullopt;
}

std::optional<bool> Importer::evaluateFlag(const Expr *expr) {
  if (auto *flag = dyn_cast<BoolExpr>(expr))
    return flag->value;
  error(expr->start, "expected true or false");
  return std::nullopt;
}

std::optional<unsigned> Importer::evaluateChoice(const Expr *expr,
                                                 ArrayRef<StringRef> words) {
  StringRef word;
  if (auto *name = dyn_cast<NameExpr>(expr)) {
    word = name->name;
    for (auto [index, candidate] : llvm::enumerate(words))
      if (candidate == word)
        return index;
  }
  error(expr->start, "expected " + llvm::join(words, " or ") +
                         (word.empty() ? "" : ", but got '" + word + "'") +
                         suggest(word, words));
  return std::nullopt;
}
