//===- WrapperTest.cpp - the C++ interface over a loaded library ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked with nothing of the runtime: what is used is what a user has.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.hpp"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <new>

using attn::test::TemporaryFile;

extern "C" void attn_c_defaults(attn_open_options *, attn_decode_options *,
                                attn_encode_options *, attn_limits *,
                                attn_member *);

namespace {

const attn_api *fakeApi() {
  static const attn_api *api = [] {
    void *library = dlopen(ATTN_FAKE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, "attn_model_fake") : nullptr;
    if (!address)
      abort();
    return reinterpret_cast<const attn_api *(*)()>(address)();
  }();
  return api;
}

attn::Model openFake() {
  std::vector<float> table;
  for (int i = 0; i < 49; ++i)
    table.push_back(static_cast<float>(i * 37 % 23) / 11.5f);
  TemporaryFile weights(attn::test::makeSafetensors(
      "{\"table\": {\"dtype\": \"F32\", \"shape\": [7, 7], "
      "\"data_offsets\": [0, 196]}}",
      attn::test::floatBytes(table)));
  return attn::Model(fakeApi(), weights.path);
}

TEST(Wrapper, ListsDevices) {
  std::vector<attn::AvailableDevice> devices =
      attn::Model::listDevices(fakeApi());
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_GT(devices[0].memory, 0u);
}

template <typename Call> attn_status statusOf(Call call, std::string *message) {
  try {
    call();
  } catch (const attn::Error &error) {
    *message = error.what();
    return error.status();
  }
  return ATTN_OK;
}

TEST(Wrapper, Decodes) {
  attn::Model model = openFake();
  EXPECT_EQ(model.name(), "fake");
  EXPECT_EQ(model.sourceVocabulary().unknown(), 2);
  EXPECT_STREQ(model.targetVocabulary()[5], "\u0e01");
  attn::Results results =
      model.decode({{"a", "b", "c"}, {}, {"E", "a"}},
                   {.beam = 4, .nbest = 3, .want_alignment = 1});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].size(), 3u);
  double before = INFINITY;
  for (attn::Hypothesis hypothesis : results[0]) {
    EXPECT_LE(hypothesis.score(), before);
    before = hypothesis.score();
    double sum = 0;
    for (double logprob : hypothesis.wordLogprobs())
      sum += logprob;
    EXPECT_NEAR(sum, hypothesis.logprob(), 1e-9);
    EXPECT_EQ(hypothesis.alignment(0).size(), 4u);
    EXPECT_TRUE(hypothesis.alignment(hypothesis.wordLogprobs().size()).empty());
  }
  std::string joined;
  for (const char *token : results[0].best().tokens())
    joined += (joined.empty() ? "" : "-") + std::string(token);
  EXPECT_EQ(results[0].best().text("-"), joined);
  EXPECT_EQ(results[1].best().text(), "");
  std::string message;
  EXPECT_EQ(statusOf([&] { results[2].best(); }, &message), ATTN_ERROR_NUMERIC);
  EXPECT_FALSE(results[2].ok());
  EXPECT_EQ(results[2].message(), message);
  EXPECT_EQ(results[2].begin(), results[2].end());
  EXPECT_THROW(results.at(3), std::out_of_range);
  size_t failed = 0;
  for (attn::Result result : results)
    failed += !result.ok();
  EXPECT_EQ(failed, 1u);

  attn::DecodeOptions buffered{.beam = 4};
  std::vector<char> buffer(
      model.memoryPlan({.sentences = 1, .source_length = 3}, buffered));
  buffered.buffer = buffer.data();
  buffered.buffer_size = buffer.size();
  EXPECT_EQ(model.decode({{"a", "b", "c"}}, buffered)[0].best().text(),
            results[0].best().text());

  attn::Results same = model.decodeIds({{3, 4, 5}}, {.beam = 4});
  EXPECT_EQ(same[0].best().text(), results[0].best().text());
  attn::Words target;
  for (const char *token : results[0].best().tokens())
    target.push_back(token);
  if (results[0].best().finished())
    EXPECT_EQ(model.score({{"a", "b", "c"}}, {target})[0].best().logprob(),
              results[0].best().logprob());
}

TEST(Wrapper, Streams) {
  attn::Model model = openFake();
  std::string told;
  auto tell = [&](const attn::Token &token) {
    if (token.id != model.targetVocabulary().end())
      told += (token.position ? " " : "") + std::string(token.text);
    return true;
  };
  attn::Results results = model.stream({{"a", "b", "c"}}, tell);
  EXPECT_EQ(told, results[0].best().text());
  // It may stop a hypothesis, or throw.
  results = model.stream({{"a", "b", "c"}},
                         [](const attn::Token &) { return false; });
  EXPECT_EQ(results[0].best().wordLogprobs().size(), 1u);
  size_t calls = 0;
  auto fail = [&](const attn::Token &) -> bool {
    ++calls;
    throw std::runtime_error("mine");
  };
  EXPECT_THROW(model.stream({{"a"}, {"b"}, {"c"}}, fail, {.batch_size = 1}),
               std::runtime_error);
  EXPECT_EQ(calls, 1u);
  std::string message;
  EXPECT_EQ(
      statusOf([&] { model.stream({{"a"}}, tell, {.beam = 2}); }, &message),
      ATTN_ERROR_OPTION);
}

TEST(Wrapper, Ensembles) {
  attn::Model model = openFake(), other = openFake();
  attn::Member member = other.member(2);
  attn::Results alone = model.decode({{"a", "b"}});
  attn::Results both =
      model.decode({{"a", "b"}}, {.ensemble = &member, .ensemble_size = 1});
  EXPECT_EQ(both[0].best().text(), alone[0].best().text());
  EXPECT_NEAR(both[0].best().score(), alone[0].best().score(), 1e-5);
}

/// Greedy decoding, one's own.
attn::Ids decodeGreedily(const attn::Model &model, const attn::Words &sentence,
                         size_t most) {
  attn::Ids found;
  attn::Decoding decoding = model.encode({sentence});
  for (attn::Step step = decoding.first(); found.size() < most;) {
    attn::View<float> logits = step.logits(0);
    int32_t best = 0;
    for (size_t i = 1; i < logits.size(); ++i)
      if (logits[i] > logits[static_cast<size_t>(best)])
        best = static_cast<int32_t>(i);
    if (best == model.targetVocabulary().end())
      break;
    found.push_back(best);
    step = decoding.next({best});
  }
  return found;
}

TEST(Wrapper, Steps) {
  attn::Model model = openFake();
  for (attn::Words sentence :
       {attn::Words{"a"}, {"b", "c"}, {"c", "c", "a", "b", "zebra"}}) {
    attn::Results results = model.decode({sentence});
    attn::View<int32_t> ids = results[0].best().ids();
    EXPECT_EQ(decodeGreedily(model, sentence, 2 * sentence.size() + 10),
              attn::Ids(ids.begin(), ids.end()));
  }
  attn::Decoding decoding = model.encode({{"a", "b"}, {"c"}});
  attn::Step step = decoding.first();
  EXPECT_EQ(step.rows(), 2u);
  EXPECT_EQ(step.weights(0).size(), 3u);
  EXPECT_EQ(step.weights(1).size(), 2u);
  step = decoding.next({0, 0, 1}, {3, 4, 5});
  EXPECT_EQ(step.sentence(1), 0);
  double sum = 0;
  for (double logprob : step.logprobs(2))
    sum += std::exp(logprob);
  EXPECT_NEAR(sum, 1.0, 1e-6);
  std::string message;
  EXPECT_EQ(statusOf([&] { decoding.next({9}, {3}); }, &message),
            ATTN_ERROR_ARGUMENT);
  EXPECT_EQ(statusOf([&] { decoding.next({0}, {3, 3}); }, &message),
            ATTN_ERROR_ARGUMENT);
  EXPECT_GT(model.encodeMemory(2, 10, 8), 0u);
}

TEST(Wrapper, Throws) {
  std::string message;
  EXPECT_EQ(
      statusOf([] { attn::Model model(fakeApi(), "/no/such/file"); }, &message),
      ATTN_ERROR_FILE);
  EXPECT_EQ(statusOf([] { attn::Model model(fakeApi()); }, &message),
            ATTN_ERROR_OPTION);
  attn::Model model = openFake();
  EXPECT_EQ(statusOf([&] { model.decode({{"a"}}, {.beam = 0}); }, &message),
            ATTN_ERROR_OPTION);
  EXPECT_EQ(message, "expected a beam of 1 to 65536, but got 0");
}

TEST(Wrapper, OtherVersionsAreErrors) {
  attn_api other = *fakeApi();
  std::string message;
  other.version = 7;
  EXPECT_EQ(statusOf([&] { attn::Model model(&other); }, &message),
            ATTN_ERROR_MODEL);
  EXPECT_EQ(message, "expected a library with version 1 of the interface, but "
                     "got version 7");
  other.version = ATTN_API_VERSION;
  other.struct_size = 64;
  EXPECT_EQ(statusOf([&] { attn::Model model(&other); }, &message),
            ATTN_ERROR_MODEL);
  EXPECT_EQ(message.substr(0, 48),
            "expected a library with a table of at least " +
                std::to_string(sizeof(attn_api)) + " ");
}

/// The bytes of an object that mean something: those that its constructor sets,
/// whatever was there before.
template <typename T> std::string bytesOf(const T &object) {
  alignas(T) char zeros[sizeof(T)], ones[sizeof(T)];
  memset(zeros, 0, sizeof(T));
  memset(ones, 0xff, sizeof(T));
  new (zeros) T();
  new (ones) T();
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i)
    if (zeros[i] == ones[i])
      bytes += reinterpret_cast<const char *>(&object)[i];
  return bytes;
}

// C has functions for defaults, C++ has them in the structures as well.
TEST(Wrapper, DefaultsAreThoseOfC) {
  attn_open_options open;
  attn_decode_options decode;
  attn_encode_options encode;
  attn_limits limits;
  attn_member member;
  memset(static_cast<void *>(&member), 0, sizeof(member));
  memset(static_cast<void *>(&open), 0, sizeof(open));
  memset(static_cast<void *>(&decode), 0, sizeof(decode));
  memset(static_cast<void *>(&encode), 0, sizeof(encode));
  memset(static_cast<void *>(&limits), 0, sizeof(limits));
  attn_c_defaults(&open, &decode, &encode, &limits, &member);
  EXPECT_EQ(bytesOf(attn_open_options()), bytesOf(open));
  EXPECT_EQ(bytesOf(attn_decode_options()), bytesOf(decode));
  EXPECT_EQ(bytesOf(attn_encode_options()), bytesOf(encode));
  EXPECT_EQ(bytesOf(attn_limits()), bytesOf(limits));
  EXPECT_EQ(bytesOf(attn_member()), bytesOf(member));
}

} // namespace
