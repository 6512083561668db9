//===- device_queue.h - what queues of all devices share --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Taking memory from a system's driver is slow, and so is all else that a queue
// is made of. So queues are kept by their device when they are given back, with
// their memory, and serve again: a decoding like the last one finds its arrays
// at the same addresses.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_DEVICE_QUEUE_H
#define ATTN_RUNTIME_DEVICE_QUEUE_H

#include "runtime/device.h"

#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace attn {

class QueueKeeper;

/// A queue that copies between host and device through an area of the host's
/// memory which the device can reach, the stage.
class StagedQueue : public DeviceQueue {
public:
  explicit StagedQueue(QueueKeeper &keeper);

  void *allocate(size_t bytes) final;
  void write(void *to, const void *from, size_t bytes) final;
  void read(void *to, const void *from, size_t bytes) final;
  void copy(void *to, const void *from, size_t bytes) final;
  void clear(void *to, size_t bytes) final;
  void finish() final;
  void release() noexcept final;

protected:
  /// All memory is given back; derived destructors call it.
  void freeAll() noexcept;

  // What a kind of device does. These throw DeviceError.
  /// Null where there is not enough memory.
  virtual void *makeBlock(size_t bytes) = 0;
  virtual void freeBlock(void *block) noexcept = 0;
  virtual char *makeStage(size_t bytes) = 0;
  virtual void freeStage() noexcept = 0;
  /// Where the host can reach an address now, without disturbing anything that
  /// is yet to happen; else null.
  virtual char *reach(void *) { return nullptr; }
  /// The same once everything has happened.
  virtual char *reachLater(const void *) { return nullptr; }
  virtual void toDevice(void *to, size_t stageOffset, size_t bytes) = 0;
  virtual void toStage(size_t stageOffset, const void *from, size_t bytes) = 0;
  virtual void copyWithin(void *to, const void *from, size_t bytes) = 0;
  virtual void clearBytes(void *to, size_t bytes) = 0;
  virtual void launchKernel(int64_t kernel, int64_t groups,
                            void *const *buffers, const int32_t *scalars) = 0;
  virtual void wait() = 0;

private:
  friend class QueueKeeper;
  struct Block {
    char *address;
    size_t size;
  };
  /// A copy to or from the stage that is not yet asked for: those that follow
  /// each other in both memories become one.
  struct Copy {
    bool toDevice = false;
    char *there = nullptr;
    size_t offset = 0, bytes = 0;
  };
  struct Read {
    void *to;
    const char *from;
    size_t bytes;
  };

  void checkFailure() const;
  /// Before what may change what is still to be read where it is.
  void beforeChange();
  size_t takeStage(size_t wanted, size_t &offset);
  void addCopy(const Copy &next);
  void flushCopy();
  void addBlock(size_t bytes);
  void mergeBlocks();

  QueueKeeper &keeper;
  std::optional<DeviceError> failure; ///< Of a launch, not yet told.
  bool usable = true;                 ///< Whether nothing has failed.
  std::vector<Block> blocks;          ///< The last one is what is taken from.
  size_t taken = 0;                   ///< Bytes of the last block.
  char *stage = nullptr;
  size_t stageSize = 0, stageTaken = 0;
  Copy copied;               ///< No bytes: there is none.
  std::vector<Read> reads;   ///< To be done when all has happened.
  bool readsInPlace = false; ///< Whether some are not from the stage.
};

/// A device that keeps its queues.
class QueueKeeper : public Device {
public:
  DeviceQueuePtr makeQueue() final;
  void checkArray(size_t bytes) const final;
  void checkLength(int64_t positions) const final;
  size_t largestArray() const { return largest; }
  const std::string &name() const final { return fullName; }
  /// A failure of the device.
  DeviceError fail(attn_status status, const std::string &message) const {
    return DeviceError(status, fullName + ": " + message);
  }

protected:
  QueueKeeper(const char *kind, size_t number, const std::string &description)
      : fullName(std::string("device ") + kind + ":" + std::to_string(number) +
                 " (" + description + ")") {}
  /// Derived destructors call it.
  void dropQueues() noexcept;
  virtual std::unique_ptr<StagedQueue> createQueue() = 0;

  size_t largest = PTRDIFF_MAX;
  int64_t longest = INT64_MAX; ///< Positions of a sequence.

private:
  friend class StagedQueue;

  std::string fullName;
  std::mutex mutex;
  std::vector<std::unique_ptr<StagedQueue>> idle;
};

/// The driver's library, loaded for as long as this lives. Throws DeviceError
/// with a message that tells what was expected, "a Vulkan driver".
class DriverLibrary {
public:
  DriverLibrary(const char *file, const char *expected);
  ~DriverLibrary();
  DriverLibrary(const DriverLibrary &) = delete;

  /// A function; throws where it is missing.
  void *find(const char *name) const;

private:
  void *handle;
  const char *file, *expected;
};

struct DeviceInfo {
  std::string description; ///< What its maker calls it.
  uint64_t memory = 0;     ///< Bytes of its own, or of those that it shares.
};

/// attn_device_driver::list over what a driver found.
size_t showDevices(const char *kind, const std::vector<DeviceInfo> &devices,
                   attn_device_function show, void *context);

/// The number that a name of a device says, one of `count`; null and the kind
/// alone are the first. Throws DeviceError.
size_t findDevice(const char *name, const char *kind, size_t count);

/// The kernels of a model. Throws DeviceError where what the runtime itself
/// needs is not there.
std::span<const attn_kernel> kernelsOf(const attn_compiled_model &model);

} // namespace attn

#endif // ATTN_RUNTIME_DEVICE_QUEUE_H
