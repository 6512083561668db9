//===- workers.cpp - do several things at once ----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/workers.h"

#include <atomic>
#include <exception>
#include <thread>
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

} // namespace attn
