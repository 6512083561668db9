//===- table_model.h - models that are functions of the test --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_RUNTIME_TABLE_MODEL_H
#define ATTN_UNITTESTS_RUNTIME_TABLE_MODEL_H

#include "runtime/model.h"
#include "runtime/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <random>

namespace attn::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// What a model says after a prefix: logits, and the weights of the step.
using LogitsOf = std::function<std::vector<float>(const TokenIds &source,
                                                  const TokenIds &prefix)>;
using WeightsOf = std::function<std::vector<float>(const TokenIds &source,
                                                   const TokenIds &prefix)>;

/// What a sentence has for the only input of a model. Lives as long as the test
/// program.
inline SourceSpan tokens(TokenIds ids) {
  static std::deque<std::pair<TokenIds, InputSource>> all;
  auto &[own, source] = all.emplace_back(std::move(ids), InputSource());
  source.length = own.size();
  own.push_back(0); // Room for an end token.
  source.ids = own.data();
  return {&source, 1};
}
inline TokenIds idsOf(SourceSpan source) {
  return source.empty()
             ? TokenIds()
             : TokenIds(source[0].ids, source[0].ids + source[0].length);
}

/// A model that is a function. It follows `parents` to know each row's prefix,
/// and checks what it is asked on the way.
class TableBackend : public Backend {
public:
  TableBackend(LogitsOf logits, WeightsOf weights = nullptr, int64_t heads = 1)
      : logits(std::move(logits)), weights(std::move(weights)), heads(heads) {}

  DecodingPtr encode(std::span<const SourceSpan> sentences, int64_t, int64_t,
                     Arena &, std::string &) override {
    std::vector<TokenIds> copies;
    for (SourceSpan sentence : sentences)
      copies.push_back(idsOf(sentence));
    encoded.insert(encoded.end(), copies.begin(), copies.end());
    return std::make_unique<TableDecoding>(*this, std::move(copies));
  }

  std::vector<TokenIds> encoded;
  std::vector<int64_t> rowsOfSteps;
  std::vector<int64_t> bestOfSteps; ///< How many of the best were asked for.

private:
  class TableDecoding : public Decoding {
  public:
    TableDecoding(TableBackend &table, std::vector<TokenIds> sentences)
        : table(table), sentences(std::move(sentences)) {
      for (const TokenIds &sentence : this->sentences)
        longest = std::max(longest, sentence.size());
      prefixes.resize(this->sentences.size());
    }
    bool step(const StepRequest &request, StepResult &result,
              std::string &error) override {
      std::vector<TokenIds> now;
      logits.clear();
      weights.clear();
      for (int64_t row = 0; row < request.rows; ++row) {
        int32_t sentence = request.sentences[row];
        if (row)
          EXPECT_LE(request.sentences[row - 1], sentence);
        TokenIds prefix = prefixes[request.parents[row]];
        if (!first)
          prefix.push_back(request.tokens[row]);
        else
          EXPECT_EQ(request.parents[row], sentence);
        EXPECT_EQ(request.positions[row], static_cast<int32_t>(prefix.size()));
        const TokenIds &source = sentences[sentence];
        std::vector<float> own = table.logits(source, prefix);
        if (own.empty()) {
          error = "expected another sentence";
          return false;
        }
        logits.insert(logits.end(), own.begin(), own.end());
        if (table.weights) {
          own = table.weights(source, prefix);
          own.resize(longest * table.heads, nan); // Padding is never read.
          weights.insert(weights.end(), own.begin(), own.end());
        }
        now.push_back(std::move(prefix));
      }
      prefixes = std::move(now);
      first = false;
      table.rowsOfSteps.push_back(request.rows);
      table.bestOfSteps.push_back(request.best);
      result.logits = logits.data();
      if (table.weights) {
        result.weights = weights.data();
        result.memoryPositions = static_cast<int64_t>(longest);
        result.heads = table.heads;
      }
      return true;
    }
    int64_t memoryLength(int64_t sentence) const override {
      return static_cast<int64_t>(sentences[sentence].size());
    }

  private:
    TableBackend &table;
    std::vector<TokenIds> sentences;
    size_t longest = 0;
    std::vector<TokenIds> prefixes;
    std::vector<float> logits, weights;
    bool first = true;
  };

  LogitsOf logits;
  WeightsOf weights;
  int64_t heads;
};

inline constexpr int32_t start = 0, end = 1, A = 2, B = 3;

/// The logits of probabilities; tokens not given share what is left.
inline std::vector<float>
probabilities(std::vector<std::pair<int32_t, double>> given, size_t size = 24) {
  double rest = 1;
  for (auto [token, p] : given)
    rest -= p;
  double each = rest / static_cast<double>(size - given.size());
  std::vector<float> logits(
      size, each > 1e-9 ? static_cast<float>(std::log(each)) : -infinity);
  for (auto [token, p] : given)
    logits[token] = static_cast<float>(std::log(p));
  return logits;
}

inline SearchOptions beamOptions(size_t beam, size_t nbest = 1) {
  SearchOptions options;
  options.beam = beam;
  options.nbest = nbest;
  return options;
}

inline std::vector<SearchResult>
searchAll(Backend &backend, int64_t vocabularySize,
          const std::vector<SearchSentence> &sentences,
          const SearchOptions &options) {
  std::vector<SearchResult> results(sentences.size());
  std::vector<const SearchSentence *> pointers;
  for (const SearchSentence &sentence : sentences)
    pointers.push_back(&sentence);
  std::string error;
  SearchTarget target{vocabularySize, start, end, 1, nullptr};
  Arena memory;
  EXPECT_EQ(search(backend, target, pointers, options, memory, nullptr, results,
                   error),
            SearchOutcome::Done)
      << error;
  return results;
}

inline std::pmr::vector<Hypothesis> searchOne(Backend &backend,
                                              const SearchOptions &options,
                                              int64_t maxLength = 20,
                                              int64_t vocabularySize = 24) {
  SearchSentence sentence;
  sentence.source = tokens({7, 8, 9});
  sentence.maxLength = maxLength;
  auto results = searchAll(backend, vocabularySize, {sentence}, options);
  EXPECT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].error, "");
  return results[0].hypotheses;
}

/// A model whose probabilities depend on everything before, without ties.
inline std::vector<float> randomLogits(const TokenIds &source,
                                       const TokenIds &prefix, size_t size) {
  uint32_t seed = 17;
  for (int32_t token : source)
    seed = seed * 31 + static_cast<uint32_t>(token);
  for (int32_t token : prefix)
    seed = seed * 1000003 + static_cast<uint32_t>(token) + 1;
  std::mt19937 generator(seed);
  std::vector<float> logits(size);
  for (float &logit : logits)
    logit = static_cast<float>(generator() % 100000) / 20000.0f;
  return logits;
}

inline std::vector<SearchSentence> someSentences(size_t count) {
  std::vector<SearchSentence> sentences(count);
  for (size_t i = 0; i < count; ++i) {
    sentences[i].source = tokens(TokenIds(1 + i % 4, static_cast<int32_t>(i)));
    sentences[i].maxLength = 3 + static_cast<int64_t>(i % 3);
  }
  return sentences;
}

inline std::vector<float> someWeights(const TokenIds &source,
                                      const TokenIds &prefix) {
  std::vector<float> weights(source.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(i + 10 * prefix.size() + 100 * source[0]);
  return weights;
}

/// A result that has these hypotheses.
inline SearchResult resultOf(std::pmr::vector<Hypothesis> hypotheses) {
  SearchResult result;
  result.hypotheses = std::move(hypotheses);
  return result;
}

inline void expectSame(const SearchResult &a, const SearchResult &b) {
  EXPECT_EQ(a.error, b.error);
  ASSERT_EQ(a.hypotheses.size(), b.hypotheses.size());
  for (size_t i = 0; i < a.hypotheses.size(); ++i) {
    const Hypothesis &x = a.hypotheses[i], &y = b.hypotheses[i];
    EXPECT_EQ(x.tokens, y.tokens);
    EXPECT_EQ(x.wordLogprobs, y.wordLogprobs);
    EXPECT_EQ(x.score, y.score);
    EXPECT_EQ(x.finished, y.finished);
    EXPECT_EQ(x.alignment, y.alignment);
    EXPECT_EQ(x.memoryPositions, y.memoryPositions);
  }
}

inline Description tableDescription() {
  Description description;
  description.model = "table";
  std::string error;
  for (const char *name : {"source", "target"}) {
    Marks marks;
    marks.start = start;
    marks.end = end;
    description.vocabularies.push_back(*Vocabulary::create(
        name, {"<s>", "</s>", "A", "B", "C", "D", "E"}, marks, error));
  }
  description.axes.push_back({"x", 0, -1, 1});
  description.inputs.push_back({"x", 0, {}, true, 0, std::nullopt});
  description.target = {1, start, std::nullopt};
  description.alignment = Alignment{0, 1};
  return description;
}

inline std::unique_ptr<Model> tableModel(LogitsOf logits,
                                         TableBackend **backend) {
  auto table = std::make_unique<TableBackend>(std::move(logits));
  if (backend)
    *backend = table.get();
  Failure failure;
  auto model = Model::create(tableDescription(), std::move(table), failure);
  EXPECT_TRUE(model) << failure.message;
  return model;
}

} // namespace attn::test

#endif // ATTN_UNITTESTS_RUNTIME_TABLE_MODEL_H
