//===- ShortlistTest.cpp - hypotheses of some tokens only -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/fake_model.h"
#include "unittests/runtime/table_model.h"

#include <numeric>
#include <set>

using namespace attn;
using namespace attn::test;

namespace {

/// More than two chunks of logits.
constexpr int64_t vocabularySize = 600;

std::vector<float> logitsOf(const TokenIds &source, const TokenIds &prefix) {
  return randomLogits(source, prefix, vocabularySize);
}

/// A different list for each sentence, end token included.
std::vector<TokenIds> someLists(size_t count) {
  std::vector<TokenIds> lists;
  for (size_t i = 0; i < count; ++i) {
    std::set<int32_t> list = {end};
    for (int32_t token = static_cast<int32_t>(i); token < vocabularySize;
         token += 2 + static_cast<int32_t>(i % 5))
      list.insert(token);
    lists.emplace_back(list.begin(), list.end());
  }
  return lists;
}

/// What can be asked of a search, with tokens of every list of `someLists`.
std::vector<SearchOptions> allOptions() {
  std::vector<SearchOptions> all = {beamOptions(1), beamOptions(4, 3)};
  all.push_back(beamOptions(3, 3));
  all.back().constraints.noRepeatNgram = 1;
  all.back().constraints.minLength = 2;
  all.back().constraints.repetitionPenalty = 1.5;
  all.back().constraints.banned.push_back({100});
  all.push_back(beamOptions(2));
  all.back().endAtMaximum = true;
  all.push_back(beamOptions(2, 4));
  all.back().alternatives = true;
  all.push_back(beamOptions(1, 5));
  all.back().sampling = {true, 1.3, 50, 0.9, 7, 0.001};
  all.push_back(beamOptions(1, 2));
  all.back().sampling = {true};
  return all;
}

TEST(Shortlist, IsWhatIsLeftOfADistribution) {
  // Instead, logits of other tokens are -inf.
  std::vector<SearchSentence> sentences = someSentences(6);
  std::vector<TokenIds> lists = someLists(sentences.size());
  sentences[1].prefix = {lists[1][5], lists[1][6]};
  for (SearchOptions options : allOptions())
    for (size_t i = 0; i < sentences.size(); ++i) {
      TableBackend masked([&](const TokenIds &source, const TokenIds &prefix) {
        std::vector<float> logits = logitsOf(source, prefix);
        for (int32_t token = 0; token < vocabularySize; ++token)
          if (std::find(lists[i].begin(), lists[i].end(), token) ==
              lists[i].end())
            logits[token] = -infinity;
        return logits;
      });
      SearchSentence sentence = sentences[i];
      options.shortlists = false;
      auto expected =
          searchAll(masked, vocabularySize, {sentence}, options)[0].hypotheses;
      TableBackend whole(logitsOf);
      sentence.shortlist = lists[i];
      options.shortlists = true;
      auto found =
          searchAll(whole, vocabularySize, {sentence}, options)[0].hypotheses;
      ASSERT_EQ(found.size(), expected.size());
      for (size_t rank = 0; rank < found.size(); ++rank) {
        EXPECT_EQ(found[rank].tokens, expected[rank].tokens);
        EXPECT_NEAR(found[rank].score, expected[rank].score, 1e-4);
        EXPECT_EQ(found[rank].finished, expected[rank].finished);
        // The same target is worth the same.
        SearchSentence again = sentence;
        again.prefix.clear();
        again.forced = found[rank].tokens;
        auto forced = searchAll(whole, vocabularySize, {again},
                                [&] {
                                  SearchOptions plain = beamOptions(1);
                                  plain.shortlists = true;
                                  return plain;
                                }())[0]
                          .hypotheses;
        if (!options.constraints.act(0))
          EXPECT_EQ(forced[0].wordLogprobs, found[rank].wordLogprobs);
      }
    }
}

TEST(Shortlist, OfAllTokensChangesNothing) {
  TokenIds all(vocabularySize);
  std::iota(all.begin(), all.end(), 0);
  for (SearchOptions options : allOptions()) {
    TableBackend backend(logitsOf);
    std::vector<SearchSentence> sentences = someSentences(4);
    auto expected = searchAll(backend, vocabularySize, sentences, options);
    options.shortlists = true;
    for (SearchSentence &sentence : sentences)
      sentence.shortlist = all;
    auto found = searchAll(backend, vocabularySize, sentences, options);
    for (size_t i = 0; i < sentences.size(); ++i)
      expectSame(found[i], expected[i]);
  }
}

TEST(Shortlist, OfOthersDoesNotMatter) {
  std::vector<SearchSentence> sentences = someSentences(9);
  std::vector<TokenIds> lists = someLists(sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i)
    sentences[i].shortlist = lists[i];
  for (SearchOptions options : allOptions()) {
    options.shortlists = true;
    TableBackend backend(logitsOf);
    auto together = searchAll(backend, vocabularySize, sentences, options);
    for (size_t i = 0; i < sentences.size(); ++i)
      expectSame(searchAll(backend, vocabularySize, {sentences[i]}, options)[0],
                 together[i]);
  }
}

class ShortlistCApi : public OpenFakeModel {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode() {
    return Results(api->decode(model, &sentences.view, &options, &error),
                   api->free_results);
  }
  /// Two ways to say the same lists have the same results.
  void expectSameWith(const Words &one, const Words &other) {
    options.shortlists = &one.view;
    Results first = decode();
    options.shortlists = &other.view;
    Results second = decode();
    ASSERT_TRUE(first && second) << error.message;
    for (size_t i = 0; i < 4; ++i)
      expectSame(api, first.get(), i, second.get(), i);
  }
  void expectFailure(const char *message) {
    EXPECT_FALSE(decode());
    EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
    EXPECT_STREQ(error.message, message);
  }

  Words sentences{{"a b c", "b", "c c a", ""}};
  attn_decode_options options = attn_default_decode_options();
};

TEST_F(ShortlistCApi, ListsMayBeTokensOrIds) {
  const attn_vocabulary *target = api->vocabulary(model, 1);
  std::vector<std::vector<int32_t>> numbers;
  std::vector<std::string> texts;
  for (size_t i = 0; i < 4; ++i) {
    // Out of order, and more than once.
    int32_t one = static_cast<int32_t>(2 + i);
    numbers.push_back({one, 2, one});
    std::string text;
    for (int32_t id : numbers.back())
      text += std::string(text.empty() ? "" : " ") + target->tokens[id];
    texts.push_back(text);
  }
  std::vector<const int32_t *> ids;
  for (const std::vector<int32_t> &list : numbers)
    ids.push_back(list.data());
  Words words(texts);
  attn_sentences given = {sizeof(given), 4,          words.view.lengths,
                          nullptr,       ids.data(), nullptr};
  options.beam = options.nbest = 3;
  options.shortlists = &words.view;
  Results byTokens = decode();
  ASSERT_TRUE(byTokens) << error.message;
  options.shortlists = &given;
  Results byIds = decode();
  ASSERT_TRUE(byIds) << error.message;
  for (size_t i = 0; i < 4; ++i) {
    expectSame(api, byTokens.get(), i, byIds.get(), i);
    const attn_hypothesis *best = api->hypothesis(byIds.get(), i, 0);
    for (size_t t = 0; t < best->length; ++t)
      EXPECT_TRUE(best->ids[t] == numbers[i][0] || best->ids[t] == 2);
  }
  // One for all is the same as one for each.
  Words one({texts[1]}), each(std::vector<std::string>(4, texts[1]));
  expectSameWith(one, each);
}

TEST_F(ShortlistCApi, TakesPrefixesInAndNoOtherTargets) {
  const attn_vocabulary *target = api->vocabulary(model, 1);
  std::string listed = target->tokens[2], other = target->tokens[4];
  Words list({listed});
  Words prefixes(std::vector<std::string>(4, other + " " + listed));
  Words both(std::vector<std::string>(4, listed + " " + other));
  options.prefixes = &prefixes.view;
  expectSameWith(list, both);

  options.prefixes = nullptr;
  options.forced = &prefixes.view;
  options.shortlists = &list.view;
  Results forced = decode();
  ASSERT_TRUE(forced) << error.message;
  const attn_result *result = api->result(forced.get(), 0);
  EXPECT_EQ(result->status, ATTN_ERROR_INPUT);
  EXPECT_EQ(result->message,
            "expected a forced target of tokens of the shortlist, but got '" +
                other + "' as token 1");
}

TEST_F(ShortlistCApi, WrongLists) {
  size_t length = 1;
  int32_t id = 7;
  const int32_t *ids = &id;
  attn_sentences list = {sizeof(list), 1, &length, nullptr, &ids, nullptr};
  options.shortlists = &list;
  expectFailure("shortlist: expected token ids of vocabulary 'target', 0 to 6, "
                "but got 7 as token 1");
  id = -1;
  expectFailure("shortlist: expected token ids of vocabulary 'target', 0 to 6, "
                "but got -1 as token 1");
  length = 0;
  expectFailure("shortlist: expected at least one token, but got none");
  list.count = 3;
  size_t none[3] = {0, 0, 0};
  list.lengths = none;
  expectFailure("expected one shortlist or as many as sentences, 4, but got 3");

  // One of several fails its sentence alone.
  const char *listed = api->vocabulary(model, 1)->tokens[2];
  Words words({listed, "", listed, ""});
  options.shortlists = &words.view;
  Results results = decode();
  ASSERT_TRUE(results) << error.message;
  EXPECT_EQ(api->result(results.get(), 0)->status, ATTN_OK);
  EXPECT_EQ(api->result(results.get(), 1)->status, ATTN_ERROR_INPUT);
  EXPECT_STREQ(api->result(results.get(), 1)->message,
               "shortlist: expected at least one token, but got none");
}

TEST_F(ShortlistCApi, FitsIntoAPlannedBuffer) {
  const attn_vocabulary *target = api->vocabulary(model, 1);
  std::string text = std::string(target->tokens[2]) + " " + target->tokens[5] +
                     " " + target->tokens[2];
  Words one({text}), each(std::vector<std::string>(4, text)),
      prefixes(std::vector<std::string>(4, target->tokens[3]));
  options.beam = 3;
  attn_limits limits = attn_default_limits();
  limits.sentences = 4;
  limits.source_length = 3;
  limits.target_length = 1;
  limits.shortlist_length = 3;
  for (const attn_sentences *prefix :
       {static_cast<const attn_sentences *>(nullptr),
        static_cast<const attn_sentences *>(&prefixes.view)})
    for (const attn_sentences *list : {&one.view, &each.view}) {
      options.buffer = nullptr;
      options.prefixes = prefix;
      options.shortlists = list;
      Results expected = decode();
      ASSERT_TRUE(expected) << error.message;
      options.buffer_size = api->memory_plan(model, &options, &limits, &error);
      ASSERT_GT(options.buffer_size, 0u) << error.message;
      std::vector<char> buffer(options.buffer_size);
      options.buffer = buffer.data();
      Results found = decode();
      ASSERT_TRUE(found) << error.message;
      for (size_t i = 0; i < 4; ++i)
        expectSame(api, found.get(), i, expected.get(), i);
    }
}

} // namespace
