//===- StreamTest.cpp - tokens while they are emitted ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "unittests/runtime/fake_model.h"
#include "unittests/runtime/table_model.h"

#include <map>
#include <mutex>

using namespace attn;
using namespace attn::test;

namespace {

struct Told {
  size_t position;
  int32_t id;
  std::string text;
  double logprob;
  int last;
};

/// Writes down what is told, of each sentence and hypothesis, and says stop
/// after `most` tokens.
struct Notes {
  std::map<std::pair<size_t, size_t>, std::vector<Told>> told;
  size_t most = SIZE_MAX;
  std::mutex mutex;

  static int write(void *context, const attn_token *token) {
    Notes &self = *static_cast<Notes *>(context);
    std::lock_guard<std::mutex> lock(self.mutex);
    std::vector<Told> &own = self.told[{token->sentence, token->hypothesis}];
    own.push_back(
        {token->position, token->id, token->text, token->logprob, token->last});
    return token->position + 1 >= self.most;
  }
};

class Stream : public OpenFakeModel {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode(const attn_sentences &sentences) {
    notes.told.clear();
    options.on_token = Notes::write;
    options.on_token_context = &notes;
    return Results(api->decode(model, &sentences, &options, &error),
                   api->free_results);
  }
  /// Whether what was told is what came back; tokens before `from` only of
  /// hypothesis 0.
  void expectToldResults(const attn_results *results, size_t from = 0) {
    ASSERT_TRUE(results) << error.message;
    size_t count = 0;
    for (size_t i = 0; i < api->result_count(results); ++i)
      for (size_t rank = 0; rank < api->result(results, i)->hypothesis_count;
           ++rank) {
        const attn_hypothesis *hypothesis = api->hypothesis(results, i, rank);
        if (!hypothesis->emitted)
          continue;
        ++count;
        size_t first = rank ? from : 0;
        const std::vector<Told> &own = notes.told[{i, rank}];
        ASSERT_EQ(own.size(), hypothesis->emitted - first);
        for (size_t t = first; t < hypothesis->emitted; ++t) {
          EXPECT_EQ(own[t - first].position, t);
          EXPECT_EQ(own[t - first].logprob, hypothesis->word_logprobs[t]);
          EXPECT_EQ(own[t - first].last,
                    t + 1 == hypothesis->emitted &&
                        (hypothesis->finished || notes.most == SIZE_MAX));
          if (t == hypothesis->length) {
            EXPECT_EQ(own[t - first].text, "</s>");
            continue;
          }
          EXPECT_EQ(own[t - first].id, hypothesis->ids[t]);
          EXPECT_EQ(own[t - first].text, hypothesis->tokens[t]);
        }
      }
    EXPECT_EQ(notes.told.size(), count);
  }

  attn_decode_options options = attn_default_decode_options();
  Notes notes;
};

const std::vector<std::string> lines = {"a b c",           "b",     "",
                                        "c c a b zebra a", "a a a", "c"};

TEST_F(Stream, TellsWhatComesBack) {
  Words sentences(lines), prefixes({"A B", "", "", "B A", "D D", "A A"});
  for (size_t threads : {1, 3}) {
    options = attn_default_decode_options();
    options.threads = threads;
    options.batch_size = 2;
    expectToldResults(decode(sentences.view).get());
    options.sampling = 1;
    options.nbest = 3;
    expectToldResults(decode(sentences.view).get());
    options.sampling = 0;
    options.alternatives = 1;
    expectToldResults(decode(sentences.view).get());
    options.nbest = 1;
    options.prefixes = &prefixes.view;
    expectToldResults(decode(sentences.view).get());
  }
  Words two({"a b c", "c"}), same({"A B", "D D"});
  options = attn_default_decode_options();
  options.prefixes = &same.view;
  options.nbest = 3;
  options.alternatives = 1;
  expectToldResults(decode(two.view).get(), 2);
  options.alternatives = 0;
  options.sampling = 1;
  expectToldResults(decode(two.view).get(), 2);
  options = attn_default_decode_options();
  options.forced = &same.view;
  options.beam = 4;
  expectToldResults(decode(two.view).get());
}

TEST_F(Stream, StopsWhereTheCallerSays) {
  Words sentences(lines);
  Results plain = decode(sentences.view);
  notes.most = 2;
  Results cut = decode(sentences.view);
  expectToldResults(cut.get());
  for (size_t i = 0; i < lines.size(); ++i) {
    const attn_hypothesis *all = api->hypothesis(plain.get(), i, 0);
    const attn_hypothesis *some = api->hypothesis(cut.get(), i, 0);
    EXPECT_EQ(some->emitted, std::min<size_t>(all->emitted, 2));
    for (size_t t = 0; t < some->emitted; ++t)
      EXPECT_EQ(some->word_logprobs[t], all->word_logprobs[t]);
    EXPECT_EQ(some->finished, all->finished && all->emitted <= 2);
  }
}

TEST_F(Stream, NeedsABeamOfOne) {
  Words sentences({"a"});
  options.beam = 2;
  EXPECT_FALSE(decode(sentences.view));
  EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
  EXPECT_STREQ(error.message, "expected a beam of 1 with on_token, but got 2");
}

// A backend fails as a whole, and the sentences of its batch are decoded again:
// nothing is told twice, and what the caller stopped stays so.
TEST(StreamAgain, TellsNothingTwice) {
  auto open = [](bool fails) {
    auto table = tableModel(
        [fails](const TokenIds &source, const TokenIds &prefix) {
          if (fails && source[0] == 5 && prefix.size() == 4)
            return std::vector<float>();
          std::vector<float> logits = randomLogits(source, prefix, 7);
          logits[end] -= prefix.size() < 6 ? 20 : 0;
          return logits;
        },
        nullptr);
    return wrapModel(std::move(table));
  };
  attn_api api = modelApi();
  Words sentences({"A B", "D C", "C C"});
  Notes expected, found;
  expected.most = found.most = 3;
  for (bool fails : {false, true}) {
    attn_model *model = open(fails);
    Notes &notes = fails ? found : expected;
    attn_decode_options options = attn_default_decode_options();
    options.on_token_context = &notes;
    // "D C" alone goes on, to fail.
    options.on_token = [](void *context, const attn_token *token) {
      bool stop = Notes::write(context, token) && token->sentence != 1;
      return stop ? 1 : 0;
    };
    attn_error error = ATTN_ERROR_INIT;
    attn_results *results =
        api.decode(model, &sentences.view, &options, &error);
    ASSERT_TRUE(results) << error.message;
    EXPECT_EQ(api.result(results, 1)->status,
              fails ? ATTN_ERROR_INPUT : ATTN_OK);
    for (size_t i : {0, 2}) {
      ASSERT_EQ(api.result(results, i)->hypothesis_count, 1u);
      EXPECT_EQ(api.hypothesis(results, i, 0)->emitted, 3u);
    }
    api.free_results(results);
    api.close(model);
  }
  for (size_t i : {0, 2}) {
    ASSERT_EQ(found.told[std::pair(i, size_t(0))].size(), 3u);
    for (size_t t = 0; t < 3; ++t)
      EXPECT_EQ(found.told[std::pair(i, size_t(0))][t].id,
                expected.told[std::pair(i, size_t(0))][t].id);
  }
  EXPECT_EQ(found.told[std::pair(size_t(1), size_t(0))].size(), 4u);
}

} // namespace
