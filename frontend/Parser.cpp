//===- Parser.cpp - tokens to a spec --------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive descent. A statement that does not parse is skipped to the end of
// its line, so that all errors of a file are found in one run.
//
//===----------------------------------------------------------------------===//

#include "frontend/Parser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::StringRef;
using llvm::Twine;

namespace {
enum class Word {
  None,
#define WORD(Name, Spelling) Name,
#include "frontend/Tokens.def"
};

/// A tree deeper than this is an error, so that no walk exhausts the stack.
constexpr unsigned maxDepth = 500;

class Parser {
public:
  Parser(llvm::MemoryBufferRef buffer, Diagnostics &diagnostics, Spec &spec)
      : diagnostics(diagnostics), spec(spec), tokens(lex(buffer, diagnostics)) {
  }

  void parseSpec();
  std::optional<NamesDecl> parseNamesFile();

private:
  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  const Token &peek(unsigned ahead = 0) const {
    return tokens[std::min(position + ahead, tokens.size() - 1)];
  }
  Token take() {
    const Token &token = peek();
    if (token.isAny(Token::l_paren, Token::l_square))
      ++openBrackets;
    else if (token.isAny(Token::r_paren, Token::r_square) && openBrackets > 0)
      --openBrackets;
    if (!token.is(Token::eof))
      ++position;
    return token;
  }

  /// Whether the line, and with it the statement, ends before the next token:
  /// no bracket is open, and what stands before does not ask for more.
  bool atEndOfLine() const {
    const Token &token = peek();
    if (token.isAny(Token::eof, Token::r_brace))
      return true;
    if (!token.startsLine || openBrackets > 0 || position == lineStart)
      return false;
    switch (tokens[position - 1].kind) {
    case Token::comma:
    case Token::equal:
    case Token::plus:
    case Token::minus:
    case Token::star:
    case Token::slash:
    case Token::slash_slash:
    case Token::percent:
    case Token::at:
    case Token::less:
    case Token::less_equal:
    case Token::greater:
    case Token::greater_equal:
    case Token::equal_equal:
    case Token::not_equal:
    case Token::kw_and:
    case Token::kw_or:
    case Token::kw_not:
      return false;
    default:
      return true;
    }
  }

  bool at(Token::Kind kind) const { return !atEndOfLine() && peek().is(kind); }
  bool accept(Token::Kind kind) {
    if (!at(kind))
      return false;
    take();
    return true;
  }

  Word getWord(const Token &token) const {
    if (!token.is(Token::identifier))
      return Word::None;
    return llvm::StringSwitch<Word>(token.spelling)
#define WORD(Name, Spelling) .Case(Spelling, Word::Name)
#include "frontend/Tokens.def"
        .Default(Word::None);
  }
  bool atWord(StringRef word) const {
    return at(Token::identifier) && peek().spelling == word;
  }
  bool acceptWord(StringRef word) {
    if (!atWord(word))
      return false;
    take();
    return true;
  }

  /// What stands here, as messages name it.
  std::string describeHere() const {
    if (peek().isAny(Token::eof, Token::r_brace) || !atEndOfLine())
      return peek().describe();
    return "the end of the line";
  }
  /// Where a message about what is missing here points: behind the last token
  /// where the line has ended.
  SMLoc getHere() const {
    if (atEndOfLine() && !peek().is(Token::r_brace) && position > 0)
      return SMLoc::getFromPointer(tokens[position - 1].spelling.end());
    return peek().getLoc();
  }

  /// "expected X, but got Y"; false, so that callers can return it.
  bool expected(const Twine &what, const Twine &hint = "") {
    if (!peek().is(Token::error))
      diagnostics.error(getHere(), "expected " + what + ", but got " +
                                       describeHere() + hint);
    return false;
  }
  bool expect(Token::Kind kind, const Twine &context) {
    if (accept(kind))
      return true;
    return expected(describeKind(kind) + " " + context);
  }
  bool expectWord(StringRef word, const Twine &context) {
    if (acceptWord(word))
      return true;
    return expected("'" + word + "' " + context);
  }
  /// The bracket that closes `open`, of which a note reminds.
  bool expectClosing(Token::Kind kind, const Token &open, StringRef before) {
    if (accept(kind))
      return true;
    if (peek().is(Token::error))
      return false;
    diagnostics
        .error(getHere(), "expected " + before + describeKind(kind) +
                              ", but got " + describeHere())
        .note(open.getLoc(), "to match this '" + open.spelling + "'");
    return false;
  }
  bool expectName(Name &name, const Twine &what) {
    if (at(Token::identifier)) {
      Token token = take();
      name = {token.spelling, token.getLoc()};
      return true;
    }
    if (!atEndOfLine() &&
        peek().isAny(Token::kw_and, Token::kw_or, Token::kw_not, Token::kw_true,
                     Token::kw_false, Token::kw_from))
      return expected(what, ", which is reserved");
    return expected(what);
  }
  bool expectEndOfLine(StringRef what) {
    if (atEndOfLine())
      return true;
    return expected("the end of the line after " + what);
  }

  //===--------------------------------------------------------------------===//
  // Recovery
  //===--------------------------------------------------------------------===//

  /// Whether a declaration begins here; no statement looks like one.
  bool atDeclaration() const {
    Word word = getWord(peek());
    const Token &next = peek(1);
    switch (word) {
#define DECLARATION_WORD(Name, Spelling) case Word::Name:
#include "frontend/Tokens.def"
      return peek().startsLine &&
             next.isAny(Token::identifier, Token::l_paren, Token::l_brace);
    default:
      return false;
    }
  }

  /// Skips to the next line outside of braces that were opened on the way, to
  /// a closing brace of the surrounding block, or to a declaration.
  void skipLine(size_t start) {
    openBrackets = 0;
    unsigned openBraces = 0;
    for (bool first = position == start; !peek().is(Token::eof);
         first = false) {
      if (!first && (atDeclaration() || (openBraces == 0 && peek().startsLine)))
        return;
      if (peek().is(Token::l_brace))
        ++openBraces;
      if (peek().is(Token::r_brace)) {
        if (openBraces == 0)
          return;
        --openBraces;
      }
      ++position;
    }
  }

  void skipToDeclaration(size_t start) {
    openBrackets = 0;
    for (bool first = position == start; !peek().is(Token::eof);
         first = false) {
      if (!first && atDeclaration())
        return;
      ++position;
    }
  }

  //===--------------------------------------------------------------------===//
  // Expressions
  //===--------------------------------------------------------------------===//

  const Expr *parseExpr() { return parseOr(); }
  const Expr *parseOr();
  const Expr *parseAnd();
  const Expr *parseNot();
  const Expr *parseComparison();
  const Expr *parseSum();
  const Expr *parseProduct();
  const Expr *parseMatrixProduct();
  const Expr *parseUnary();
  const Expr *parsePostfix();
  const Expr *parsePrimary();
  const Expr *parseNumber();
  const Expr *parseCall(Name label, Name callee);
  bool parseIndex(const Expr *&first, const Expr *&stop);

  /// Finishes a node: its start, its depth. Null where the tree is too deep.
  const Expr *finish(Expr *expr) {
    expr->start = expr->loc;
    if (auto *binary = llvm::dyn_cast<BinaryExpr>(expr))
      expr->start = binary->lhs->start;
    else if (auto *field = llvm::dyn_cast<FieldExpr>(expr))
      expr->start = field->base->start;
    else if (auto *index = llvm::dyn_cast<IndexExpr>(expr))
      expr->start = index->base->start;
    else if (auto *call = llvm::dyn_cast<CallExpr>(expr); call && call->label)
      expr->start = call->label.loc;
    forEachChild(expr, [&](const Expr *child) {
      expr->depth = std::max(expr->depth, child->depth + 1);
    });
    if (expr->depth > maxDepth)
      return tooDeep(expr->loc);
    return expr;
  }
  const Expr *tooDeep(SMLoc loc) {
    diagnostics.error(loc, "expected an expression of at most " +
                               Twine(maxDepth) + " levels");
    return nullptr;
  }
  const Expr *makeBinary(const Token &op, const Expr *lhs, const Expr *rhs) {
    if (!lhs || !rhs)
      return nullptr;
    return finish(spec.create<BinaryExpr>(op.getLoc(), op.kind, lhs, rhs));
  }

  //===--------------------------------------------------------------------===//
  // Statements and declarations
  //===--------------------------------------------------------------------===//

  bool parseShape(ShapeSpec &shape, const Twine &context);
  bool parseString(StringSpec &string, const Twine &what);
  bool parseBody(std::vector<const Stmt *> &body, StringRef what);
  const Stmt *parseStmt();
  const Stmt *parseValueStmt(Stmt::Kind kind, StringRef word, bool named,
                             bool valued);
  const Stmt *parseAssign();
  const Stmt *parseParam();
  const Stmt *parseState();
  const Stmt *parseRepeat();

  bool parseDeclaration();
  bool parseModel();
  bool parseDim();
  bool parseVocab();
  bool parseMark(VocabDecl &vocab);
  bool parseBlock(bool isAttention);
  bool parseEncoder();
  bool parseInput(InputSpec &input);
  bool parseDecoder();
  bool parseNames(NamesDecl &names);
  bool parseForeignTensor(ForeignTensor &tensor, const Twine &what);
  bool parseMapping(NamesDecl &names);
  bool parsePath(std::string &path);

  Diagnostics &diagnostics;
  Spec &spec;
  llvm::SmallVector<Token, 0> tokens;
  size_t position = 0;
  /// Where the statement or declaration that is being parsed begins.
  size_t lineStart = 0;
  unsigned openBrackets = 0;
  /// How many calls of parseOr and parseUnary are open.
  unsigned nesting = 0;
  /// Directly inside of `[ ]` a colon makes a slice, not a label.
  bool colonIsSlice = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Sets a variable while the scope lasts.
template <typename T> struct Saved {
  Saved(T &variable, T value) : variable(variable), old(variable) {
    variable = value;
  }
  ~Saved() { variable = old; }
  T &variable;
  T old;
};

const Expr *Parser::parseOr() {
  Saved<unsigned> nested(nesting, nesting + 1);
  if (nesting > maxDepth)
    return tooDeep(peek().getLoc());
  const Expr *lhs = parseAnd();
  while (lhs && at(Token::kw_or)) {
    Token op = take();
    lhs = makeBinary(op, lhs, parseAnd());
  }
  return lhs;
}

const Expr *Parser::parseAnd() {
  const Expr *lhs = parseNot();
  while (lhs && at(Token::kw_and)) {
    Token op = take();
    lhs = makeBinary(op, lhs, parseNot());
  }
  return lhs;
}

const Expr *Parser::parseNot() {
  if (!at(Token::kw_not))
    return parseComparison();
  Saved<unsigned> nested(nesting, nesting + 1);
  if (nesting > maxDepth)
    return tooDeep(peek().getLoc());
  Token op = take();
  const Expr *operand = parseNot();
  if (!operand)
    return nullptr;
  return finish(spec.create<UnaryExpr>(op.getLoc(), op.kind, operand));
}

static bool isComparison(const Token &token) {
  return token.isAny(Token::less, Token::less_equal, Token::greater,
                     Token::greater_equal, Token::equal_equal,
                     Token::not_equal);
}

const Expr *Parser::parseComparison() {
  const Expr *lhs = parseSum();
  if (!lhs || atEndOfLine() || !isComparison(peek()))
    return lhs;
  Token op = take();
  lhs = makeBinary(op, lhs, parseSum());
  if (lhs && !atEndOfLine() && isComparison(peek())) {
    diagnostics.error(peek().getLoc(), "expected one comparison; join two with "
                                       "'and', as in a < b and b < c");
    return nullptr;
  }
  return lhs;
}

const Expr *Parser::parseSum() {
  const Expr *lhs = parseProduct();
  while (lhs && (at(Token::plus) || at(Token::minus))) {
    Token op = take();
    lhs = makeBinary(op, lhs, parseProduct());
  }
  return lhs;
}

const Expr *Parser::parseProduct() {
  const Expr *lhs = parseMatrixProduct();
  while (lhs && (at(Token::star) || at(Token::slash) ||
                 at(Token::slash_slash) || at(Token::percent))) {
    Token op = take();
    lhs = makeBinary(op, lhs, parseMatrixProduct());
  }
  return lhs;
}

/// `V @ U @ x` groups to the right: each product is one with a vector.
const Expr *Parser::parseMatrixProduct() {
  const Expr *lhs = parseUnary();
  if (!lhs || !at(Token::at))
    return lhs;
  Saved<unsigned> nested(nesting, nesting + 1);
  if (nesting > maxDepth)
    return tooDeep(peek().getLoc());
  Token op = take();
  return makeBinary(op, lhs, parseMatrixProduct());
}

const Expr *Parser::parseUnary() {
  if (!at(Token::minus))
    return parsePostfix();
  Saved<unsigned> nested(nesting, nesting + 1);
  if (nesting > maxDepth)
    return tooDeep(peek().getLoc());
  Token op = take();
  const Expr *operand = parseUnary();
  if (!operand)
    return nullptr;
  return finish(spec.create<UnaryExpr>(op.getLoc(), op.kind, operand));
}

/// The inside of `[ ]`, the opening bracket included.
bool Parser::parseIndex(const Expr *&first, const Expr *&stop) {
  Token open = take();
  {
    Saved<bool> slice(colonIsSlice, true);
    first = parseExpr();
    stop = nullptr;
    if (first && accept(Token::colon)) {
      stop = parseExpr();
      if (!stop)
        return false;
    }
  }
  return first && expectClosing(Token::r_square, open, "");
}

const Expr *Parser::parsePostfix() {
  const Expr *base = parsePrimary();
  while (base && !atEndOfLine()) {
    if (accept(Token::dot)) {
      Name field;
      if (!expectName(field, "a field after '.'"))
        return nullptr;
      base = finish(spec.create<FieldExpr>(base, field));
      continue;
    }
    if (peek().is(Token::l_square)) {
      SMLoc loc = peek().getLoc();
      const Expr *first, *stop;
      if (!parseIndex(first, stop))
        return nullptr;
      base = finish(spec.create<IndexExpr>(loc, base, first, stop));
      continue;
    }
    if (peek().is(Token::l_paren)) {
      expected("an operator or the end of the expression",
               ", because only a name can be called");
      return nullptr;
    }
    break;
  }
  return base;
}

const Expr *Parser::parsePrimary() {
  if (atEndOfLine()) {
    expected("an expression");
    return nullptr;
  }
  switch (peek().kind) {
  case Token::integer:
  case Token::real:
    return parseNumber();
  case Token::kw_true:
  case Token::kw_false: {
    Token token = take();
    return finish(
        spec.create<BoolExpr>(token.getLoc(), token.is(Token::kw_true)));
  }
  case Token::string: {
    Token token = take();
    return finish(
        spec.create<StringExpr>(token.getLoc(), getStringValue(token)));
  }
  case Token::l_paren: {
    Token open = take();
    const Expr *inner;
    {
      Saved<bool> slice(colonIsSlice, false);
      inner = parseExpr();
    }
    if (!inner || !expectClosing(Token::r_paren, open, ""))
      return nullptr;
    return inner;
  }
  case Token::identifier:
    break;
  default:
    expected("an expression");
    return nullptr;
  }
  Token token = take();
  Name name{token.spelling, token.getLoc()};
  if (at(Token::l_paren))
    return parseCall(Name(), name);
  if (colonIsSlice || !at(Token::colon))
    return finish(spec.create<NameExpr>(name.loc, name.text));
  take();
  Name callee;
  if (!at(Token::identifier) || !peek(1).is(Token::l_paren)) {
    expected("a call after the label '" + name.text + ":'");
    return nullptr;
  }
  expectName(callee, "a call");
  return parseCall(name, callee);
}

const Expr *Parser::parseNumber() {
  Token token = take();
  auto *number = spec.create<NumberExpr>(token.getLoc());
  number->isInteger = token.is(Token::integer);
  if (number->isInteger && token.spelling.getAsInteger(10, number->integer)) {
    diagnostics.error(token.getLoc(), "expected a whole number below 2^63");
    return nullptr;
  }
  if (token.spelling.getAsDouble(number->real)) {
    diagnostics.error(token.getLoc(), "expected a number that is finite");
    return nullptr;
  }
  return finish(number);
}

const Expr *Parser::parseCall(Name label, Name callee) {
  auto *call = spec.create<CallExpr>(callee);
  call->label = label;
  Saved<bool> slice(colonIsSlice, false);
  Token open = take();
  bool named = false;
  while (!at(Token::r_paren)) {
    Argument &argument = call->arguments.emplace_back();
    if (at(Token::identifier) && peek(1).is(Token::equal)) {
      expectName(argument.name, "a name");
      take();
      named = true;
      for (const Argument &other : llvm::ArrayRef(call->arguments).drop_back())
        if (other.name.text == argument.name.text) {
          diagnostics
              .error(argument.name.loc, "expected '" + argument.name.text +
                                            "' once, but got it twice")
              .note(other.name.loc, "first given here");
          return nullptr;
        }
    } else if (named) {
      expected("an argument with a name after one with a name");
      return nullptr;
    }
    argument.value = parseExpr();
    if (!argument.value)
      return nullptr;
    if (!accept(Token::comma))
      break;
  }
  if (!expectClosing(Token::r_paren, open,
                     call->arguments.empty() ? "" : "',' or "))
    return nullptr;
  return finish(call);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Parser::parseShape(ShapeSpec &shape, const Twine &context) {
  shape.loc = peek().getLoc();
  if (!at(Token::l_square))
    return expected("a shape like [N] " + context);
  Token open = take();
  Saved<bool> slice(colonIsSlice, true);
  while (!at(Token::r_square)) {
    const Expr *size = parseExpr();
    if (!size)
      return false;
    shape.sizes.push_back(size);
    if (!accept(Token::comma))
      break;
  }
  return expectClosing(Token::r_square, open,
                       shape.sizes.empty() ? "" : "',' or ");
}

bool Parser::parseString(StringSpec &string, const Twine &what) {
  if (!at(Token::string))
    return expected(what);
  Token token = take();
  string = {getStringValue(token), token.getLoc()};
  return true;
}

/// The statements between braces.
bool Parser::parseBody(std::vector<const Stmt *> &body, StringRef what) {
  if (!at(Token::l_brace))
    return expected("'{' " + what);
  Token open = take();
  bool good = true;
  while (true) {
    if (peek().is(Token::r_brace)) {
      ++position;
      return good;
    }
    if (peek().is(Token::eof) || atDeclaration()) {
      diagnostics
          .error(peek().getLoc(), "expected '}' before " + peek().describe())
          .note(open.getLoc(), "to match this '{'");
      return false;
    }
    size_t start = lineStart = position;
    const Stmt *stmt = parseStmt();
    if (stmt) {
      body.push_back(stmt);
      if (expectEndOfLine("a statement"))
        continue;
    }
    good = false;
    skipLine(start);
  }
}

const Stmt *Parser::parseStmt() {
  const Token &token = peek();
  if (!token.is(Token::identifier)) {
    bool isOperator =
        token.isAny(Token::plus, Token::minus, Token::star, Token::slash,
                    Token::slash_slash, Token::percent, Token::at,
                    Token::kw_and, Token::kw_or);
    expected("a statement",
             isOperator ? ", which belongs at the end of the line before" : "");
    return nullptr;
  }
  // A word counts only where it is not assigned to.
  if (peek(1).isAny(Token::equal, Token::l_square))
    return parseAssign();
  using Kind = Stmt::Kind;
  switch (getWord(token)) {
  case Word::param:
    return parseParam();
  case Word::state:
    return parseState();
  case Word::repeat:
    return parseRepeat();
  case Word::memory:
    return parseValueStmt(Kind::Memory, "memory", true, true);
  case Word::init:
    return parseValueStmt(Kind::Init, "init", true, true);
  case Word::align:
    return parseValueStmt(Kind::Align, "align", true, false);
  case Word::score:
    return parseValueStmt(Kind::Score, "score", true, true);
  case Word::weights:
    return parseValueStmt(Kind::Weights, "weights", true, true);
  case Word::read:
    return parseValueStmt(Kind::Read, "read", true, true);
  case Word::predict:
    return parseValueStmt(Kind::Predict, "predict", false, true);
  case Word::stop:
    return parseValueStmt(Kind::Stop, "stop", false, true);
  case Word::mask:
    return parseValueStmt(Kind::Mask, "mask", false, true);
  case Word::return_:
    return parseValueStmt(Kind::Return, "return", false, true);
  default:
    break;
  }
  static const StringRef words[] = {
#define STATEMENT_WORD(Name, Spelling) Spelling,
#define DECLARATION_WORD(Name, Spelling)
#include "frontend/Tokens.def"
  };
  std::string hint = suggest(token.spelling, words);
  if (!hint.empty()) {
    diagnostics.error(token.getLoc(), "expected a statement, but got " +
                                          token.describe() + hint);
    return nullptr;
  }
  take();
  expected("'=' after the name '" + token.spelling + "'");
  return nullptr;
}

const Stmt *Parser::parseValueStmt(Stmt::Kind kind, StringRef word, bool named,
                                   bool valued) {
  auto *stmt = spec.create<ValueStmt>(kind, take().getLoc());
  if (named && !expectName(stmt->name, "a name after '" + word + "'"))
    return nullptr;
  if (kind == Stmt::Kind::Init && at(Token::l_square)) {
    const Expr *stop;
    if (!parseIndex(stmt->index, stop))
      return nullptr;
    if (stop) {
      diagnostics.error(stop->start, "expected one index, but got a slice");
      return nullptr;
    }
  }
  if (!valued || (kind == Stmt::Kind::Memory && atEndOfLine()))
    return stmt;
  if (named &&
      !expect(Token::equal, "after '" + word + " " + stmt->name.text + "'"))
    return nullptr;
  stmt->value = parseExpr();
  return stmt->value ? stmt : nullptr;
}

const Stmt *Parser::parseAssign() {
  auto *stmt = spec.create<ValueStmt>(Stmt::Kind::Assign, peek().getLoc());
  expectName(stmt->name, "a name");
  if (at(Token::l_square)) {
    const Expr *stop;
    if (!parseIndex(stmt->index, stop))
      return nullptr;
    if (stop) {
      diagnostics.error(stop->start, "expected one index, but got a slice");
      return nullptr;
    }
  }
  if (!expect(Token::equal, "after the name '" + stmt->name.text + "'"))
    return nullptr;
  stmt->value = parseExpr();
  return stmt->value ? stmt : nullptr;
}

const Stmt *Parser::parseParam() {
  auto *stmt = spec.create<ParamStmt>(take().getLoc());
  if (!expectName(stmt->name, "a name after 'param'") ||
      !expect(Token::colon,
              "and a shape after 'param " + stmt->name.text + "'"))
    return nullptr;
  return parseShape(stmt->shape, "after ':'") ? stmt : nullptr;
}

const Stmt *Parser::parseState() {
  auto *stmt = spec.create<StateStmt>(take().getLoc());
  if (!expectName(stmt->name, "a name after 'state'"))
    return nullptr;
  if (at(Token::l_square)) {
    const Expr *stop;
    if (!parseIndex(stmt->count, stop))
      return nullptr;
    if (stop) {
      diagnostics.error(stop->start, "expected one number, but got a slice");
      return nullptr;
    }
  }
  if (!expect(Token::colon,
              "and a shape after 'state " + stmt->name.text + "'"))
    return nullptr;
  if (acceptWord("lstm")) {
    if (!at(Token::l_paren)) {
      expected("'(' after 'lstm'");
      return nullptr;
    }
    Token open = take();
    stmt->lstmSize = parseExpr();
    if (!stmt->lstmSize || !expectClosing(Token::r_paren, open, ""))
      return nullptr;
  } else if (!parseShape(stmt->shape, "or 'lstm(H)' after ':'")) {
    return nullptr;
  }
  if (acceptWord("over") && !expectName(stmt->over, "a memory after 'over'"))
    return nullptr;
  if (accept(Token::equal)) {
    stmt->zero = peek().getLoc();
    if (!at(Token::integer) || peek().spelling != "0") {
      expected("0 as the first value of a state",
               "; other first values are the encoder's 'init'");
      return nullptr;
    }
    take();
  }
  return stmt;
}

const Stmt *Parser::parseRepeat() {
  auto *stmt = spec.create<RepeatStmt>(take().getLoc());
  stmt->count = parseExpr();
  if (!stmt->count)
    return nullptr;
  if (acceptWord("as") && !expectName(stmt->name, "a name after 'as'"))
    return nullptr;
  // Errors in the body were reported and are no errors of the repeat.
  if (!at(Token::l_brace)) {
    expected("'{' or 'as' after the count of 'repeat'");
    return nullptr;
  }
  parseBody(stmt->body, "after the count of 'repeat'");
  return stmt;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

bool Parser::parseModel() {
  SMLoc loc = take().getLoc();
  Name name;
  if (!expectName(name, "a name after 'model'"))
    return false;
  if (spec.model) {
    diagnostics.error(loc, "expected one model, but got a second one")
        .note(spec.model.loc, "the first one is here");
    return true;
  }
  spec.model = name;
  return expectEndOfLine("the model's name");
}

bool Parser::parseDim() {
  take();
  DimDecl dim;
  if (!expectName(dim.name, "a name after 'dim'") ||
      !expect(Token::equal, "after 'dim " + dim.name.text + "'"))
    return false;
  dim.value = parseExpr();
  if (!dim.value)
    return false;
  spec.dims.push_back(dim);
  return expectEndOfLine("a dim");
}

bool Parser::parseMark(VocabDecl &vocab) {
  static const StringRef marks[] = {"start", "end", "unknown", "padding"};
  Name name;
  if (!expectName(name, "a mark: start, end, unknown or padding"))
    return false;
  std::optional<StringSpec> *mark =
      llvm::StringSwitch<std::optional<StringSpec> *>(name.text)
          .Case("start", &vocab.start)
          .Case("end", &vocab.end)
          .Case("unknown", &vocab.unknown)
          .Case("padding", &vocab.padding)
          .Default(nullptr);
  if (!mark) {
    diagnostics.error(name.loc, "expected a mark (start, end, unknown or "
                                "padding), but got '" +
                                    name.text + "'" +
                                    suggest(name.text, marks));
    return false;
  }
  if (*mark) {
    diagnostics
        .error(name.loc,
               "expected the mark '" + name.text + "' once, but got it twice")
        .note((*mark)->loc, "first given here");
    return false;
  }
  StringSpec value;
  if (!expect(Token::equal, "after '" + name.text + "'") ||
      !parseString(value, "the text of a token, in quotes"))
    return false;
  *mark = value;
  return true;
}

bool Parser::parseVocab() {
  take();
  VocabDecl vocab;
  if (!expectName(vocab.name, "a name after 'vocab'"))
    return false;
  if (at(Token::l_paren)) {
    Token open = take();
    do {
      if (!parseMark(vocab))
        return false;
    } while (accept(Token::comma));
    if (!expectClosing(Token::r_paren, open, "',' or "))
      return false;
  }
  if (accept(Token::plus)) {
    if (!expectWord("unknown", "after '+'"))
      return false;
    vocab.addUnknown = true;
  }
  spec.vocabularies.push_back(vocab);
  return expectEndOfLine("a vocabulary");
}

bool Parser::parseBlock(bool isAttention) {
  StringRef word = take().spelling;
  auto block = std::make_unique<BlockDecl>();
  block->isAttention = isAttention;
  if (!expectName(block->name, "a name after '" + word + "'"))
    return false;
  if (!at(Token::l_paren))
    return expected("'(' after '" + word + " " + block->name.text + "'");
  Token open = take();
  while (!at(Token::r_paren)) {
    BlockParameter &parameter = block->parameters.emplace_back();
    if (isAttention) {
      parameter.isQuery = atWord("query");
      if (!acceptWord("query") && !acceptWord("memory"))
        return expected("'query' or 'memory'");
    }
    if (!expectName(parameter.name, "a name") ||
        !expect(Token::colon,
                "and a shape after '" + parameter.name.text + "'") ||
        !parseShape(parameter.shape, "after ':'"))
      return false;
    if (!accept(Token::comma))
      break;
  }
  if (!expectClosing(Token::r_paren, open,
                     block->parameters.empty() ? "" : "',' or "))
    return false;
  bool good = true;
  if (!isAttention && at(Token::equal)) {
    SMLoc loc = take().getLoc();
    auto *stmt = spec.create<ValueStmt>(Stmt::Kind::Return, loc);
    stmt->value = parseExpr();
    if (!stmt->value)
      return false;
    block->body.push_back(stmt);
    good = expectEndOfLine("a layer");
  } else {
    if (!at(Token::l_brace))
      return expected(isAttention ? "'{' after the head of an attention"
                                  : "'=' or '{' after the head of a layer");
    parseBody(block->body, "");
  }
  spec.blocks.push_back(std::move(block));
  return good;
}

bool Parser::parseInput(InputSpec &input) {
  if (!expectName(input.name, "the name of an input") ||
      !expect(Token::colon, "and a kind after '" + input.name.text + "'"))
    return false;
  if (acceptWord("tokens")) {
    if (!expectName(input.vocabulary, "a vocabulary after 'tokens'"))
      return false;
    if (accept(Token::plus)) {
      if (!expectWord("end", "after '+'"))
        return false;
      input.withEnd = true;
    }
  } else if (acceptWord("features")) {
    if (!parseShape(input.shape, "after 'features'"))
      return false;
  } else {
    static const StringRef kinds[] = {"tokens", "features"};
    std::string hint =
        at(Token::identifier) ? suggest(peek().spelling, kinds) : std::string();
    return expected("'tokens VOCAB' or 'features [N]'", hint);
  }
  return !acceptWord("over") || expectName(input.over, "an input after 'over'");
}

bool Parser::parseEncoder() {
  EncoderDecl encoder;
  encoder.loc = take().getLoc();
  if (!at(Token::l_paren))
    return expected("'(' after 'encoder'");
  Token open = take();
  bool good = true;
  do {
    good = parseInput(encoder.inputs.emplace_back());
  } while (good && accept(Token::comma));
  good = good && expectClosing(Token::r_paren, open, "',' or ");
  if (!good) {
    // The body is worth checking even where the head is wrong.
    while (!peek().isAny(Token::eof, Token::l_brace) &&
           !(atDeclaration() && position > 0))
      ++position;
    openBrackets = 0;
    if (!peek().is(Token::l_brace))
      return false;
  }
  if (spec.encoder) {
    diagnostics
        .error(encoder.loc,
               "expected at most one encoder, but got a second one")
        .note(spec.encoder->loc, "the first one is here");
    return false;
  }
  if (!at(Token::l_brace) && !peek().is(Token::l_brace))
    return expected("'{' after the inputs of the encoder");
  parseBody(encoder.body, "after the inputs of the encoder");
  spec.encoder = std::move(encoder);
  return true;
}

bool Parser::parseDecoder() {
  DecoderDecl decoder;
  decoder.loc = take().getLoc();
  if (!at(Token::l_paren))
    return expected("'(' after 'decoder'");
  Token open = take();
  if (!expectName(decoder.input, "the name of the decoder's input") ||
      !expect(Token::colon, "and a kind after '" + decoder.input.text + "'"))
    return false;
  if (acceptWord("tokens")) {
    if (!expectName(decoder.vocabulary, "a vocabulary after 'tokens'"))
      return false;
  } else if (acceptWord("features")) {
    if (!parseShape(decoder.shape, "after 'features'"))
      return false;
  } else if (acceptWord("positions")) {
    if (!expectName(decoder.positions, "a memory after 'positions'"))
      return false;
  } else {
    static const StringRef kinds[] = {"tokens", "features", "positions"};
    std::string hint =
        at(Token::identifier) ? suggest(peek().spelling, kinds) : std::string();
    return expected("'tokens VOCAB', 'features [N]' or 'positions MEMORY'",
                    hint);
  }
  if (accept(Token::comma)) {
    if (!expectWord("start", "after ','") ||
        !expect(Token::equal, "after 'start'"))
      return false;
    if (acceptWord("zero"))
      decoder.startsWithZero = true;
    else if (!parseString(decoder.start.emplace(),
                          "the text of a token in quotes, or zero"))
      return false;
  }
  if (!expectClosing(Token::r_paren, open,
                     decoder.start || decoder.startsWithZero ? "" : "',' or "))
    return false;
  if (spec.decoder) {
    diagnostics.error(decoder.loc, "expected one decoder, but got a second one")
        .note(spec.decoder->loc, "the first one is here");
    return false;
  }
  if (!at(Token::l_brace))
    return expected("'{' after the input of the decoder");
  parseBody(decoder.body, "after the input of the decoder");
  spec.decoder = std::move(decoder);
  return true;
}

/// encoder.layer.{i}.self.Q
bool Parser::parsePath(std::string &path) {
  while (true) {
    if (at(Token::identifier) || at(Token::integer)) {
      path += take().spelling;
    } else if (at(Token::l_brace)) {
      take();
      Name index;
      if (!expectName(index, "the name of an index after '{'"))
        return false;
      if (!peek().is(Token::r_brace) || peek().startsLine)
        return expected("'}' after '{" + index.text + "'");
      ++position;
      path += ("{" + index.text + "}").str();
    } else {
      return expected("a part of a parameter's path");
    }
    if (!accept(Token::dot))
      return true;
    path += '.';
  }
}

bool Parser::parseForeignTensor(ForeignTensor &tensor, const Twine &what) {
  if (!parseString(tensor.name, what))
    return false;
  if (!at(Token::l_square))
    return true;
  Token open = take();
  Saved<bool> slice(colonIsSlice, true);
  do {
    const Expr *first = parseExpr();
    if (!first || !expect(Token::colon, "in a slice, as in [0 : N]"))
      return false;
    const Expr *stop = parseExpr();
    if (!stop)
      return false;
    tensor.slices.emplace_back(first, stop);
  } while (accept(Token::comma));
  return expectClosing(Token::r_square, open, "',' or ");
}

bool Parser::parseMapping(NamesDecl &names) {
  if (atWord("ignore") && peek(1).is(Token::string)) {
    take();
    return parseString(names.ignored.emplace_back(), "a foreign name");
  }
  NameMapping mapping;
  mapping.loc = peek().getLoc();
  if (!parsePath(mapping.path) ||
      !expect(Token::kw_from, "after the parameter's path") ||
      !parseForeignTensor(mapping.foreign, "a foreign name in quotes"))
    return false;
  mapping.divided = at(Token::slash);
  if (accept(Token::star) || accept(Token::slash))
    if (!parseForeignTensor(mapping.scale.emplace(),
                            "the foreign name of a scale in quotes"))
      return false;
  names.mappings.push_back(std::move(mapping));
  return true;
}

bool Parser::parseNames(NamesDecl &names) {
  names.loc = take().getLoc();
  if (!at(Token::l_brace))
    return expected("'{' after 'names'");
  Token open = take();
  while (true) {
    if (peek().is(Token::r_brace)) {
      ++position;
      return true;
    }
    if (peek().is(Token::eof) ||
        (atDeclaration() && peek(1).kind != Token::dot)) {
      diagnostics
          .error(peek().getLoc(), "expected '}' before " + peek().describe())
          .note(open.getLoc(), "to match this '{'");
      return false;
    }
    size_t start = lineStart = position;
    if (parseMapping(names) && expectEndOfLine("a mapping"))
      continue;
    skipLine(start);
  }
}

bool Parser::parseDeclaration() {
  if (spec.names) {
    diagnostics
        .error(peek().getLoc(), "expected 'names' last in the file, but got " +
                                    peek().describe())
        .note(spec.names->loc, "'names' is here");
    return false;
  }
  switch (getWord(peek())) {
  case Word::model:
    return parseModel();
  case Word::dim:
    return parseDim();
  case Word::vocab:
    return parseVocab();
  case Word::attention:
    return parseBlock(/*isAttention=*/true);
  case Word::layer:
    return parseBlock(/*isAttention=*/false);
  case Word::encoder:
    return parseEncoder();
  case Word::decoder:
    return parseDecoder();
  case Word::names: {
    NamesDecl names;
    bool good = parseNames(names);
    spec.names = std::move(names);
    return good;
  }
  default:
    break;
  }
  static const StringRef words[] = {
#define DECLARATION_WORD(Name, Spelling) Spelling,
#define STATEMENT_WORD(Name, Spelling)
#include "frontend/Tokens.def"
  };
  return expected("a declaration", peek().is(Token::identifier)
                                       ? suggest(peek().spelling, words)
                                       : std::string());
}

void Parser::parseSpec() {
  while (!peek().is(Token::eof)) {
    size_t start = lineStart = position;
    openBrackets = 0;
    if (!parseDeclaration())
      skipToDeclaration(start);
  }
}

std::optional<NamesDecl> Parser::parseNamesFile() {
  if (getWord(peek()) != Word::names) {
    diagnostics.error(peek().getLoc(),
                      "expected 'names { ... }', but got " + peek().describe());
    return std::nullopt;
  }
  NamesDecl names;
  if (!parseNames(names))
    return std::nullopt;
  if (!peek().is(Token::eof))
    diagnostics.error(peek().getLoc(),
                      "expected the end of the file after 'names { ... }', but "
                      "got " +
                          peek().describe());
  return names;
}

void mlir::attn::frontend::parse(llvm::MemoryBufferRef buffer,
                                 Diagnostics &diagnostics, Spec &spec) {
  Parser(buffer, diagnostics, spec).parseSpec();
}

std::optional<NamesDecl>
mlir::attn::frontend::parseNames(llvm::MemoryBufferRef buffer,
                                 Diagnostics &diagnostics, Spec &spec) {
  return Parser(buffer, diagnostics, spec).parseNamesFile();
}
