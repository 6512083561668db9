//===- DecodingOptionsTest.cpp - R15 and R18 on hand-made models ----------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/table_model.h"

#include <string>

using namespace attn;
using namespace attn::test;

namespace {

// R15: S / ((5 + n) / 6)^a, n with its end token.
TEST(Scores, Gnmt) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return probabilities({{prefix.size() == 3 ? end : A, .5}});
  });
  for (double alpha : {0.0, 0.6, 1.0, 2.0}) {
    SearchOptions options = beamOptions(1);
    options.scoring = {Scoring::Kind::Gnmt, alpha};
    auto found = searchOne(backend, options);
    EXPECT_NEAR(found[0].score, 4 * std::log(.5) / std::pow(9.0 / 6.0, alpha),
                1e-6);
  }
}

/// Weights [3] of two heads, whose averages are 3/4 1/4 0 at first and 1/2 1/8
/// 0 then. The second head alone has 1/2 1/2 0 and 1/4 1/4 0.
std::vector<float> coverageWeights(const TokenIds &, const TokenIds &prefix) {
  return prefix.empty() ? std::vector<float>{1, .5f, 0, .5f, 0, 0}
                        : std::vector<float>{.75f, .25f, 0, .25f, 0, 0};
}

// R15: sums 5/4, 3/8 and 0; the first counts as 1, the last is skipped.
TEST(Scores, Coverage) {
  TableBackend backend(
      [](const TokenIds &, const TokenIds &prefix) {
        return probabilities({{prefix.empty() ? A : end, .5}});
      },
      coverageWeights, 2);
  for (size_t beam : {1, 2})
    for (auto kind : {Scoring::Kind::None, Scoring::Kind::Gnmt}) {
      SearchOptions options = beamOptions(beam);
      options.scoring = {kind, 1.0, .25};
      double length = kind == Scoring::Kind::None ? 1 : 7.0 / 6;
      auto found = searchOne(backend, options);
      EXPECT_EQ(found[0].tokens, (TokenIds{A, end}));
      EXPECT_NEAR(found[0].score,
                  2 * std::log(.5) / length + .25 * std::log(.375), 1e-6);
      EXPECT_NEAR(found[0].logprob, 2 * std::log(.5), 1e-6);
      // The same when it is forced, or cut: sums 3/4 and 1/4.
      SearchSentence sentence;
      sentence.source = tokens({7, 8, 9});
      sentence.forced = found[0].tokens;
      auto forced = searchAll(backend, 24, {sentence}, options);
      EXPECT_EQ(forced[0].hypotheses[0].score, found[0].score);
      found = searchOne(backend, options, 1);
      EXPECT_EQ(found[0].tokens, TokenIds{A});
      length = 1;
      EXPECT_NEAR(found[0].score,
                  std::log(.5) + .25 * (std::log(.75) + std::log(.25)), 1e-6);
    }
}

TEST(Scores, CoverageDecidesAmongFinishedHypotheses) {
  // A is a little more likely, but attends to the first position only.
  TableBackend backend(
      [](const TokenIds &, const TokenIds &prefix) {
        if (prefix.empty())
          return probabilities({{A, .5}, {B, .45}});
        return probabilities({{end, .99}});
      },
      [](const TokenIds &, const TokenIds &prefix) {
        if (prefix.empty())
          return std::vector<float>{.5f, .25f, .25f};
        return prefix[0] == A ? std::vector<float>{1, 0, 0}
                              : std::vector<float>{.2f, .4f, .4f};
      });
  EXPECT_EQ(searchOne(backend, beamOptions(2))[0].tokens[0], A);
  SearchOptions options = beamOptions(2);
  options.scoring.coverage = 1;
  EXPECT_EQ(searchOne(backend, options)[0].tokens[0], B);
}

// R19: several heads, averaged, each for itself, or one of them.
TEST(AlignmentHeads, AllAndOne) {
  TableBackend backend(
      [](const TokenIds &, const TokenIds &prefix) {
        return probabilities({{prefix.empty() ? A : end, .5}});
      },
      coverageWeights, 2);
  SearchOptions options = beamOptions(2);
  options.wantAlignment = true;
  auto found = searchOne(backend, options);
  EXPECT_EQ(found[0].heads, 1);
  EXPECT_EQ(found[0].alignment,
            (std::pmr::vector<float>{.75f, .25f, 0, .5f, .125f, 0}));
  options.alignmentHead = allHeads;
  found = searchOne(backend, options);
  EXPECT_EQ(found[0].heads, 2);
  EXPECT_EQ(found[0].memoryPositions, 3);
  EXPECT_EQ(found[0].alignment,
            (std::pmr::vector<float>{1, .5f, 0, .5f, 0, 0, .75f, .25f, 0, .25f,
                                     0, 0}));
  options.alignmentHead = 1;
  found = searchOne(backend, options);
  EXPECT_EQ(found[0].heads, 1);
  EXPECT_EQ(found[0].alignment,
            (std::pmr::vector<float>{.5f, .5f, 0, .25f, .25f, 0}));
  // Coverage is of the average all the same.
  options.scoring.coverage = .25;
  EXPECT_NEAR(searchOne(backend, options)[0].score,
              2 * std::log(.5) + .25 * std::log(.375), 1e-6);
}

// R18: the first of equal weights; columns that are no words are excluded.
TEST(Attended, TheLargestWeightOfAWord) {
  TableBackend backend(
      [](const TokenIds &, const TokenIds &prefix) {
        return probabilities({{prefix.size() == 2 ? end : A, .5}});
      },
      [](const TokenIds &, const TokenIds &prefix) {
        if (prefix.size() == 2)
          return std::vector<float>{0, 0, 1};
        return prefix.empty() ? std::vector<float>{.1f, .3f, .6f}
                              : std::vector<float>{.4f, .4f, .2f};
      });
  SearchOptions options = beamOptions(2);
  options.wantAttended = true;
  SearchSentence sentence;
  sentence.source = tokens({7, 8, 9});
  sentence.maxLength = 9;
  sentence.words = 2;
  // A longer sentence beside it pads the memory.
  SearchSentence longer = sentence;
  longer.source = tokens({7, 8, 9, 5, 5});
  auto found = searchAll(backend, 24, {sentence, longer}, options);
  EXPECT_EQ(found[0].hypotheses[0].attended, (TokenIds{1, 0, 0}));
  EXPECT_TRUE(found[0].hypotheses[0].alignment.empty());
  sentence.words = 0;
  found = searchAll(backend, 24, {sentence}, options);
  EXPECT_EQ(found[0].hypotheses[0].attended, (TokenIds{-1, -1, -1}));
}

/// Every hypothesis of at most `limit` tokens by the text of R15 and R18: a
/// sequence of tokens is a string of letters here.
class Enumeration {
public:
  Enumeration(const TokenIds &source, size_t size, const SearchOptions &options,
              const TokenIds &prefix, size_t limit)
      : source(source), size(size), options(options), limit(limit) {
    for (int32_t token : prefix)
      this->prefix += letter(token);
    extend("", 0, std::vector<double>(source.size()));
    std::sort(found.begin(), found.end(),
              [](const Hypothesis &a, const Hypothesis &b) {
                return a.score > b.score;
              });
  }
  std::pmr::vector<Hypothesis> found;

private:
  static char letter(int32_t token) { return static_cast<char>('a' + token); }
  static constexpr char endLetter = 'a' + end;

  bool isBanned(const std::string &text, char next) const {
    std::string whole = text + next;
    if (next == endLetter &&
        text.size() < static_cast<size_t>(options.constraints.minLength))
      return true;
    for (const TokenIds &sequence : options.constraints.banned) {
      std::string banned;
      for (int32_t token : sequence)
        banned += letter(token);
      if (whole.size() >= banned.size() &&
          whole.substr(whole.size() - banned.size()) == banned)
        return true;
    }
    size_t n = static_cast<size_t>(options.constraints.noRepeatNgram);
    return n && whole.size() > n &&
           whole.find(whole.substr(whole.size() - n)) < whole.size() - n;
  }

  void extend(const std::string &text, double total,
              const std::vector<double> &sums) {
    if (text.size() == limit || (!text.empty() && text.back() == endLetter))
      return add(text, total, sums);
    TokenIds tokens;
    for (char c : text)
      tokens.push_back(c - 'a');
    std::vector<float> logits = randomLogits(source, tokens, size);
    bool isForced = text.size() < prefix.size();
    double sum = 0;
    for (size_t i = 0; i < size; ++i) {
      char next = letter(static_cast<int32_t>(i));
      float penalty = static_cast<float>(options.constraints.repetitionPenalty);
      if (!isForced && text.find(next) != std::string::npos)
        logits[i] = logits[i] < 0 ? logits[i] * penalty : logits[i] / penalty;
      if (!isForced && isBanned(text, next))
        logits[i] = -infinity;
      sum += std::exp(static_cast<double>(logits[i]));
    }
    if (sum == 0)
      return add(text, total, sums);
    std::vector<double> next = sums;
    std::vector<float> weights = enumerationWeights(source, tokens);
    for (size_t i = 0; i < next.size(); ++i)
      next[i] += static_cast<double>(weights[i]);
    for (size_t i = 0; i < size; ++i) {
      char c = letter(static_cast<int32_t>(i));
      if (logits[i] > -infinity && (!isForced || c == prefix[text.size()]))
        extend(text + c, total + static_cast<double>(logits[i]) - std::log(sum),
               next);
    }
  }

  void add(const std::string &text, double total,
           const std::vector<double> &sums) {
    Hypothesis &hypothesis = found.emplace_back();
    for (char c : text)
      hypothesis.tokens.push_back(c - 'a');
    hypothesis.logprob = total;
    hypothesis.finished = !text.empty() && text.back() == endLetter;
    double n = static_cast<double>(text.size());
    double alpha = options.scoring.alpha;
    hypothesis.score = total;
    if (options.scoring.kind == Scoring::Kind::Length)
      hypothesis.score /= std::pow(n, alpha);
    if (options.scoring.kind == Scoring::Kind::Gnmt)
      hypothesis.score /= std::pow(5 + n, alpha) / std::pow(6, alpha);
    for (double sum : sums)
      if (sum > 0)
        hypothesis.score +=
            options.scoring.coverage * std::log(std::min(sum, 1.0));
  }

public:
  static std::vector<float> enumerationWeights(const TokenIds &source,
                                               const TokenIds &prefix) {
    std::vector<float> weights = randomLogits(source, prefix, source.size());
    float sum = 0;
    for (float weight : weights)
      sum += weight;
    for (float &weight : weights)
      weight = source.size() > 1 && &weight == &weights[1] ? 0 : weight / sum;
    return weights;
  }

private:
  const TokenIds &source;
  size_t size;
  const SearchOptions &options;
  std::string prefix;
  size_t limit;
};

/// Whether a beam that is wide enough for all finds them all.
void expectEnumeration(const SearchOptions &given, const TokenIds &prefix) {
  SearchOptions options = given;
  options.beam = options.nbest = 400;
  for (int32_t seed = 0; seed < 3; ++seed) {
    SearchSentence sentence;
    sentence.source = tokens({seed, 4, 2});
    sentence.maxLength = 4;
    sentence.prefix = prefix;
    TableBackend backend(
        [](const TokenIds &source, const TokenIds &prefix) {
          return randomLogits(source, prefix, 5);
        },
        Enumeration::enumerationWeights);
    auto found = searchAll(backend, 5, {sentence}, options)[0].hypotheses;
    Enumeration all(idsOf(sentence.source), 5, options, prefix, 4);
    ASSERT_EQ(found.size(), all.found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].score, all.found[i].score, 1e-5);
      if (found[i].tokens != all.found[i].tokens) // Close to a tie.
        continue;
      EXPECT_NEAR(found[i].logprob, all.found[i].logprob, 1e-5);
      EXPECT_EQ(found[i].finished, all.found[i].finished);
    }
    EXPECT_EQ(found[0].tokens, all.found[0].tokens);
    auto tokens = [](const std::pmr::vector<Hypothesis> &hypotheses) {
      std::vector<TokenIds> result;
      for (const Hypothesis &hypothesis : hypotheses)
        result.push_back(hypothesis.tokens);
      std::sort(result.begin(), result.end());
      return result;
    };
    EXPECT_EQ(tokens(found), tokens(all.found));
  }
}

const std::vector<TokenIds> somePrefixes = {
    {}, {A}, {4, 4}, {A, B, A}, {A, B, A, B}, {A, end}, {end}};

// R15, R16, R18: whatever is forbidden, what remains is right.
TEST(Constraints, AgreeWithEnumeration) {
  const std::vector<std::pmr::vector<TokenIds>> bans = {
      {}, {{A}}, {{A, B}, {4, 4, 4}, {end, A}}, {{B, end}, {0}}};
  for (int64_t minLength : {0, 2, 9})
    for (const auto &banned : bans)
      for (int64_t ngram : {0, 1, 2, 3})
        for (const TokenIds &prefix : somePrefixes) {
          SearchOptions options;
          options.constraints.minLength = minLength;
          options.constraints.banned = banned;
          options.constraints.noRepeatNgram = ngram;
          expectEnumeration(options, prefix);
        }
}

TEST(Constraints, PenaltiesAndScoresAgreeWithEnumeration) {
  for (double penalty : {0.5, 1.0, 1.75})
    for (auto kind :
         {Scoring::Kind::None, Scoring::Kind::Length, Scoring::Kind::Gnmt})
      for (double coverage : {0.0, 0.5})
        for (const TokenIds &prefix : somePrefixes) {
          SearchOptions options;
          options.constraints.repetitionPenalty = penalty;
          options.constraints.minLength = 1;
          options.scoring = {kind, 0.8, coverage};
          expectEnumeration(options, prefix);
        }
}

// R18: the penalty, of a token that was emitted twice, acts once; not on the
// start token. Logits 2 and -2 become 1 and -4.
TEST(Constraints, RepetitionPenalty) {
  Constraints constraints;
  constraints.repetitionPenalty = 2;
  const int32_t history[] = {A, B, A, B, B};
  const float logits[] = {3, 1, 2, -2, -infinity};
  std::vector<float> changed(5);
  EXPECT_TRUE(constraints.apply(history, 5, end, logits, changed.data(), 5));
  EXPECT_EQ(changed, (std::vector<float>{3, 1, 1, -4, -infinity}));
}

// R20: a ban hides no NaN.
TEST(Constraints, DoNotHideWhatIsNoNumber) {
  for (float bad : {test::nan, infinity}) {
    TableBackend backend([=](const TokenIds &, const TokenIds &prefix) {
      std::vector<float> logits(24);
      logits[A] = prefix.empty() ? 0 : bad;
      return logits;
    });
    SearchOptions options = beamOptions(2);
    options.constraints.banned = {{A}};
    SearchSentence sentence;
    sentence.source = tokens({3});
    sentence.maxLength = 4;
    EXPECT_EQ(searchAll(backend, 24, {sentence}, options)[0].error,
              "expected finite logits, but got a NaN or an infinity as the "
              "model's output for token 2");
  }
}

// R18: a prefix has the model's own probabilities, and counts in S, n and the
// minimum.
TEST(Prefix, CountsAndIsNotBanned) {
  // After A, the end has .8.
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty() ? probabilities({{A, .25}, {B, .5}})
                          : probabilities({{end, .8}, {B, .1}});
  });
  for (size_t beam : {1, 3}) {
    SearchOptions options = beamOptions(beam);
    options.scoring = {Scoring::Kind::Length, 1.0};
    options.constraints.banned = {{A}};
    SearchSentence sentence;
    sentence.source = tokens({3});
    sentence.maxLength = 9;
    sentence.prefix = {A};
    auto found = searchAll(backend, 24, {sentence}, options)[0].hypotheses;
    EXPECT_EQ(found[0].tokens, (TokenIds{A, end}));
    EXPECT_NEAR(found[0].wordLogprobs[0], std::log(.25), 1e-6);
    // The rest of 22 tokens share .1, and A does not take part.
    EXPECT_NEAR(found[0].wordLogprobs[1], std::log(.8 / (.9 + .1 * 21 / 22)),
                1e-6);
    EXPECT_NEAR(found[0].score,
                (found[0].wordLogprobs[0] + found[0].wordLogprobs[1]) / 2,
                1e-12);
    options.constraints.minLength = 1;
    EXPECT_EQ(
        searchAll(backend, 24, {sentence}, options)[0].hypotheses[0].tokens,
        (TokenIds{A, end}));
    options.constraints.minLength = 2;
    EXPECT_EQ(searchAll(backend, 24, {sentence}, options)[0]
                  .hypotheses[0]
                  .tokens.size(),
              3u);
  }
}

TEST(Prefix, DoesNotDependOnTheBatch) {
  auto sentences = someSentences(9);
  for (size_t i = 0; i < sentences.size(); ++i)
    sentences[i].prefix.assign(i % 4 < 3 ? i % 4 : 0,
                               static_cast<int32_t>(2 + i % 5));
  for (size_t beam : {1, 4}) {
    SearchOptions options = beamOptions(beam, beam);
    options.wantAlignment = options.wantAttended = true;
    options.constraints.noRepeatNgram = 2;
    options.constraints.repetitionPenalty = 1.5;
    options.constraints.banned = {{A, B}, {4}};
    options.scoring = {Scoring::Kind::Gnmt, .7, .2};
    for (SearchSentence &sentence : sentences)
      sentence.words = static_cast<int64_t>(sentence.source[0].length);
    TableBackend backend(
        [](const TokenIds &source, const TokenIds &prefix) {
          return randomLogits(source, prefix, 7);
        },
        someWeights);
    auto together = searchAll(backend, 7, sentences, options);
    for (size_t i = 0; i < sentences.size(); ++i)
      expectSame(together[i],
                 searchAll(backend, 7, {sentences[i]}, options)[0]);
  }
}

LogitsOf random7 = [](const TokenIds &source, const TokenIds &prefix) {
  return randomLogits(source.empty() ? TokenIds{6} : source, prefix, 7);
};

// R18: longer than the maximum is an error; an end token ends.
TEST(Model, Prefixes) {
  auto model = tableModel(random7, nullptr);
  DecodeOptions options;
  options.maxLengthFactor = 0;
  options.maxLengthOffset = 3;
  std::vector<SourceSentence> sentences(6);
  for (SourceSentence &sentence : sentences)
    sentence.source = tokens({2, 3});
  sentences[0].prefix = {A, B, A, B};
  sentences[1].prefix = {A, B, A};
  sentences[2].prefix = {A, end, A, A, A, A};
  sentences[3].prefix = {A, 7};
  sentences[4].prefix = {A, B, end};
  sentences[5].prefix = {A};
  sentences[5].source = tokens({});
  auto results = model->decode(sentences, options);
  EXPECT_EQ(results[0].failure.status, ATTN_ERROR_INPUT);
  EXPECT_EQ(results[0].failure.message,
            "expected a prefix of at most 3 tokens, the maximum length, but "
            "got 4");
  EXPECT_EQ(results[1].hypotheses[0].tokens, (TokenIds{A, B, A}));
  EXPECT_FALSE(results[1].hypotheses[0].finished);
  EXPECT_EQ(results[2].hypotheses[0].tokens, (TokenIds{A, end}));
  EXPECT_TRUE(results[2].hypotheses[0].finished);
  EXPECT_EQ(results[3].failure.message,
            "prefix: expected token ids of vocabulary 'target', 0 to 6, but "
            "got 7 as token 2");
  EXPECT_EQ(results[4].hypotheses[0].tokens, (TokenIds{A, B, end}));
  // R20 comes first.
  EXPECT_TRUE(results[5].hypotheses[0].tokens.empty());
}

// R18: a model without an encoder continues its prefix.
TEST(Model, PrefixWithoutAnEncoder) {
  Description description = tableDescription();
  description.inputs.clear();
  description.axes.clear();
  description.alignment.reset();
  Failure failure;
  auto model = Model::create(std::move(description),
                             std::make_unique<TableBackend>(random7), failure);
  ASSERT_TRUE(model) << failure.message;
  std::vector<SourceSentence> sentences(2);
  sentences[1].prefix = {B, A};
  DecodeOptions options;
  options.maxLengthOffset = 6;
  auto results = model->decode(sentences, options);
  ASSERT_EQ(results[1].hypotheses.size(), 1u) << results[1].failure.message;
  const TokenIds &tokens = results[1].hypotheses[0].tokens;
  ASSERT_GT(tokens.size(), 2u);
  EXPECT_EQ(tokens[0], B);
  EXPECT_EQ(tokens[1], A);
}

// Batches are formed by length; results stand in the order of the input.
TEST(Model, BatchesHaveSimilarLengths) {
  TableBackend *backend = nullptr;
  auto model = tableModel(random7, &backend);
  std::vector<SourceSentence> sentences;
  for (size_t length : {2, 5, 1, 4, 3, 6}) {
    TokenIds ids(length, A);
    ids[0] = static_cast<int32_t>(length) % 6;
    sentences.emplace_back().source = tokens(std::move(ids));
  }
  DecodeOptions options;
  options.batchSize = 2;
  auto results = model->decode(sentences, options);
  std::vector<size_t> lengths;
  for (const TokenIds &source : backend->encoded)
    lengths.push_back(source.size() - 1);
  EXPECT_EQ(lengths, (std::vector<size_t>{6, 5, 4, 3, 2, 1}));
  for (size_t i = 0; i < sentences.size(); ++i) {
    auto alone = model->decode({sentences[i]}, options)[0];
    expectSame(resultOf(results[i].hypotheses), resultOf(alone.hypotheses));
  }
  // Samples have the numbers of the input's order, or the caller's.
  options.search.sampling.enabled = true;
  options.search.nbest = 3;
  results = model->decode(sentences, options);
  for (size_t i = 0; i < sentences.size(); ++i) {
    SourceSentence numbered = sentences[i];
    numbered.number = i;
    auto alone = model->decode({numbered}, options)[0];
    expectSame(resultOf(results[i].hypotheses), resultOf(alone.hypotheses));
  }
}

} // namespace
