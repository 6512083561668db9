//===- guard.h - keep exceptions inside the library -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_GUARD_H
#define ATTN_RUNTIME_GUARD_H

#include "runtime/c_api.h"

namespace attn {

/// Calls `body`, which returns something or throws; nothing gets out. What it
/// failed with, it stores itself. Null, or zero, after an exception.
template <typename Body>
auto guarded(attn_error *error, Body body) noexcept -> decltype(body()) {
  clearError(error);
  try {
    return body();
  } catch (...) {
    setCaught(error);
  }
  return {};
}

} // namespace attn

#endif // ATTN_RUNTIME_GUARD_H
