//===- CApiTest.cpp - the C interface over a small model ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "runtime/c_api.h"
#include "runtime/compiled_backend.h"
#include "runtime/compiled_model.h"
#include "runtime/cpu_features.h"
#include "unittests/runtime/fake_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

using namespace attn;
using namespace attn::test;

namespace {

class CApi : public OpenFakeModel {
protected:
  using Results = std::unique_ptr<attn_results, void (*)(attn_results *)>;

  Results decode(const std::vector<std::string> &lines) {
    Words words(lines);
    return Results(api->decode(model, &words.view, &options, &error),
                   api->free_results);
  }
  void expectFailure(attn_status status, const char *message) {
    Words words({"a"});
    EXPECT_FALSE(api->decode(model, &words.view, &options, &error));
    EXPECT_EQ(error.status, status);
    EXPECT_STREQ(error.message, message);
  }

  attn_decode_options options = attn_default_decode_options();
};

const std::vector<std::string> lines = {"a b c", "b",       "c c a b zebra a",
                                        "",      "a a a a", "c b"};

TEST_F(CApi, DescribesTheModel) {
  EXPECT_EQ(api->version, static_cast<uint32_t>(ATTN_API_VERSION));
  EXPECT_EQ(api->struct_size, sizeof(attn_api));
  EXPECT_STREQ(api->name(), "fake");
  EXPECT_EQ(api->has_weights(), 0);
  const attn_model_info *info = api->info(model);
  EXPECT_STREQ(info->name, "fake");
  EXPECT_STREQ(info->precision, "bf16");
  EXPECT_EQ(info->has_encoder, 1);
  EXPECT_EQ(info->has_alignment, 1);
  EXPECT_EQ(info->source_has_end, 1);
  EXPECT_EQ(info->parameter_count, 49u);
  EXPECT_EQ(info->vocabulary_count, 2u);
  const attn_vocabulary *target =
      api->vocabulary(model, static_cast<size_t>(info->target_vocabulary));
  EXPECT_STREQ(target->name, "target");
  EXPECT_EQ(target->size, 7u);
  EXPECT_STREQ(target->tokens[5], "ก");
  EXPECT_EQ(target->end, 1);
  EXPECT_EQ(target->unknown, -1);
  EXPECT_FALSE(api->vocabulary(model, 2));
}

TEST_F(CApi, ResultsDoNotDependOnTheBatch) {
  options.want_alignment = 1;
  for (size_t beam : {1, 4}) {
    options.beam = options.nbest = beam;
    options.batch_size = 32;
    Results together = decode(lines);
    ASSERT_TRUE(together) << error.message;
    ASSERT_EQ(api->result_count(together.get()), lines.size());
    options.batch_size = 2;
    Results pairs = decode(lines);
    for (size_t i = 0; i < lines.size(); ++i) {
      expectSame(api, together.get(), i, pairs.get(), i);
      Results alone = decode({lines[i]});
      expectSame(api, together.get(), i, alone.get(), 0);
      const attn_hypothesis *best = api->hypothesis(alone.get(), 0, 0);
      for (size_t t = 0; t < best->emitted * best->memory_positions; ++t)
        EXPECT_FALSE(std::isnan(best->alignment[t]));
    }
  }
}

TEST_F(CApi, StatesFollowTheirHypotheses) {
  // Were states of a beam mixed up, the words' scores would not be those of the
  // same target alone.
  options.beam = options.nbest = 6;
  options.normalization = ATTN_NORMALIZE_LENGTH;
  options.want_alignment = 1;
  Results found = decode(lines);
  ASSERT_TRUE(found);
  attn_decode_options forced = attn_default_decode_options();
  forced.normalization = ATTN_NORMALIZE_LENGTH;
  forced.want_alignment = 1;
  size_t compared = 0;
  for (size_t i = 0; i < lines.size(); ++i)
    for (size_t rank = 0; rank < api->result(found.get(), i)->hypothesis_count;
         ++rank) {
      const attn_hypothesis *x = api->hypothesis(found.get(), i, rank);
      if (!x->finished || !x->emitted)
        continue;
      attn_sentences target = {sizeof(target), 1,       &x->length,
                               nullptr,        &x->ids, nullptr};
      forced.forced = &target;
      Words words({lines[i]});
      Results again(api->decode(model, &words.view, &forced, &error),
                    api->free_results);
      ASSERT_TRUE(again) << error.message;
      const attn_hypothesis *y = api->hypothesis(again.get(), 0, 0);
      ASSERT_EQ(x->emitted, y->emitted);
      for (size_t t = 0; t < x->emitted; ++t)
        EXPECT_EQ(x->word_logprobs[t], y->word_logprobs[t]);
      EXPECT_EQ(x->score, y->score);
      EXPECT_EQ(0, memcmp(x->alignment, y->alignment,
                          x->emitted * x->memory_positions * sizeof(float)));
      ++compared;
    }
  EXPECT_GT(compared, 10u);
}

TEST_F(CApi, EmptySentence) {
  options.want_alignment = 1;
  Results found = decode({""});
  const attn_hypothesis *best = api->hypothesis(found.get(), 0, 0);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->length, 0u);
  EXPECT_EQ(best->emitted, 0u);
  EXPECT_EQ(best->score, 0);
  EXPECT_EQ(best->finished, 1);
}

TEST_F(CApi, SentencesFailAlone) {
  Results found = decode({"a b", "E a", "b"});
  ASSERT_TRUE(found);
  EXPECT_EQ(api->result(found.get(), 0)->status, ATTN_OK);
  EXPECT_EQ(api->result(found.get(), 1)->status, ATTN_ERROR_NUMERIC);
  EXPECT_EQ(api->result(found.get(), 1)->hypothesis_count, 0u);
  EXPECT_STREQ(api->result(found.get(), 1)->message,
               "expected finite logits, but got a NaN or an infinity as the "
               "model's output for token 2");
  EXPECT_EQ(api->result(found.get(), 2)->status, ATTN_OK);
  EXPECT_FALSE(api->hypothesis(found.get(), 1, 0));
  EXPECT_FALSE(api->result(found.get(), 3));
  EXPECT_FALSE(api->hypothesis(found.get(), 3, 0));
}

TEST_F(CApi, TokenIdsAreTheSameAsWords) {
  options.want_alignment = 1;
  Results words = decode({"a b nothing"});
  const int32_t ids[] = {3, 4, 2};
  const int32_t *sentence = ids;
  size_t length = 3;
  attn_sentences view = {sizeof(view), 1, &length, nullptr, &sentence, nullptr};
  Results numbers(api->decode(model, &view, &options, &error),
                  api->free_results);
  ASSERT_TRUE(numbers);
  expectSame(api, words.get(), 0, numbers.get(), 0);
}

TEST_F(CApi, UnknownTargetWordIsAnErrorOfItsSentence) {
  Words sources({"a", "b"}), targets({"A nonsense", "A"});
  options.forced = &targets.view;
  Results found(api->decode(model, &sources.view, &options, &error),
                api->free_results);
  ASSERT_TRUE(found);
  EXPECT_EQ(api->result(found.get(), 0)->status, ATTN_ERROR_INPUT);
  EXPECT_STREQ(api->result(found.get(), 0)->message,
               "forced target: expected words of vocabulary 'target', which "
               "has no unknown token, but got 'nonsense' as word 2");
  ASSERT_EQ(api->result(found.get(), 1)->status, ATTN_OK);
  EXPECT_EQ(api->hypothesis(found.get(), 1, 0)->emitted, 2u);
}

TEST_F(CApi, ManyThreadsShareOneModel) {
  options.beam = 3;
  options.want_alignment = 1;
  Results expected = decode(lines);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      attn_error own = ATTN_ERROR_INIT;
      Words words(lines);
      for (int turn = 0; turn < 20; ++turn) {
        Results found(api->decode(model, &words.view, &options, &own),
                      api->free_results);
        for (size_t s = 0; s < lines.size(); ++s)
          expectSame(api, expected.get(), s, found.get(), s);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CApi, WrongOptions) {
  options.beam = 0;
  expectFailure(ATTN_ERROR_OPTION, "expected a beam of 1 to 65536, but got 0");
  options = attn_default_decode_options();
  options.nbest = 2;
  expectFailure(ATTN_ERROR_OPTION,
                "expected nbest to be at least 1 and at most the beam, but got "
                "2 with a beam of 1");
  options = attn_default_decode_options();
  options.alpha = -1;
  expectFailure(ATTN_ERROR_OPTION,
                "expected an alpha of at least 0, but got -1");
  options.alpha = NAN;
  expectFailure(ATTN_ERROR_OPTION,
                "expected an alpha of at least 0, but got nan");
  options = attn_default_decode_options();
  options.max_length_factor = INFINITY;
  expectFailure(ATTN_ERROR_OPTION,
                "expected a max_length_factor of at least 0, but got inf");
  options = attn_default_decode_options();
  options.batch_size = 0;
  expectFailure(ATTN_ERROR_OPTION,
                "expected a batch_size of at least 1, but got 0");
  options = attn_default_decode_options();
  Words two({"A", "B"});
  options.forced = &two.view;
  expectFailure(ATTN_ERROR_OPTION, "expected as many forced targets as "
                                   "sentences, 1, but got 2");
}

TEST_F(CApi, WrongValuesOfOptions) {
  auto expectWrong = [&](auto attn_decode_options::*field, auto value,
                         const char *message) {
    options = attn_default_decode_options();
    options.want_alignment = 1;
    // Enumerations have values that only C can give them.
    static_assert(sizeof(options.*field) == sizeof(value));
    memcpy(&(options.*field), &value, sizeof(value));
    expectFailure(ATTN_ERROR_OPTION, message);
  };
  using O = attn_decode_options;
  expectWrong(&O::normalization, 3,
              "expected a known normalization, but got 3");
  expectWrong(&O::coverage, -.5,
              "expected a coverage of at least 0, but got "
              "-0.5");
  expectWrong(&O::coverage, double(NAN),
              "expected a coverage of at least 0, but got "
              "nan");
  expectWrong(&O::no_repeat_ngram, int64_t(-1),
              "expected a no_repeat_ngram of at least 0, but got -1");
  expectWrong(&O::repetition_penalty, 0.,
              "expected a repetition_penalty greater than 0, but got 0");
  expectWrong(&O::sampling, 2, "expected sampling to be 0 or 1, but got 2");
  expectWrong(&O::temperature, 0.,
              "expected a temperature greater than 0, but got 0");
  expectWrong(&O::temperature, double(INFINITY),
              "expected a temperature greater than 0, but got inf");
  expectWrong(&O::top_p, 0.,
              "expected a top_p greater than 0 and at most 1, but got 0");
  expectWrong(&O::top_p, 1.1,
              "expected a top_p greater than 0 and at most 1, but got 1.1");
  expectWrong(&O::epsilon, 1.,
              "expected an epsilon of at least 0 and less than 1, but got 1");
  expectWrong(&O::epsilon, double(NAN),
              "expected an epsilon of at least 0 and less than 1, but got nan");
  expectWrong(&O::alignment_head, 1,
              "expected an alignment_head of 0 to 0, ATTN_HEADS_AVERAGE or "
              "ATTN_HEADS_ALL, but got 1");
  expectWrong(&O::alignment_head, -3,
              "expected an alignment_head of 0 to 0, ATTN_HEADS_AVERAGE or "
              "ATTN_HEADS_ALL, but got -3");
  expectWrong(&O::stop, 9, "expected a known stop rule, but got 9");
  expectWrong(&O::refill, -1, "expected a known refill, but got -1");
  expectWrong(&O::patience, 0.,
              "expected a patience greater than 0, but got 0");
  expectWrong(&O::alternatives, 2,
              "expected alternatives to be 0 or 1, but got 2");
  expectWrong(&O::replace_unknown, 1,
              "expected a target vocabulary with an unknown token, but got "
              "'target', which has none");
  options = attn_default_decode_options();
  options.sampling = 1;
  options.beam = 2;
  expectFailure(ATTN_ERROR_OPTION,
                "expected a beam of 1 with sampling, but got 2");
  options.beam = 1;
  options.nbest = 100000;
  expectFailure(ATTN_ERROR_OPTION,
                "expected 1 to 65536 samples, but got 100000");
  options = attn_default_decode_options();
  options.alternatives = 1;
  options.beam = 4;
  options.nbest = 16385;
  expectFailure(ATTN_ERROR_OPTION, "expected 1 to 16384 alternatives with a "
                                   "beam of 4, but got 16385");
  options.beam = options.nbest = options.sampling = 1;
  expectFailure(ATTN_ERROR_OPTION,
                "expected one of alternatives and sampling, but got both");
  options = attn_default_decode_options();
  Words two({"A", "B"}), one({"A"}), wrong({"A", "A Bee"}), none({""});
  options.prefixes = &two.view;
  expectFailure(ATTN_ERROR_OPTION,
                "expected as many prefixes as sentences, 1, but got 2");
  options.prefixes = options.forced = &one.view;
  expectFailure(ATTN_ERROR_OPTION,
                "expected one of forced targets and prefixes, but got both");
  options = attn_default_decode_options();
  options.banned = &wrong.view;
  expectFailure(ATTN_ERROR_OPTION,
                "banned sequence 2: expected words of vocabulary 'target', "
                "which has no unknown token, but got 'Bee' as word 2");
  options.banned = &none.view;
  expectFailure(ATTN_ERROR_OPTION, "banned sequence 1: expected at least one "
                                   "token, but got none");
  const int32_t id = 7, *ids = &id;
  size_t length = 1;
  attn_sentences outside = {sizeof(outside), 1,    &length,
                            nullptr,         &ids, nullptr};
  options.banned = &outside;
  expectFailure(ATTN_ERROR_OPTION,
                "banned sequence 1: expected token ids of vocabulary 'target', "
                "0 to 6, but got 7");
}

// R18 through the C interface.
TEST_F(CApi, PrefixesBansAndSamples) {
  Results plain = decode({"a b c", "c"});
  const attn_hypothesis *best = api->hypothesis(plain.get(), 0, 0);
  ASSERT_GT(best->length, 2u);
  std::string second = best->tokens[1];
  Words sources({"a b c", "c"}), prefixes({best->tokens[0], ""}),
      banned({second});
  options.prefixes = &prefixes.view;
  Results again(api->decode(model, &sources.view, &options, &error),
                api->free_results);
  ASSERT_TRUE(again) << error.message;
  for (size_t i : {0, 1})
    expectSame(api, plain.get(), i, again.get(), i);
  options.banned = &banned.view;
  Results without(api->decode(model, &sources.view, &options, &error),
                  api->free_results);
  ASSERT_TRUE(without) << error.message;
  const attn_hypothesis *other = api->hypothesis(without.get(), 0, 0);
  for (size_t t = 1; t < other->length; ++t)
    EXPECT_STRNE(other->tokens[t], second.c_str());
  // Samples: numbered by the caller, they do not depend on their place.
  options = attn_default_decode_options();
  options.sampling = 1;
  options.nbest = 4;
  options.seed = 11;
  options.temperature = 3;
  Results samples = decode(lines);
  const uint64_t number = 2;
  options.sentence_numbers = &number;
  Results alone = decode({lines[2]});
  ASSERT_TRUE(alone) << error.message;
  EXPECT_EQ(api->result(alone.get(), 0)->hypothesis_count, 4u);
  expectSame(api, samples.get(), 2, alone.get(), 0);
}

TEST_F(CApi, WrongArguments) {
  EXPECT_FALSE(api->decode(nullptr, nullptr, nullptr, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
  EXPECT_FALSE(api->decode(nullptr, nullptr, nullptr, nullptr));
  options.struct_size = 0;
  expectFailure(ATTN_ERROR_ARGUMENT,
                ("expected struct_size of attn_decode_options to be " +
                 std::to_string(sizeof(options)) + ", but got 0")
                    .c_str());
  Words words({"a"});
  words.view.tokens = nullptr;
  EXPECT_FALSE(api->decode(model, &words.view, nullptr, &error));
  EXPECT_STREQ(error.message,
               "expected one of tokens and ids of sentences, but got none");
  // A success drops the message.
  Words good({"a"});
  Results found(api->decode(model, &good.view, nullptr, &error),
                api->free_results);
  EXPECT_TRUE(found);
  EXPECT_EQ(error.status, ATTN_OK);
  EXPECT_EQ(error.message, nullptr);
}

TEST_F(CApi, OlderAndNewerCallers) {
  // Older: what it does not know has its default. `beam` is the last it knows.
  struct {
    size_t struct_size, beam, garbage;
  } older = {2 * sizeof(size_t), 3, 77};
  Words words({"a b"});
  auto cast = [](void *options) {
    return static_cast<const attn_decode_options *>(options);
  };
  Results found(api->decode(model, &words.view, cast(&older), &error),
                api->free_results);
  ASSERT_TRUE(found) << error.message;
  options.beam = 3;
  Results expected = decode({"a b"});
  expectSame(api, found.get(), 0, expected.get(), 0);
  // Newer: fine where the new option has its default of zero.
  struct {
    attn_decode_options known;
    size_t added;
  } newer = {attn_default_decode_options(), 0};
  newer.known.struct_size = sizeof(newer);
  Results again(api->decode(model, &words.view, cast(&newer), &error),
                api->free_results);
  EXPECT_TRUE(again);
  newer.added = 1;
  EXPECT_FALSE(api->decode(model, &words.view, cast(&newer), &error));
  EXPECT_EQ(error.status, ATTN_ERROR_ARGUMENT);
}

#ifdef __SSE__
TEST_F(CApi, RestoresTheFloatingPointState) {
  unsigned before = _mm_getcsr();
  Results plain = decode({"a b c"});
  _mm_setcsr(before | 0x8040 | 0x6000); // Flush to zero; round towards zero.
  Results flushed = decode({"a b c"});
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & ~0x3fu, (before | 0x8040 | 0x6000) & ~0x3fu);
  expectSame(api, plain.get(), 0, flushed.get(), 0);
}
#endif

TEST(OpenCApi, NeedsFittingWeights) {
  const attn_api *api = attn_model_fake();
  attn_error error = ATTN_ERROR_INIT;
  EXPECT_FALSE(api->open(nullptr, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_OPTION);
  EXPECT_STREQ(error.message,
               "expected a weights file for model 'fake', which was compiled "
               "without weights, but got none");
  attn_open_options options = attn_default_open_options();
  options.weights_path = "/no/such/file";
  EXPECT_FALSE(api->open(&options, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_FILE);
  TemporaryFile wrong(
      makeSafetensors("{\"tabel\": {\"dtype\": \"F32\", \"shape\": [1], "
                      "\"data_offsets\": [0, 4]}}",
                      floatBytes({1})));
  options.weights_path = wrong.path.c_str();
  EXPECT_FALSE(api->open(&options, &error));
  EXPECT_EQ(error.status, ATTN_ERROR_WEIGHTS);
  EXPECT_EQ(std::string(error.message),
            wrong.path +
                ": tensor 'table': expected a tensor of this name for "
                "parameter 'table' [7, 7], but got none; the nearest name is "
                "'tabel'\n" +
                wrong.path +
                ": tensor 'tabel': expected only tensors of the model, but got "
                "one of shape [1] that no parameter uses; the nearest name is "
                "'table'");
  api->clear_error(&error);
  EXPECT_EQ(error.message, nullptr);
}

TEST(OpenCApi, TellsItsLog) {
  const attn_api *api = attn_model_fake();
  TemporaryFile weights(fakeWeights());
  using Lines = std::vector<std::string>;
  Lines lines;
  attn_open_options options = attn_default_open_options();
  options.weights_path = weights.path.c_str();
  options.log_context = &lines;
  options.log = [](void *context, attn_log_level level, const char *message) {
    static_cast<Lines *>(context)->push_back(
        (level == ATTN_LOG_WARNING ? "warning: " : "info: ") +
        std::string(message));
  };
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(&options, &error);
  ASSERT_TRUE(model) << error.message;
  api->close(model);
  EXPECT_EQ(lines, (Lines{"info: " + weights.path +
                              ": 1 parameters, 0 used "
                              "in place, 1 copied, 0 of them converted to F32",
                          "info: model 'fake': 256 bytes of constants, made of "
                          "the weights"}));
}

// R18: the source's words as they were given; neither padding nor the end.
TEST(CApiReplacement, UnknownWordsComeFromTheSource) {
  Failure failure;
  std::unique_ptr<Model> opened =
      openWith("\"start\": 0, \"end\": 1}]",
               "\"start\": 0, \"end\": 1, \"unknown\": 2}]", failure);
  ASSERT_TRUE(opened) << failure.message;
  attn_api api = modelApi();
  attn_model *model = wrapModel(std::move(opened));
  EXPECT_EQ(api.info(model)->alignment_heads, 1u);
  attn_error error = ATTN_ERROR_INIT;
  attn_decode_options options = attn_default_decode_options();
  options.replace_unknown = 1;
  // The weight is largest where the target's position is, and at the end token
  // behind the sentence's: then all words have equal weights.
  Words sources({"zebra b nothing", "c", "c a b a c b a"}),
      targets({"A B what <unk> <unk>", "<unk> <unk>", "A"});
  options.forced = &targets.view;
  for (int wanted : {0, 1}) {
    options.want_alignment = wanted;
    attn_results *found = api.decode(model, &sources.view, &options, &error);
    ASSERT_TRUE(found) << error.message;
    const attn_hypothesis *first = api.hypothesis(found, 0, 0);
    EXPECT_EQ(first->alignment != nullptr, wanted == 1);
    ASSERT_EQ(first->length, 5u);
    EXPECT_STREQ(first->tokens[0], "A");
    EXPECT_STREQ(first->tokens[2], "nothing");
    EXPECT_STREQ(first->tokens[3], "zebra");
    EXPECT_STREQ(first->tokens[4], "zebra");
    EXPECT_EQ(first->ids[2], 2);
    EXPECT_STREQ(api.hypothesis(found, 1, 0)->tokens[0], "c");
    EXPECT_STREQ(api.hypothesis(found, 1, 0)->tokens[1], "c");
    api.free_results(found);
  }
  // From numbers, the vocabulary's words.
  const int32_t ids[] = {3, 4}, unknown[] = {3, 2};
  const int32_t *source = ids, *target = unknown;
  size_t length = 2;
  attn_sentences numbers = {sizeof(numbers), 1,       &length,
                            nullptr,         &source, nullptr};
  attn_sentences forced = {sizeof(forced), 1,       &length,
                           nullptr,        &target, nullptr};
  options.forced = &forced;
  attn_results *found = api.decode(model, &numbers, &options, &error);
  ASSERT_TRUE(found) << error.message;
  EXPECT_STREQ(api.hypothesis(found, 0, 0)->tokens[1], "b");
  api.free_results(found);
  api.close(model);
}

/// Whether the model opens with its description changed.
Failure openChanged(const std::string &from, const std::string &to) {
  Failure failure;
  std::unique_ptr<Model> model = openWith(from, to, failure);
  EXPECT_EQ(model == nullptr, failure.failed());
  return failure;
}

TEST(CompiledModel, WeightsMayLieInTheLibrary) {
  EXPECT_FALSE(openChanged("\"fake\"", "\"fake\"").failed());
}

TEST(CompiledModel, PartsThatDoNotFitAreErrors) {
  const std::pair<const char *, const char *> changes[] = {
      {"{\"model\"", "{\"mode\""},
      {"{\"model\"", "[\"model\""},
      {"\"axis\": 0}]", "\"axis\": 1}]"},
      {"\"vocabulary\": 1,", "\"vocabulary\": 2,"},
      {"\"start\": 0, \"end\": 1}]", "\"start\": 7, \"end\": 1}]"},
      {"\"start\": 0},", "\"start\": -2},"},
      {"\"A\", \"B\"", "\"A\", \"A\""},
      {"\"heads\": 1", "\"heads\": 2"},
      {"\"role\": \"logits\"", "\"role\": \"logit\""},
      {"[\"rows\", 7]", "[\"rows\", 8]"},
      {"[\"rows\", \"axis0\"]", "[\"rows\", \"axis1\"]"},
      {"\"next_state\", \"index\": 0", "\"next_state\", \"index\": 1"},
      {"\"initial_state\", \"index\": 0, \"type\": \"i32\"",
       "\"initial_state\", \"index\": 0, \"type\": \"i64\""},
      {"\"prepared\", \"index\": 0", "\"prepared\", \"index\": 1"},
      {"\"parameter\", \"index\": 0", "\"parameter\", \"index\": 1"},
      {"\"input\", \"index\": 0, \"type\": \"i32\"",
       "\"input\", \"index\": 0, \"type\": \"f32\""},
      {"[\"sentences\", \"axis0\"]", "[\"axis0\", \"sentences\"]"}};
  for (auto [from, to] : changes)
    EXPECT_EQ(openChanged(from, to).status, ATTN_ERROR_MODEL) << from;
  attn_compiled_model other = attn_compiled;
  ++other.version;
  Failure failure;
  EXPECT_FALSE(openCompiledModel(other, nullptr, failure));
  EXPECT_EQ(failure.status, ATTN_ERROR_MODEL);
}

TEST(CompiledModel, ConstantsAreThoseOfTheDescription) {
  const AlignedBuffer constants(256);
  attn_compiled_model compiled = attn_compiled;
  compiled.constants = constants.data();
  compiled.constants_size = 196;
  Failure failure;
  EXPECT_FALSE(openCompiledModel(compiled, nullptr, failure));
  EXPECT_EQ(failure.status, ATTN_ERROR_MODEL);
  EXPECT_EQ(failure.message, "expected 256 bytes of constants, but got 196");
}

TEST(CompiledModel, NeedsExtensionsOfTheProcessor) {
  // What this processor has is enough.
  attn_compiled_model compiled = attn_compiled;
  compiled.cpu_features = findCpuFeatures();
  Failure failure;
  EXPECT_FALSE(openCompiledModel(compiled, nullptr, failure));
  EXPECT_EQ(failure.status, ATTN_ERROR_OPTION) << failure.message;

  // An extension that nobody has.
  compiled.cpu_features = uint64_t(1) << 63;
  EXPECT_FALSE(openCompiledModel(compiled, nullptr, failure));
  EXPECT_EQ(failure.status, ATTN_ERROR_UNSUPPORTED) << failure.message;

  EXPECT_EQ(formatCpuFeatures(5), "sse3 fma");
}

TEST(CompiledModel, TakesTheFirstCodeThatTheProcessorRuns) {
  static std::string taken;
  auto note = [](const char *name) {
    return attn_program{name[0] == 'w'
                            ? [](const int64_t *, void *const *, void *,
                                 void *) { taken += "wide "; }
                            : [](const int64_t *, void *const *, void *,
                                 void *) { taken += "narrow "; },
                        [](const int64_t *) { return int64_t(0); }};
  };
  const AlignedBuffer constants(256);
  attn_compiled_model narrow = attn_compiled;
  narrow.constants = constants.data();
  narrow.constants_size = 256;
  narrow.encode = note("narrow");
  attn_compiled_model wide = narrow;
  wide.encode = note("wide");
  wide.otherwise = &narrow;
  auto encode = [&] {
    Failure failure;
    std::unique_ptr<Model> model = openCompiledModel(wide, nullptr, failure);
    ASSERT_TRUE(model) << failure.message;
    int32_t id = 0;
    InputSource source{.length = 1, .ids = &id};
    SourceSpan sentence(&source, 1);
    Arena memory;
    std::string error;
    EXPECT_TRUE(model->decoder().encode({&sentence, 1}, 1, 1, memory, error));
  };
  wide.cpu_features = findCpuFeatures();
  encode();
  wide.cpu_features = uint64_t(1) << 63;
  encode();
  EXPECT_EQ(taken, "wide narrow ");

  // Where nothing runs, the message is about what asks for least.
  narrow.cpu_features = uint64_t(1) << 62;
  Failure failure;
  EXPECT_FALSE(openCompiledModel(wide, nullptr, failure));
  EXPECT_EQ(failure.status, ATTN_ERROR_UNSUPPORTED);
}

} // namespace
