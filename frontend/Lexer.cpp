//===- Lexer.cpp - text to tokens -----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Lexer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::StringRef;
using llvm::Twine;

StringRef mlir::attn::frontend::describeKind(Token::Kind kind) {
  switch (kind) {
  case Token::eof:
    return "the end of the file";
  case Token::error:
    return "an unknown token";
  case Token::identifier:
    return "a name";
  case Token::integer:
    return "a whole number";
  case Token::real:
    return "a number";
  case Token::string:
    return "a string";
#define TOK_PUNCTUATION(Name, Spelling)                                        \
  case Token::Name:                                                            \
    return "'" Spelling "'";
#define TOK_KEYWORD(Name, Spelling)                                            \
  case Token::Name:                                                            \
    return "'" Spelling "'";
#include "frontend/Tokens.def"
  }
  return "";
}

std::string Token::describe() const {
  if (is(eof))
    return describeKind(kind).str();
  if (is(string))
    return spelling.str();
  return ("'" + spelling + "'").str();
}

namespace {
/// Walks over the text once; the buffer ends in a zero byte, as all buffers of
/// a source manager do.
class Lexer {
public:
  Lexer(llvm::MemoryBufferRef buffer, Diagnostics &diagnostics)
      : cursor(buffer.getBufferStart()), end(buffer.getBufferEnd()),
        diagnostics(diagnostics) {}

  llvm::SmallVector<Token, 0> run() {
    llvm::SmallVector<Token, 0> tokens;
    bool startsLine = true;
    while (true) {
      while (cursor != end && (*cursor == ' ' || *cursor == '\t' ||
                               *cursor == '\r' || *cursor == '\n')) {
        startsLine |= *cursor == '\n';
        ++cursor;
      }
      if (cursor != end && *cursor == '#') {
        while (cursor != end && *cursor != '\n')
          ++cursor;
        continue;
      }
      const char *start = cursor;
      Token::Kind kind = lexToken();
      tokens.push_back({kind, StringRef(start, cursor - start), startsLine});
      startsLine = false;
      if (kind == Token::eof)
        return tokens;
    }
  }

private:
  bool accept(char c) {
    if (cursor == end || *cursor != c)
      return false;
    ++cursor;
    return true;
  }

  Token::Kind fail(const char *at, const Twine &message) {
    diagnostics.error(SMLoc::getFromPointer(at), message);
    return Token::error;
  }

  static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
  static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

  Token::Kind lexToken() {
    if (cursor == end)
      return Token::eof;
    const char *start = cursor;
    char c = *cursor++;
    if (isNameStart(c))
      return lexName(start);
    if (llvm::isDigit(c))
      return lexNumber(start);
    switch (c) {
    case '(':
      return Token::l_paren;
    case ')':
      return Token::r_paren;
    case '[':
      return Token::l_square;
    case ']':
      return Token::r_square;
    case '{':
      return Token::l_brace;
    case '}':
      return Token::r_brace;
    case ',':
      return Token::comma;
    case ':':
      return Token::colon;
    case '.':
      return Token::dot;
    case '+':
      return Token::plus;
    case '-':
      return Token::minus;
    case '*':
      return Token::star;
    case '/':
      return accept('/') ? Token::slash_slash : Token::slash;
    case '%':
      return Token::percent;
    case '@':
      return Token::at;
    case '=':
      return accept('=') ? Token::equal_equal : Token::equal;
    case '<':
      return accept('=') ? Token::less_equal : Token::less;
    case '>':
      return accept('=') ? Token::greater_equal : Token::greater;
    case '!':
      if (accept('='))
        return Token::not_equal;
      return fail(start, "expected '!=' or 'not', but got '!'");
    case '"':
      return lexString(start);
    default:
      return lexUnknown(start);
    }
  }

  Token::Kind lexName(const char *start) {
    while (cursor != end && isNamePart(*cursor))
      ++cursor;
    return llvm::StringSwitch<Token::Kind>(StringRef(start, cursor - start))
#define TOK_KEYWORD(Name, Spelling) .Case(Spelling, Token::Name)
#include "frontend/Tokens.def"
        .Default(Token::identifier);
  }

  /// 12, 0.5, 1e-5. A dot that no digit follows belongs to what comes next, as
  /// in the path `layer.0.norm`.
  Token::Kind lexNumber(const char *start) {
    auto skipDigits = [&] {
      while (cursor != end && llvm::isDigit(*cursor))
        ++cursor;
    };
    skipDigits();
    Token::Kind kind = Token::integer;
    if (end - cursor >= 2 && *cursor == '.' && llvm::isDigit(cursor[1])) {
      kind = Token::real;
      ++cursor;
      skipDigits();
    }
    if (cursor != end && (*cursor == 'e' || *cursor == 'E')) {
      const char *exponent = cursor + 1;
      if (exponent != end && (*exponent == '+' || *exponent == '-'))
        ++exponent;
      if (exponent != end && llvm::isDigit(*exponent)) {
        kind = Token::real;
        cursor = exponent;
        skipDigits();
      }
    }
    if (cursor == end || !isNameStart(*cursor))
      return kind;
    while (cursor != end && isNamePart(*cursor))
      ++cursor;
    return fail(start, "expected a number, but got '" +
                           StringRef(start, cursor - start) + "'");
  }

  Token::Kind lexString(const char *start) {
    bool good = true;
    while (cursor != end && *cursor != '\n') {
      const char *at = cursor;
      char c = *cursor++;
      if (c == '"')
        return good ? Token::string : Token::error;
      if (c != '\\')
        continue;
      if (cursor != end && (*cursor == '"' || *cursor == '\\' ||
                            *cursor == 't' || *cursor == 'n')) {
        ++cursor;
        continue;
      }
      fail(at, "expected one of the escapes \\\" \\\\ \\t \\n in a string");
      good = false;
    }
    return fail(start, "expected '\"' before the end of the line");
  }

  /// Reports a whole character where it is UTF-8, so that the message can show
  /// it.
  Token::Kind lexUnknown(const char *start) {
    while (cursor != end && (*cursor & 0xC0) == 0x80)
      ++cursor;
    StringRef text(start, cursor - start);
    if (text.size() == 1 && !llvm::isPrint(text[0]))
      return fail(start, "expected text, but got the byte 0x" +
                             llvm::toHex(text, /*LowerCase=*/true));
    return fail(start, "expected a name, a number, a string or an operator, "
                       "but got '" +
                           text + "'");
  }

  const char *cursor;
  const char *end;
  Diagnostics &diagnostics;
};
} // namespace

llvm::SmallVector<Token, 0>
mlir::attn::frontend::lex(llvm::MemoryBufferRef buffer,
                          Diagnostics &diagnostics) {
  return Lexer(buffer, diagnostics).run();
}

std::string mlir::attn::frontend::getStringValue(const Token &token) {
  StringRef text = token.spelling.drop_front().drop_back();
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    ++i;
    value += text[i] == 't' ? '\t' : text[i] == 'n' ? '\n' : text[i];
  }
  return value;
}
