//===- DecodeMemoryTest.cpp - buffers, threads and cancelling -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/fake_model.h"

#include <atomic>
#include <memory>
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

class DecodeMemory : public OpenFakeModel {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode(const attn_sentences &sentences) {
    return Results(api->decode(model, &sentences, &options, &error),
                   api->free_results);
  }
  /// Decodes on the heap and in a buffer of exactly the plan, and compares.
  void expectFits(const attn_sentences &sentences, const attn_limits &limits);

  attn_decode_options options = attn_default_decode_options();
};

const std::vector<std::string> lines = {
    "a b c", "b",  "c c a b zebra a", "", "a a a", "c b", "E a", "b b",
    "c",     "a c"};

void DecodeMemory::expectFits(const attn_sentences &sentences,
                              const attn_limits &limits) {
  options.buffer = nullptr;
  Results expected = decode(sentences);
  ASSERT_TRUE(expected) << error.message;
  size_t needed = api->memory_plan(model, &options, &limits, &error);
  ASSERT_GT(needed, 0u) << error.message;
  for (size_t offset : {0, 1, 63}) {
    // What was there before does not matter; beyond its end nothing changes.
    std::vector<unsigned char> buffer(needed + offset + 64, 0xff);
    options.buffer = buffer.data() + offset;
    options.buffer_size = needed;
    Results found = decode(sentences);
    ASSERT_TRUE(found) << error.message;
    for (size_t i = 0; i < sentences.count; ++i) {
      EXPECT_EQ(api->result(found.get(), i)->status,
                api->result(expected.get(), i)->status);
      expectSame(api, expected.get(), i, found.get(), i);
    }
    for (size_t i = offset + needed; i < buffer.size(); ++i)
      EXPECT_EQ(buffer[i], 0xff);
  }
}

TEST_F(DecodeMemory, ThePlanIsEnough) {
  // Sentences at the limits, all of them.
  Words full(std::vector<std::string>(7, "a b c zebra b"));
  attn_limits limits = attn_default_limits();
  limits.sentences = 7;
  limits.source_length = 5;
  limits.word_bytes = 5;
  for (size_t beam : {1, 2, 5})
    for (size_t batch : {1, 3, 32})
      for (size_t threads : {1, 2, 4})
        for (int alignment : {0, 1}) {
          options = attn_default_decode_options();
          options.beam = beam;
          options.nbest = beam;
          options.batch_size = batch;
          options.threads = threads;
          options.want_alignment = alignment;
          options.min_length = 100; // Nothing ends before the maximum.
          options.coverage = alignment ? 0.2 : 0;
          expectFits(full.view, limits);
        }
}

TEST_F(DecodeMemory, ThePlanIsEnoughForLess) {
  attn_limits limits = attn_default_limits();
  limits.sentences = 9;
  limits.source_length = 6;
  for (size_t threads : {1, 3, 4})
    for (size_t batch : {2, 3, 32}) {
      options = attn_default_decode_options();
      options.beam = options.nbest = 3;
      options.min_length = 100;
      options.threads = threads;
      options.batch_size = batch;
      std::vector<char> buffer(
          api->memory_plan(model, &options, &limits, &error));
      options.buffer = buffer.data();
      options.buffer_size = buffer.size();
      for (size_t beam : {3, 1})
        for (size_t length : {6, 5, 1})
          for (size_t count = 0; count <= limits.sentences; ++count) {
            std::string line = "a";
            for (size_t i = 1; i < length; ++i)
              line += " b";
            Words sentences(std::vector<std::string>(count, line));
            options.beam = options.nbest = beam;
            EXPECT_TRUE(decode(sentences.view)) << error.message;
          }
    }
}

TEST_F(DecodeMemory, ThePlanIsEnoughForEveryOption) {
  Words sentences(lines);
  attn_limits limits = attn_default_limits();
  limits.sentences = lines.size();
  limits.source_length = 6;
  limits.word_bytes = 5;
  expectFits(sentences.view, limits);

  options.sampling = 1;
  options.nbest = 5;
  options.top_k = 4;
  expectFits(sentences.view, limits);

  options.on_token = [](void *, const attn_token *) { return 0; };
  expectFits(sentences.view, limits);
  options.sampling = 0;
  options.alternatives = 1;
  expectFits(sentences.view, limits);
  options.on_token = nullptr;
  options.beam = 3;
  options.want_alignment = 1;
  options.coverage = 0.1;
  expectFits(sentences.view, limits);

  options = attn_default_decode_options();
  options.beam = 3;
  options.no_repeat_ngram = 2;
  options.repetition_penalty = 1.5;
  Words bans({"A", "B D"});
  options.banned = &bans.view;
  expectFits(sentences.view, limits);

  Words targets(std::vector<std::string>(lines.size(), "A B"));
  limits.target_length = 2;
  options = attn_default_decode_options();
  options.beam = 4;
  options.forced = &targets.view;
  expectFits(sentences.view, limits);
  options.forced = nullptr;
  options.prefixes = &targets.view;
  expectFits(sentences.view, limits);
  options.nbest = 5;
  options.alternatives = 1;
  options.want_alignment = 1;
  expectFits(sentences.view, limits);
}

TEST_F(DecodeMemory, ThePlanIsEnoughForReplacedWords) {
  Failure failure;
  std::unique_ptr<Model> opened =
      openWith("\"start\": 0, \"end\": 1}]",
               "\"start\": 0, \"end\": 1, \"unknown\": 2}]", failure);
  ASSERT_TRUE(opened) << failure.message;
  api->close(model);
  model = wrapModel(std::move(opened));
  std::string longWord(1000, 'z');
  std::vector<std::string> sources(3, longWord + " a " + longWord);
  Words sentences(sources);
  attn_limits limits = attn_default_limits();
  limits.sentences = 3;
  limits.source_length = 3;
  limits.target_length = 6;
  limits.word_bytes = longWord.size();
  options.replace_unknown = 1;
  options.want_alignment = 1;
  expectFits(sentences.view, limits);
  Words targets(std::vector<std::string>(3, "<unk> <unk> A <unk> <unk> <unk>"));
  options.forced = &targets.view;
  expectFits(sentences.view, limits);
  // By ids, words are the vocabulary's.
  const int32_t ids[] = {3, 2, 6};
  const int32_t *one[] = {ids, ids, ids};
  size_t lengths[] = {3, 3, 3};
  attn_sentences numbers = {sizeof(numbers), 3, lengths, nullptr, one, nullptr};
  limits.word_bytes = 0;
  expectFits(numbers, limits);
}

TEST_F(DecodeMemory, TooLittleIsAnErrorThatSaysHowMuch) {
  Words sentences({"a b", "c"});
  attn_limits limits = attn_default_limits();
  limits.sentences = 2;
  limits.source_length = 2;
  options.beam = 3;
  size_t needed = api->memory_plan(model, &options, &limits, &error);
  std::vector<char> buffer(needed);
  options.buffer = buffer.data();
  for (size_t size : {needed - 1, size_t(1), size_t(0)}) {
    options.buffer_size = size;
    EXPECT_FALSE(decode(sentences.view));
    EXPECT_EQ(error.status, ATTN_ERROR_MEMORY);
    EXPECT_EQ(std::string(error.message),
              "expected a buffer of at least " + std::to_string(needed) +
                  " bytes, but got " + std::to_string(size));
  }
  options.buffer_size = needed;
  EXPECT_TRUE(decode(sentences.view)) << error.message;
}

TEST_F(DecodeMemory, GrowsByNeedWithoutABuffer) {
  Words sentences({"a b"});
  options.max_length_offset = 1000000000;
  Results found = decode(sentences.view);
  ASSERT_TRUE(found) << error.message;
  EXPECT_EQ(api->result(found.get(), 0)->status, ATTN_OK);
  attn_limits limits = attn_default_limits();
  options.beam = options.nbest = 65536;
  options.want_alignment = 1;
  limits.sentences = INT32_MAX;
  limits.source_length = 1 << 28;
  options.max_length_offset = 0;
  EXPECT_EQ(api->memory_plan(model, &options, &limits, &error), 0u);
  EXPECT_NE(error.status, ATTN_OK);
  EXPECT_EQ(api->memory_plan(nullptr, nullptr, nullptr, &error), 0u);
  EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
  EXPECT_GT(api->memory_plan(model, nullptr, nullptr, &error), 0u);
}

TEST_F(DecodeMemory, ThreadsChangeNothing) {
  Words sentences(lines);
  options.beam = 3;
  options.want_alignment = 1;
  Results expected = decode(sentences.view);
  ASSERT_TRUE(expected) << error.message;
  auto check = [&] {
    Results found = decode(sentences.view);
    ASSERT_TRUE(found) << error.message;
    for (size_t i = 0; i < lines.size(); ++i)
      expectSame(api, expected.get(), i, found.get(), i);
  };
  for (size_t threads : {2, 3, 64}) {
    options.threads = threads;
    check();
  }
  // Executors of the caller's: real threads, one after the other, backwards,
  // twice, and one that does nothing.
  options.threads = 4;
  const attn_parallel_function executors[] = {
      [](void *, size_t count, void (*task)(void *, size_t), void *data) {
        std::vector<std::thread> threads;
        for (size_t i = 0; i < count; ++i)
          threads.emplace_back(task, data, i);
        for (std::thread &thread : threads)
          thread.join();
      },
      [](void *, size_t count, void (*task)(void *, size_t), void *data) {
        for (size_t i = 0; i < count; ++i)
          task(data, i);
      },
      [](void *, size_t count, void (*task)(void *, size_t), void *data) {
        for (size_t i = count; i-- > 0;) {
          task(data, i);
          task(data, i);
        }
        task(data, count);
      },
      [](void *, size_t, void (*)(void *, size_t), void *) {}};
  for (attn_parallel_function executor : executors) {
    options.parallel = executor;
    check();
  }
}

TEST_F(DecodeMemory, CallsOfAllKindsAtOnce) {
  Words sentences(lines);
  options.beam = 3;
  Results expected = decode(sentences.view);
  ASSERT_TRUE(expected) << error.message;
  attn_limits limits = attn_default_limits();
  limits.sentences = lines.size();
  limits.source_length = 6;
  auto decodeMany = [&](size_t threads, bool inBuffer) {
    attn_error own = ATTN_ERROR_INIT;
    attn_decode_options mine = options;
    mine.threads = threads;
    std::vector<char> buffer;
    if (inBuffer) {
      buffer.resize(api->memory_plan(model, &mine, &limits, &own));
      mine.buffer = buffer.data();
      mine.buffer_size = buffer.size();
    }
    for (int turn = 0; turn < 10; ++turn) {
      Results found(api->decode(model, &sentences.view, &mine, &own),
                    api->free_results);
      ASSERT_TRUE(found) << own.message;
      for (size_t i = 0; i < lines.size(); ++i)
        expectSame(api, expected.get(), i, found.get(), i);
    }
  };
  auto stepMany = [&] {
    Words one({"a b c"});
    for (int turn = 0; turn < 20; ++turn) {
      attn_decoding *decoding = api->encode(model, &one.view, nullptr, nullptr);
      ASSERT_TRUE(decoding);
      int32_t token = 3;
      for (int t = 0; t < 5; ++t) {
        attn_step_request request = {sizeof(request), 1, nullptr,
                                     t ? &token : nullptr, nullptr};
        EXPECT_TRUE(api->step(decoding, &request, nullptr));
      }
      api->free_decoding(decoding);
    }
  };
  std::thread threads[] = {
      std::thread(decodeMany, 1, false), std::thread(decodeMany, 3, false),
      std::thread(decodeMany, 2, true), std::thread(stepMany)};
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(DecodeMemory, CancelsBeforeTheNextStep) {
  struct State {
    std::atomic<int> asked = 0;
    int until = 0;
  };
  Words sentences(std::vector<std::string>(64, "a b c"));
  options.batch_size = 4;
  options.min_length = 1000;
  options.max_length_offset = 1000;
  options.cancelled = [](void *context) {
    State &state = *static_cast<State *>(context);
    return int(++state.asked > state.until);
  };
  for (size_t threads : {1, 4})
    for (int until : {0, 1, 7, 1500}) {
      State state;
      state.until = until;
      options.threads = threads;
      options.cancelled_context = &state;
      EXPECT_FALSE(decode(sentences.view));
      EXPECT_EQ(error.status, ATTN_CANCELLED);
      EXPECT_STREQ(error.message, "cancelled by the caller");
      // Each thread is told once.
      EXPECT_LE(state.asked, until + static_cast<int>(threads));
    }
  // A call that is not cancelled asks once a step.
  State state;
  state.until = 1 << 30;
  options.threads = 1;
  options.cancelled_context = &state;
  options.batch_size = 64;
  options.max_length_offset = 0;
  Results found = decode(sentences.view);
  ASSERT_TRUE(found);
  EXPECT_EQ(state.asked, 6);
}

TEST_F(DecodeMemory, WrongThreadsAreErrors) {
  Words sentences({"a"});
  for (size_t threads : {size_t(0), size_t(1025), SIZE_MAX}) {
    options.threads = threads;
    EXPECT_FALSE(decode(sentences.view));
    EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
    EXPECT_EQ(std::string(error.message),
              "expected 1 to 1024 threads, but got " + std::to_string(threads));
  }
}

} // namespace
