//===- DecodingTest.cpp - steps, states and hypotheses --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Backend.h"
#include "unittests/reference/Module.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// The logits are the mean of the one-hot vectors of all tokens so far.
const char *const language = R"(
attn.model @language {
  attn.vocabulary @words size 3
  attn.parameter @words.embedding : tensor<3x3xf32>
  attn.decoder vocabulary @words memories [] axes [] states [] axes [] zero [] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %row: tensor<?xi32>):
    %e = attn.get_parameter @words.embedding : tensor<3x3xf32>
    %d = attn.embed %y, %e : tensor<?xi32>, tensor<3x3xf32> -> tensor<?x3xf32>
    %p = attn.past %d : tensor<?x3xf32> -> tensor<?x?x3xf32>
    %o = arith.constant 1 : i32
    %ones = attn.broadcast %o like(%t : tensor<?xi32>) : i32 -> tensor<?xi32>
    %n = arith.addi %t, %ones : tensor<?xi32>
    %c = attn.read softmax ins(%p[row, key] : tensor<?x?x3xf32>) lengths(%n)
        query_positions(%t) score {
    ^bb0(%k: tensor<3xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      // Causal, which excludes nothing here, as a term: 0 or -inf.
      %0 = arith.subi %l, %m : i32
      %1 = arith.addi %i, %0 : i32
      %2 = arith.cmpi sle, %j, %1 : i32
      %zero = arith.constant 0.0 : f32
      %never = arith.constant 0xFF800000 : f32
      %3 = arith.select %2, %zero, %never : f32
      attn.yield %3 : f32
    } summand {
    ^bb0(%k: tensor<3xf32>, %i: i32, %j: i32, %m: i32, %l: i32):
      attn.yield %k : tensor<3xf32>
    } -> tensor<?x3xf32>
    attn.predict %c : tensor<?x3xf32>
  }
}
)";

/// A step's arrays, which the request refers to.
struct Rows {
  std::vector<int32_t> tokens, positions, sentences, parents;

  ::attn::StepRequest request() const {
    ::attn::StepRequest request;
    request.rows = static_cast<int64_t>(tokens.size());
    request.tokens = tokens.data();
    request.positions = positions.data();
    request.sentences = sentences.data();
    request.parents = parents.data();
    return request;
  }
};

std::vector<float> getLogits(::attn::Decoding &decoding, const Rows &rows,
                             int64_t vocabulary,
                             ::attn::StepResult *result = nullptr) {
  ::attn::StepResult own;
  std::string error;
  bool done = decoding.step(rows.request(), result ? *result : own, error);
  EXPECT_TRUE(done) << error;
  const float *logits = (result ? result : &own)->logits;
  return done ? std::vector<float>(logits,
                                   logits + rows.tokens.size() * vocabulary)
              : std::vector<float>();
}

::attn::DecodingPtr encodeSources(ReferenceBackend &backend,
                                  const std::vector<::attn::TokenIds> &sources,
                                  std::string &error) {
  std::vector<::attn::TokenIds> copies = sources;
  std::vector<::attn::InputSource> inputs(sources.size());
  std::vector<::attn::SourceSpan> spans;
  for (auto [ids, input] : llvm::zip(copies, inputs)) {
    input = {ids.size(), ids.data(), nullptr};
    spans.emplace_back(&input, 1);
  }
  ::attn::Arena unused;
  return backend.encode(spans, static_cast<int64_t>(spans.size()), 0, unused,
                        error);
}

TEST(Decoding, PastFollowsTheHypotheses) {
  Module module(language);
  Parameters parameters;
  parameters["words.embedding"] =
      Tensor::floats({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  ReferenceBackend backend(module.model(), std::move(parameters));
  std::string error;
  auto decoding = encodeSources(backend, {{}, {}}, error);
  ASSERT_TRUE(decoding) << error;
  EXPECT_EQ(decoding->memoryLength(0), 0);

  using Floats = std::vector<float>;
  EXPECT_EQ(getLogits(*decoding, {{0, 1}, {0, 0}, {0, 1}, {0, 1}}, 3),
            (Floats{1, 0, 0, 0, 1, 0}));
  // The first sentence branches.
  EXPECT_EQ(
      getLogits(*decoding, {{1, 2, 1}, {1, 1, 1}, {0, 0, 1}, {0, 0, 1}}, 3),
      (Floats{.5f, .5f, 0, .5f, 0, .5f, 0, 1, 0}));
  // Its branches change places; the second sentence is over.
  EXPECT_EQ(getLogits(*decoding, {{0, 0}, {2, 2}, {0, 0}, {1, 0}}, 3),
            (Floats{2 / 3.f, 0, 1 / 3.f, 2 / 3.f, 1 / 3.f, 0}));
  // A row cannot continue one of another sentence.
  ::attn::StepResult result;
  EXPECT_FALSE(
      decoding->step(Rows{{0}, {3}, {1}, {0}}.request(), result, error));
  EXPECT_EQ(error, "expected parents that are rows of the same sentence");
}

/// A decoder with a state that starts as the encoder says, and one that is a
/// sequence over the memory.
const char *const location = R"(
attn.model @location {
  attn.vocabulary @source size 5 end 2
  attn.vocabulary @target size 4 start 1 end 2
  attn.parameter @source.embedding : tensor<5x3xf32>
  attn.parameter @target.embedding : tensor<4x3xf32>
  attn.parameter @predict : tensor<4x3xf32>
  attn.encoder inputs ["x"] vocabularies ["source"] ends [true] axes [0] {
  ^bb0(%x: tensor<?x?xi32>, %n: tensor<?xi32>):
    %e = attn.get_parameter @source.embedding : tensor<5x3xf32>
    %h = attn.embed %x, %e : tensor<?x?xi32>, tensor<5x3xf32> -> tensor<?x?x3xf32>
    %s = attn.mean %h lengths(%n) : tensor<?x?x3xf32> -> tensor<?x3xf32>
    attn.encoded memory(%h : tensor<?x?x3xf32>) axes [0] lengths(%n) initial(%s : tensor<?x3xf32>)
  }
  attn.decoder vocabulary @target start "<s>" memories ["h"] axes [0] states ["s", "a"] axes [-1, 0] zero [false, true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %row: tensor<?xi32>, %h: tensor<?x?x3xf32>, %n: tensor<?xi32>, %s: tensor<?x3xf32>, %a: tensor<?x?xf32>):
    %e = attn.get_parameter @target.embedding : tensor<4x3xf32>
    %p = attn.get_parameter @predict : tensor<4x3xf32>
    %c, %w = attn.read softmax ins(%s[row] : tensor<?x3xf32>, %h[source, key] : tensor<?x?x3xf32>, %a[row, key] : tensor<?x?xf32>) lengths(%n) rows(%row) score {
    ^bb0(%q: tensor<3xf32>, %k: tensor<3xf32>, %before: f32, %i: i32, %j: i32, %m: i32, %l: i32):
      %0 = attn.dot %q, %k : tensor<3xf32> -> f32
      %1 = arith.subf %0, %before : f32
      attn.yield %1 : f32
    } summand {
    ^bb0(%q: tensor<3xf32>, %k: tensor<3xf32>, %before: f32, %i: i32, %j: i32, %m: i32, %l: i32):
      attn.yield %k : tensor<3xf32>
    } -> tensor<?x3xf32> weights tensor<?x?xf32>
    %d = attn.embed %y, %e : tensor<?xi32>, tensor<4x3xf32> -> tensor<?x3xf32>
    %0 = arith.addf %c, %s : tensor<?x3xf32>
    %1 = arith.addf %0, %d : tensor<?x3xf32>
    %new = math.tanh %1 : tensor<?x3xf32>
    %logits = attn.linear %new, %p : tensor<?x3xf32>, tensor<4x3xf32> -> tensor<?x4xf32>
    attn.predict %logits : tensor<?x4xf32> states(%new, %w : tensor<?x3xf32>, tensor<?x?xf32>) weights(%w : tensor<?x?xf32> on 0)
  }
}
)";

TEST(Decoding, SentencesDoNotDependOnPadding) {
  Module module(location);
  std::mt19937 generator(5);
  Parameters parameters;
  parameters["source.embedding"] = makeRandom({5, 3}, generator);
  parameters["target.embedding"] = makeRandom({4, 3}, generator);
  parameters["predict"] = makeRandom({4, 3}, generator);
  ReferenceBackend backend(module.model(), parameters);
  std::string error;
  std::vector<::attn::TokenIds> sentences = {{3, 2}, {4, 3, 0, 2}};
  auto decoding = encodeSources(backend, sentences, error);
  ASSERT_TRUE(decoding) << error;
  EXPECT_EQ(decoding->memoryLength(0), 2);
  EXPECT_EQ(decoding->memoryLength(1), 4);

  // The same in one padded batch.
  Environment environment;
  environment.parameters = &parameters;
  FailureOr<Encoded> encoded =
      encode(module.model().getEncoder(),
             Tensor::integers({2, 4}, {3, 2, 1, 4, 4, 3, 0, 2}),
             Tensor::integers({2}, {2, 4}), environment);
  ASSERT_TRUE(succeeded(encoded)) << environment.error;
  DecoderOp decoder = module.model().getDecoder();
  SmallVector<Tensor> states = getFirstStates(decoder, *encoded, 2);

  Rows rows = {{1, 1}, {0, 0}, {0, 1}, {0, 1}};
  for (int32_t position = 0; position < 3; ++position) {
    rows.positions.assign(rows.tokens.size(), position);
    ::attn::StepResult result;
    std::vector<float> logits = getLogits(*decoding, rows, 4, &result);

    SmallVector<int64_t> parents(rows.parents.begin(), rows.parents.end());
    for (Tensor &state : states)
      state = gatherRows(state, parents);
    int64_t count = rows.tokens.size();
    FailureOr<Step> step = reference::step(
        decoder, Tensor::integers(count, rows.tokens),
        Tensor::integers(count, rows.positions),
        Tensor::integers(count, rows.sentences), *encoded, states, environment);
    ASSERT_TRUE(succeeded(step)) << environment.error;
    states = step->states;

    ASSERT_EQ(result.memoryPositions, 4);
    for (size_t i = 0; i < logits.size(); ++i)
      EXPECT_EQ(logits[i], static_cast<float>(step->logits.data[i]));
    for (int64_t i = 0; i < step->weights->size(); ++i)
      EXPECT_EQ(result.weights[i], static_cast<float>(step->weights->data[i]));
    EXPECT_EQ(result.weights[2], 0.0f); // Padding of the first sentence.
    // The second sentence branches, then its branches change places.
    rows = position == 0 ? Rows{{0, 3, 0}, {}, {0, 1, 1}, {0, 1, 1}}
                         : Rows{{3, 1, 1}, {}, {0, 1, 1}, {0, 2, 1}};
  }
}

TEST(Decoding, MissingParametersAreErrors) {
  Module module(location);
  ReferenceBackend backend(module.model(), Parameters());
  std::string error;
  EXPECT_FALSE(encodeSources(backend, {{3, 2}}, error));
  EXPECT_EQ(error, "'attn.get_parameter' expected a value for parameter "
                   "'source.embedding', but got none");
}

} // namespace
