//===- aligned_buffer.h - memory aligned for vector code ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ALIGNED_BUFFER_H
#define ATTN_RUNTIME_ALIGNED_BUFFER_H

#include <cstddef>
#include <utility>

namespace attn {

/// Bytes that begin at a multiple of 64, zero at first. Never null once
/// reserved, even for no bytes.
class AlignedBuffer {
public:
  static constexpr size_t alignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size) { reserve(size); }
  ~AlignedBuffer() { release(); }
  AlignedBuffer(AlignedBuffer &&other) noexcept { swap(other); }
  AlignedBuffer &operator=(AlignedBuffer &&other) noexcept {
    AlignedBuffer(std::move(other)).swap(*this);
    return *this;
  }

  void swap(AlignedBuffer &other) noexcept {
    std::swap(bytes, other.bytes);
    std::swap(capacity, other.capacity);
  }

  /// Makes room; what the buffer held is lost where it has to grow. Throws
  /// std::bad_alloc.
  void reserve(size_t size);

  void *data() const { return bytes; }
  /// The bytes that there is room for.
  size_t size() const { return capacity; }
  template <typename T> T *as() const { return static_cast<T *>(bytes); }

private:
  void release();

  void *bytes = nullptr;
  size_t capacity = 0;
};

} // namespace attn

#endif // ATTN_RUNTIME_ALIGNED_BUFFER_H
