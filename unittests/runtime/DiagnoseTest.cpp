//===- DiagnoseTest.cpp - what alignments are good for --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "tools/decode/alignment_svg.h"
#include "tools/decode/diagnose_model.h"
#include "tools/decode/diagnose_report.h"
#include "unittests/runtime/table_model.h"

using namespace attn;
using namespace attn::test;
using namespace attn::tool;

namespace {

constexpr int32_t C = 4, D = 5;

TEST(Diagnose, SumsLargestWeightsAndVisits) {
  // Position 0, 2, 0, and 0 again; position 1 is never read.
  std::vector<float> weights = {.75f, .01f, .24f, //
                                .25f, .04f, .71f, //
                                .9f,  .02f, .08f, //
                                .5f,  .03f, .47f};
  Diagnosis found = diagnose(weights, 3, {A, B, A, end}, true);
  EXPECT_EQ(found.tokens, 4u);
  EXPECT_EQ(found.positions, 3u);
  EXPECT_NEAR(found.mass[0], 2.4, 1e-6);
  EXPECT_NEAR(found.mass[1], .1, 1e-6);
  EXPECT_NEAR(found.mass[2], 1.5, 1e-6);
  EXPECT_EQ(found.largest, (std::vector<float>{.9f, .04f, .71f}));
  EXPECT_EQ(found.visits, (std::vector<size_t>{2, 0, 1}));
  EXPECT_FALSE(found.isUnread(0));
  EXPECT_TRUE(found.isUnread(1));
  EXPECT_TRUE(found.isReread(0));
  EXPECT_FALSE(found.isReread(2));
  EXPECT_EQ(found.stall, 2u);
  EXPECT_EQ(found.stallPosition, 0u);
  EXPECT_EQ(found.repeated, 0u);
  EXPECT_FALSE(found.cut);
  EXPECT_EQ(describeDiagnosis(found, {"x", "y", "z"}),
            "  never reads 2 'y' (at most 0.04)\n"
            "  reads again and again 1 'x' (sum 2.40, 2 visits)\n");
}

TEST(Diagnose, StallsAndRepetitions) {
  std::vector<float> weights;
  for (int t = 0; t < 8; ++t)
    for (float weight : {.4f, .6f})
      weights.push_back(t == 1 ? 1 - weight : weight);
  // A B A B A B A: three in a row were there before four times: A B A twice
  // more, B A B once more... as they end.
  Diagnosis found = diagnose(weights, 2, {A, B, A, B, A, B, A, C}, false);
  EXPECT_EQ(found.stall, 6u);
  EXPECT_EQ(found.stallPosition, 1u);
  EXPECT_EQ(found.repeated, 3u);
  EXPECT_TRUE(found.cut);
  std::string text = describeDiagnosis(found, {"x", "y"});
  EXPECT_NE(text.find("  stalls at 2 'y' for 6 tokens\n"
                      "  repeats 3 tokens in a row, 3 times\n"
                      "  has no end\n"),
            std::string::npos)
      << text;
  // The end token is not one of them.
  EXPECT_EQ(
      diagnose(std::vector<float>(6), 1, {A, B, end, A, B, end}, true).repeated,
      0u);
  EXPECT_EQ(diagnose({}, 0, {}, true).stall, 0u);
}

TEST(Diagnose, Order) {
  // Three words and an end, two tokens.
  std::vector<float> weights = {.6f, .3f, .1f, 0, 0, .2f, .7f, .1f};
  std::vector<float> turned = {.1f, .3f, .6f, 0, .7f, .2f, 0, .1f};
  Diagnosis::Order content = compareOrder(weights, turned, 4, 3);
  EXPECT_NEAR(content.words, 0, 1e-7);
  EXPECT_NEAR(content.places, (.5 + .7) / 2, 1e-6);
  Diagnosis::Order position = compareOrder(weights, weights, 4, 3);
  EXPECT_NEAR(position.words, (.5 + .7) / 2, 1e-6);
  EXPECT_NEAR(position.places, 0, 1e-7);
}

/// A model that reads word `D` wherever it is, with `byContent`, or else the
/// first position; `spoils` lets padding matter.
attn_model *openReader(bool byContent, bool spoils) {
  auto backend = std::make_unique<TableBackend>(
      [](const TokenIds &, const TokenIds &prefix) {
        return probabilities({{prefix.size() < 2 ? A : end, .9}}, 7);
      },
      [=](const TokenIds &source, const TokenIds &) {
        std::vector<float> weights(source.size(), 0.0f);
        size_t read = 0;
        for (size_t s = 0; byContent && s < source.size(); ++s)
          if (source[s] == D)
            read = s;
        weights[read] = 1;
        // The table model pads a row that is too short with NaN.
        if (!spoils)
          weights.resize(20);
        return weights;
      });
  Failure failure;
  return wrapModel(
      Model::create(tableDescription(), std::move(backend), failure));
}

SourceLine lineOf(std::vector<std::string> words) {
  SourceLine line;
  line.inputs.emplace_back().tokens = std::move(words);
  return line;
}

TEST(Diagnose, AsksModels) {
  attn_api api = modelApi();
  for (bool byContent : {false, true})
    for (bool spoils : {false, true}) {
      attn_model *model = openReader(byContent, spoils);
      std::vector<const attn_input *> inputs = {api.input(model, 0)};
      Diagnosis found;
      std::vector<float> weights;
      std::string error;
      ASSERT_TRUE(diagnoseSentence(api, model, inputs, lineOf({"A", "B", "D"}),
                                   {A, A, end}, true, found, weights, error))
          << error;
      EXPECT_EQ(found.positions, 4u);
      EXPECT_EQ(weights.size(), 12u);
      EXPECT_EQ(found.mass, byContent ? (std::vector<double>{0, 0, 3, 0})
                                      : (std::vector<double>{3, 0, 0, 0}));
      ASSERT_TRUE(found.padding);
      EXPECT_EQ(found.padding->isClean(), !spoils);
      EXPECT_EQ(found.padding->effect, 0);
      ASSERT_TRUE(found.order);
      EXPECT_EQ(found.order->words, byContent ? 0 : 1);
      EXPECT_EQ(found.order->places, byContent ? 1 : 0);
      // A palindrome has no other order.
      ASSERT_TRUE(diagnoseSentence(api, model, inputs, lineOf({"A", "A"}),
                                   {A, A, end}, true, found, weights, error));
      EXPECT_FALSE(found.order);
      // What is wrong is an error.
      EXPECT_FALSE(diagnoseSentence(api, model, inputs, lineOf({"A", "Z"}), {A},
                                    false, found, weights, error));
      EXPECT_NE(error, "");
      api.close(model);
    }
}

TEST(Diagnose, Totals) {
  Diagnosis one = diagnose({1, 0, 1, 0, 1, 0}, 2, {A, B, end}, true);
  one.padding.emplace();
  one.order = {.25, .5};
  Diagnosis two = diagnose({1, 1, 1, 1, 1}, 1, {A, B, C, D, A}, false);
  two.padding = {.5, 0};
  DiagnosisTotals totals;
  totals.add(one);
  totals.add(two);
  EXPECT_EQ(describeTotals(totals),
            "2 sentences, 8 tokens, 3 source positions\n"
            "reads padding          1 of 2 sentences (50.00 %)\n"
            "never read             1 of 3 positions (33.33 %)\n"
            "read again and again   2 of 3 positions (66.67 %)\n"
            "stalls                 1 of 2 sentences (50.00 %)\n"
            "repeats itself         0 of 2 sentences (0.00 %)\n"
            "has no end             1 of 2 sentences (50.00 %)\n"
            "source in reverse      weights move by 0.25 from their words, by "
            "0.50 from their places: attention follows the words\n");
  std::string json;
  appendJson(json, totals);
  EXPECT_EQ(json, "{\"sentences\": 2, \"tokens\": 8, \"positions\": 3, "
                  "\"unread\": 1, \"reread\": 2, \"stalled\": 1, "
                  "\"repeating\": 0, \"cut\": 1, \"padded\": 2, \"unclean\": "
                  "1, \"order\": {\"words\": 0.25, \"places\": 0.5}}");
  json.clear();
  appendJson(json, one);
  EXPECT_EQ(json,
            "{\"tokens\": 3, \"positions\": 2, \"mass\": [3, 0], \"largest\": "
            "[1, 0], \"visits\": [1, 0], \"unread\": [1], \"reread\": [0], "
            "\"stall\": 3, \"stall_position\": 0, \"repeated\": 0, \"cut\": "
            "false, \"padding\": {\"weight\": 0, \"effect\": 0, \"clean\": "
            "true}, \"order\": {\"words\": 0.25, \"places\": 0.5}}");
  // Nothing is not divided by.
  EXPECT_NE(describeTotals({}).find("not measured"), std::string::npos);
}

TEST(AlignmentPicture, DrawsMargins) {
  AlignmentPicture picture;
  const float weights[] = {1, 0, 0};
  using Margin = AlignmentPicture::Margin;
  picture.add(
      "one", {"x"}, {"a", "b", "c"}, weights,
      {{2.5, Margin::Reread}, {0, Margin::Unread}, {.5, Margin::Plain}});
  std::string svg = picture.svg();
  for (const char *part :
       {"<title>a: 2.500000, read again and again</title><rect class=\"r\"",
        "<title>b: 0.000000, never read</title><rect class=\"u\"",
        "<title>c: 0.500000</title><rect class=\"m\""})
    EXPECT_NE(svg.find(part), std::string::npos) << part << svg;
}

} // namespace
