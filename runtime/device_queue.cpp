//===- device_queue.cpp - what queues of all devices share ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device_queue.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <string_view>
#include <utility>

namespace attn {

/// What kernels may rely on, and what offsets of bindings may have to be.
static constexpr size_t unit = 256;
static constexpr size_t firstBlock = size_t(1) << 20, usualBlock = size_t(16)
                                                                   << 20;
static constexpr size_t firstStage = size_t(1) << 18, largestStage = size_t(16)
                                                                     << 20;

static size_t roundUp(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

StagedQueue::StagedQueue(QueueKeeper &keeper) : keeper(keeper) {
  launch = [](attn_launcher *launcher, int64_t kernel, int64_t groups,
              void *const *buffers, const int32_t *scalars) {
    // Generated code cannot be left by an exception.
    auto &queue =
        static_cast<StagedQueue &>(static_cast<DeviceQueue &>(*launcher));
    if (!queue.usable)
      return;
    auto keep = [&](attn_status status, const char *message) {
      queue.usable = false;
      queue.failure.emplace(status, message);
    };
    try {
      queue.beforeChange();
      queue.flushCopy();
      queue.launchKernel(kernel, groups, buffers, scalars);
    } catch (const DeviceError &error) {
      keep(error.status, error.what());
    } catch (const std::exception &exception) {
      keep(ATTN_ERROR_MEMORY, exception.what());
    }
  };
}

void StagedQueue::checkFailure() const {
  if (failure)
    throw *failure;
}

void StagedQueue::beforeChange() {
  checkFailure();
  if (readsInPlace)
    finish();
}

/// Takes the next block of memory: larger than it has to be, if there is that
/// much. Queues that nobody uses give way to it.
void StagedQueue::addBlock(size_t bytes) {
  size_t size = firstBlock;
  if (!blocks.empty())
    size = std::min(2 * blocks.back().size, usualBlock);
  size = std::max(size, bytes);
  blocks.reserve(blocks.size() + 1);
  void *block = makeBlock(size);
  if (!block) {
    keeper.dropQueues();
    block = makeBlock(size);
  }
  if (!block)
    block = makeBlock(size = bytes);
  if (!block)
    throw keeper.fail(ATTN_ERROR_MEMORY, "expected " + std::to_string(bytes) +
                                             " more bytes of memory, but it "
                                             "has too few");
  blocks.push_back({static_cast<char *>(block), size});
  taken = 0;
}

void *StagedQueue::allocate(size_t bytes) {
  checkFailure();
  if (bytes > PTRDIFF_MAX - usualBlock)
    throw std::bad_alloc();
  bytes = std::max(roundUp(bytes, unit), unit);
  if (blocks.empty() || blocks.back().size - taken < bytes)
    addBlock(bytes);
  void *address = blocks.back().address + taken;
  taken += bytes;
  return address;
}

/// Makes one block of all, so that the next one who uses the queue finds what
/// the last one needed.
void StagedQueue::mergeBlocks() {
  if (blocks.size() > 1) {
    size_t total = 0;
    for (const Block &block : blocks) {
      total += block.size;
      freeBlock(block.address);
    }
    blocks.clear();
    if (void *block = makeBlock(total))
      blocks.push_back({static_cast<char *>(block), total});
  }
  taken = 0;
}

/// Takes as much of the stage as there is of what is wanted.
size_t StagedQueue::takeStage(size_t wanted, size_t &offset) {
  if (stageTaken + std::min(wanted, firstStage / 4) > stageSize) {
    finish();
    if (stageSize < largestStage) {
      size_t size = std::clamp(wanted, 2 * stageSize, largestStage);
      size = std::max(roundUp(size, unit), firstStage);
      if (stage)
        freeStage();
      stage = nullptr;
      stageSize = 0;
      stage = makeStage(size);
      stageSize = size;
    }
  }
  offset = stageTaken;
  size_t bytes = std::min(wanted, stageSize - stageTaken);
  stageTaken += roundUp(bytes, unit);
  return bytes;
}

void StagedQueue::flushCopy() {
  Copy copy = std::exchange(copied, Copy());
  if (!copy.bytes)
    return;
  if (copy.toDevice)
    toDevice(copy.there, copy.offset, copy.bytes);
  else
    toStage(copy.offset, copy.there, copy.bytes);
}

void StagedQueue::addCopy(const Copy &next) {
  size_t bytes = roundUp(copied.bytes, unit);
  bool follows = copied.bytes && copied.toDevice == next.toDevice &&
                 copied.there + bytes == next.there &&
                 copied.offset + bytes == next.offset;
  // Other memory may begin where a block ends.
  for (const Block &block : blocks)
    follows = follows && block.address != next.there;
  if (!follows) {
    flushCopy();
    copied = next;
    return;
  }
  copied.bytes = bytes + next.bytes;
}

void StagedQueue::write(void *to, const void *from, size_t bytes) {
  beforeChange();
  if (!bytes)
    return;
  if (char *here = reach(to)) {
    memcpy(here, from, bytes);
    return;
  }
  for (size_t done = 0; done < bytes;) {
    size_t offset, part = takeStage(bytes - done, offset);
    memcpy(stage + offset, static_cast<const char *>(from) + done, part);
    addCopy({true, static_cast<char *>(to) + done, offset, part});
    done += part;
  }
}

void StagedQueue::read(void *to, const void *from, size_t bytes) {
  checkFailure();
  if (!bytes)
    return;
  if (const char *here = reachLater(from)) {
    reads.push_back({to, here, bytes});
    readsInPlace = true;
    return;
  }
  for (size_t done = 0; done < bytes;) {
    size_t offset, part = takeStage(bytes - done, offset);
    addCopy({false, static_cast<char *>(const_cast<void *>(from)) + done,
             offset, part});
    reads.push_back({static_cast<char *>(to) + done, stage + offset, part});
    done += part;
  }
}

void StagedQueue::copy(void *to, const void *from, size_t bytes) {
  beforeChange();
  flushCopy();
  if (bytes)
    copyWithin(to, from, roundUp(bytes, 4));
}

void StagedQueue::clear(void *to, size_t bytes) {
  beforeChange();
  flushCopy();
  if (bytes)
    clearBytes(to, roundUp(bytes, 4));
}

void StagedQueue::finish() {
  checkFailure();
  try {
    flushCopy();
    wait();
  } catch (...) {
    usable = false;
    throw;
  }
  checkFailure();
  for (const Read &read : reads)
    memcpy(read.to, read.from, read.bytes);
  reads.clear();
  readsInPlace = false;
  stageTaken = 0;
}

void StagedQueue::release() noexcept {
  copied = Copy();
  reads.clear();
  readsInPlace = false;
  try {
    // What nobody waited for may be under way.
    wait();
    mergeBlocks();
  } catch (...) {
    usable = false;
  }
  stageTaken = 0;
  std::unique_ptr<StagedQueue> self(this);
  if (!usable)
    return;
  try {
    std::lock_guard<std::mutex> lock(keeper.mutex);
    keeper.idle.push_back(std::move(self));
  } catch (...) {
    // It ends instead.
  }
}

void StagedQueue::freeAll() noexcept {
  for (const Block &block : blocks)
    freeBlock(block.address);
  blocks.clear();
  if (stage)
    freeStage();
  stage = nullptr;
}

DeviceQueuePtr QueueKeeper::makeQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!idle.empty()) {
      DeviceQueuePtr queue(idle.back().release());
      idle.pop_back();
      return queue;
    }
  }
  return DeviceQueuePtr(createQueue().release());
}

void QueueKeeper::dropQueues() noexcept {
  std::vector<std::unique_ptr<StagedQueue>> dropped;
  std::lock_guard<std::mutex> lock(mutex);
  dropped.swap(idle);
}

void QueueKeeper::checkArray(size_t bytes) const {
  if (bytes > largest)
    throw fail(ATTN_ERROR_UNSUPPORTED,
               "expected arrays of at most " + std::to_string(largest) +
                   " bytes, but got one of " + std::to_string(bytes));
}

void QueueKeeper::checkLength(int64_t positions) const {
  if (positions > longest)
    throw fail(ATTN_ERROR_UNSUPPORTED,
               "expected sequences of at most " + std::to_string(longest) +
                   " positions, but got one of " + std::to_string(positions));
}

DriverLibrary::DriverLibrary(const char *file, const char *expected)
    // Drivers are not made to be unloaded: they have threads and more.
    : handle(dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), file(file),
      expected(expected) {
  if (!handle)
    throw DeviceError(ATTN_ERROR_DEVICE, std::string("expected ") + expected +
                                             ", but got: " + dlerror());
}

DriverLibrary::~DriverLibrary() { dlclose(handle); }

void *DriverLibrary::find(const char *name) const {
  void *address = dlsym(handle, name);
  if (!address)
    throw DeviceError(ATTN_ERROR_DEVICE, std::string("expected ") + expected +
                                             " with " + name + ", but got " +
                                             file + " without it");
  return address;
}

static std::string deviceName(const char *kind, size_t number) {
  return std::string(kind) + ":" + std::to_string(number);
}

size_t showDevices(const char *kind, const std::vector<DeviceInfo> &devices,
                   attn_device_function show, void *context) {
  for (size_t i = 0; i < devices.size(); ++i) {
    std::string name = deviceName(kind, i);
    attn_device shown = {sizeof(shown), name.c_str(),
                         devices[i].description.c_str(), devices[i].memory};
    show(context, &shown);
  }
  return devices.size();
}

size_t findDevice(const char *name, const char *kind, size_t count) {
  const std::string_view kindText = kind, given = name ? name : kind;
  size_t number = 0;
  bool good = given == kindText;
  if (!good && given.starts_with(kindText)) {
    std::string_view digits = given.substr(kindText.size());
    good = digits.size() > 1 && digits.size() < 9 && digits[0] == ':';
    for (char digit : digits.substr(1)) {
      good = good && digit >= '0' && digit <= '9';
      number = number * 10 + static_cast<size_t>(digit - '0');
    }
  }
  if (!good)
    throw DeviceError(ATTN_ERROR_OPTION,
                      "expected a device like '" + deviceName(kind, 0) +
                          "', for which the library was compiled, but got '" +
                          std::string(given) + "'");
  if (number < count)
    return number;
  std::string there = "no device of that kind";
  if (count > 0)
    there = "only " + deviceName(kind, 0);
  if (count > 1)
    there += " to " + deviceName(kind, count - 1);
  throw DeviceError(ATTN_ERROR_DEVICE, "expected device " +
                                           deviceName(kind, number) +
                                           " to be there, but got " + there);
}

std::span<const attn_kernel> kernelsOf(const attn_compiled_model &model) {
  if (model.gather_kernel >= model.kernel_count)
    throw DeviceError(ATTN_ERROR_MODEL,
                      "expected a kernel that gathers rows, but got none");
  return {model.kernels, model.kernel_count};
}

} // namespace attn
