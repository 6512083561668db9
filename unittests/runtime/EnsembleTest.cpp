//===- EnsembleTest.cpp - models that decode together ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/runtime/fake_model.h"
#include "unittests/runtime/table_model.h"

using namespace attn;
using namespace attn::test;

namespace {

constexpr int32_t C = 4;

/// Models that are functions, behind the C interface.
class Ensemble : public testing::Test {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  ~Ensemble() override {
    for (attn_model *model : models)
      api.close(model);
    api.clear_error(&error);
  }
  attn_model *open(LogitsOf logits, WeightsOf weights = nullptr,
                   Description description = tableDescription()) {
    Failure failure;
    auto model = Model::create(
        std::move(description),
        std::make_unique<TableBackend>(std::move(logits), std::move(weights)),
        failure);
    EXPECT_TRUE(model) << failure.message;
    models.push_back(wrapModel(std::move(model)));
    return models.back();
  }
  void add(const attn_model *model, double weight = 1) {
    attn_member member = attn_default_member();
    member.api = &api;
    member.model = model;
    member.weight = weight;
    members.push_back(member);
  }
  Results decode(const attn_model *model,
                 const std::vector<std::string> &lines = {"A B"}) {
    options.ensemble = members.data();
    options.ensemble_size = members.size();
    Words sentences(lines);
    return Results(api.decode(model, &sentences.view, &options, &error),
                   api.free_results);
  }
  std::string textOf(const Results &results, size_t rank = 0) {
    if (!results)
      return error.message;
    std::string text;
    const attn_hypothesis *found = api.hypothesis(results.get(), 0, rank);
    for (size_t i = 0; i < found->length; ++i)
      text += found->tokens[i];
    return text;
  }
  double scoreOf(const Results &results, size_t rank = 0) {
    return api.hypothesis(results.get(), 0, rank)->score;
  }
  void expectFailure(const attn_model *model, const std::string &message) {
    EXPECT_FALSE(decode(model));
    EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
    EXPECT_EQ(error.message, message);
  }

  attn_api api = modelApi();
  attn_error error = ATTN_ERROR_INIT;
  attn_decode_options options = attn_default_decode_options();
  std::vector<attn_model *> models;
  std::vector<attn_member> members;
};

/// Two tokens, A and B, and then the end, with one probability each.
LogitsOf choice(double a, double b, double last) {
  return [=](const TokenIds &, const TokenIds &prefix) {
    return prefix.empty()
               ? probabilities({{A, a}, {B, b}, {C, std::max(1 - a - b, 0.0)}},
                               7)
               : probabilities({{end, last}, {C, 1 - last}}, 7);
  };
}

/// Alone, the first says A. Both together: sqrt(.6 * .1) = .245 for A,
/// sqrt(.3 * .5) = .387 for B, sqrt(.1 * .4) = .2 for C; then sqrt(.5 * .9) =
/// .671 for the end and sqrt(.5 * .1) = .224 for C.
TEST_F(Ensemble, AveragesLogProbabilities) {
  attn_model *first = open(choice(.6, .3, .5));
  attn_model *second = open(choice(.1, .5, .9));
  EXPECT_EQ(textOf(decode(first)), "A");
  add(second);
  double a = std::sqrt(.06), b = std::sqrt(.15), c = std::sqrt(.04);
  double last = std::sqrt(.45) / (std::sqrt(.45) + std::sqrt(.05));
  Results found = decode(first);
  EXPECT_EQ(textOf(found), "B");
  EXPECT_NEAR(scoreOf(found), std::log(b / (a + b + c) * last), 1e-6);
  options.beam = options.nbest = 2;
  found = decode(first);
  EXPECT_EQ(textOf(found), "B");
  EXPECT_EQ(textOf(found, 1), "A");
  EXPECT_NEAR(scoreOf(found, 1), std::log(a / (a + b + c) * last), 1e-6);

  Words target({"A"});
  options.forced = &target.view;
  EXPECT_NEAR(scoreOf(decode(first)), std::log(a / (a + b + c) * last), 1e-6);
  // Bans act on the mean: what is left sums to 1.
  options = attn_default_decode_options();
  options.banned = &target.view;
  EXPECT_NEAR(scoreOf(decode(first)), std::log(b / (b + c) * last), 1e-6);
  // The order of the models does not matter but for what is the first's alone.
  options = attn_default_decode_options();
  members.clear();
  add(first);
  found = decode(second);
  EXPECT_NEAR(scoreOf(found), std::log(b / (a + b + c) * last), 1e-6);
}

// Weights 1 and 3, of three models.
TEST_F(Ensemble, Weights) {
  attn_model *first = open(choice(.6, .3, .5));
  add(open(choice(.1, .5, .9)), 3);
  add(open(choice(.8, .1, .5)), .5);
  auto mean = [](double x, double y, double z) {
    return std::exp((std::log(x) + 3 * std::log(y) + .5 * std::log(z)) / 4.5);
  };
  double a = mean(.6, .1, .8), b = mean(.3, .5, .1), c = mean(.1, .4, .1);
  double last = mean(.5, .9, .5), next = mean(.5, .1, .5);
  Results found = decode(first);
  EXPECT_EQ(textOf(found), "B");
  EXPECT_NEAR(scoreOf(found), std::log(b / (a + b + c) * last / (last + next)),
              1e-6);
}

// What one model says is impossible is impossible.
TEST_F(Ensemble, ImpossibleTokens) {
  attn_model *first = open(choice(.9, .1, 1));
  add(open(choice(0, .5, .5)));
  Results found = decode(first);
  EXPECT_EQ(textOf(found), "B");
  // Neither A nor C is left.
  EXPECT_NEAR(scoreOf(found), 0, 1e-6);
  add(open([](const TokenIds &, const TokenIds &) {
    return std::vector<float>(7, attn::test::nan);
  }));
  found = decode(first);
  ASSERT_TRUE(found) << error.message;
  EXPECT_EQ(api.result(found.get(), 0)->status, ATTN_ERROR_NUMERIC);
}

// Coverage and alignments are the first model's.
TEST_F(Ensemble, AlignmentIsThatOfTheFirst) {
  auto weigh = [](float x) {
    return [x](const TokenIds &, const TokenIds &) {
      return std::vector<float>{x, 1 - x, 0};
    };
  };
  attn_model *first = open(choice(.6, .3, .5), weigh(.25f));
  add(open(choice(.1, .5, .9), weigh(.9f)));
  double plain = scoreOf(decode(first));
  options.coverage = 2;
  options.want_alignment = 1;
  Results found = decode(first);
  const attn_hypothesis *best = api.hypothesis(found.get(), 0, 0);
  ASSERT_EQ(best->memory_positions, 3u);
  EXPECT_EQ(best->alignment[0], .25f);
  // Two steps: sums 1/2, 3/2 and 0.
  EXPECT_NEAR(best->score, plain + 2 * std::log(.5), 1e-6);
}

// A model that only generates takes part in one that translates.
TEST_F(Ensemble, LanguageModels) {
  Description description = tableDescription();
  description.axes.clear();
  description.inputs.clear();
  description.alignment.reset();
  attn_model *first = open(choice(.6, .3, .5));
  attn_model *language =
      open(choice(.1, .5, .9), nullptr, std::move(description));
  add(language);
  double a = std::sqrt(.06), b = std::sqrt(.15), c = std::sqrt(.04);
  double last = std::sqrt(.45) / (std::sqrt(.45) + std::sqrt(.05));
  EXPECT_NEAR(scoreOf(decode(first)), std::log(b / (a + b + c) * last), 1e-6);
  members.clear();
  add(first);
  expectFailure(language, "member 1 of the ensemble: expected a model without "
                          "an encoder, like 'table', but got 'table'");
}

TEST_F(Ensemble, WrongMembers) {
  attn_model *first = open(choice(.6, .3, .5));
  auto withTokens = [](const char *which, std::vector<std::string> tokens) {
    Description description = tableDescription();
    Marks marks;
    marks.start = start;
    marks.end = end;
    std::string problem;
    for (Vocabulary &vocabulary : description.vocabularies)
      if (vocabulary.name() == which)
        vocabulary = *Vocabulary::create(which, tokens, marks, problem);
    return description;
  };
  add(open(choice(.6, .3, .5), nullptr,
           withTokens("target", {"<s>", "</s>", "A", "B", "X", "D", "E"})));
  expectFailure(first, "member 1 of the ensemble: expected 'C' as token 4 in "
                       "the target vocabularies of an ensemble, but got 'X'");
  members.clear();
  add(first);
  add(open(choice(.6, .3, .5), nullptr,
           withTokens("source", {"<s>", "</s>", "A"})));
  expectFailure(first, "member 2 of the ensemble: expected 7 tokens in the "
                       "source vocabularies of an ensemble, but got 3");
  members.pop_back();
  members[0].weight = 0;
  expectFailure(first, "member 1 of the ensemble: expected a weight greater "
                       "than 0, but got 0");
  members[0].weight = INFINITY;
  EXPECT_FALSE(decode(first));
  members[0] = attn_default_member();
  expectFailure(first, "member 1 of the ensemble: expected a table and a "
                       "model, but got null");
  attn_api other = api;
  other.version = 7;
  members[0].api = &other;
  members[0].model = first;
  EXPECT_FALSE(decode(first));
  EXPECT_EQ(
      std::string(error.message)
          .find("member 1 of the ensemble: expected a library with version 1 "
                "of the interface, but got version 7"),
      0u);
  members[0].api = &api;
  char buffer[64];
  options.buffer = buffer;
  expectFailure(first, "expected no buffer for an ensemble, whose members work "
                       "on the heap, but got one");
  options.buffer = nullptr;
  EXPECT_EQ(api.memory_plan(first, &options, nullptr, &error), 0u);
  EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
  members.clear();
  options.ensemble_size = 1;
  options.ensemble = nullptr;
  Words sentences({"A"});
  EXPECT_FALSE(api.decode(first, &sentences.view, &options, &error));
  EXPECT_STREQ(error.message, "expected an ensemble of 1, but got null");
}

// A member that fails fails the sentences that are at fault.
TEST_F(Ensemble, AFailingMemberFailsItsSentence) {
  attn_model *first = open(choice(.6, .3, .5));
  add(open([](const TokenIds &source, const TokenIds &prefix) {
    return source[0] == B && prefix.size() == 1
               ? std::vector<float>()
               : probabilities({{prefix.empty() ? A : end, .9}}, 7);
  }));
  Results found = decode(first, {"A", "B", "C"});
  ASSERT_TRUE(found) << error.message;
  EXPECT_EQ(api.result(found.get(), 0)->status, ATTN_OK);
  EXPECT_STREQ(api.result(found.get(), 1)->message,
               "member 1 of the ensemble: expected another sentence");
  EXPECT_EQ(api.result(found.get(), 2)->status, ATTN_OK);
}

/// Two models of compiled code, of other weights.
class CompiledEnsemble : public OpenFakeModel {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  void SetUp() override {
    OpenFakeModel::SetUp();
    std::vector<float> table;
    for (int i = 0; i < 49; ++i)
      table.push_back(static_cast<float>(i * 29 % 31) / 9.5f);
    TemporaryFile weights(
        makeSafetensors("{\"table\": {\"dtype\": \"F32\", \"shape\": [7, 7], "
                        "\"data_offsets\": [0, 196]}}",
                        floatBytes(table)));
    attn_open_options open = attn_default_open_options();
    open.weights_path = weights.path.c_str();
    other = api->open(&open, &error);
    ASSERT_TRUE(other) << error.message;
  }
  void TearDown() override {
    api->close(other);
    OpenFakeModel::TearDown();
  }
  Results decode(const attn_sentences &sentences) {
    return Results(api->decode(model, &sentences, &options, &error),
                   api->free_results);
  }

  attn_model *other = nullptr;
  attn_decode_options options = attn_default_decode_options();
};

const std::vector<std::string> lines = {
    "a b c", "b", "c c a b zebra a", "", "a a a", "c b", "E a", "b b", "c"};

// To the bit, and whatever acts on logits.
TEST_F(CompiledEnsemble, OfAModelWithItselfIsTheModel) {
  Words sentences(lines);
  attn_member twice[] = {attn_default_member(), attn_default_member()};
  twice[0].api = twice[1].api = api;
  twice[0].model = twice[1].model = model;
  twice[1].weight = 2;
  for (size_t size : {1, 2})
    for (size_t beam : {1, 4}) {
      options.beam = options.nbest = beam;
      options.want_alignment = 1;
      options.repetition_penalty = 1.3;
      options.coverage = .1;
      options.ensemble_size = 0;
      Results expected = decode(sentences.view);
      options.ensemble = twice;
      options.ensemble_size = size;
      Results found = decode(sentences.view);
      ASSERT_TRUE(found) << error.message;
      for (size_t i = 0; i < lines.size(); ++i)
        expectSame(api, expected.get(), i, found.get(), i);
    }
}

// R13, and other weights give other results.
TEST_F(CompiledEnsemble, DoesNotDependOnTheBatch) {
  Words sentences(lines), prefixes(std::vector<std::string>(9, "A"));
  attn_member pair[] = {attn_default_member(), attn_default_member()};
  pair[0].api = pair[1].api = api;
  pair[0].model = other;
  pair[1].model = model;
  pair[1].weight = .25;
  bool differs = false;
  for (int kind = 0; kind < 4; ++kind) {
    options = attn_default_decode_options();
    options.nbest = 2;
    options.beam = kind == 1 ? 3 : 2;
    options.coverage = .1;
    options.want_alignment = 1;
    if (kind == 2) {
      options.beam = 1;
      options.sampling = 1;
    }
    options.alternatives = kind == 3;
    options.prefixes = kind == 3 ? &prefixes.view : nullptr;
    Results alone = decode(sentences.view);
    options.ensemble = pair;
    options.ensemble_size = 2;
    options.batch_size = 1;
    Results expected = decode(sentences.view);
    ASSERT_TRUE(expected) << error.message;
    for (size_t batch : {2, 32})
      for (size_t threads : {1, 3}) {
        options.batch_size = batch;
        options.threads = threads;
        Results found = decode(sentences.view);
        ASSERT_TRUE(found) << error.message;
        for (size_t i = 0; i < lines.size(); ++i)
          expectSame(api, expected.get(), i, found.get(), i);
      }
    differs |= api->hypothesis(alone.get(), 0, 0)->score !=
               api->hypothesis(expected.get(), 0, 0)->score;
  }
  EXPECT_TRUE(differs);
}

// The sum of steps by hand: what a search says of a target is what forced
// decoding says, and what steps say.
TEST_F(CompiledEnsemble, ForcedTargetsAreSteps) {
  Words sentence({"a b c"}), target({"B A D"});
  attn_member member = attn_default_member();
  member.api = api;
  member.model = other;
  member.weight = 2;
  options.ensemble = &member;
  options.ensemble_size = 1;
  options.forced = &target.view;
  Results found = decode(sentence.view);
  ASSERT_TRUE(found) << error.message;
  const attn_hypothesis *forced = api->hypothesis(found.get(), 0, 0);
  ASSERT_EQ(forced->emitted, 4u);
  attn_decoding *decodings[] = {
      api->encode(model, &sentence.view, nullptr, &error),
      api->encode(other, &sentence.view, nullptr, &error)};
  const int32_t ids[] = {4, 3, 6, 1};
  for (size_t t = 0; t < 4; ++t) {
    attn_step_request request = {sizeof(request), 1, nullptr,
                                 t ? ids + t - 1 : nullptr, nullptr};
    double means[7] = {}, sum = 0;
    for (int m : {0, 1}) {
      const attn_step_result *step = api->step(decodings[m], &request, &error);
      ASSERT_TRUE(step) << error.message;
      for (int v = 0; v < 7; ++v)
        means[v] += (m + 1) / 3.0 *
                    (static_cast<double>(step->logits[v]) -
                     api->log_sum_exp(step->logits, 7));
    }
    for (double mean : means)
      sum += std::exp(mean);
    EXPECT_NEAR(forced->word_logprobs[t], means[ids[t]] - std::log(sum), 2e-6);
  }
  for (attn_decoding *decoding : decodings)
    api->free_decoding(decoding);
}

} // namespace
