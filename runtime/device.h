//===- device.h - what programs of a device run on --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device has memory of its own and runs kernels. All work goes through
// queues: what is asked of one queue happens in that order, at some time before
// `finish` returns. Models that the CPU runs know nothing of this.
//
// Addresses of a device are numbers to the host: programs add offsets to them,
// and nobody reads what they point to.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_DEVICE_H
#define ATTN_RUNTIME_DEVICE_H

#include "attn/attn.h"
#include "runtime/compiled_model.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace attn {

/// A device that is missing, lost, or has too little memory.
class DeviceError final : public std::exception {
public:
  DeviceError(attn_status status, std::string message)
      : status(status), message(std::move(message)) {}

  const char *what() const noexcept override { return message.c_str(); }

  attn_status status;

private:
  std::string message;
};

/// A sequence of work for a device. Used by one thread at a time. Functions
/// throw DeviceError, also for what was launched before; after that the queue
/// can only be given back.
class DeviceQueue : public attn_launcher {
public:
  virtual ~DeviceQueue() = default;

  /// Memory that is not initialised, aligned to 256, for as long as the queue
  /// lives. Never null, even for no bytes.
  virtual void *allocate(size_t bytes) = 0;

  /// Copies from the host, which may change `from` afterwards. What lies behind
  /// the bytes, up to the next multiple of 256 from `to` on, may change, too.
  /// Writes that follow each other directly must not overlap.
  virtual void write(void *to, const void *from, size_t bytes) = 0;
  /// Copies to the host: `to` is complete when `finish` returns, and must be
  /// there until then.
  virtual void read(void *to, const void *from, size_t bytes) = 0;
  /// Copies within the device, between memory that does not overlap. The bytes
  /// of this and of `clear` are rounded up to a multiple of 4.
  virtual void copy(void *to, const void *from, size_t bytes) = 0;
  /// Makes bytes zero.
  virtual void clear(void *to, size_t bytes) = 0;

  /// Waits until all that was asked for is done.
  virtual void finish() = 0;

  /// Waits, whatever went wrong, and gives the queue and its memory back to its
  /// device.
  virtual void release() noexcept = 0;
};

struct DeviceQueueDeleter {
  void operator()(DeviceQueue *queue) const { queue->release(); }
};
using DeviceQueuePtr = std::unique_ptr<DeviceQueue, DeviceQueueDeleter>;

/// An opened device with the kernels of one model. Thread-safe; outlives its
/// queues.
class Device {
public:
  virtual ~Device() = default;

  /// For messages: "device cuda:0 (what its maker calls it)".
  virtual const std::string &name() const = 0;
  /// Throws DeviceError.
  virtual DeviceQueuePtr makeQueue() = 0;
  /// Throws DeviceError where kernels cannot have an array of so many bytes.
  virtual void checkArray(size_t bytes) const = 0;
  /// Throws DeviceError where kernels cannot go through so many positions of a
  /// sequence.
  virtual void checkLength(int64_t positions) const = 0;
};

} // namespace attn

/// What opens devices of a kind. Its functions throw DeviceError.
struct attn_device_driver {
  /// Shows all devices of the kind, in the order of their numbers: "vulkan:0",
  /// "cuda:0" and so on. Answers how many there are; throws where there is no
  /// driver that could tell.
  size_t (*list)(attn_device_function show, void *context);
  /// Opens a device, whose name may be null, and loads the kernels of a model,
  /// which has to live longer.
  std::unique_ptr<attn::Device> (*open)(const char *name,
                                        const attn_compiled_model &model);
};

// Each in an archive member of its own, which is part of a library only if the
// library's code refers to it.
extern "C" {
extern __attribute__((visibility("hidden")))
const attn_device_driver attn_vulkan_driver;
extern __attribute__((visibility("hidden")))
const attn_device_driver attn_cuda_driver;
}

#endif // ATTN_RUNTIME_DEVICE_H
