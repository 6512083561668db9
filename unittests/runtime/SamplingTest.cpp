//===- SamplingTest.cpp - random numbers and what is drawn by them --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sampling.h"
#include "unittests/runtime/table_model.h"

#include <map>

using namespace attn;
using namespace attn::test;

namespace {

using Words4 = std::array<uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  // The vectors that its authors publish for philox4x32-10.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NumbersAreUniformAndDifferent) {
  std::vector<double> numbers;
  for (uint64_t seed : {uint64_t(0), uint64_t(1), uint64_t(1) << 40})
    for (uint64_t sentence : {uint64_t(0), uint64_t(1), uint64_t(1) << 40})
      for (uint32_t sample = 0; sample < 20; ++sample)
        for (uint32_t step = 0; step < 20; ++step)
          numbers.push_back(uniformNumber(seed, sentence, sample, step));
  double sum = 0;
  for (double number : numbers) {
    EXPECT_GE(number, 0);
    EXPECT_LT(number, 1);
    sum += number;
  }
  // The mean of 3600 such numbers is within 4 deviations.
  EXPECT_NEAR(sum / 3600, .5, 4 / std::sqrt(12.0 * 3600));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

Sampling sampling(double temperature = 1, int64_t topK = 0, double topP = 1) {
  return {true, temperature, topK, topP, 0};
}

/// How often each token is drawn by evenly spread numbers.
std::vector<double> shares(const Sampling &sampling,
                           const std::vector<float> &logits) {
  Sampler sampler;
  EXPECT_TRUE(sampler.prepare(sampling, logits.data(),
                              static_cast<int64_t>(logits.size())));
  constexpr int count = 10000;
  std::vector<double> result(logits.size());
  for (int i = 0; i < count; ++i)
    result[sampler.draw((i + .5) / count)] += 1.0 / count;
  return result;
}

void expectShares(const Sampling &sampling, const std::vector<float> &logits,
                  const std::vector<double> &expected) {
  std::vector<double> found = shares(sampling, logits);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 2e-4) << i;
}

float logOf(double p) { return static_cast<float>(std::log(p)); }

TEST(Sampler, DrawsByProbability) {
  std::vector<float> logits = {logOf(.5), logOf(.2), -infinity, logOf(.3)};
  expectShares(sampling(), logits, {.5, .2, 0, .3});
  // Whatever is added to all.
  for (float &logit : logits)
    logit += 1000;
  expectShares(sampling(), logits, {.5, .2, 0, .3});
}

TEST(Sampler, Temperature) {
  // p^(1/T): T = 1/2 squares .5 .2 .3, which sum to .38 then.
  std::vector<float> logits = {logOf(.5), logOf(.2), -infinity, logOf(.3)};
  expectShares(sampling(.5), logits, {.25 / .38, .04 / .38, 0, .09 / .38});
  expectShares(sampling(1e-300), logits, {1, 0, 0, 0});
  expectShares(sampling(1e300), logits, {1. / 3, 1. / 3, 0, 1. / 3});
}

TEST(Sampler, TopK) {
  std::vector<float> logits = {logOf(.2), logOf(.4), logOf(.1), logOf(.3)};
  expectShares(sampling(1, 2), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(sampling(1, 1), logits, {0, 1, 0, 0});
  expectShares(sampling(1, 9), logits, {.2, .4, .1, .3});
  // Ties go to the lower id.
  expectShares(
      sampling(1, 2), {0, 1, 0, 0},
      {1 / (1 + std::exp(1.)), std::exp(1.) / (1 + std::exp(1.)), 0, 0});
}

TEST(Sampler, TopP) {
  // Sums: .4, .7, .9, 1.
  std::vector<float> logits = {logOf(.2), logOf(.4), logOf(.1), logOf(.3)};
  expectShares(sampling(1, 0, 1e-9), logits, {0, 1, 0, 0});
  expectShares(sampling(1, 0, .39), logits, {0, 1, 0, 0});
  expectShares(sampling(1, 0, .41), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(sampling(1, 0, .71), logits, {2. / 9, 4. / 9, 0, 3. / 9});
  expectShares(sampling(1, 0, .91), logits, {.2, .4, .1, .3});
  // Of what top-k leaves (4/7 and 3/7), at the temperature.
  expectShares(sampling(1, 2, .57), logits, {0, 1, 0, 0});
  expectShares(sampling(1, 2, .58), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(sampling(1, 3, .5), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(sampling(.5, 0, .5), logits, {0, 1, 0, 0});
}

TEST(Sampler, Epsilon) {
  std::vector<float> logits = {logOf(.2), logOf(.4), logOf(.1), logOf(.3)};
  auto with = [](double epsilon, double temperature = 1, int64_t topK = 0,
                 double topP = 1) {
    Sampling result = sampling(temperature, topK, topP);
    result.epsilon = epsilon;
    return result;
  };
  expectShares(with(.05), logits, {.2, .4, .1, .3});
  expectShares(with(.15), logits, {2. / 9, 4. / 9, 0, 3. / 9});
  expectShares(with(.25), logits, {0, 4. / 7, 0, 3. / 7});
  // The most likely always remains.
  expectShares(with(.9), logits, {0, 1, 0, 0});
  // Of all tokens, not of what top-k and top-p leave: .2 is less than .25, but
  // 2/9 of them would be, too; at T = 1/2, 4 / 30 and 9 / 30 are.
  expectShares(with(.25, 1, 3), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(with(.25, 1, 0, .85), logits, {0, 4. / 7, 0, 3. / 7});
  expectShares(with(.25, .5), logits, {0, 16. / 25, 0, 9. / 25});
  expectShares(with(.31, .5), logits, {0, 1, 0, 0});
  expectShares(with(.05, 1, 2), logits, {0, 4. / 7, 0, 3. / 7});
}

TEST(Sampler, NothingToDraw) {
  const float none[] = {-infinity, -infinity};
  Sampler sampler;
  EXPECT_FALSE(sampler.prepare(sampling(), none, 2));
  EXPECT_FALSE(sampler.prepare(sampling(1, 1, .5), none, 2));
}

SearchOptions samples(size_t count, uint64_t seed = 5) {
  SearchOptions options;
  options.nbest = count;
  options.sampling.enabled = true;
  options.sampling.seed = seed;
  return options;
}

LogitsOf random7 = [](const TokenIds &source, const TokenIds &prefix) {
  return randomLogits(source, prefix, 7);
};

std::vector<SearchSentence> numberedSentences(size_t count) {
  auto sentences = someSentences(count);
  for (size_t i = 0; i < count; ++i)
    sentences[i].number = i;
  return sentences;
}

// R13.
TEST(SampledSearch, DoesNotDependOnTheBatch) {
  auto sentences = numberedSentences(9);
  SearchOptions options = samples(5);
  options.wantAlignment = true;
  TableBackend backend(random7, someWeights);
  auto together = searchAll(backend, 7, sentences, options);
  std::vector<SearchSentence> reversed(sentences.rbegin(), sentences.rend());
  auto backward = searchAll(backend, 7, reversed, options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    EXPECT_EQ(together[i].hypotheses.size(), 5u);
    expectSame(together[i], searchAll(backend, 7, {sentences[i]}, options)[0]);
    expectSame(together[i], backward[sentences.size() - 1 - i]);
  }
  // The seed and the number of the sentence matter.
  TableBackend again(random7, someWeights);
  auto other = searchAll(again, 7, sentences, samples(5, 6));
  for (SearchSentence &sentence : sentences)
    sentence.number += 100;
  auto renumbered = searchAll(again, 7, sentences, samples(5));
  auto tokens = [](const std::vector<SearchResult> &results) {
    std::vector<TokenIds> all;
    for (const SearchResult &result : results)
      for (const Hypothesis &hypothesis : result.hypotheses)
        all.push_back(hypothesis.tokens);
    return all;
  };
  EXPECT_NE(tokens(together), tokens(other));
  EXPECT_NE(tokens(together), tokens(renumbered));
}

TEST(SampledSearch, MoreSamplesDoNotChangeTheFirst) {
  TableBackend backend(random7);
  auto all = searchOne(backend, samples(20), 6, 7);
  ASSERT_EQ(all.size(), 20u);
  for (size_t count : {19, 3, 1}) {
    auto some = searchOne(backend, samples(count), 6, 7);
    all.resize(count);
    expectSame(resultOf(some), resultOf(all));
  }
}

// R15: what is drawn boldly is still scored by the model.
TEST(SampledSearch, ReportsTheModelsProbabilities) {
  TableBackend backend(random7, someWeights);
  SearchOptions options = samples(8);
  options.sampling.temperature = 2;
  options.sampling.topK = 5;
  options.sampling.topP = .95;
  options.wantAlignment = true;
  options.scoring = {Scoring::Kind::Gnmt, 1.0};
  size_t compared = 0;
  for (const SearchSentence &sentence : numberedSentences(4)) {
    SearchResult drawn = searchAll(backend, 7, {sentence}, options)[0];
    for (const Hypothesis &hypothesis : drawn.hypotheses) {
      if (!hypothesis.finished)
        continue;
      SearchSentence again = sentence;
      again.forced = hypothesis.tokens;
      expectSame(searchAll(backend, 7, {again}, options)[0],
                 resultOf({hypothesis}));
      ++compared;
    }
  }
  EXPECT_GT(compared, 5u);
}

TEST(SampledSearch, SequencesHaveTheirProbabilities) {
  // Three tokens and the end, at most 2 emitted: each sequence's share is its
  // probability, to 5 deviations.
  LogitsOf logits = [](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty()
               ? std::vector<float>{-infinity, logOf(.2), logOf(.5), logOf(.3)}
               : std::vector<float>{-infinity, logOf(.6),
                                    logOf(prefix[0] == A ? .1 : .3),
                                    logOf(prefix[0] == A ? .3 : .1)};
  };
  TableBackend backend(logits);
  constexpr size_t count = 20000;
  std::map<TokenIds, double> found;
  for (const Hypothesis &sample : searchOne(backend, samples(count), 2, 4))
    found[sample.tokens] += 1.0 / count;
  const std::map<TokenIds, double> expected = {
      {{end}, .2},     {{A, end}, .3}, {{A, A}, .05}, {{A, B}, .15},
      {{B, end}, .18}, {{B, A}, .09},  {{B, B}, .03}};
  EXPECT_EQ(found.size(), expected.size());
  for (const auto &[tokens, p] : expected)
    EXPECT_NEAR(found[tokens], p, 5 * std::sqrt(p * (1 - p) / count));
}

TEST(SampledSearch, PrefixesAndBans) {
  TableBackend backend(random7);
  SearchOptions options = samples(6);
  options.constraints.banned = {{A}, {4, 5}};
  options.constraints.minLength = 3;
  SearchSentence sentence;
  sentence.source = tokens({3});
  sentence.maxLength = 6;
  sentence.prefix = {A, 4};
  auto found = searchAll(backend, 7, {sentence}, options)[0].hypotheses;
  ASSERT_EQ(found.size(), 6u);
  for (const Hypothesis &sample : found) {
    ASSERT_GE(sample.tokens.size(), 4u);
    EXPECT_EQ(TokenIds(sample.tokens.begin(), sample.tokens.begin() + 2),
              sentence.prefix);
    EXPECT_EQ(std::count(sample.tokens.begin() + 2, sample.tokens.end(), A), 0);
    EXPECT_NE(sample.tokens[2], 5);
    EXPECT_NE(sample.tokens[2], end);
  }
  // Where nothing is left, all samples end as they are.
  options.constraints.banned = {{0}, {1}, {2}, {3}, {4}, {5}, {6}};
  found = searchAll(backend, 7, {sentence}, options)[0].hypotheses;
  ASSERT_EQ(found.size(), 6u);
  for (const Hypothesis &sample : found) {
    EXPECT_EQ(sample.tokens, sentence.prefix);
    EXPECT_FALSE(sample.finished);
  }
}

} // namespace
