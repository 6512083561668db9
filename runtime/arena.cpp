//===- arena.cpp - memory that is given back as a whole -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/arena.h"

#include <new>
#include <sys/mman.h>

namespace attn {

void throwOutOfMemory() { throw std::bad_alloc(); }

namespace {

class SystemMemory final : public std::pmr::memory_resource {
  static constexpr size_t large = size_t(1) << 18;

  void *do_allocate(size_t size, size_t alignment) override {
    if (size < large)
      return ::operator new(size, std::align_val_t(alignment));
    void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      throwOutOfMemory();
    return pages;
  }
  void do_deallocate(void *block, size_t size, size_t alignment) override {
    if (size < large)
      ::operator delete(block, std::align_val_t(alignment));
    else
      munmap(block, size);
  }
  bool do_is_equal(const memory_resource &other) const noexcept override {
    return this == &other;
  }
};

} // namespace

// Made by the compiler and never destroyed: it has no state.
static constinit union Constant {
  SystemMemory memory;
  constexpr Constant() : memory() {}
  ~Constant() {}
} constant;

std::pmr::memory_resource *systemMemory() { return &constant.memory; }

} // namespace attn
