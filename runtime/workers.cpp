//===- workers.cpp - do several things at once ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/workers.h"

#include <exception>
#include <thread>
#include <unistd.h>
#include <vector>

namespace attn {

namespace {

/// Tasks of which each runs once, whoever asks for it.
class Claims {
public:
  Claims(size_t number, Workers::Tasks &tasks) : number(number), tasks(tasks) {}

  void run(size_t task) {
    if (task < number && !claimed[task].exchange(true))
      tasks.run(task);
  }
  void runRest() {
    for (size_t task = 0; task < number; ++task)
      run(task);
  }

private:
  size_t number;
  Workers::Tasks &tasks;
  std::atomic<bool> claimed[Workers::most] = {};
};

} // namespace

void Workers::run(size_t number, Tasks &tasks) const {
  if (number > 1 && !parallel && pool) {
    pool->run(number, tasks);
    return;
  }
  Claims claims(number, tasks);
  if (number > 1 && parallel) {
    parallel(
        context, number,
        [](void *data, size_t task) { static_cast<Claims *>(data)->run(task); },
        &claims);
  } else if (number > 1) {
    std::vector<std::thread> threads;
    try {
      threads.reserve(number - 1);
      for (size_t task = 1; task < number; ++task)
        threads.emplace_back([&claims, task] { claims.run(task); });
    } catch (const std::exception &) {
      // Fewer threads take longer, and find the same.
    }
    claims.runRest();
    for (std::thread &thread : threads)
      thread.join();
  }
  claims.runRest();
}

/// What the threads of a pool share.
struct Pool::Threads {
  std::vector<std::thread> all;
  Workers::Tasks *tasks = nullptr;
  /// The run, the next task that nobody has, and their number: whoever counts
  /// the task up has it, so that a thread that is late takes no task of another
  /// run, and nobody waits for it.
  std::atomic<uint64_t> work = 0;
  std::atomic<uint32_t> runs = 0; ///< Changes where there is something to do.
  std::atomic<uint32_t> done = 0; ///< Tasks of this run.
  std::atomic<bool> ending = false;

  static constexpr int bits = 16; ///< For the number, and for the next task.
  static_assert(Workers::most < 1 << bits);

  void begin() {
    ++runs;
    runs.notify_all();
  }
  void runSome();
  void serve();
};

void waitWhile(const std::atomic<uint32_t> &number, uint32_t value) {
  for (int i = 0; i < 400; ++i) {
    if (number.load(std::memory_order_acquire) != value)
      return;
    if (i >= 200)
      std::this_thread::yield();
#if defined(__x86_64__)
    else
      __builtin_ia32_pause();
#endif
  }
  number.wait(value, std::memory_order_acquire);
}

/// Runs tasks that nobody has.
void Pool::Threads::runSome() {
  constexpr uint64_t mask = (1 << bits) - 1, one = 1 << bits;
  for (uint64_t now = work.load(std::memory_order_acquire);;) {
    uint64_t next = now >> bits & mask, number = now & mask;
    if (next >= number)
      return;
    if (!work.compare_exchange_weak(now, now + one, std::memory_order_acq_rel))
      continue;
    tasks->run(next);
    if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == number)
      done.notify_all();
    now += one;
  }
}

void Pool::Threads::serve() {
  for (uint32_t seen = 0;;) {
    waitWhile(runs, seen);
    seen = runs.load(std::memory_order_acquire);
    if (ending)
      return;
    runSome();
  }
}

bool Pool::acquire(size_t count) {
  if (taken.exchange(true))
    return false;
  if (threads && process != getpid())
    threads = nullptr; // Lost: nothing of them can be ended here.
  try {
    if (!threads)
      threads = new Threads;
    process = getpid();
    while (threads->all.size() < count)
      threads->all.emplace_back([shared = threads] { shared->serve(); });
  } catch (const std::exception &) {
    // Fewer threads take longer, and find the same.
  }
  if (threads && !threads->all.empty())
    return true;
  release();
  return false;
}

void Pool::run(size_t number, Workers::Tasks &tasks) {
  threads->tasks = &tasks;
  threads->done = 0;
  uint64_t run = (threads->work >> 2 * Threads::bits) + 1;
  threads->work.store(run << 2 * Threads::bits | number,
                      std::memory_order_release);
  threads->begin();
  threads->runSome();
  for (uint32_t done; (done = threads->done.load(std::memory_order_acquire)) <
                      static_cast<uint32_t>(number);)
    waitWhile(threads->done, done);
}

Pool::~Pool() {
  if (!threads || process != getpid())
    return;
  threads->ending = true;
  threads->begin();
  for (std::thread &thread : threads->all)
    thread.join();
  delete threads;
}

} // namespace attn
