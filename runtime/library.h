//===- library.h - the table of a compiled library ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_LIBRARY_H
#define ATTN_RUNTIME_LIBRARY_H

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The table of the library that this runtime is linked into; the exported
/// `attn_model_<name>` returns it. Hidden: never exported itself.
__attribute__((visibility("hidden"))) const attn_api *attn_runtime_api(void);

#ifdef __cplusplus
}
#endif

#endif // ATTN_RUNTIME_LIBRARY_H
