//===- Scope.cpp - names and what they mean -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Scope.h"

using namespace mlir::attn::frontend;

std::string StateInfo::getName() const {
  std::string name = decl->name.text.str();
  return index < 0 ? name : name + "." + std::to_string(index);
}

Binding *Scope::find(llvm::StringRef name) {
  for (Scope *scope = this; scope; scope = scope->parent) {
    auto found = scope->bindings.find(name);
    if (found != scope->bindings.end())
      return &found->second;
  }
  return nullptr;
}

void Scope::collect(llvm::SmallVectorImpl<llvm::StringRef> &names) const {
  for (const Scope *scope = this; scope; scope = scope->parent)
    for (auto &[name, binding] : scope->bindings)
      names.push_back(name);
}

llvm::StringRef mlir::attn::frontend::describe(Element element) {
  switch (element) {
  case Element::Real:
    return "real numbers";
  case Element::Integer:
    return "whole numbers";
  case Element::Boolean:
    return "booleans";
  case Element::Token:
    return "tokens";
  }
  return "";
}
