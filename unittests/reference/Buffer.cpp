//===- Buffer.cpp - numbers as compiled code has them ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Buffer.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>
#include <utility>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

Buffer::Buffer(const Tensor &tensor) : tensor(tensor) {
  // More than there are elements, so that an empty array has an address.
  bytes.resize(tensor.size() * elementSize() + 64);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    char *place = bytes.data() + i * elementSize();
    if (tensor.width == 0) {
      float value = static_cast<float>(tensor.data[i]);
      memcpy(place, &value, sizeof value);
    } else if (tensor.width == 1) {
      *place = tensor.data[i] != 0;
    } else {
      int32_t value = static_cast<int32_t>(tensor.data[i]);
      memcpy(place, &value, sizeof value);
    }
  }
}

Tensor Buffer::read() const {
  Tensor result = tensor;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const char *place = bytes.data() + i * elementSize();
    if (tensor.width == 0) {
      float value;
      memcpy(&value, place, sizeof value);
      result.data[i] = value;
    } else if (tensor.width == 1) {
      result.data[i] = *place;
    } else {
      int32_t value;
      memcpy(&value, place, sizeof value);
      result.data[i] = value;
    }
  }
  return result;
}

std::vector<Buffer> reference::makeBuffers(ArrayRef<Tensor> arguments,
                                           ArrayRef<Tensor> results) {
  std::vector<Buffer> buffers;
  buffers.reserve(arguments.size() + results.size());
  for (const Tensor &tensor : arguments)
    buffers.emplace_back(tensor);
  for (Tensor tensor : results) {
    // What the code does not write is not mistaken for a result.
    std::fill(tensor.data.begin(), tensor.data.end(), tensor.width ? 1 : -77);
    buffers.emplace_back(tensor);
  }
  return buffers;
}

SmallVector<Tensor> reference::readResults(ArrayRef<Buffer> buffers,
                                           size_t numArguments) {
  SmallVector<Tensor> results;
  for (const Buffer &buffer : buffers.drop_front(numArguments))
    results.push_back(buffer.read());
  return results;
}

void reference::callWithPointers(void *function, ArrayRef<void *> pointers) {
  if (pointers.size() > mostPointers)
    llvm::report_fatal_error("expected at most 32 pointers");
  void *p[mostPointers] = {};
  std::copy(pointers.begin(), pointers.end(), p);
  // A call with more arguments than the function has is harmless in the calling
  // conventions of the machines that tests run on.
  [&]<size_t... index>(std::index_sequence<index...>) {
    using Function =
        int(decltype((void)index, static_cast<void *>(nullptr))...);
    reinterpret_cast<Function *>(function)(p[index]...);
  }(std::make_index_sequence<mostPointers>());
}
