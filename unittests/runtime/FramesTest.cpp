//===- FramesTest.cpp - decoding of features ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/search.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace attn;

namespace {

constexpr int64_t frameSize = 2;

/// Says (1 + the number before, the source's first token); the logit to stop is
/// what stands in `stops` for the position, and the largest weight stands where
/// `places` says.
class CountingBackend : public Backend {
public:
  std::vector<float> stops = {-1, -1, 3, -1, -1, -1, -1, -1};
  std::vector<int> places = {0, 1, 2, 2, 2, 1, 1, 1};
  int64_t nanAt = -1; ///< In sentences that begin with 9.

  DecodingPtr encode(std::span<const SourceSpan> sentences, int64_t, int64_t,
                     Arena &, std::string &) override {
    std::vector<int32_t> firsts;
    for (SourceSpan sentence : sentences)
      firsts.push_back(sentence[0].ids[0]);
    return std::make_unique<CountingDecoding>(*this, std::move(firsts));
  }

private:
  class CountingDecoding : public Decoding {
  public:
    CountingDecoding(const CountingBackend &model, std::vector<int32_t> firsts)
        : model(model), firsts(std::move(firsts)) {}

    bool step(const StepRequest &request, StepResult &result,
              std::string &) override {
      frames.clear();
      stops.clear();
      weights.clear();
      for (int64_t row = 0; row < request.rows; ++row) {
        int32_t first = firsts[static_cast<size_t>(request.sentences[row])];
        size_t position = static_cast<size_t>(request.positions[row]);
        bool isNan = first == 9 && request.positions[row] == model.nanAt;
        frames.push_back(isNan ? std::numeric_limits<float>::quiet_NaN()
                               : request.frames[row * frameSize] + 1);
        frames.push_back(static_cast<float>(first));
        stops.push_back(model.stops[position]);
        for (int place = 0; place < 3; ++place)
          weights.push_back(place == model.places[position] ? 0.5f : 0.25f);
      }
      result.frames = frames.data();
      result.stop = stops.data();
      result.columns = frameSize;
      result.weights = weights.data();
      result.memoryPositions = 3;
      return true;
    }
    int64_t memoryLength(int64_t) const override { return 3; }

  private:
    const CountingBackend &model;
    std::vector<int32_t> firsts;
    std::vector<float> frames, stops, weights;
  };
};

/// A sentence of one token, its longest answer, and what is forced.
struct Sentence {
  int32_t first;
  int64_t maxLength = 8;
  std::vector<float> forced{};
};

std::vector<SearchResult> generate(CountingBackend &backend,
                                   std::vector<Sentence> given,
                                   const SearchOptions &options = {}) {
  std::vector<InputSource> sources(given.size());
  std::vector<SearchSentence> sentences(given.size());
  std::vector<const SearchSentence *> pointers;
  for (size_t i = 0; i < given.size(); ++i) {
    sources[i].length = 1;
    sources[i].ids = &given[i].first;
    sentences[i].source = {&sources[i], 1};
    sentences[i].maxLength = given[i].maxLength;
    if (!given[i].forced.empty()) {
      sentences[i].forced.emplace();
      sentences[i].forcedFrames = given[i].forced.data();
      sentences[i].forcedFrameCount =
          static_cast<int64_t>(given[i].forced.size()) / frameSize;
    }
    pointers.push_back(&sentences[i]);
  }
  SearchTarget target;
  target.frameSize = frameSize;
  std::vector<SearchResult> results(given.size());
  Arena memory;
  std::string error;
  EXPECT_EQ(search(backend, target, pointers, options, memory, nullptr, results,
                   error),
            SearchOutcome::Done);
  return results;
}

std::vector<float> numbersOf(const SearchResult &result) {
  const auto &frames = result.hypotheses.at(0).frames;
  return {frames.begin(), frames.end()};
}

TEST(FramesTest, EndsAtTheThreshold) {
  CountingBackend backend;
  auto results = generate(backend, {{7}});
  const Hypothesis &hypothesis = results[0].hypotheses.at(0);
  EXPECT_EQ(numbersOf(results[0]), (std::vector<float>{1, 7, 2, 7, 3, 7}));
  EXPECT_TRUE(hypothesis.finished);
  EXPECT_FALSE(hypothesis.stalled);
  ASSERT_EQ(hypothesis.stops.size(), 3u);
  EXPECT_NEAR(hypothesis.stops[0], 1 / (1 + std::exp(1.0)), 1e-12);
  EXPECT_NEAR(hypothesis.stops[2], 1 / (1 + std::exp(-3.0)), 1e-12);
}

TEST(FramesTest, AThresholdMustBeExceeded) {
  CountingBackend backend;
  backend.stops = {0, 0, 0, 0};
  auto results = generate(backend, {{7, 4}});
  EXPECT_EQ(results[0].hypotheses.at(0).stops.size(), 4u);
  EXPECT_FALSE(results[0].hypotheses.at(0).finished);
}

TEST(FramesTest, HasAMinimumAndAMaximumLength) {
  CountingBackend backend;
  SearchOptions options;
  options.constraints.minLength = 4;
  auto results = generate(backend, {{7, 6}, {8, 2}, {6, 0}}, options);
  EXPECT_EQ(results[0].hypotheses.at(0).stops.size(), 6u);
  EXPECT_FALSE(results[0].hypotheses.at(0).finished);
  EXPECT_EQ(results[1].hypotheses.at(0).stops.size(), 2u);
  EXPECT_EQ(results[2].hypotheses.at(0).stops.size(), 0u);
}

TEST(FramesTest, EndsWhereTheAlignmentStalls) {
  CountingBackend backend;
  SearchOptions options;
  options.stopThreshold = 1;
  options.stallLimit = 2;
  auto results = generate(backend, {{7}}, options);
  const Hypothesis &hypothesis = results[0].hypotheses.at(0);
  EXPECT_EQ(hypothesis.stops.size(), 5u); // Places 0 1 2 2 2.
  EXPECT_TRUE(hypothesis.stalled);
  EXPECT_FALSE(hypothesis.finished);
  options.stallLimit = 3;
  EXPECT_EQ(generate(backend, {{7}}, options)[0].hypotheses.at(0).stops.size(),
            8u);
}

TEST(FramesTest, KeepsTheAlignment) {
  CountingBackend backend;
  SearchOptions options;
  options.wantAlignment = true;
  auto results = generate(backend, {{7}}, options);
  const Hypothesis &hypothesis = results[0].hypotheses.at(0);
  EXPECT_EQ(hypothesis.memoryPositions, 3);
  EXPECT_EQ(
      std::vector<float>(hypothesis.alignment.begin(),
                         hypothesis.alignment.end()),
      (std::vector<float>{.5f, .25f, .25f, .25f, .5f, .25f, .25f, .25f, .5f}));
}

TEST(FramesTest, IsForced) {
  CountingBackend backend;
  auto results = generate(backend, {{7, 0, {10, 0, 20, 0, 30, 0, 40, 0}}, {8}});
  EXPECT_EQ(numbersOf(results[0]),
            (std::vector<float>{1, 7, 11, 7, 21, 7, 31, 7}));
  EXPECT_FALSE(results[0].hypotheses.at(0).finished);
  EXPECT_EQ(numbersOf(results[1]), (std::vector<float>{1, 8, 2, 8, 3, 8}));
}

TEST(FramesTest, FailsForOneSentenceAlone) {
  CountingBackend backend;
  backend.nanAt = 1;
  auto results = generate(backend, {{7}, {9}, {8}});
  EXPECT_EQ(results[1].error, "expected finite features, but got a NaN or an "
                              "infinity as the model's output for frame 2");
  EXPECT_TRUE(results[1].hypotheses.empty());
  EXPECT_EQ(numbersOf(results[0]), (std::vector<float>{1, 7, 2, 7, 3, 7}));
  EXPECT_EQ(numbersOf(results[2]), (std::vector<float>{1, 8, 2, 8, 3, 8}));
}

} // namespace
