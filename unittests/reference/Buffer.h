//===- Buffer.h - numbers as compiled code has them -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_REFERENCE_BUFFER_H
#define ATTN_UNITTESTS_REFERENCE_BUFFER_H

#include "reference/Tensor.h"

namespace mlir::attn::reference {

/// A tensor of the evaluator as an array of f32, i32, or bytes that are 0 or 1.
class Buffer {
public:
  explicit Buffer(const Tensor &tensor);

  void *data() { return bytes.data(); }
  ArrayRef<int64_t> shape() const { return tensor.shape; }
  /// As in Tensor.
  unsigned width() const { return tensor.width; }
  Tensor read() const;

private:
  size_t elementSize() const { return tensor.width == 1 ? 1 : 4; }

  Tensor tensor;
  std::vector<char> bytes;
};

/// What a function is called with: its arguments, then its results, which are
/// like `results` in shape.
std::vector<Buffer> makeBuffers(ArrayRef<Tensor> arguments,
                                ArrayRef<Tensor> results);

/// The results among them afterwards.
SmallVector<Tensor> readResults(ArrayRef<Buffer> buffers, size_t numArguments);

/// Calls a function of up to `mostPointers` pointers.
inline constexpr size_t mostPointers = 32;
void callWithPointers(void *function, ArrayRef<void *> pointers);

} // namespace mlir::attn::reference

#endif // ATTN_UNITTESTS_REFERENCE_BUFFER_H
