//===- WorkersTest.cpp - tasks on a pool of threads -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/workers.h"
#include "unittests/runtime/fake_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

namespace {

class Counts : public Workers::Tasks {
public:
  void run(size_t number) override { ++counts[number]; }
  /// Whether the first `number` tasks ran once, and no other; forgets it.
  bool areOnce(size_t number) {
    bool once = true;
    for (size_t i = 0; i < 16; ++i)
      once &= counts[i].exchange(0) == (i < number ? 1 : 0);
    return once;
  }

private:
  std::atomic<int> counts[16] = {};
};

TEST(Pool, RunsEveryTaskOnce) {
  Pool pool;
  Counts counts;
  ASSERT_TRUE(pool.acquire(3));
  for (size_t i = 0; i < 3000; ++i) {
    pool.run(i % 10, counts);
    ASSERT_TRUE(counts.areOnce(i % 10)) << i;
    // Threads that have gone to sleep wake up.
    if (i % 500 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  pool.release();
}

TEST(Pool, BelongsToOne) {
  Pool pool;
  ASSERT_TRUE(pool.acquire(1));
  EXPECT_FALSE(pool.acquire(1));
  std::thread([&] { EXPECT_FALSE(pool.acquire(1)); }).join();
  pool.release();
  EXPECT_TRUE(pool.acquire(2));
  pool.release();
}

TEST(Pool, HasOtherThreadsInAForkedProcess) {
  Pool pool;
  Counts counts;
  ASSERT_TRUE(pool.acquire(2));
  pool.run(8, counts);
  pool.release();
  counts.areOnce(8);
  pid_t child = fork();
  if (child == 0) {
    bool works = pool.acquire(2);
    if (works)
      pool.run(8, counts);
    _exit(works && counts.areOnce(8) ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(pool.acquire(2));
  pool.run(8, counts);
  EXPECT_TRUE(counts.areOnce(8));
  pool.release();
}
using SharedSteps = OpenFakeModel;

/// Runs tasks in another order, one after the other.
void runBackwards(void *calls, size_t count,
                  void (*task)(void *data, size_t number), void *data) {
  ++*static_cast<int *>(calls);
  for (size_t i = count; i-- > 0;)
    task(data, i);
}

TEST_F(SharedSteps, R13HypothesesOfOneSentenceAreDivided) {
  Words words({"a b c a b"});
  attn_decode_options options = attn_default_decode_options();
  options.beam = 7;
  options.nbest = 7;
  options.want_alignment = 1;
  attn_results *alone = api->decode(model, &words.view, &options, &error);
  ASSERT_TRUE(alone) << error.message;
  int calls = 0;
  for (size_t threads : {2, 3, 16})
    for (bool own : {true, false}) {
      options.threads = threads;
      options.parallel = own ? nullptr : runBackwards;
      options.parallel_context = &calls;
      attn_results *shared = api->decode(model, &words.view, &options, &error);
      ASSERT_TRUE(shared) << error.message;
      expectSame(api, alone, 0, shared, 0);
      api->free_results(shared);
    }
  EXPECT_GT(calls, 3);
  api->free_results(alone);
}

} // namespace
