//===- constants.h - the numbers that programs read -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `encode` and `step` read what `prepare` makes of the parameters, and some
// parameters as they are. All that lies in one array, the image. It is made of
// a weights file when a model is opened, or by the compiler, which puts it into
// the library: then nothing has to be made, and processes share it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CONSTANTS_H
#define ATTN_RUNTIME_CONSTANTS_H

#include "runtime/aligned_buffer.h"
#include "runtime/compiled_model.h"
#include "runtime/description.h"
#include "runtime/device.h"

#include <cstddef>
#include <map>
#include <utility>

namespace attn {

class Constants {
public:
  Constants() = default;
  /// Lays out the image: what is prepared in order of index, then the
  /// parameters that `encode` and `step` read in order of index, each at a
  /// multiple of 64. The description's programs have been checked.
  explicit Constants(const Description &description);

  /// The bytes of the image.
  size_t size() const { return byteCount; }
  const void *data() const { return image; }

  /// Takes an image of `size()` bytes that outlives this object, aligned to 64.
  void use(const void *image) { this->image = image; }

  /// Makes the image of weights, of which nothing is needed afterwards. Memory
  /// that was read is given back on the way. Throws std::bad_alloc.
  void make(const attn_program &prepare, const Description &description,
            Weights &weights);

  /// Brings the image to a device, which has to live longer. Afterwards there
  /// is none here, and addresses are those of the device. Throws DeviceError.
  void moveTo(Device &device);

  /// The address of a parameter or of what is prepared; null for other buffers.
  /// It is only read.
  void *find(const Buffer &buffer) const;

private:
  struct Place {
    size_t offset, bytes;
    void *address = nullptr; ///< On a device.
  };

  std::map<std::pair<BufferRole, int32_t>, Place> places;
  size_t byteCount = 0;
  const void *image = nullptr;
  AlignedBuffer storage; ///< Of an image that was made here.
  DeviceQueuePtr queue;  ///< What has the memory, on a device.
};

} // namespace attn

#endif // ATTN_RUNTIME_CONSTANTS_H
