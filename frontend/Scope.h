//===- Scope.h - names and what they mean -----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_SCOPE_H
#define ATTN_FRONTEND_SCOPE_H

#include "frontend/SpecValue.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::attn::frontend {

/// A state of the decoder, or one of `state s[N]`.
struct StateInfo {
  const StateStmt *decl;
  /// Which one of `state s[N]`; -1 where there is no index.
  int64_t index = -1;
  bool isLstm = false;
  Shape shape;

  /// "s", "s.0"
  std::string getName() const;
};

/// What a name means.
struct Binding {
  enum class Kind { Local, Argument, Input, Memory, Parameter, Index, State };

  Kind kind = Kind::Local;
  llvm::SMLoc loc;
  /// One value; one for each of `state s[N]`.
  llvm::SmallVector<SpecValue, 1> values;
  /// For states, in step with the values.
  llvm::SmallVector<const StateInfo *, 1> states;
  llvm::SmallVector<bool, 1> assigned;

  /// Whether the name needs an index.
  bool isArray() const { return !states.empty() && states[0]->index >= 0; }
};

/// The names of a body; a turn of a repeat has a scope of its own inside.
class Scope {
public:
  explicit Scope(Scope *parent = nullptr) : parent(parent) {}

  /// The innermost meaning of a name, or null.
  Binding *find(llvm::StringRef name);
  Binding &define(llvm::StringRef name, Binding binding) {
    return bindings[name] = std::move(binding);
  }
  /// All names that are visible.
  void collect(llvm::SmallVectorImpl<llvm::StringRef> &names) const;

private:
  Scope *parent;
  llvm::MapVector<llvm::StringRef, Binding> bindings;
};

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_SCOPE_H
