//===- other_version.c - a library of another version of the interface ----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

__attribute__((visibility("default"))) const attn_api *attn_model_other(void);

const attn_api *attn_model_other(void) {
  static const attn_api api = {.version = ATTN_API_VERSION + 1,
                               .struct_size = sizeof(attn_api)};
  return &api;
}
