//===- Lexer.h - text to tokens ---------------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_LEXER_H
#define ATTN_FRONTEND_LEXER_H

#include "frontend/Diagnostics.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/SMLoc.h"

#include <string>

namespace mlir::attn::frontend {

struct Token {
  enum Kind {
#define TOK_MARKER(Name) Name,
#define TOK_PUNCTUATION(Name, Spelling) Name,
#define TOK_KEYWORD(Name, Spelling) Name,
#include "frontend/Tokens.def"
  };

  Kind kind = eof;
  llvm::StringRef spelling;
  /// Whether nothing but blanks stands before the token in its line.
  bool startsLine = false;

  bool is(Kind other) const { return kind == other; }
  template <typename... Kinds> bool isAny(Kinds... kinds) const {
    return (is(kinds) || ...);
  }
  llvm::SMLoc getLoc() const {
    return llvm::SMLoc::getFromPointer(spelling.data());
  }

  /// The token as messages name it.
  std::string describe() const;
};

/// How a kind of token is written in messages: `'('`, "a name".
llvm::StringRef describeKind(Token::Kind kind);

/// All tokens of a buffer, the last one `eof`. What is no token has been
/// reported and is an `error`, about which nothing more is to be said.
llvm::SmallVector<Token, 0> lex(llvm::MemoryBufferRef buffer,
                                Diagnostics &diagnostics);

/// The text that a string token stands for; escapes were checked by `lex`.
std::string getStringValue(const Token &token);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_LEXER_H
