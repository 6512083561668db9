//===- workers.h - do several things at once ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_WORKERS_H
#define ATTN_RUNTIME_WORKERS_H

#include "attn/attn.h"

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <sys/types.h>

namespace attn {

class Pool;

/// Where tasks run: on threads of the caller's, on those of a pool, or on own
/// ones, which live as long as the tasks.
struct Workers {
  static constexpr size_t most = 1024;

  size_t count = 1; ///< 1 to `most`.
  attn_parallel_function parallel = nullptr;
  void *context = nullptr;
  Pool *pool = nullptr; ///< One that has been acquired, if `parallel` is null.

  /// Whether running some tasks costs little, so that they may be small.
  bool areReady() const { return count > 1 && (parallel || pool); }

  /// Something to do in parts. Does not throw.
  class Tasks {
  public:
    virtual ~Tasks() = default;
    virtual void run(size_t number) = 0;
  };

  /// Runs `tasks` 0 to `number` - 1, each once, and returns when all are done.
  /// `number` is at most `most`. Whatever does not find a thread runs on the
  /// caller's.
  void run(size_t number, Tasks &tasks) const;
};

/// Threads that wait for tasks: made when they are first needed, ended with the
/// pool. A process that was forked has none of them, and makes its own.
class Pool {
public:
  Pool() = default;
  ~Pool();
  Pool(const Pool &) = delete;

  /// Makes it one's own, with up to `threads` threads, until `release`. False
  /// where somebody else has it, or where no thread can be made.
  bool acquire(size_t threads);
  void release() { taken = false; }

  /// Runs `tasks` 0 to `number` - 1 on its threads and on the caller's, who has
  /// acquired it; returns when all are done. Not from one of the tasks.
  void run(size_t number, Workers::Tasks &tasks);

private:
  struct Threads;

  std::atomic<bool> taken = false;
  Threads *threads = nullptr;
  pid_t process = 0; ///< That the threads live in.
};

/// Waits until a number is another one, and whoever changes it notifies: for
/// some microseconds awake, because what threads do together are many short
/// things; but whoever has to share the processor with the thread that changes
/// it, lets that thread go on.
void waitWhile(const std::atomic<uint32_t> &number, uint32_t value);

/// Memory that several threads take.
class SharedMemory : public std::pmr::memory_resource {
public:
  explicit SharedMemory(std::pmr::memory_resource &memory) : memory(memory) {}

private:
  void *do_allocate(size_t size, size_t alignment) override {
    std::lock_guard<std::mutex> lock(mutex);
    return memory.allocate(size, alignment);
  }
  void do_deallocate(void *block, size_t size, size_t alignment) override {
    std::lock_guard<std::mutex> lock(mutex);
    memory.deallocate(block, size, alignment);
  }
  bool do_is_equal(const memory_resource &other) const noexcept override {
    return this == &other;
  }

  std::mutex mutex;
  std::pmr::memory_resource &memory;
};

} // namespace attn

#endif // ATTN_RUNTIME_WORKERS_H
