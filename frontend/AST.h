//===- AST.h - what a spec says, before any checking ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_AST_H
#define ATTN_FRONTEND_AST_H

#include "frontend/Lexer.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Casting.h"

#include <memory>
#include <optional>
#include <vector>

namespace mlir::attn::frontend {

/// A name and where it stands.
struct Name {
  llvm::StringRef text;
  llvm::SMLoc loc;

  explicit operator bool() const { return loc.isValid(); }
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Node {
  virtual ~Node() = default;
};

struct Expr : Node {
  enum class Kind {
    Number,
    Bool,
    String,
    Name,
    Unary,
    Binary,
    Call,
    Field,
    Index
  };

  Expr(Kind kind, llvm::SMLoc loc) : kind(kind), loc(loc) {}

  const Kind kind;
  /// Where the caret points: the operator of a binary expression, the first
  /// character of others.
  llvm::SMLoc loc;
  /// The first character of the expression.
  llvm::SMLoc start;
  /// The depth of the tree, which the parser bounds so that walks may recurse.
  unsigned depth = 1;
};

struct NumberExpr : Expr {
  explicit NumberExpr(llvm::SMLoc loc) : Expr(Kind::Number, loc) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Number; }

  bool isInteger = true;
  int64_t integer = 0;
  double real = 0;
};

struct BoolExpr : Expr {
  BoolExpr(llvm::SMLoc loc, bool value) : Expr(Kind::Bool, loc), value(value) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Bool; }

  bool value;
};

/// The text of a token, beside `==` or `!=`.
struct StringExpr : Expr {
  StringExpr(llvm::SMLoc loc, std::string value)
      : Expr(Kind::String, loc), value(std::move(value)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::String; }

  std::string value;
};

struct NameExpr : Expr {
  NameExpr(llvm::SMLoc loc, llvm::StringRef name)
      : Expr(Kind::Name, loc), name(name) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Name; }

  llvm::StringRef name;
};

struct UnaryExpr : Expr {
  UnaryExpr(llvm::SMLoc loc, Token::Kind op, const Expr *operand)
      : Expr(Kind::Unary, loc), op(op), operand(operand) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Unary; }

  Token::Kind op;
  const Expr *operand;
};

struct BinaryExpr : Expr {
  BinaryExpr(llvm::SMLoc loc, Token::Kind op, const Expr *lhs, const Expr *rhs)
      : Expr(Kind::Binary, loc), op(op), lhs(lhs), rhs(rhs) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Binary; }

  Token::Kind op;
  const Expr *lhs, *rhs;
};

/// An argument of a call, by place or by name.
struct Argument {
  Name name;
  const Expr *value = nullptr;
};

struct CallExpr : Expr {
  explicit CallExpr(Name callee)
      : Expr(Kind::Call, callee.loc), callee(callee) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Call; }

  Name callee;
  /// `label: callee(...)`, or absent.
  Name label;
  std::vector<Argument> arguments;
};

struct FieldExpr : Expr {
  FieldExpr(const Expr *base, Name field)
      : Expr(Kind::Field, field.loc), base(base), field(field) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Field; }

  const Expr *base;
  Name field;
};

/// `base[first]` or `base[first : stop]`.
struct IndexExpr : Expr {
  IndexExpr(llvm::SMLoc loc, const Expr *base, const Expr *first,
            const Expr *stop)
      : Expr(Kind::Index, loc), base(base), first(first), stop(stop) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Index; }

  const Expr *base, *first, *stop;
};

/// Calls `visit` with every direct subexpression.
void forEachChild(const Expr *expr,
                  llvm::function_ref<void(const Expr *)> visit);

/// `[N, 2 * H]`.
struct ShapeSpec {
  llvm::SMLoc loc;
  std::vector<const Expr *> sizes;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

struct Stmt : Node {
  enum class Kind {
    Assign,  // name[index] = value
    Init,    // init name[index] = value
    Memory,  // memory name = value
    Align,   // align name
    Predict, // predict value
    Stop,    // stop value
    Return,  // return value
    Mask,    // mask value
    Score,   // score name = value
    Weights, // weights name = value
    Read,    // read name = value
    Param,
    State,
    Repeat,
  };

  Stmt(Kind kind, llvm::SMLoc loc) : kind(kind), loc(loc) {}

  const Kind kind;
  llvm::SMLoc loc;
  Name name;
};

/// The word that begins a statement, for messages.
llvm::StringRef getWord(Stmt::Kind kind);

/// A statement of at most a name, an index and a value.
struct ValueStmt : Stmt {
  using Stmt::Stmt;
  static bool classof(const Stmt *s) {
    return s->kind != Kind::Param && s->kind != Kind::State &&
           s->kind != Kind::Repeat;
  }

  const Expr *index = nullptr;
  const Expr *value = nullptr;
};

/// `param W: [A, S]`
struct ParamStmt : Stmt {
  explicit ParamStmt(llvm::SMLoc loc) : Stmt(Kind::Param, loc) {}
  static bool classof(const Stmt *s) { return s->kind == Kind::Param; }

  ShapeSpec shape;
};

/// `state s[N]: [S] over h = 0`, `state s: lstm(H)`
struct StateStmt : Stmt {
  explicit StateStmt(llvm::SMLoc loc) : Stmt(Kind::State, loc) {}
  static bool classof(const Stmt *s) { return s->kind == Kind::State; }

  const Expr *count = nullptr;
  ShapeSpec shape;
  const Expr *lstmSize = nullptr;
  Name over;
  /// The place of `= 0`, or invalid.
  llvm::SMLoc zero;
};

/// `repeat N as layer { ... }`
struct RepeatStmt : Stmt {
  explicit RepeatStmt(llvm::SMLoc loc) : Stmt(Kind::Repeat, loc) {}
  static bool classof(const Stmt *s) { return s->kind == Kind::Repeat; }

  const Expr *count = nullptr;
  std::vector<const Stmt *> body;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

struct DimDecl {
  Name name;
  const Expr *value = nullptr;
};

struct StringSpec {
  std::string value;
  llvm::SMLoc loc;
};

struct VocabDecl {
  Name name;
  std::optional<StringSpec> start, end, unknown, padding;
  bool addUnknown = false;
};

/// A parameter of an attention or layer block.
struct BlockParameter {
  bool isQuery = false;
  Name name;
  ShapeSpec shape;
};

struct BlockDecl {
  bool isAttention = false;
  Name name;
  std::vector<BlockParameter> parameters;
  /// `layer f(x: [D]) = value` is a body of one `return`.
  std::vector<const Stmt *> body;
};

struct InputSpec {
  Name name;
  /// The vocabulary of tokens; absent: features.
  Name vocabulary;
  bool withEnd = false;
  ShapeSpec shape;
  Name over;
};

struct EncoderDecl {
  llvm::SMLoc loc;
  std::vector<InputSpec> inputs;
  std::vector<const Stmt *> body;
};

struct DecoderDecl {
  llvm::SMLoc loc;
  Name input;
  /// What the decoder emits: tokens of a vocabulary, positions of a memory, or
  /// features of a shape.
  Name vocabulary;
  Name positions;
  ShapeSpec shape;
  /// `start = zero`, or the text of a token, or nothing.
  bool startsWithZero = false;
  std::optional<StringSpec> start;
  std::vector<const Stmt *> body;
};

/// `"foreign"[slices]`
struct ForeignTensor {
  StringSpec name;
  std::vector<std::pair<const Expr *, const Expr *>> slices;
};

/// `path from foreign`, `path from foreign / scale`
struct NameMapping {
  llvm::SMLoc loc;
  /// With `{i}` for every index that is left open.
  std::string path;
  ForeignTensor foreign;
  std::optional<ForeignTensor> scale;
  /// Whether the foreign numbers are divided by their scale.
  bool divided = false;
};

struct NamesDecl {
  llvm::SMLoc loc;
  std::vector<NameMapping> mappings;
  std::vector<StringSpec> ignored;
};

/// A spec as it was written. It refers to the text of its buffer.
struct Spec {
  /// The begin of the file.
  llvm::SMLoc start;
  Name model;
  std::vector<DimDecl> dims;
  std::vector<VocabDecl> vocabularies;
  std::vector<std::unique_ptr<BlockDecl>> blocks;
  std::optional<EncoderDecl> encoder;
  std::optional<DecoderDecl> decoder;
  std::optional<NamesDecl> names;

  template <typename T, typename... Args> T *create(Args &&...args) {
    auto node = std::make_unique<T>(std::forward<Args>(args)...);
    T *result = node.get();
    nodes.push_back(std::move(node));
    return result;
  }

private:
  std::vector<std::unique_ptr<Node>> nodes;
};

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_AST_H
