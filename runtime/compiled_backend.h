//===- compiled_backend.h - run generated code ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_COMPILED_BACKEND_H
#define ATTN_RUNTIME_COMPILED_BACKEND_H

#include "runtime/compiled_model.h"
#include "runtime/log.h"
#include "runtime/model.h"

#include <memory>

namespace attn {

/// Opens a compiled model. `weightsPath` may be null: the weights that were
/// compiled in; `device` too: the first that there is. Null and a failure on
/// failure; throws DeviceError.
std::unique_ptr<Model> openCompiledModel(const attn_compiled_model &compiled,
                                         const char *weightsPath,
                                         Failure &failure, const Log &log = {},
                                         const char *device = nullptr);

} // namespace attn

#endif // ATTN_RUNTIME_COMPILED_BACKEND_H
