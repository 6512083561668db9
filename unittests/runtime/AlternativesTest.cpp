//===- AlternativesTest.cpp - what may follow a prefix --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/table_model.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr int32_t C = 4, D = 5;

SearchOptions alternatives(size_t count, size_t beam = 1) {
  SearchOptions options = beamOptions(beam, count);
  options.alternatives = true;
  return options;
}

// B is the second token, but what follows it makes it the best hypothesis; C
// goes on for three tokens, D is not among the first three.
TEST(Alternatives, BeginWithDifferentTokens) {
  LogitsOf logits = [](const TokenIds &, const TokenIds &prefix) {
    if (prefix.empty())
      return probabilities({{A, .4}, {B, .3}, {C, .2}, {D, .1}});
    if (prefix[0] == A)
      return probabilities({{end, .5}, {A, .4}});
    if (prefix[0] == B)
      return probabilities({{end, .9}});
    return prefix.size() < 3 ? probabilities({{C, .8}, {D, .1}})
                             : probabilities({{end, .7}});
  };
  TableBackend backend(logits);
  auto found = searchOne(backend, alternatives(3));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, end}));
  EXPECT_NEAR(found[0].score, std::log(.4 * .5), 1e-6);
  EXPECT_EQ(found[1].tokens, (TokenIds{B, end}));
  EXPECT_NEAR(found[1].score, std::log(.3 * .9), 1e-6);
  EXPECT_EQ(found[2].tokens, (TokenIds{C, C, C, end}));
  EXPECT_NEAR(found[2].score, std::log(.2 * .8 * .8 * .7), 1e-6);
  EXPECT_EQ(found[2].wordLogprobs.size(), 4u);
  // The first step is made once.
  EXPECT_EQ(backend.rowsOfSteps, (std::vector<int64_t>{1, 3, 1, 1}));
  // More of them do not change the first ones.
  found = searchOne(backend, alternatives(4));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1].tokens, (TokenIds{B, end}));
  EXPECT_EQ(found[3].tokens[0], D);
}

// An end token is an alternative, too; so is a hypothesis that is cut.
TEST(Alternatives, MayEndAtOnce) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty() ? probabilities({{A, .5}, {end, .3}, {B, .2}})
                          : probabilities({{A, .9}});
  });
  auto found = searchOne(backend, alternatives(3), 2);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A}));
  EXPECT_FALSE(found[0].finished);
  EXPECT_EQ(found[1].tokens, TokenIds{end});
  EXPECT_TRUE(found[1].finished);
  EXPECT_EQ(found[2].tokens, (TokenIds{B, A}));
  found = searchOne(backend, alternatives(3), 1);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].tokens, TokenIds{A});
}

// Where less is possible, less comes back: four tokens, one of them banned, two
// of them impossible.
TEST(Alternatives, NeedTokensThatArePossible) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty() ? std::vector<float>{-infinity, -infinity, 2, 1}
                          : std::vector<float>{0, 3, 1, 1};
  });
  auto found = searchOne(backend, alternatives(5), 4, 4);
  ASSERT_EQ(found.size(), 2u);
  SearchOptions options = alternatives(5);
  options.constraints.banned.push_back(TokenIds{A});
  found = searchOne(backend, options, 4, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, (TokenIds{B, end}));
  EXPECT_NEAR(found[0].wordLogprobs[0], 0, 1e-9);
  // Nothing at all is a hypothesis that ends as it is.
  options.constraints.banned.push_back(TokenIds{B});
  found = searchOne(backend, options, 4, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].tokens.empty());
  EXPECT_FALSE(found[0].finished);
}

// A prefix that has ended, or that fills the maximum length, leaves no place
// for alternatives.
TEST(Alternatives, NeedAPlace) {
  TableBackend backend([](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 8);
  });
  SearchSentence sentence;
  sentence.source = tokens({7});
  sentence.maxLength = 3;
  sentence.prefix = {A, end};
  auto found = searchAll(backend, 8, {sentence}, alternatives(3))[0].hypotheses;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, end}));
  sentence.prefix = {A, B, C};
  found = searchAll(backend, 8, {sentence}, alternatives(3))[0].hypotheses;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, B, C}));
  sentence.maxLength = 0;
  sentence.prefix.clear();
  found = searchAll(backend, 8, {sentence}, alternatives(3))[0].hypotheses;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].tokens.empty());
  // Forced targets have no alternatives.
  sentence.forced = TokenIds{A, end};
  found = searchAll(backend, 8, {sentence}, alternatives(3))[0].hypotheses;
  ASSERT_EQ(found.size(), 1u);
}

/// Sentences with prefixes of different lengths.
std::vector<SearchSentence> prefixedSentences(size_t count) {
  std::vector<SearchSentence> sentences = someSentences(count);
  for (size_t i = 0; i < count; ++i) {
    sentences[i].maxLength += 4;
    sentences[i].prefix.assign(i % 3, static_cast<int32_t>(2 + i % 4));
  }
  return sentences;
}

/// The same by searches with a longer prefix: for the most likely next tokens,
/// which are found by looking at all of them.
std::vector<Hypothesis> alternativesByPrefix(Backend &backend, size_t size,
                                             const SearchSentence &sentence,
                                             SearchOptions options) {
  std::vector<float> logits =
      randomLogits(idsOf(sentence.source), sentence.prefix, size);
  std::vector<int32_t> order;
  for (size_t i = 0; i < size; ++i)
    order.push_back(static_cast<int32_t>(i));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  order.resize(std::min(order.size(), options.nbest));
  options.alternatives = false;
  options.nbest = 1;
  std::vector<Hypothesis> result;
  for (int32_t token : order) {
    SearchSentence longer = sentence;
    longer.prefix.push_back(token);
    auto found =
        searchAll(backend, static_cast<int64_t>(size), {longer}, options)[0]
            .hypotheses;
    EXPECT_EQ(found.size(), 1u);
    result.push_back(found[0]);
  }
  return result;
}

TEST(Alternatives, AreSearchesWithALongerPrefix) {
  constexpr size_t size = 9;
  TableBackend backend(
      [](const TokenIds &source, const TokenIds &prefix) {
        return randomLogits(source, prefix, size);
      },
      someWeights);
  for (size_t beam : {1, 2, 4})
    for (size_t count : {1, 3, 9})
      for (Refill refill : {Refill::Always, Refill::Next, Refill::Never})
        for (StopRule stop : {StopRule::Bound, StopRule::Count, StopRule::Top,
                              StopRule::Estimate}) {
          SearchOptions options = alternatives(count, beam);
          options.refill = refill;
          options.stop = stop;
          options.wantAlignment = true;
          options.scoring = {Scoring::Kind::Length, 1.0, 0.1};
          auto sentences = prefixedSentences(6);
          // All of them together: R13 as well.
          auto found = searchAll(backend, size, sentences, options);
          for (size_t i = 0; i < sentences.size(); ++i) {
            auto expected =
                alternativesByPrefix(backend, size, sentences[i], options);
            expectSame(found[i], resultOf({expected.begin(), expected.end()}));
          }
        }
}

TEST(Alternatives, OneThatIsNoNumberFailsItsSentence) {
  TableBackend backend([](const TokenIds &source, const TokenIds &prefix) {
    if (source[0] == 1 && prefix.size() == 3 && prefix[0] == B)
      return std::vector<float>(8, attn::test::nan);
    std::vector<float> logits = randomLogits(source, prefix, 8);
    logits[A] += prefix.empty() ? 9 : 0;
    logits[B] += prefix.empty() ? 7 : 0;
    logits[end] -= 20;
    return logits;
  });
  auto found = searchAll(backend, 8, someSentences(3), alternatives(2));
  EXPECT_EQ(found[0].hypotheses.size(), 2u);
  EXPECT_TRUE(found[1].hypotheses.empty());
  EXPECT_NE(found[1].error, "");
  EXPECT_EQ(found[2].hypotheses.size(), 2u);
}

} // namespace
