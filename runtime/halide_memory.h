//===- halide_memory.h - memory for kernels that Halide made --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_HALIDE_MEMORY_H
#define ATTN_RUNTIME_HALIDE_MEMORY_H

#include <cstddef>

extern "C" {

/// Called by kernels.
void *halide_malloc(void *user, size_t size);
void halide_free(void *user, void *memory);

/// Called where a kernel has failed: there is no memory for it.
[[noreturn]] void attn_kernel_failed();

} // extern "C"

#endif // ATTN_RUNTIME_HALIDE_MEMORY_H
