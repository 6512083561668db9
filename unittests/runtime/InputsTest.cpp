//===- InputsTest.cpp - several inputs, and inputs that are features ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over generated code that is written by hand: a model of tokens x, of features
// f and of numbers g on the positions of f. What it computes depends on every
// position of each, so that a wrong length, order or row changes its results,
// and it makes NaN of padding that it is asked to read.
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "runtime/compiled_backend.h"
#include "unittests/runtime/fake_model.h"

#include <cmath>
#include <cstddef>
#include <memory>

using namespace attn;
using namespace attn::test;

namespace {

constexpr int64_t vocabularySize = 5;

void encode(const int64_t *extents, void *const *buffers, void *, void *) {
  int64_t sentences = extents[ATTN_EXTENT_SENTENCES];
  const int64_t *longest = extents + ATTN_EXTENT_AXIS;
  auto *x = static_cast<const int32_t *>(buffers[0]);
  auto *f = static_cast<const float *>(buffers[1]);
  auto *g = static_cast<const float *>(buffers[2]);
  auto *xLengths = static_cast<const int32_t *>(buffers[3]);
  auto *fLengths = static_cast<const int32_t *>(buffers[4]);
  auto *memory = static_cast<float *>(buffers[5]);
  auto *memoryLengths = static_cast<int32_t *>(buffers[6]);
  auto *state = static_cast<float *>(buffers[7]);
  for (int64_t s = 0; s < sentences; ++s) {
    float sum = 0;
    for (int64_t j = 0; j < xLengths[s]; ++j)
      sum = sum * 0.75f + static_cast<float>(x[s * longest[0] + j] + 1);
    for (int64_t j = 0; j < fLengths[s]; ++j) {
      const float *own = f + (s * longest[1] + j) * 2;
      sum = sum * 0.5f + (own[0] - 2 * own[1]) * g[s * longest[1] + j];
    }
    state[s] = sum;
    memoryLengths[s] = xLengths[s];
    for (int64_t j = 0; j < longest[0]; ++j)
      memory[s * longest[0] + j] =
          j < xLengths[s] ? static_cast<float>(x[s * longest[0] + j])
                          : std::numeric_limits<float>::quiet_NaN();
  }
}

void step(const int64_t *extents, void *const *buffers, void *, void *) {
  int64_t longest = extents[ATTN_EXTENT_AXIS];
  auto *memory = static_cast<const float *>(buffers[0]);
  auto *lengths = static_cast<const int32_t *>(buffers[1]);
  auto *tokens = static_cast<const int32_t *>(buffers[2]);
  auto *sentences = static_cast<const int32_t *>(buffers[3]);
  auto *states = static_cast<const float *>(buffers[4]);
  auto *logits = static_cast<float *>(buffers[5]);
  auto *next = static_cast<float *>(buffers[6]);
  auto *weights = static_cast<float *>(buffers[7]);
  for (int64_t r = 0; r < extents[ATTN_EXTENT_ROWS]; ++r) {
    int32_t s = sentences[r];
    next[r] = states[r] * 0.625f + static_cast<float>(tokens[r]);
    float sum = 0;
    for (int64_t j = 0; j < longest; ++j) {
      weights[r * longest + j] = 1.0f / static_cast<float>(lengths[s]);
      if (j < lengths[s])
        sum += memory[s * longest + j];
    }
    for (int64_t v = 0; v < vocabularySize; ++v)
      logits[r * vocabularySize + v] =
          std::sin(next[r] * static_cast<float>(v + 1) + sum);
  }
}

const char description[] = R"({"model": "inputs", "precision": "f32",
 "vocabularies": [
  {"name": "words", "tokens": ["<s>", "</s>", "a", "b", "c"], "start": 0,
   "end": 1}],
 "axes": [{"name": "x", "input": 0}, {"name": "f", "input": 1}],
 "inputs": [
  {"name": "x", "kind": "tokens", "vocabulary": 0, "end": true, "axis": 0},
  {"name": "f", "kind": "features", "shape": [2], "axis": 1},
  {"name": "g", "kind": "features", "shape": [], "axis": 1}],
 "target": {"vocabulary": 0, "start": 0},
 "alignment": {"axis": 0, "heads": 1},
 "parameters": [],
 "programs": {
  "encode": [
   {"role": "input", "index": 0, "type": "i32", "dims": ["sentences", "axis0"]},
   {"role": "input", "index": 1, "type": "f32",
    "dims": ["sentences", "axis1", 2]},
   {"role": "input", "index": 2, "type": "f32", "dims": ["sentences", "axis1"]},
   {"role": "length", "index": 0, "type": "i32", "dims": ["sentences"]},
   {"role": "length", "index": 1, "type": "i32", "dims": ["sentences"]},
   {"role": "memory", "index": 0, "type": "f32",
    "dims": ["sentences", "axis0"]},
   {"role": "memory_length", "index": 0, "type": "i32", "dims": ["sentences"]},
   {"role": "initial_state", "index": 0, "type": "f32",
    "dims": ["sentences"]}],
  "step": [
   {"role": "memory", "index": 0, "type": "f32",
    "dims": ["sentences", "axis0"]},
   {"role": "memory_length", "index": 0, "type": "i32", "dims": ["sentences"]},
   {"role": "token", "type": "i32", "dims": ["rows"]},
   {"role": "sentence", "type": "i32", "dims": ["rows"]},
   {"role": "state", "index": 0, "type": "f32", "dims": ["rows"]},
   {"role": "logits", "type": "f32", "dims": ["rows", 5]},
   {"role": "next_state", "index": 0, "type": "f32", "dims": ["rows"]},
   {"role": "weights", "type": "f32", "dims": ["rows", "axis0"]}]}})";

std::unique_ptr<Model> openInputs(std::string json, Failure &failure) {
  static const AlignedBuffer constants(64);
  attn_compiled_model compiled = {};
  compiled.version = ATTN_COMPILED_MODEL_VERSION;
  compiled.description = json.data();
  compiled.description_size = json.size();
  compiled.constants = constants.data();
  compiled.encode.run = encode;
  compiled.step.run = step;
  return openCompiledModel(compiled, nullptr, failure);
}

/// What some sentences have for the three inputs.
class Sources {
public:
  void add(std::vector<int32_t> x, std::vector<float> f, std::vector<float> g) {
    xs.push_back(std::move(x));
    fs.push_back(std::move(f));
    gs.push_back(std::move(g));
  }
  /// A sentence with any numbers in it.
  void add(size_t xLength, size_t fLength) {
    std::vector<int32_t> x;
    std::vector<float> f, g;
    for (size_t i = 0; i < xLength; ++i)
      x.push_back(static_cast<int32_t>(2 + (i * 7 + fLength) % 3));
    for (size_t i = 0; i < 2 * fLength; ++i)
      f.push_back(static_cast<float>(i * 5 % 7 + xLength) / 4);
    for (size_t i = 0; i < fLength; ++i)
      g.push_back(static_cast<float>(i * 3 % 5) / 2 - 1);
    add(std::move(x), std::move(f), std::move(g));
  }
  Sources only(size_t i) const {
    Sources one;
    one.add(xs[i], fs[i], gs[i]);
    return one;
  }
  size_t size() const { return xs.size(); }

  const attn_sentences *view() {
    xLengths.clear(), fLengths.clear(), gLengths.clear();
    ids.clear(), fPointers.clear(), gPointers.clear();
    for (size_t i = 0; i < size(); ++i) {
      xLengths.push_back(xs[i].size());
      fLengths.push_back(fs[i].size() / 2);
      gLengths.push_back(gs[i].size());
      ids.push_back(xs[i].data());
      fPointers.push_back(fs[i].data());
      gPointers.push_back(gs[i].data());
    }
    all[0] = {sizeof(all[0]), size(),     xLengths.data(),
              nullptr,        ids.data(), nullptr};
    all[1] = {sizeof(all[0]), size(),  fLengths.data(),
              nullptr,        nullptr, fPointers.data()};
    all[2] = {sizeof(all[0]), size(),  gLengths.data(),
              nullptr,        nullptr, gPointers.data()};
    return all;
  }

  std::vector<std::vector<int32_t>> xs;
  std::vector<std::vector<float>> fs, gs;
  attn_sentences all[3] = {};

private:
  std::vector<size_t> xLengths, fLengths, gLengths;
  std::vector<const int32_t *> ids;
  std::vector<const float *> fPointers, gPointers;
};

class Inputs : public testing::Test {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  void SetUp() override {
    Failure failure;
    std::unique_ptr<Model> opened = openInputs(description, failure);
    ASSERT_TRUE(opened) << failure.message;
    model = wrapModel(std::move(opened));
    options.want_alignment = 1;
    for (auto [x, f] : {std::pair(3, 2),
                        {1, 5},
                        {4, 0},
                        {2, 9},
                        {0, 3},
                        {7, 1},
                        {0, 0},
                        {1, 1}})
      sources.add(static_cast<size_t>(x), static_cast<size_t>(f));
  }
  void TearDown() override {
    api.close(model);
    api.clear_error(&error);
  }
  Results decode(const attn_sentences *sentences) {
    return Results(api.decode(model, sentences, &options, &error),
                   api.free_results);
  }
  void expectFailure(const char *message) {
    EXPECT_FALSE(decode(sources.all));
    EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
    EXPECT_STREQ(error.message, message);
  }

  attn_api api = modelApi();
  attn_model *model = nullptr;
  attn_error error = ATTN_ERROR_INIT;
  attn_decode_options options = attn_default_decode_options();
  Sources sources;
};

TEST_F(Inputs, AreDescribed) {
  const attn_model_info *info = api.info(model);
  EXPECT_EQ(info->input_count, 3u);
  EXPECT_EQ(info->source_vocabulary, 0);
  EXPECT_EQ(info->source_has_end, 1);
  EXPECT_EQ(info->aligned_input, 0);
  const attn_input *x = api.input(model, 0), *f = api.input(model, 1),
                   *g = api.input(model, 2);
  ASSERT_TRUE(x && f && g);
  EXPECT_FALSE(api.input(model, 3));
  EXPECT_STREQ(x->name, "x");
  EXPECT_EQ(x->vocabulary, 0);
  EXPECT_EQ(x->has_end, 1);
  EXPECT_EQ(x->over, 0u);
  EXPECT_STREQ(f->name, "f");
  EXPECT_EQ(f->vocabulary, -1);
  EXPECT_EQ(f->rank, 1u);
  EXPECT_EQ(f->shape[0], 2u);
  EXPECT_EQ(f->width, 2u);
  EXPECT_EQ(f->over, 1u);
  EXPECT_EQ(g->rank, 0u);
  EXPECT_EQ(g->width, 1u);
  EXPECT_EQ(g->over, 1u);
}

// R13: whatever the other sentences are as long as for any input.
TEST_F(Inputs, ABatchIsAsEachAlone) {
  for (size_t beam : {1, 3}) {
    options.beam = options.nbest = beam;
    Results together = decode(sources.view());
    ASSERT_TRUE(together) << error.message;
    for (size_t i = 0; i < sources.size(); ++i) {
      ASSERT_EQ(api.result(together.get(), i)->status, ATTN_OK)
          << api.result(together.get(), i)->message;
      Results alone = decode(sources.only(i).view());
      ASSERT_TRUE(alone) << error.message;
      expectSame(&api, together.get(), i, alone.get(), 0);
    }
  }
}

// Each number that the model is given matters.
TEST_F(Inputs, ReachTheModel) {
  auto score = [&](const Sources &from) {
    Sources one = from.only(0);
    Results found = decode(one.view());
    return api.hypothesis(found.get(), 0, 0)->word_logprobs[0];
  };
  double before = score(sources);
  for (float *number : {&sources.fs[0][0], &sources.fs[0][3], &sources.gs[0][0],
                        &sources.gs[0][1]}) {
    *number += 1;
    EXPECT_NE(score(sources), before);
    *number -= 1;
  }
  sources.xs[0][2] = sources.xs[0][2] == 2 ? 3 : 2;
  EXPECT_NE(score(sources), before);
}

// R20: nothing for any input is an empty result; something for one is not.
TEST_F(Inputs, EmptySentences) {
  Results found = decode(sources.view());
  ASSERT_TRUE(found) << error.message;
  EXPECT_EQ(api.hypothesis(found.get(), 6, 0)->emitted, 0u);
  EXPECT_EQ(api.hypothesis(found.get(), 6, 0)->score, 0);
  EXPECT_GT(api.hypothesis(found.get(), 4, 0)->emitted, 0u);
  EXPECT_EQ(api.hypothesis(found.get(), 4, 0)->memory_positions, 1u);
  EXPECT_FALSE(api.encode(model, sources.only(6).view(), nullptr, &error));
  EXPECT_STREQ(error.message,
               "sentence 0: expected at least one token, but got none");
}

TEST_F(Inputs, TheFirstOneLimitsTheLength) {
  options.max_length_factor = 1;
  options.max_length_offset = 1;
  options.min_length = 100;
  Results found = decode(sources.view());
  ASSERT_TRUE(found) << error.message;
  for (size_t i = 0; i < sources.size(); ++i)
    if (i != 6)
      EXPECT_EQ(api.hypothesis(found.get(), i, 0)->emitted,
                sources.xs[i].size() + 1);
}

TEST_F(Inputs, WorkInABuffer) {
  attn_limits limits = attn_default_limits();
  limits.sentences = sources.size();
  limits.source_length = 9;
  options.beam = options.nbest = 2;
  options.batch_size = 3;
  for (size_t threads : {1, 2}) {
    options.threads = threads;
    options.buffer = nullptr;
    Results expected = decode(sources.view());
    size_t size = api.memory_plan(model, &options, &limits, &error);
    ASSERT_GT(size, 0u) << error.message;
    std::vector<unsigned char> buffer(size, 0xff);
    options.buffer = buffer.data();
    options.buffer_size = size;
    Results found = decode(sources.view());
    ASSERT_TRUE(found) << error.message;
    for (size_t i = 0; i < sources.size(); ++i)
      expectSame(&api, expected.get(), i, found.get(), i);
    found.reset();
    // Sentences at the limit, for every input.
    Sources full;
    for (size_t i = 0; i < limits.sentences; ++i)
      full.add(9, 9);
    EXPECT_TRUE(decode(full.view())) << error.message;
  }
}

TEST_F(Inputs, StepInABuffer) {
  Sources some;
  for (size_t i : {0, 1, 3, 4})
    some.add(sources.xs[i], sources.fs[i], sources.gs[i]);
  auto logits = [&](const attn_encode_options &how) {
    attn_decoding *decoding = api.encode(model, some.view(), &how, &error);
    EXPECT_TRUE(decoding) << error.message;
    attn_step_request request = {sizeof(request), some.size(), nullptr, nullptr,
                                 nullptr};
    const attn_step_result *result =
        decoding ? api.step(decoding, &request, &error) : nullptr;
    std::vector<float> all;
    if (result)
      all.assign(result->logits, result->logits + some.size() * vocabularySize);
    api.free_decoding(decoding);
    return all;
  };
  attn_encode_options how = attn_default_encode_options();
  std::vector<float> expected = logits(how);
  EXPECT_EQ(expected.size(), some.size() * vocabularySize);
  how.buffer_size =
      api.encode_memory(model, some.size(), 9, some.size(), 0, &error);
  std::vector<char> buffer(how.buffer_size);
  how.buffer = buffer.data();
  EXPECT_EQ(logits(how), expected);
  --how.buffer_size;
  EXPECT_FALSE(api.encode(model, some.view(), &how, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_MEMORY);
}

// What is wrong with one sentence leaves the others as they are.
TEST_F(Inputs, SentencesFailAlone) {
  Results expected = decode(sources.view());
  sources.gs[1].pop_back();
  sources.xs[3][0] = 9;
  sources.view();
  std::vector<const float *> features;
  for (const std::vector<float> &f : sources.fs)
    features.push_back(f.data());
  features[5] = nullptr;
  sources.all[1].features = features.data();
  Results found = decode(sources.all);
  ASSERT_TRUE(found) << error.message;
  for (size_t i = 0; i < sources.size(); ++i)
    if (i != 1 && i != 3 && i != 5)
      expectSame(&api, expected.get(), i, found.get(), i);
  EXPECT_STREQ(api.result(found.get(), 1)->message,
               "expected 5 positions of input 'g', which lies over 'f', but "
               "got 4");
  EXPECT_STREQ(api.result(found.get(), 3)->message,
               "expected token ids of vocabulary 'words', 0 to 4, but got 9 as "
               "token 1");
  EXPECT_STREQ(api.result(found.get(), 5)->message,
               "input 'f': expected features, but got null");
}

TEST_F(Inputs, WrongSentencesAreErrors) {
  sources.view();
  std::swap(sources.all[0], sources.all[1]);
  expectFailure("expected tokens or ids of input 'x', but got features");
  sources.view();
  std::swap(sources.all[1].ids, sources.all[0].ids);
  expectFailure("expected one of tokens and ids of input 'x', but got none");
  sources.view();
  sources.all[1].ids = sources.all[0].ids;
  expectFailure("expected features of input 'f', but got ids");
  sources.view();
  sources.all[2].features = nullptr;
  expectFailure("expected features of input 'g', but got none");
  sources.view();
  --sources.all[2].count;
  expectFailure("expected equal count for all inputs, 8, but got 7 for input "
                "'g'");
  sources.view();
  sources.all[1].struct_size = offsetof(attn_sentences, features);
  expectFailure("expected features of input 'f', but got none");
  sources.view();
  sources.all[1].struct_size += 8;
  EXPECT_FALSE(decode(sources.all));
  sources.view();
  options.forced = &sources.all[1];
  expectFailure("expected tokens or ids of forced targets, but got features");
}

TEST(InputsOfALibrary, AreChecked) {
  auto expectFailure = [](const std::string &from, const std::string &to,
                          const std::string &message) {
    std::string json = description;
    size_t place = json.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    json.replace(place, from.size(), to);
    Failure failure;
    EXPECT_FALSE(openInputs(json, failure));
    EXPECT_EQ(failure.status, ATTN_ERROR_MODEL);
    EXPECT_EQ(failure.message, "description: " + message);
  };
  expectFailure("\"shape\": [2]", "\"shape\": [3]",
                "expected inputs of shape [sentences, axis, features]");
  expectFailure("\"shape\": [2]", "\"shape\": [0]",
                "expected input 'f' with a shape of positive integers");
  expectFailure("\"kind\": \"features\"", "\"kind\": \"frames\"",
                "expected tokens or features as kind, but got 'frames'");
  expectFailure("\"index\": 1, \"type\": \"f32\"",
                "\"index\": 1, \"type\": \"i32\"",
                "program encode: expected type f32, but got i32");
  expectFailure("{\"name\": \"f\", \"input\": 1}",
                "{\"name\": \"f\", \"input\": 0}",
                "expected axis 'f' to be the length of an input or to be "
                "derived from an axis before it");
  expectFailure("\"shape\": [], \"axis\": 1", "\"shape\": [], \"axis\": 2",
                "expected input 'g' on the axis of an input");
}

} // namespace
