//===- model_symbol.h - find the model in a library -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_MODEL_SYMBOL_H
#define ATTN_TOOLS_ATTN_RUN_MODEL_SYMBOL_H

#include <string>

namespace attn::tool {

/// The one exported symbol of a shared object that begins with `attn_model_`.
/// The file is only read: code of something that is no compiled model never
/// runs. Empty and a message on failure.
std::string findModelSymbol(const std::string &path, std::string &error);

} // namespace attn::tool

#endif // ATTN_TOOLS_ATTN_RUN_MODEL_SYMBOL_H
