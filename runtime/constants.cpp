//===- constants.cpp - the numbers that programs read ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/constants.h"

#include <cstring>
#include <new>
#include <vector>

namespace attn {

/// The bytes of a buffer of fixed sizes. Throws std::bad_alloc where that is
/// more than can be.
static size_t fixedBytes(const Buffer &buffer) {
  size_t bytes = bufferTypeSize(buffer.type);
  for (const Dimension &dim : buffer.dims)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim.number), &bytes))
      throw std::bad_alloc();
  return bytes;
}

Constants::Constants(const Description &description) {
  // The key orders prepared buffers and parameters by index.
  std::map<int32_t, const Buffer *> prepared, parameters;
  for (const Buffer &buffer : description.prepare)
    if (buffer.role == BufferRole::Prepared)
      prepared.emplace(buffer.index, &buffer);
  for (const Program *program : {&description.encode, &description.step})
    for (const Buffer &buffer : *program)
      if (buffer.role == BufferRole::Parameter)
        parameters.emplace(buffer.index, &buffer);
  for (const auto *buffers : {&prepared, &parameters})
    for (const auto &[index, buffer] : *buffers) {
      constexpr size_t unit = AlignedBuffer::alignment;
      size_t offset = byteCount, bytes = fixedBytes(*buffer);
      if (__builtin_add_overflow(bytes, unit - 1, &bytes) ||
          __builtin_add_overflow(byteCount, bytes / unit * unit, &byteCount))
        throw std::bad_alloc();
      places[{buffer->role, index}] = {offset, byteCount - offset};
    }
}

void Constants::make(const attn_program &prepare,
                     const Description &description, Weights &weights) {
  storage.reserve(byteCount);
  image = storage.data();
  for (const auto &[key, place] : places)
    if (key.first == BufferRole::Parameter) {
      size_t parameter = static_cast<size_t>(key.second);
      size_t bytes = sizeof(float);
      for (int64_t size : description.parameters[parameter].shape)
        bytes *= static_cast<size_t>(size);
      memcpy(storage.as<char>() + place.offset, weights.data(parameter), bytes);
    }
  if (!description.prepare.empty()) {
    std::vector<void *> buffers;
    for (const Buffer &buffer : description.prepare)
      buffers.push_back(buffer.role == BufferRole::Parameter
                            ? const_cast<float *>(weights.data(
                                  static_cast<size_t>(buffer.index)))
                            : find(buffer));
    std::vector<int64_t> none(ATTN_EXTENT_AXIS + description.axes.size());
    AlignedBuffer workspace(
        static_cast<size_t>(prepare.workspace(none.data())));
    prepare.run(none.data(), buffers.data(), workspace.data(), nullptr);
  }
  weights.forget();
}

void Constants::moveTo(Device &device) {
  queue = device.makeQueue();
  for (auto &[key, place] : places) {
    device.checkArray(place.bytes);
    place.address = queue->allocate(place.bytes);
    queue->write(place.address, static_cast<const char *>(image) + place.offset,
                 place.bytes);
  }
  queue->finish();
  image = nullptr;
  storage = AlignedBuffer();
}

void *Constants::find(const Buffer &buffer) const {
  auto found = places.find({buffer.role, buffer.index});
  if (found == places.end())
    return nullptr;
  const Place &place = found->second;
  return queue ? place.address
               : const_cast<char *>(static_cast<const char *>(image)) +
                     place.offset;
}

} // namespace attn
