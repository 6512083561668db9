//===- PresetTest.cpp - where the rules of other systems disagree ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/c_api.h"
#include "tools/decode/presets.h"
#include "unittests/runtime/fake_model.h"
#include "unittests/runtime/table_model.h"

using namespace attn;
using namespace attn::test;
using namespace attn::tool;

namespace {

/// A with .5, nothing at all with .3, B with .2. A goes on with .6, A A with
/// .4, and B with .1; everything else ends.
std::vector<float> disagreement(const TokenIds &, const TokenIds &prefix) {
  auto given = [&](std::vector<std::pair<int32_t, double>> all) {
    return probabilities(std::move(all), 7);
  };
  if (prefix.empty())
    return given({{A, .5}, {end, .3}, {B, .2}});
  if (prefix == TokenIds{A})
    return given({{A, .6}, {end, .4}});
  if (prefix == TokenIds{B})
    return given({{end, .9}, {B, .1}});
  if (prefix == TokenIds{A, A})
    return given({{end, .6}, {A, .4}});
  return given({{end, 1}});
}

struct Expected {
  std::string text;
  double probability; ///< Of all its tokens.
  double length;      ///< By which log p is divided.
};

/// Decodes with a preset, a beam of 2 and the 2 best.
void expectBest(const std::string &preset, attn_normalization normalization,
                int64_t maxLength, const std::vector<Expected> &expected) {
  DecodeSettings settings;
  ASSERT_TRUE(applyPreset(preset, settings));
  attn_decode_options options = settings.options;
  options.beam = options.nbest = 2;
  options.normalization = normalization;
  if (maxLength) {
    options.max_length_factor = 0;
    options.max_length_offset = maxLength;
  }
  attn_api api = modelApi();
  attn_model *model = wrapModel(tableModel(disagreement, nullptr));
  attn_error error = ATTN_ERROR_INIT;
  Words sentence({"A B C"});
  attn_results *results = api.decode(model, &sentence.view, &options, &error);
  ASSERT_TRUE(results) << error.message;
  EXPECT_EQ(api.result(results, 0)->hypothesis_count, expected.size());
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    const attn_hypothesis *found = api.hypothesis(results, 0, rank);
    ASSERT_TRUE(found);
    std::string text;
    for (size_t i = 0; i < found->length; ++i)
      text += found->tokens[i];
    EXPECT_EQ(text, expected[rank].text) << preset;
    EXPECT_NEAR(found->logprob, std::log(expected[rank].probability), 1e-6)
        << preset;
    EXPECT_NEAR(found->score,
                std::log(expected[rank].probability) / expected[rank].length,
                1e-6)
        << preset;
  }
  api.free_results(results);
  api.close(model);
}

constexpr auto none = ATTN_NORMALIZE_NONE, length = ATTN_NORMALIZE_LENGTH;

// The beam shrinks to 1 when nothing at all ends, so that A never ends: of what
// follows A, only A A is looked at.
TEST(Presets, PlacesThatStayEmpty) {
  for (const char *preset : {"marian", "nematus"})
    expectBest(preset, none, 0, {{"", .3, 1}, {"AA", .18, 1}});
  // Normalised in the end only: the same hypotheses in another order.
  expectBest("nematus", length, 0, {{"AA", .18, 3}, {"", .3, 1}});
}

// The place is empty for a step: A ends in the next one. A A, the best of the
// third step, ends the search.
TEST(Presets, PlacesThatAreEmptyForAStep) {
  expectBest("opennmt", none, 0, {{"", .3, 1}, {"A", .2, 1}});
}

// The search goes on while the best continuation beats the worst: to A A A.
TEST(Presets, StopsByAnEstimate) {
  expectBest("hf", length, 0, {{"AAA", .12, 4}, {"AA", .18, 3}});
}

// Nothing at all is banned, and two are enough. fairseq differs where the
// maximum length is reached: what lives has to end.
TEST(Presets, StopsByCount) {
  for (const char *preset : {"ctranslate2", "fairseq"})
    expectBest(preset, length, 0, {{"AA", .18 / .7, 3}, {"A", .2 / .7, 2}});
  expectBest("ctranslate2", length, 2, {{"AA", .3 / .7, 2}, {"A", .2 / .7, 2}});
  expectBest("fairseq", length, 2, {{"A", .2 / .7, 2}, {"B", .18 / .7, 2}});
}

} // namespace
