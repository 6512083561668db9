//===- Linearity.cpp - whether an expression is linear in the weights -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Linearity.h"

using namespace mlir::attn::frontend;

using NameDegree = llvm::function_ref<Degree(const NameExpr *)>;

/// Of a product: one factor may be linear.
static Degree multiply(Degree lhs, Degree rhs, const Expr *expr) {
  if (lhs.kind == Degree::Other)
    return lhs;
  if (rhs.kind == Degree::Other)
    return rhs;
  if (lhs.kind == Degree::Linear && rhs.kind == Degree::Linear)
    return {Degree::Other, expr};
  return {std::max(lhs.kind, rhs.kind), nullptr};
}

/// Of a sum, a choice, values side by side: all are linear or none is.
static Degree add(Degree lhs, Degree rhs, const Expr *expr) {
  if (lhs.kind == Degree::Other)
    return lhs;
  if (rhs.kind == Degree::Other)
    return rhs;
  if (lhs.kind != rhs.kind)
    return {Degree::Other, expr};
  return lhs;
}

/// Of anything else: it may not depend on the weights.
static Degree isolate(Degree operand, const Expr *expr) {
  if (operand.kind == Degree::Linear)
    return {Degree::Other, expr};
  return operand;
}

static Degree getDegreeOfCall(const CallExpr *call, NameDegree degreeOfName) {
  llvm::StringRef callee = call->callee.text;
  auto degreeOf = [&](size_t index) {
    return getDegree(call->arguments[index].value, degreeOfName);
  };
  size_t count = call->arguments.size();
  if ((callee == "dot" || callee == "outer") && count == 2)
    return multiply(degreeOf(0), degreeOf(1), call);
  if (callee == "concat" && count > 0) {
    Degree degree = degreeOf(0);
    for (size_t i = 1; i < count; ++i)
      degree = add(degree, degreeOf(i), call);
    return degree;
  }
  if (callee == "where" && count == 3) {
    Degree condition = isolate(degreeOf(0), call);
    if (condition.kind == Degree::Other)
      return condition;
    return add(degreeOf(1), degreeOf(2), call);
  }
  if (callee == "dropout" && count > 0)
    return degreeOf(0);
  if (callee == "linear" && count > 0) {
    // Without a bias it is a matrix product.
    for (const Argument &argument : call->arguments)
      if (auto *flag = llvm::dyn_cast<BoolExpr>(argument.value);
          flag && argument.name.text == "bias" && !flag->value)
        return degreeOf(0);
  }
  Degree degree;
  for (const Argument &argument : call->arguments) {
    degree = isolate(getDegree(argument.value, degreeOfName), call);
    if (degree.kind == Degree::Other)
      return degree;
  }
  return degree;
}

Degree mlir::attn::frontend::getDegree(const Expr *expr,
                                       NameDegree degreeOfName) {
  switch (expr->kind) {
  case Expr::Kind::Number:
  case Expr::Kind::Bool:
  case Expr::Kind::String:
    return {};
  case Expr::Kind::Name:
    return degreeOfName(llvm::cast<NameExpr>(expr));
  case Expr::Kind::Unary: {
    auto *unary = llvm::cast<UnaryExpr>(expr);
    Degree operand = getDegree(unary->operand, degreeOfName);
    return unary->op == Token::minus ? operand : isolate(operand, expr);
  }
  case Expr::Kind::Binary: {
    auto *binary = llvm::cast<BinaryExpr>(expr);
    Degree lhs = getDegree(binary->lhs, degreeOfName);
    Degree rhs = getDegree(binary->rhs, degreeOfName);
    switch (binary->op) {
    case Token::plus:
    case Token::minus:
      return add(lhs, rhs, expr);
    case Token::star:
    case Token::at:
      return multiply(lhs, rhs, expr);
    case Token::slash:
      return multiply(lhs, isolate(rhs, expr), expr);
    default:
      return multiply(isolate(lhs, expr), isolate(rhs, expr), expr);
    }
  }
  case Expr::Kind::Call:
    return getDegreeOfCall(llvm::cast<CallExpr>(expr), degreeOfName);
  case Expr::Kind::Field:
    return isolate(getDegree(llvm::cast<FieldExpr>(expr)->base, degreeOfName),
                   expr);
  case Expr::Kind::Index: {
    auto *index = llvm::cast<IndexExpr>(expr);
    Degree base = getDegree(index->base, degreeOfName);
    Degree first = isolate(getDegree(index->first, degreeOfName), expr);
    return first.kind == Degree::Other ? first : base;
  }
  }
  return {};
}
