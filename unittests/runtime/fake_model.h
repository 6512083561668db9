//===- fake_model.h - what tests of the small model share -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_RUNTIME_FAKE_MODEL_H
#define ATTN_UNITTESTS_RUNTIME_FAKE_MODEL_H

#include "attn/attn.h"
#include "runtime/c_api.h"
#include "runtime/compiled_backend.h"
#include "runtime/compiled_model.h"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>

extern "C" const attn_api *attn_model_fake(void);
extern "C" __attribute__((visibility("hidden")))
const attn_compiled_model attn_compiled;

namespace attn::test {

/// The parameters of fake_model.c, as a safetensors file.
inline std::string fakeWeights() {
  std::vector<float> table;
  for (int i = 0; i < 49; ++i)
    table.push_back(static_cast<float>(i * 37 % 23) / 11.5f);
  return makeSafetensors("{\"table\": {\"dtype\": \"F32\", \"shape\": [7, 7], "
                         "\"data_offsets\": [0, 196]}}",
                         floatBytes(table));
}

/// Sentences of a test: words separated by spaces.
class Words {
public:
  Words(const std::vector<std::string> &lines) {
    for (const std::string &line : lines) {
      std::vector<std::string> &own = texts.emplace_back();
      for (size_t at = 0; at < line.size();) {
        size_t space = std::min(line.find(' ', at), line.size());
        own.push_back(line.substr(at, space - at));
        at = space + 1;
      }
    }
    for (const std::vector<std::string> &own : texts) {
      std::vector<const char *> &to = pointers.emplace_back();
      for (const std::string &word : own)
        to.push_back(word.c_str());
    }
    for (const std::vector<const char *> &own : pointers) {
      lengths.push_back(own.size());
      tokens.push_back(own.data());
    }
    view = {sizeof(view),  tokens.size(), lengths.data(),
            tokens.data(), nullptr,       nullptr};
  }
  Words(const Words &) = delete;

  attn_sentences view;

private:
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<const char *>> pointers;
  std::vector<size_t> lengths;
  std::vector<const char *const *> tokens;
};

/// Tests with the small model open.
class OpenFakeModel : public testing::Test {
protected:
  void SetUp() override {
    TemporaryFile weights(fakeWeights());
    attn_open_options open = attn_default_open_options();
    open.weights_path = weights.path.c_str();
    model = api->open(&open, &error);
    ASSERT_TRUE(model) << error.message;
    // The file is deleted here: what is open stays open.
  }
  void TearDown() override {
    api->close(model);
    api->clear_error(&error);
  }

  const attn_api *api = attn_model_fake();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = nullptr;
};

/// Whether two results are the same to the bit.
inline void expectSame(const attn_api *api, const attn_results *a, size_t i,
                       const attn_results *b, size_t j) {
  ASSERT_EQ(api->result(a, i)->hypothesis_count,
            api->result(b, j)->hypothesis_count);
  for (size_t rank = 0; rank < api->result(a, i)->hypothesis_count; ++rank) {
    const attn_hypothesis *x = api->hypothesis(a, i, rank);
    const attn_hypothesis *y = api->hypothesis(b, j, rank);
    ASSERT_EQ(x->emitted, y->emitted);
    ASSERT_EQ(x->length, y->length);
    ASSERT_EQ(x->memory_positions, y->memory_positions);
    for (size_t t = 0; t < x->length; ++t) {
      EXPECT_EQ(x->ids[t], y->ids[t]);
      EXPECT_STREQ(x->tokens[t], y->tokens[t]);
    }
    for (size_t t = 0; t < x->emitted; ++t)
      EXPECT_EQ(x->word_logprobs[t], y->word_logprobs[t]);
    for (size_t t = 0; t < x->emitted * x->memory_positions; ++t)
      EXPECT_EQ(x->alignment[t], y->alignment[t]);
    EXPECT_EQ(x->score, y->score);
    EXPECT_EQ(x->logprob, y->logprob);
    EXPECT_EQ(x->finished, y->finished);
  }
}

/// Opens the model with its description changed. What it reads stays at its
/// place.
inline std::unique_ptr<Model>
openWith(const std::string &from, const std::string &to, Failure &failure) {
  static const AlignedBuffer constants(
      256); // 49 numbers, to the next 64 bytes.
  std::string description(attn_compiled.description,
                          attn_compiled.description_size);
  size_t place = description.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  description.replace(place, from.size(), to);
  attn_compiled_model changed = attn_compiled;
  changed.description = description.data();
  changed.description_size = description.size();
  changed.constants = constants.data();
  changed.constants_size = 256;
  return openCompiledModel(changed, nullptr, failure);
}

} // namespace attn::test

#endif // ATTN_UNITTESTS_RUNTIME_FAKE_MODEL_H
