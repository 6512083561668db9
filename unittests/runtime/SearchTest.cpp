//===- SearchTest.cpp - decoding by the rules, on hand-made models --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/table_model.h"

#include <tuple>

using namespace attn;
using namespace attn::test;

namespace {

/// R16's example.
std::vector<float> firstStepExample(const TokenIds &, const TokenIds &prefix) {
  if (prefix.empty())
    return probabilities({{A, .6}, {B, .4}});
  if (prefix.size() > 1)
    return probabilities({{end, .5}});
  return probabilities({{end, prefix[0] == A ? .5 : .9}});
}

TEST(Search, GreedyTakesTheBestToken) {
  TableBackend backend(firstStepExample);
  auto found = searchOne(backend, beamOptions(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, end}));
  EXPECT_NEAR(found[0].score, -1.203973, 1e-6);
  EXPECT_TRUE(found[0].finished);
  EXPECT_EQ(backend.rowsOfSteps, (std::vector<int64_t>{1, 1}));
}

TEST(Search, BeamFindsWhatGreedyMisses) {
  TableBackend backend(firstStepExample);
  auto found = searchOne(backend, beamOptions(2, 2));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].tokens, (TokenIds{B, end}));
  EXPECT_NEAR(found[0].score, -1.021651, 1e-6);
  EXPECT_EQ(found[1].tokens, (TokenIds{A, end}));
  EXPECT_NEAR(found[1].score, -1.203973, 1e-6);
  // Two are finished, and what lives is worse: no third step.
  EXPECT_EQ(backend.rowsOfSteps, (std::vector<int64_t>{1, 2}));
}

TEST(Search, GreedyStopsAtItsEndTokenWhateverTheNormalisation) {
  // Going on would win by far with length normalisation.
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty() ? probabilities({{end, .5}, {A, .49}})
                          : probabilities({{A, .99}});
  });
  SearchOptions options = beamOptions(1);
  options.scoring = {Scoring::Kind::Length, 1.0};
  EXPECT_EQ(searchOne(backend, options)[0].tokens, TokenIds{end});
}

TEST(Search, GreedyTiesGoToTheLowerId) {
  TableBackend backend([](const TokenIds &, const TokenIds &) {
    return std::vector<float>{1, 1, 2, 2};
  });
  auto found = searchOne(backend, beamOptions(1), 3, 4);
  EXPECT_EQ(found[0].tokens, (TokenIds{2, 2, 2}));
}

TEST(Search, BeamTiesGoToTheLowerBeamThenTheLowerId) {
  TableBackend backend([](const TokenIds &, const TokenIds &) {
    return std::vector<float>(4, 0.0f);
  });
  // Step 1: 0, end, 2, 3 in this order: end is among the first 2 and finished,
  // 0 and 2 live. Step 2: beam 0's four continuations come first.
  auto found = searchOne(backend, beamOptions(2, 2), 2, 4);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].tokens, TokenIds{end});
  EXPECT_EQ(found[1].tokens, (TokenIds{0, end}));
}

TEST(Search, EndTokenBehindTheBeamIsDropped) {
  // The end token is third in the first step; were it kept, it would win.
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    if (prefix.empty())
      return probabilities({{A, .5}, {B, .4}, {end, .1}});
    return std::vector<float>(24, 0.0f);
  });
  auto found = searchOne(backend, beamOptions(2, 2), 2);
  ASSERT_EQ(found.size(), 2u);
  for (const Hypothesis &hypothesis : found)
    EXPECT_EQ(hypothesis.tokens[0], A);
  EXPECT_NEAR(found[0].score, std::log(.5 / 24), 1e-6);
  // In a beam of 3 it is among the first.
  EXPECT_EQ(searchOne(backend, beamOptions(3), 2)[0].tokens, TokenIds{end});
}

TEST(Search, LiveHypothesesThatCanWinKeepTheSearchGoing) {
  // Two hypotheses finish in step 2, but A A A A... gets better and better per
  // token.
  LogitsOf logits = [](const TokenIds &, const TokenIds &prefix) {
    if (prefix.empty())
      return probabilities({{A, .5}, {B, .5}});
    if (prefix.size() == 1)
      return probabilities({{end, .5}, {A, .49}});
    return prefix.size() < 8 ? probabilities({{A, .99}})
                             : probabilities({{end, .99}});
  };
  SearchOptions options = beamOptions(2);
  options.scoring = {Scoring::Kind::Length, 1.0};
  TableBackend normalised(logits);
  auto found = searchOne(normalised, options);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A, A, A, A, A, A, A, end}));
  EXPECT_NEAR(found[0].score,
              (std::log(.5) + std::log(.49) + 7 * std::log(.99)) / 9, 1e-6);
  // By S alone they cannot win, and the search stops.
  TableBackend plain(logits);
  EXPECT_EQ(searchOne(plain, beamOptions(2))[0].tokens, (TokenIds{A, end}));
  EXPECT_EQ(plain.rowsOfSteps.size(), 2u);
}

TEST(Search, BoundUsesTheMaximumLength) {
  // Finished with S / 2 = -0.85 each; A A lives with S = -1.4, which would be
  // -0.7 now and at most -1.4 / M later: M = 3 lets it win, M = 2 does not.
  LogitsOf logits = [](const TokenIds &, const TokenIds &prefix) {
    if (prefix.empty())
      return probabilities({{A, .5}, {B, .5}});
    if (prefix.size() == 1)
      return probabilities({{end, .37}, {A, .25}});
    return probabilities({{A, .99}});
  };
  SearchOptions options = beamOptions(2);
  options.scoring = {Scoring::Kind::Length, 1.0};
  TableBackend backend(logits);
  auto found = searchOne(backend, options, 3);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A, A}));
  EXPECT_FALSE(found[0].finished);
  EXPECT_EQ(backend.rowsOfSteps.size(), 3u);
}

TEST(Search, TruncatedHypothesesCompete) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.size() < 2 ? probabilities({{A, .9}, {end, .05}})
                             : probabilities({{A, .6}, {end, .4}});
  });
  auto found = searchOne(backend, beamOptions(3, 3), 3);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A, A}));
  EXPECT_FALSE(found[0].finished);
  EXPECT_EQ(found[1].tokens, (TokenIds{A, A, end}));
  EXPECT_TRUE(found[1].finished);
  EXPECT_NEAR(found[0].score, std::log(.9 * .9 * .6), 1e-6);
}

TEST(Search, MaximumLengthCountsTheEndToken) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return probabilities({{prefix.size() == 2 ? end : A, .9}});
  });
  auto found = searchOne(backend, beamOptions(1), 3);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A, end}));
  EXPECT_TRUE(found[0].finished);
  found = searchOne(backend, beamOptions(1), 2);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A}));
  EXPECT_FALSE(found[0].finished);
  found = searchOne(backend, beamOptions(1), 0);
  EXPECT_EQ(found[0].tokens, TokenIds{});
  EXPECT_EQ(found[0].score, 0);
}

TEST(Search, MinimumLengthBansTheEndBeforeNormalising) {
  TableBackend backend([](const TokenIds &, const TokenIds &) {
    return probabilities({{end, .5}, {A, .4}});
  });
  SearchOptions options = beamOptions(1);
  options.constraints.minLength = 2;
  auto found = searchOne(backend, options);
  EXPECT_EQ(found[0].tokens, (TokenIds{A, A, end}));
  EXPECT_NEAR(found[0].wordLogprobs[0], std::log(.4 / .5), 1e-6);
  EXPECT_NEAR(found[0].wordLogprobs[2], std::log(.5), 1e-6);
  // All logits are asked for only where the rule acts on them.
  EXPECT_EQ(backend.bestOfSteps, (std::vector<int64_t>{0, 0, 1}));
}

TEST(Search, NothingLeftToEmitEndsTruncated) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty() ? probabilities({{A, .5}, {B, .5}})
                          : std::vector<float>(24, -infinity);
  });
  auto found = searchOne(backend, beamOptions(2, 2));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].tokens, TokenIds{A});
  EXPECT_FALSE(found[0].finished);
  EXPECT_EQ(found[1].tokens, TokenIds{B});
}

TEST(Search, LengthNormalisation) {
  TableBackend backend([](const TokenIds &, const TokenIds &prefix) {
    return probabilities({{prefix.size() == 3 ? end : A, .5}});
  });
  for (double alpha : {0.0, 0.5, 1.0, 2.0}) {
    SearchOptions options = beamOptions(1);
    options.scoring = {Scoring::Kind::Length, alpha};
    auto found = searchOne(backend, options);
    EXPECT_NEAR(found[0].logprob, 4 * std::log(.5), 1e-6);
    EXPECT_NEAR(found[0].score, found[0].logprob / std::pow(4, alpha), 1e-12);
  }
}

/// R16 as its text has it, without any economy.
std::pmr::vector<Hypothesis> naiveBeam(const TokenIds &source, size_t size,
                                       const SearchOptions &options,
                                       int64_t limit) {
  struct Item {
    Hypothesis hypothesis;
    size_t beam = 0;
  };
  auto score = [&](double total, double length) {
    return options.scoring.kind == Scoring::Kind::None
               ? total
               : total / std::pow(length, options.scoring.alpha);
  };
  std::vector<Item> live(1);
  std::pmr::vector<Hypothesis> done;
  size_t ended = 0;
  bool topEnded = false;
  auto keep = [&](Hypothesis hypothesis) {
    hypothesis.score = score(hypothesis.logprob,
                             static_cast<double>(hypothesis.tokens.size()));
    size_t place = 0;
    while (place < done.size() && done[place].score >= hypothesis.score)
      ++place;
    done.insert(done.begin() + static_cast<long>(place), hypothesis);
    if (done.size() > options.beam)
      done.pop_back();
    ++ended;
  };
  for (int64_t step = 1; step <= limit && !live.empty(); ++step) {
    std::vector<Item> all;
    for (size_t beam = 0; beam < live.size(); ++beam) {
      std::vector<float> logits =
          randomLogits(source, live[beam].hypothesis.tokens, size);
      double sum = 0;
      for (float logit : logits)
        sum += std::exp(static_cast<double>(logit));
      for (size_t token = 0; token < size; ++token) {
        Item next = live[beam];
        next.beam = beam;
        next.hypothesis.tokens.push_back(static_cast<int32_t>(token));
        next.hypothesis.logprob +=
            static_cast<double>(logits[token]) - std::log(sum);
        all.push_back(std::move(next));
      }
    }
    std::sort(all.begin(), all.end(), [](const Item &a, const Item &b) {
      const Hypothesis &x = a.hypothesis, &y = b.hypothesis;
      return std::tuple(-x.logprob, a.beam, x.tokens.back()) <
             std::tuple(-y.logprob, b.beam, y.tokens.back());
    });
    size_t places = options.beam;
    if (options.refill == Refill::Never)
      places -= ended;
    if (options.endAtMaximum && step == limit)
      all.erase(std::remove_if(all.begin(), all.end(),
                               [](const Item &item) {
                                 return item.hypothesis.tokens.back() != end;
                               }),
                all.end());
    all.resize(std::min(all.size(), options.refill == Refill::Always
                                        ? 2 * options.beam
                                        : places));
    live.clear();
    topEnded = topEnded || all[0].hypothesis.tokens.back() == end;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      Hypothesis &hypothesis = all[rank].hypothesis;
      if (hypothesis.tokens.back() == end) {
        hypothesis.finished = true;
        if (rank < places)
          keep(hypothesis);
      } else if (live.size() < places) {
        live.push_back(all[rank]);
      }
    }
    if (step == limit)
      for (const Item &item : live)
        keep(item.hypothesis);
    if (options.stop == StopRule::Count &&
        ended >= std::round(options.beam * options.patience))
      break;
    if (options.stop == StopRule::Top && topEnded && ended >= options.nbest)
      break;
    if (options.stop == StopRule::Estimate && done.size() == options.beam &&
        done.back().score >=
            score(all[0].hypothesis.logprob, static_cast<double>(step)))
      break;
    if (options.stop != StopRule::Bound)
      continue;
    bool beatable = done.size() < options.beam;
    for (const Item &item : live)
      beatable = beatable ||
                 score(item.hypothesis.logprob, static_cast<double>(limit)) >
                     done.back().score;
    if (!beatable)
      break;
  }
  done.resize(std::min(done.size(), options.nbest));
  return done;
}

/// Whether the search and the rule read literally agree, over many models.
void expectLiteral(size_t size, const SearchOptions &options, int64_t limit,
                   size_t *steps = nullptr) {
  for (int32_t seed = 0; seed < 8; ++seed) {
    TableBackend backend([&](const TokenIds &source, const TokenIds &prefix) {
      return randomLogits(source, prefix, size);
    });
    SearchSentence sentence;
    sentence.source = tokens({seed});
    sentence.maxLength = limit;
    auto found =
        searchAll(backend, static_cast<int64_t>(size), {sentence}, options)[0]
            .hypotheses;
    auto expected = naiveBeam({seed}, size, options, limit);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens);
      EXPECT_EQ(found[i].finished, expected[i].finished);
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-6);
    }
    if (steps)
      *steps += backend.rowsOfSteps.size();
  }
}

TEST(Search, AgreesWithTheRuleReadLiterally) {
  for (size_t size : {3, 6, 40})
    for (size_t beam : {2, 3, 5, 50})
      for (double alpha : {0.0, 0.7, 1.0})
        for (bool normalizes : {false, true}) {
          SearchOptions options = beamOptions(beam, beam);
          if (normalizes)
            options.scoring = {Scoring::Kind::Length, alpha};
          expectLiteral(size, options, 6);
        }
}

// R17: the rules of other systems.
TEST(Search, OtherRulesOfStoppingReadLiterally) {
  size_t steps[4] = {};
  for (StopRule stop :
       {StopRule::Bound, StopRule::Count, StopRule::Top, StopRule::Estimate})
    for (Refill refill : {Refill::Always, Refill::Next, Refill::Never})
      for (size_t beam : {2, 3, 5})
        for (bool normalizes : {false, true})
          for (bool ends : {false, true})
            for (size_t nbest : {size_t(1), beam}) {
              SearchOptions options = beamOptions(beam, nbest);
              options.stop = stop;
              options.refill = refill;
              options.endAtMaximum = ends;
              options.patience = ends ? 1.5 : 1;
              if (normalizes)
                options.scoring = {Scoring::Kind::Length, 1.0};
              expectLiteral(6, options, 8, &steps[static_cast<int>(stop)]);
            }
  // They are different rules.
  std::sort(std::begin(steps), std::end(steps));
  EXPECT_EQ(std::unique(std::begin(steps), std::end(steps)), std::end(steps));
}

/// The classic search of Nematus, as its program has it: the beam shrinks by
/// one for each hypothesis that ended, hypotheses compete by their sum of
/// costs, and lengths (end tokens among them) matter in the end only.
std::vector<std::pair<double, TokenIds>> nematusSearch(const TokenIds &source,
                                                       size_t size, size_t k,
                                                       size_t maxlen,
                                                       double alpha) {
  std::vector<std::pair<double, TokenIds>> sample, hypotheses = {{0, {}}};
  for (size_t i = 0; i < maxlen && !hypotheses.empty() && sample.size() < k;
       ++i) {
    std::vector<std::pair<double, TokenIds>> candidates;
    for (const auto &[cost, tokens] : hypotheses) {
      std::vector<float> logits = randomLogits(source, tokens, size);
      double sum = 0;
      for (float logit : logits)
        sum += std::exp(static_cast<double>(logit));
      for (size_t word = 0; word < size; ++word) {
        candidates.emplace_back(
            cost - static_cast<double>(logits[word]) + std::log(sum), tokens);
        candidates.back().second.push_back(static_cast<int32_t>(word));
      }
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.resize(k - sample.size());
    hypotheses.clear();
    for (auto &candidate : candidates)
      (candidate.second.back() == end ? sample : hypotheses)
          .push_back(std::move(candidate));
  }
  sample.insert(sample.end(), hypotheses.begin(), hypotheses.end());
  for (auto &[cost, tokens] : sample)
    cost /= std::pow(static_cast<double>(tokens.size()), alpha);
  std::sort(sample.begin(), sample.end());
  return sample;
}

// R17: the options of --preset nematus, with and without normalisation.
TEST(Search, ShrinkingBeamsAreThoseOfNematus) {
  bool alphaMatters = false;
  for (int32_t seed = 0; seed < 20; ++seed)
    for (size_t beam : {2, 5}) {
      std::vector<TokenIds> best;
      for (double alpha : {0.0, 1.0}) {
        TableBackend backend(
            [](const TokenIds &source, const TokenIds &prefix) {
              return randomLogits(source, prefix, 6);
            });
        SearchOptions options = beamOptions(beam, beam);
        options.refill = Refill::Never;
        options.scoring = {Scoring::Kind::Length, alpha};
        SearchSentence sentence;
        sentence.source = tokens({seed});
        sentence.maxLength = 7;
        auto found = searchAll(backend, 6, {sentence}, options)[0].hypotheses;
        auto expected = nematusSearch({seed}, 6, beam, 7, alpha);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].tokens, expected[i].second);
          EXPECT_NEAR(found[i].score, -expected[i].first, 1e-6);
        }
        best.push_back(found[0].tokens);
      }
      alphaMatters |= best[0] != best[1];
    }
  EXPECT_TRUE(alphaMatters);
}

TEST(Search, NbestNeverChangesTheBest) {
  TableBackend backend([](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 24);
  });
  auto all = searchOne(backend, beamOptions(5, 5));
  for (size_t nbest = 1; nbest < 5; ++nbest) {
    auto some = searchOne(backend, beamOptions(5, nbest));
    ASSERT_EQ(some.size(), nbest);
    for (size_t i = 0; i < nbest; ++i) {
      EXPECT_EQ(some[i].tokens, all[i].tokens);
      EXPECT_EQ(some[i].score, all[i].score);
    }
  }
}

TEST(Search, BeamWiderThanTheVocabulary) {
  TableBackend backend([](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 3);
  });
  auto found = searchOne(backend, beamOptions(100, 100), 3, 3);
  // Every sequence: 3 end within three tokens' worth of 2 others each, 8 not.
  EXPECT_EQ(found.size(), 1u + 2u + 4u + 8u);
}

TEST(Search, ResultsDoNotDependOnTheBatch) {
  LogitsOf logits = [](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 7);
  };
  std::vector<SearchSentence> sentences = someSentences(9);
  for (size_t beam : {1, 4}) {
    SearchOptions options = beamOptions(beam, beam);
    options.wantAlignment = true;
    TableBackend backend(logits, someWeights);
    auto together = searchAll(backend, 7, sentences, options);
    std::vector<SearchSentence> reversed(sentences.rbegin(), sentences.rend());
    auto backward = searchAll(backend, 7, reversed, options);
    for (size_t i = 0; i < sentences.size(); ++i) {
      expectSame(together[i],
                 searchAll(backend, 7, {sentences[i]}, options)[0]);
      expectSame(together[i], backward[sentences.size() - 1 - i]);
    }
  }
}

TEST(Search, FinishedSentencesLeaveTheBatch) {
  TableBackend backend([](const TokenIds &source, const TokenIds &prefix) {
    bool ends = prefix.size() + 1 >= source.size();
    return probabilities({{ends ? end : A, .9}});
  });
  searchAll(
      backend, 24,
      [] {
        auto sentences = someSentences(4);
        for (SearchSentence &sentence : sentences)
          sentence.maxLength = 10;
        return sentences;
      }(),
      beamOptions(1));
  EXPECT_EQ(backend.rowsOfSteps, (std::vector<int64_t>{4, 3, 2, 1}));
}

TEST(Search, AlignmentHasARowForEachEmittedToken) {
  LogitsOf logits = [](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 5);
  };
  TableBackend backend(logits, someWeights);
  SearchOptions options = beamOptions(4, 4);
  options.wantAlignment = true;
  // A longer sentence beside it pads the memory of the first.
  std::vector<SearchSentence> sentences(2);
  sentences[0].source = tokens({3, 1});
  sentences[1].source = tokens({4, 1, 5, 9});
  sentences[0].maxLength = sentences[1].maxLength = 6;
  auto results = searchAll(backend, 5, sentences, options);
  for (const Hypothesis &hypothesis : results[0].hypotheses) {
    EXPECT_EQ(hypothesis.memoryPositions, 2);
    ASSERT_EQ(hypothesis.alignment.size(), 2 * hypothesis.tokens.size());
    for (size_t t = 0; t < hypothesis.tokens.size(); ++t) {
      EXPECT_EQ(hypothesis.alignment[2 * t], 300.0f + 10 * t);
      EXPECT_EQ(hypothesis.alignment[2 * t + 1], 301.0f + 10 * t);
    }
  }
}

TEST(Search, AlignmentAveragesHeads) {
  TableBackend backend(
      firstStepExample,
      [](const TokenIds &source, const TokenIds &) {
        std::vector<float> weights;
        for (size_t i = 0; i < source.size(); ++i) {
          weights.push_back(static_cast<float>(i));
          weights.push_back(static_cast<float>(i) + 1);
        }
        return weights;
      },
      2);
  SearchOptions options = beamOptions(1);
  options.wantAlignment = true;
  auto found = searchOne(backend, options);
  EXPECT_EQ(found[0].alignment,
            (std::pmr::vector<float>{.5f, 1.5f, 2.5f, .5f, 1.5f, 2.5f}));
}

TEST(Search, ForcedDecodingAgreesWithTheSearch) {
  LogitsOf logits = [](const TokenIds &source, const TokenIds &prefix) {
    return randomLogits(source, prefix, 9);
  };
  TableBackend backend(logits, someWeights);
  SearchOptions options = beamOptions(4, 4);
  options.wantAlignment = true;
  options.scoring = {Scoring::Kind::Length, 1.0};
  for (SearchSentence sentence : someSentences(5)) {
    auto found = searchAll(backend, 9, {sentence}, options)[0].hypotheses;
    for (const Hypothesis &hypothesis : found) {
      // The sum of the words' is S.
      double sum = 0;
      for (double logprob : hypothesis.wordLogprobs)
        sum += logprob;
      EXPECT_EQ(sum, hypothesis.logprob);
      if (!hypothesis.finished)
        continue;
      SearchSentence again = sentence;
      again.forced = hypothesis.tokens;
      again.maxLength = 1; // Not for forced targets.
      SearchResult forced = searchAll(backend, 9, {again}, options)[0];
      expectSame(forced, resultOf({hypothesis}));
    }
  }
}

TEST(Search, NanEndsItsSentenceAlone) {
  auto logits = [](bool broken, float bad) {
    return [=](const TokenIds &source, const TokenIds &prefix) {
      std::vector<float> row = randomLogits(source, prefix, 7);
      if (broken && source[0] == 2 && prefix.size() == 1)
        row[5] = bad;
      return row;
    };
  };
  for (float bad : {test::nan, infinity})
    for (size_t beam : {1, 3}) {
      SearchOptions options = beamOptions(beam, beam);
      options.constraints.minLength = 2;
      TableBackend whole(logits(false, bad)), broken(logits(true, bad));
      auto expected = searchAll(whole, 7, someSentences(5), options);
      auto found = searchAll(broken, 7, someSentences(5), options);
      for (size_t i = 0; i < 5; ++i)
        if (i != 2)
          expectSame(found[i], expected[i]);
      EXPECT_EQ(found[2].error,
                "expected finite logits, but got a NaN or an infinity as the "
                "model's output for token 2");
      EXPECT_TRUE(found[2].hypotheses.empty());
    }
}

// What stands above the search: Model.

TEST(Model, EmptySentencesDoNotReachTheModel) {
  TableBackend *backend = nullptr;
  auto model = tableModel(
      [](const TokenIds &source, const TokenIds &prefix) {
        return randomLogits(source, prefix, 7);
      },
      &backend);
  std::vector<SourceSentence> sentences(3);
  sentences[1].source = tokens({2, 3});
  auto results = model->decode(sentences, {});
  EXPECT_EQ(backend->encoded, (std::vector<TokenIds>{{2, 3, end}}));
  ASSERT_EQ(results.size(), 3u);
  for (size_t i : {0, 2}) {
    ASSERT_EQ(results[i].hypotheses.size(), 1u);
    EXPECT_TRUE(results[i].hypotheses[0].tokens.empty());
    EXPECT_EQ(results[i].hypotheses[0].score, 0);
    EXPECT_TRUE(results[i].hypotheses[0].finished);
  }
  EXPECT_FALSE(results[1].hypotheses[0].tokens.empty());
}

TEST(Model, MaximumLengthDoesNotCountTheSourcesEndToken) {
  auto model = tableModel(
      [](const TokenIds &, const TokenIds &) {
        return std::vector<float>{0, -infinity, 0, 0, 0, 0, 0};
      },
      nullptr);
  DecodeOptions options;
  options.maxLengthFactor = 1.5;
  options.maxLengthOffset = 1;
  SourceSentence sentence;
  sentence.source = tokens({2, 3, 4});
  auto result = model->decode({sentence}, options)[0];
  EXPECT_EQ(result.hypotheses[0].tokens.size(), 4u + 1u);
  options.maxLengthOffset = int64_t(1) << 40;
  EXPECT_EQ(model->decode({sentence}, options)[0].failure.status,
            ATTN_ERROR_OPTION);
}

TEST(Model, BadIdsAndTargetsAreErrorsOfTheirSentence) {
  auto model = tableModel(
      [](const TokenIds &source, const TokenIds &prefix) {
        return randomLogits(source, prefix, 7);
      },
      nullptr);
  std::vector<SourceSentence> sentences(5);
  for (SourceSentence &sentence : sentences)
    sentence.source = tokens({2});
  sentences[0].source = tokens({7});
  sentences[1].source = tokens({-1});
  sentences[2].forced = TokenIds{3, end};
  sentences[3].forced = TokenIds{9};
  auto results = model->decode(sentences, {});
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(results[i].failure.status, ATTN_ERROR_INPUT) << i;
  EXPECT_EQ(results[0].failure.message,
            "expected token ids of vocabulary 'source', 0 to 6, but got 7 as "
            "token 1");
  EXPECT_EQ(results[2].failure.message,
            "expected a forced target without its end token, but got '</s>' as "
            "token 2");
  EXPECT_EQ(results[4].failure.status, ATTN_OK);
}

TEST(Model, SequencesBeyondATableAreErrorsOfTheirSentence) {
  // R20. It never ends by itself.
  Description description = tableDescription();
  description.inputs[0].limit = LengthLimit{4, "encoder.places", 2};
  description.target.limit = LengthLimit{3, "", 3};
  Failure failure;
  auto model = Model::create(
      std::move(description),
      std::make_unique<TableBackend>([](const TokenIds &, const TokenIds &) {
        return std::vector<float>{0, -infinity, 1, 0, 0, 0, 0};
      }),
      failure);
  ASSERT_TRUE(model) << failure.message;
  std::vector<SourceSentence> sentences(6);
  for (SourceSentence &sentence : sentences)
    sentence.source = tokens({2, 2, 2});
  sentences[0].source = tokens({2, 2, 2, 2});
  sentences[1].forced = TokenIds{3, 3, 3};
  sentences[2].forced = TokenIds{3, 3};
  sentences[3].prefix = {3, 3, 3};
  sentences[4].prefix = {3, 3, 3, 3};
  DecodeOptions options;
  options.maxLengthFactor = 0;
  options.maxLengthOffset = 3;
  for (size_t beam : {1, 2}) {
    options.search.beam = beam;
    auto results = model->decode(sentences, options);
    EXPECT_EQ(results[0].failure.message,
              "expected a source of at most 4 tokens, its end token included, "
              "because 'encoder.places' has 2 rows, but got 5");
    EXPECT_EQ(results[1].failure.message,
              "expected a target of at most 3 tokens, its end token included, "
              "because a table has 3 rows, but got 4");
    EXPECT_EQ(results[4].failure.message,
              "expected a prefix of at most 3 tokens, because a table has 3 "
              "rows, but got 4");
    for (size_t i : {2, 3, 5})
      EXPECT_FALSE(results[i].failure.failed()) << results[i].failure.message;
  }
  // A hypothesis that would go on is one, those that need not are not.
  options.maxLengthOffset = 4;
  auto results = model->decode(sentences, options);
  for (size_t i : {3, 5})
    EXPECT_EQ(results[i].failure.message,
              "expected hypotheses of at most 3 tokens, because a table has 3 "
              "rows, but got a longer one");
  EXPECT_FALSE(results[2].failure.failed());
}

TEST(Model, AFailingBackendFailsTheSentenceThatIsAtFault) {
  auto model = tableModel(
      [](const TokenIds &source, const TokenIds &prefix) {
        return source[0] == 3 && prefix.size() == 1
                   ? std::vector<float>()
                   : randomLogits(source, prefix, 7);
      },
      nullptr);
  std::vector<SourceSentence> sentences(4);
  for (size_t i = 0; i < 4; ++i)
    sentences[i].source = tokens({static_cast<int32_t>(i) + 2});
  DecodeOptions options;
  options.search.constraints.minLength = 2;
  auto results = model->decode(sentences, options);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(results[i].failure.failed(), i == 1);
}

} // namespace
