//===- TeamTest.cpp - threads that run a program together -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/team.h"

#include <gtest/gtest.h>

#include <thread>

using namespace attn;

namespace {

/// Kernels each of which reads all that the one before wrote. Nothing here is
/// atomic: that shares are done once, and kernels one after the other, is what
/// is tested, also by a sanitizer of threads.
class Program {
public:
  explicit Program(size_t shares)
      : numbers(shares), next(shares), runs(shares) {}

  void operator()(attn_team_member &member) {
    const size_t shares = numbers.size();
    for (int kernel = 0; kernel < kernels; ++kernel) {
      auto &from = kernel % 2 ? next : numbers;
      auto &to = kernel % 2 ? numbers : next;
      for (size_t share; (share = static_cast<size_t>(
                              member.next_share(&member))) < shares;) {
        uint64_t sum = share + 1;
        for (uint64_t number : from)
          sum = sum * 31 + number;
        to[share] = sum;
        ++runs[share];
      }
    }
  }
  /// What one thread finds.
  static std::vector<uint64_t> expected(size_t shares) {
    std::vector<uint64_t> from(shares), to(shares);
    for (int kernel = 0; kernel < kernels; ++kernel) {
      for (size_t share = 0; share < shares; ++share) {
        to[share] = share + 1;
        for (uint64_t number : from)
          to[share] = to[share] * 31 + number;
      }
      from.swap(to);
    }
    return from;
  }
  void check() {
    EXPECT_EQ(numbers, expected(numbers.size()));
    EXPECT_EQ(runs, std::vector<int>(runs.size(), kernels));
  }

private:
  static constexpr int kernels = 50;

  std::vector<uint64_t> numbers, next;
  std::vector<int> runs;
};

TEST(Team, DoesEveryShareOnce) {
  Pool pool;
  for (size_t shares : {2, 3, 8}) {
    ASSERT_TRUE(pool.acquire(shares - 1));
    Workers workers{.count = shares, .pool = &pool};
    Team team(shares);
    for (int i = 0; i < 100; ++i) {
      Program program(shares);
      team.run(workers, std::ref(program));
      program.check();
    }
    pool.release();
  }
}

/// Runs tasks in another order, one after the other.
void runBackwards(void *, size_t count, void (*task)(void *data, size_t number),
                  void *data) {
  for (size_t i = count; i-- > 0;)
    task(data, i);
}

/// Runs no task.
void runNone(void *, size_t, void (*)(void *data, size_t number), void *) {}

TEST(Team, WaitsForNobodyWhoHasNotCome) {
  for (auto *parallel : {runBackwards, runNone}) {
    Workers workers{.count = 4, .parallel = parallel};
    Team team(4);
    for (int i = 0; i < 3; ++i) {
      Program program(4);
      team.run(workers, std::ref(program));
      program.check();
    }
  }
}

TEST(Team, WaitsForThoseWhoAreLate) {
  Pool pool;
  ASSERT_TRUE(pool.acquire(2));
  Workers workers{.count = 3, .pool = &pool};
  Team team(3);
  Program program(3);
  std::atomic<int> come = 0;
  team.run(workers, [&](attn_team_member &member) {
    // Long enough to fall asleep, in the middle of a share and before one.
    if (come++ == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program(member);
  });
  program.check();
  pool.release();
}

} // namespace
