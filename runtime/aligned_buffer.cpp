//===- aligned_buffer.cpp - memory aligned for vector code ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/aligned_buffer.h"

#include <cstdint>
#include <cstring>
#include <new>

namespace attn {

void AlignedBuffer::reserve(size_t size) {
  if (bytes && size <= capacity)
    return;
  release();
  if (size > PTRDIFF_MAX - alignment)
    throw std::bad_alloc();
  size_t rounded = (size + alignment - 1) / alignment * alignment;
  if (!rounded)
    rounded = alignment;
  bytes = ::operator new(rounded, std::align_val_t(alignment));
  capacity = rounded;
  memset(bytes, 0, rounded);
}

void AlignedBuffer::release() {
  if (bytes)
    ::operator delete(bytes, std::align_val_t(alignment));
  bytes = nullptr;
  capacity = 0;
}

} // namespace attn
