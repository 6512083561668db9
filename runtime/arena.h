//===- arena.h - memory that is given back as a whole ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that decoding needs comes from arenas: over a caller's buffer, which is
// never exceeded, or over the heap, which grows by need.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ARENA_H
#define ATTN_RUNTIME_ARENA_H

#include "runtime/aligned_buffer.h"

#include <cstdint>
#include <initializer_list>
#include <memory_resource>

namespace attn {

/// Throws std::bad_alloc; callers may be compiled without exceptions.
[[noreturn]] void throwOutOfMemory();

/// The product of sizes, if that can be a size.
inline size_t multiplySizes(std::initializer_list<size_t> factors) {
  size_t product = 1;
  for (size_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product))
      throwOutOfMemory();
  return product;
}

/// The heap, but for large blocks: these are the system's pages, and go back to
/// it when they are given back. A heap that blocks of ever other sizes come
/// from has holes, and grows.
std::pmr::memory_resource *systemMemory();

/// Blocks begin at multiples of 64 bytes and are as many bytes long, so what
/// some blocks take is the sum of their `blockBytes`, whatever their order.
/// Nothing is given back before `release`. Used by one thread at a time.
class Arena : public std::pmr::memory_resource {
public:
  static constexpr size_t alignment = AlignedBuffer::alignment;

  /// Grows by need.
  Arena() : blocks(systemMemory()) {}
  /// Uses a buffer, which begins at a multiple of 64, and nothing else. Throws
  /// std::bad_alloc where it is used up.
  Arena(void *buffer, size_t size)
      : blocks(buffer, size, std::pmr::null_memory_resource()), bounded(true) {}

  /// Whether it cannot grow. Who knows the most that it will need then takes it
  /// at once: what is outgrown would be lost.
  bool isBounded() const { return bounded; }

  /// Gives everything back.
  void release() { blocks.release(); }

  /// What a block of `size` bytes takes. Throws std::bad_alloc where that is
  /// more than can be.
  static size_t blockBytes(size_t size) {
    if (size > PTRDIFF_MAX - alignment)
      throwOutOfMemory();
    return size ? (size + alignment - 1) / alignment * alignment : alignment;
  }

private:
  void *do_allocate(size_t size, size_t) override {
    return blocks.allocate(blockBytes(size), alignment);
  }
  void do_deallocate(void *, size_t, size_t) override {}
  bool do_is_equal(const memory_resource &other) const noexcept override {
    return this == &other;
  }

  std::pmr::monotonic_buffer_resource blocks;
  bool bounded = false;
};

/// Takes arrays from an arena, or, without one, only counts what they take: so
/// the same code tells how much memory is needed, and uses it.
class Layout {
public:
  Layout() = default;
  explicit Layout(Arena &arena) : arena(&arena) {}

  /// The bytes of all arrays so far.
  size_t bytes() const { return total; }

  /// An array that is not initialised; null where it is only counted.
  void *takeBytes(size_t size) {
    if (__builtin_add_overflow(total, Arena::blockBytes(size), &total))
      throwOutOfMemory();
    return arena ? arena->allocate(size, Arena::alignment) : nullptr;
  }
  template <typename T> T *take(size_t count) {
    size_t size;
    if (__builtin_mul_overflow(count, sizeof(T), &size))
      throwOutOfMemory();
    return static_cast<T *>(takeBytes(size));
  }

private:
  Arena *arena = nullptr;
  size_t total = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_ARENA_H
