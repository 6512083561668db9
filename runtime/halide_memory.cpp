//===- halide_memory.cpp - memory for kernels that Halide made ------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What code of Halide asks of its own runtime, of which a library has nothing
// else. Halide has no way to say that there is no memory, and its functions are
// transparent to exceptions.
//
//===----------------------------------------------------------------------===//

#include "runtime/halide_memory.h"

#include <new>

/// As Halide's own has it: the widest vector.
static constexpr std::align_val_t alignment{128};

void *halide_malloc(void *, size_t size) {
  return ::operator new(size, alignment);
}

void halide_free(void *, void *memory) { ::operator delete(memory, alignment); }

void attn_kernel_failed() { throw std::bad_alloc(); }
