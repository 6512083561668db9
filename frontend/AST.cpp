//===- AST.cpp - what a spec says, before any checking --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AST.h"

using namespace mlir::attn::frontend;

void mlir::attn::frontend::forEachChild(
    const Expr *expr, llvm::function_ref<void(const Expr *)> visit) {
  switch (expr->kind) {
  case Expr::Kind::Number:
  case Expr::Kind::Bool:
  case Expr::Kind::String:
  case Expr::Kind::Name:
    return;
  case Expr::Kind::Unary:
    return visit(llvm::cast<UnaryExpr>(expr)->operand);
  case Expr::Kind::Binary:
    visit(llvm::cast<BinaryExpr>(expr)->lhs);
    return visit(llvm::cast<BinaryExpr>(expr)->rhs);
  case Expr::Kind::Call:
    for (const Argument &argument : llvm::cast<CallExpr>(expr)->arguments)
      visit(argument.value);
    return;
  case Expr::Kind::Field:
    return visit(llvm::cast<FieldExpr>(expr)->base);
  case Expr::Kind::Index: {
    auto *index = llvm::cast<IndexExpr>(expr);
    visit(index->base);
    visit(index->first);
    if (index->stop)
      visit(index->stop);
    return;
  }
  }
}

llvm::StringRef mlir::attn::frontend::getWord(Stmt::Kind kind) {
  switch (kind) {
  case Stmt::Kind::Assign:
    return "an assignment";
  case Stmt::Kind::Init:
    return "'init'";
  case Stmt::Kind::Memory:
    return "'memory'";
  case Stmt::Kind::Align:
    return "'align'";
  case Stmt::Kind::Predict:
    return "'predict'";
  case Stmt::Kind::Stop:
    return "'stop'";
  case Stmt::Kind::Return:
    return "'return'";
  case Stmt::Kind::Mask:
    return "'mask'";
  case Stmt::Kind::Score:
    return "'score'";
  case Stmt::Kind::Weights:
    return "'weights'";
  case Stmt::Kind::Read:
    return "'read'";
  case Stmt::Kind::Param:
    return "'param'";
  case Stmt::Kind::State:
    return "'state'";
  case Stmt::Kind::Repeat:
    return "'repeat'";
  }
  return "";
}
