//===- whole_root.cpp - stands for a compiled model -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime is optimised as a whole when the project is built, not whenever a
// model is linked. For that it is linked once with this, which has and needs
// what generated code has and needs. It is part of no library.
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_model.h"
#include "runtime/library.h"

extern "C" {
extern const attn_compiled_model attn_compiled;
__attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled = {};

__attribute__((visibility("default"))) const attn_api *attn_model_root() {
  return attn_runtime_api();
}
}
