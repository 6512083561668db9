//===- c_api.h - the C interface over any opened model --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attn/attn.h without what needs a compiled library, so that whatever has a
// Backend can be used like a library.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_C_API_H
#define ATTN_RUNTIME_C_API_H

#include "attn/attn.h"
#include "runtime/model.h"

#include <memory>

namespace attn {

/// The table with `name`, `has_weights` and `open` left null.
attn_api modelApi();

/// Makes an opened model a handle; the table's `close` gives it back.
attn_model *wrapModel(std::unique_ptr<Model> model);

/// Drops the message of an error, which may be null.
void clearError(attn_error *error);

/// Stores a failure in an error, which may be null. Does not throw.
void setError(attn_error *error, attn_status status, const char *message);

/// Copies an options structure that the caller may know in an older or a newer
/// version onto defaults. False and a message where that cannot be.
bool copyOptions(void *to, size_t size, const void *from, const char *name,
                 std::string &error);

} // namespace attn

#endif // ATTN_RUNTIME_C_API_H
