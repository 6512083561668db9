//===- StepApiTest.cpp - the C interface, step by step --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/fake_model.h"

#include <cstring>
#include <memory>
#include <optional>

using namespace attn;
using namespace attn::test;

namespace {

class StepApi : public OpenFakeModel {
protected:
  using Decoding = std::unique_ptr<attn_decoding, void (*)(attn_decoding *)>;

  Decoding encode(const std::vector<std::string> &lines) {
    Words words(lines);
    return Decoding(api->encode(model, &words.view, &options, &error),
                    api->free_decoding);
  }
  const attn_step_result *step(const Decoding &decoding,
                               const std::vector<int32_t> &parents,
                               const std::vector<int32_t> &tokens) {
    attn_step_request request = {
        sizeof(request), std::max(parents.size(), tokens.size()),
        parents.empty() ? nullptr : parents.data(),
        tokens.empty() ? nullptr : tokens.data(), nullptr};
    return api->step(decoding.get(), &request, &error);
  }
  void expectFailure(const Decoding &decoding,
                     const std::vector<int32_t> &parents,
                     const std::vector<int32_t> &tokens, const char *message) {
    EXPECT_FALSE(step(decoding, parents, tokens)) << message;
    EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
    EXPECT_STREQ(error.message, message);
  }

  attn_encode_options options = attn_default_encode_options();
};

constexpr int32_t vocabularySize = 7, end = 1;
const std::vector<std::string> lines = {"a b c", "b", "c c a b zebra a", "c b"};

/// What steps said of a target.
struct Path {
  std::vector<double> logprobs;
  std::vector<float> weights;
};

/// Forced decoding of one target through steps: the n-th step sees token n.
Path follow(const attn_api *api, attn_decoding *decoding,
            const attn_hypothesis &wanted) {
  Path path;
  int32_t token = 0;
  for (size_t t = 0; t < wanted.emitted; ++t) {
    attn_step_request request = {sizeof(request), 1, nullptr,
                                 t ? &token : nullptr, nullptr};
    const attn_step_result *result = api->step(decoding, &request, nullptr);
    if (!result)
      return path;
    token = t < wanted.length ? wanted.ids[t] : end;
    path.logprobs.push_back(
        static_cast<double>(result->logits[token]) -
        api->log_sum_exp(result->logits, result->vocabulary_size));
    path.weights.insert(path.weights.end(), result->weights,
                        result->weights + result->memory_lengths[0]);
  }
  return path;
}

TEST_F(StepApi, StepsAreThoseOfDecode) {
  attn_decode_options decode = attn_default_decode_options();
  decode.beam = decode.nbest = 4;
  decode.want_alignment = 1;
  Words words(lines);
  std::unique_ptr<attn_results, void (*)(attn_results *)> found(
      api->decode(model, &words.view, &decode, &error), api->free_results);
  ASSERT_TRUE(found);
  for (size_t i = 0; i < lines.size(); ++i)
    for (size_t rank = 0; rank < 4; ++rank) {
      const attn_hypothesis *wanted = api->hypothesis(found.get(), i, rank);
      ASSERT_TRUE(wanted);
      Decoding decoding = encode({lines[i]});
      ASSERT_TRUE(decoding) << error.message;
      Path path = follow(api, decoding.get(), *wanted);
      EXPECT_EQ(path.logprobs,
                std::vector<double>(wanted->word_logprobs,
                                    wanted->word_logprobs + wanted->emitted));
      EXPECT_EQ(
          path.weights,
          std::vector<float>(wanted->alignment,
                             wanted->alignment +
                                 wanted->emitted * wanted->memory_positions));
    }
}

/// All logits of a run in which rows fork, swap and end, in a batch.
std::vector<float> logitsOfForks(const attn_api *api, attn_decoding *decoding) {
  const std::vector<std::vector<int32_t>> parents = {
      {0, 0, 1, 3}, {1, 0, 1, 2, 3, 3}, {5, 5}, {0, 1}, {1, 0, 0}};
  const std::vector<std::vector<int32_t>> tokens = {
      {}, {3, 4, 5, 6, 2, 3}, {4, 5}, {4, 2}, {3, 3, 6}};
  std::vector<float> all;
  for (size_t t = 0; t < parents.size(); ++t) {
    attn_step_request request = {sizeof(request), parents[t].size(),
                                 parents[t].data(),
                                 t ? tokens[t].data() : nullptr, nullptr};
    attn_error error = ATTN_ERROR_INIT;
    const attn_step_result *result = api->step(decoding, &request, &error);
    if (!result) {
      ADD_FAILURE() << error.message;
      api->clear_error(&error);
      return all;
    }
    all.insert(all.end(), result->logits,
               result->logits + result->rows * result->vocabulary_size);
    for (size_t row = 0; row < result->rows; ++row)
      all.push_back(static_cast<float>(result->sentences[row]));
  }
  return all;
}

TEST_F(StepApi, StatesFollowTheirParents) {
  Decoding decoding = encode(lines);
  ASSERT_TRUE(decoding) << error.message;
  std::vector<float> together = logitsOfForks(api, decoding.get());
  // The path of the last row alone: 3 -> 3 -> 5 -> 0 -> 0.
  Decoding alone = encode({lines[3]});
  const attn_step_result *result = step(alone, {0}, {});
  for (int32_t token : {3, 4, 4, 6}) {
    ASSERT_TRUE(result) << error.message;
    result = step(alone, {0}, {token});
  }
  ASSERT_TRUE(result);
  size_t rowsOfLast = 3;
  EXPECT_EQ(std::vector<float>(result->logits, result->logits + vocabularySize),
            std::vector<float>(together.end() - rowsOfLast - vocabularySize,
                               together.end() - rowsOfLast));
}

TEST_F(StepApi, WorksInABuffer) {
  Decoding free = encode(lines);
  std::vector<float> expected = logitsOfForks(api, free.get());
  size_t longest = 6, rows = 6;
  size_t needed =
      api->encode_memory(model, lines.size(), longest, rows, 0, &error);
  ASSERT_GT(needed, 0u) << error.message;
  // What was in the buffer before does not matter, nor does where it begins.
  for (size_t offset : {0, 1, 63}) {
    std::vector<unsigned char> buffer(needed + offset + 64, 0xff);
    options.buffer = buffer.data() + offset;
    options.buffer_size = needed;
    options.rows = rows;
    Decoding decoding = encode(lines);
    ASSERT_TRUE(decoding) << error.message;
    EXPECT_EQ(logitsOfForks(api, decoding.get()), expected);
    std::vector<int32_t> many(rows + 1);
    expectFailure(decoding, many, many,
                  "expected at most 6 rows, which the buffer was made for, but "
                  "got 7");
    for (size_t i = offset + needed; i < buffer.size(); ++i)
      EXPECT_EQ(buffer[i], 0xff);
  }
  // One byte less than sentences of exactly the limits need.
  std::string longLine = "a";
  for (size_t i = 1; i < longest; ++i)
    longLine += " b";
  std::vector<std::string> full(lines.size(), longLine);
  std::vector<unsigned char> buffer(needed);
  options.buffer = buffer.data();
  options.buffer_size = needed;
  EXPECT_TRUE(encode(full));
  --options.buffer_size;
  EXPECT_FALSE(encode(full));
  EXPECT_EQ(error.status, ATTN_ERROR_MEMORY);
  EXPECT_EQ(std::string(error.message),
            "expected a buffer of at least " + std::to_string(needed) +
                " bytes, but got " + std::to_string(needed - 1));
}

TEST_F(StepApi, RowsGrow) {
  // From one row to many, back, and again: rows of one history are equal.
  Decoding decoding = encode({"a b c"});
  const attn_step_result *result = step(decoding, {0}, {});
  for (size_t rows : {1, 2, 40, 3, 500, 499, 1}) {
    ASSERT_TRUE(result) << error.message;
    std::vector<int32_t> parents(rows, 0), tokens(rows, 4);
    result = step(decoding, parents, tokens);
    ASSERT_TRUE(result) << error.message;
    for (size_t row = 1; row < rows; ++row)
      EXPECT_EQ(0, memcmp(result->logits, result->logits + row * vocabularySize,
                          vocabularySize * sizeof(float)));
  }
  Decoding again = encode({"a b c"});
  const attn_step_result *expected = step(again, {0}, {});
  for (int i = 0; i < 7; ++i)
    expected = step(again, {0}, {4});
  EXPECT_EQ(0, memcmp(result->logits, expected->logits,
                      vocabularySize * sizeof(float)));
}

TEST_F(StepApi, WrongStepsAreErrorsAndHarmless) {
  Decoding decoding = encode({"a b", "c"});
  ASSERT_TRUE(decoding) << error.message;
  expectFailure(decoding, {}, {}, "expected 1 to 2147483647 rows, but got 0");
  expectFailure(decoding, {2}, {},
                "expected a sentence of row 0 of 0 to 1, the sentences that "
                "were encoded, but got 2");
  expectFailure(decoding, {0, -1}, {},
                "expected a sentence of row 1 of 0 to 1, the sentences that "
                "were encoded, but got -1");
  expectFailure(decoding, {1, 0}, {},
                "expected rows in the order of their sentences, but got row 1 "
                "of sentence 0 after one of sentence 1");
  expectFailure(decoding, {0}, {3},
                "expected no tokens in the first step, but got some");
  ASSERT_TRUE(step(decoding, {0, 1}, {})) << error.message;
  expectFailure(decoding, {0, 1}, {}, "expected tokens, but got null");
  expectFailure(decoding, {0, 2}, {3, 3},
                "expected a parent of row 1 of 0 to 1, the rows of the step "
                "before, but got 2");
  expectFailure(decoding, {1, 0}, {3, 3},
                "expected rows in the order of their sentences, but got row 1 "
                "of sentence 0 after one of sentence 1");
  for (int32_t token : {-1, 7, INT32_MAX, INT32_MIN})
    expectFailure(decoding, {0}, {token},
                  ("expected a token of row 0 of 0 to 6, but got " +
                   std::to_string(token))
                      .c_str());
  const attn_step_result *result = step(decoding, {0, 1}, {3, 4});
  ASSERT_TRUE(result);
  std::vector<float> after(result->logits, result->logits + 2 * vocabularySize);
  Decoding clean = encode({"a b", "c"});
  step(clean, {0, 1}, {});
  result = step(clean, {}, {3, 4});
  ASSERT_TRUE(result);
  EXPECT_EQ(after, std::vector<float>(result->logits,
                                      result->logits + 2 * vocabularySize));
}

TEST_F(StepApi, StepsBeyondATableAreErrors) {
  Failure failure;
  auto limited = openWith("\"vocabulary\": 1, \"start\": 0}",
                          "\"vocabulary\": 1, \"start\": 0, \"limit\": "
                          "{\"length\": 1, \"size\": 1, "
                          "\"table\": \"decoder.places\"}}",
                          failure);
  ASSERT_TRUE(limited) << failure.message;
  std::unique_ptr<attn_model, void (*)(attn_model *)> owner(
      wrapModel(std::move(limited)), api->close);
  Words words({"a"});
  Decoding decoding(api->encode(owner.get(), &words.view, &options, &error),
                    api->free_decoding);
  ASSERT_TRUE(step(decoding, {0}, {})) << error.message;
  expectFailure(
      decoding, {0}, {3},
      "expected at most 1 steps, because 'decoder.places' has 1 rows, "
      "but got another");
}

TEST_F(StepApi, WrongSentencesAreErrors) {
  EXPECT_FALSE(encode({"a", ""}));
  EXPECT_EQ(error.status, ATTN_ERROR_INPUT);
  EXPECT_STREQ(error.message,
               "sentence 1: expected at least one token, but got none");
  EXPECT_FALSE(encode({}));
  EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
  const int32_t ids[] = {3, 7};
  const int32_t *sentence = ids;
  size_t length = 2;
  attn_sentences view = {sizeof(view), 1, &length, nullptr, &sentence, nullptr};
  EXPECT_FALSE(api->encode(model, &view, nullptr, &error));
  EXPECT_STREQ(error.message,
               "sentence 0: expected token ids of vocabulary 'source', 0 to 6, "
               "but got 7 as token 2");
  EXPECT_FALSE(api->encode(nullptr, nullptr, nullptr, &error));
  EXPECT_FALSE(api->step(nullptr, nullptr, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
  EXPECT_FALSE(api->step(nullptr, nullptr, nullptr));
  api->free_decoding(nullptr);
  EXPECT_EQ(api->encode_memory(model, 0, 1, 1, 0, &error), 0u);
  EXPECT_EQ(api->encode_memory(model, 1, SIZE_MAX, 1, 0, &error), 0u);
  EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
  EXPECT_EQ(
      api->encode_memory(model, INT32_MAX, INT32_MAX - 2, INT32_MAX, 0, &error),
      0u);
}

} // namespace
