//===- ProgramTest.cpp - whole programs through the runtime's convention --===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs prepare, encode and step of a small model as the runtime does, with rows
// that share a sentence (R14), and compares with the evaluator on the model as
// it was written.
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_model.h"
#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

const char *const modelText = R"(
attn.model @m {
  attn.vocabulary @v size 3
  attn.parameter @U : tensor<5x4xf32>
  attn.parameter @W : tensor<5x3xf32>
  attn.parameter @a : tensor<5xf32>
  attn.parameter @P : tensor<3x7xf32>
  attn.parameter @b : tensor<3xf32>
  attn.encoder inputs ["x"] vocabularies [""] ends [false] axes [0] {
  ^bb0(%x: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%x : tensor<?x?x4xf32>) axes [0] lengths(%n)
  }
  attn.decoder vocabulary @v memories ["h"] axes [0] states ["s"] axes [-1] zero [true] {
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>,
       %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %s: tensor<?x3xf32>):
    %U = attn.get_parameter @U : tensor<5x4xf32>
    %W = attn.get_parameter @W : tensor<5x3xf32>
    %a = attn.get_parameter @a : tensor<5xf32>
    %P = attn.get_parameter @P : tensor<3x7xf32>
    %b = attn.get_parameter @b : tensor<3xf32>
    %e = attn.score ins(%s[row] : tensor<?x3xf32>, %h[source, key] : tensor<?x?x4xf32>,
        %W[] : tensor<5x3xf32>, %U[] : tensor<5x4xf32>, %a[] : tensor<5xf32>)
        lengths(%n) rows(%r) {
    ^bb0(%q: tensor<3xf32>, %k: tensor<4xf32>, %w: tensor<5x3xf32>,
         %u: tensor<5x4xf32>, %v: tensor<5xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      %0 = attn.linear %q, %w : tensor<3xf32>, tensor<5x3xf32> -> tensor<5xf32>
      %1 = attn.linear %k, %u : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
      %2 = arith.addf %0, %1 : tensor<5xf32>
      %3 = math.tanh %2 : tensor<5xf32>
      %4 = attn.dot %v, %3 : tensor<5xf32> -> f32
      attn.yield %4 : f32
    } -> tensor<?x?xf32>
    %p, %readable, %valid = attn.normalize softmax %e lengths(%n) rows(%r)
        : tensor<?x?xf32> -> tensor<?x?xf32>, tensor<?x?xi1>, tensor<?xi1>
    %c = attn.sum %p : tensor<?x?xf32> readable(%readable : tensor<?x?xi1>)
        ins(%h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) {
    ^bb0(%k: tensor<4xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
      attn.yield %k : tensor<4xf32>
    } -> tensor<?x4xf32>
    %x = attn.concat %c, %s : tensor<?x4xf32>, tensor<?x3xf32> -> tensor<?x7xf32>
    %l = attn.linear %x, %P bias(%b : tensor<3xf32>)
        : tensor<?x7xf32>, tensor<3x7xf32> -> tensor<?x3xf32>
    %s1 = math.tanh %l : tensor<?x3xf32>
    attn.predict %l : tensor<?x3xf32> states(%s1 : tensor<?x3xf32>)
        weights(%p : tensor<?x?xf32> on 0)
  }
}
)";

class Program {
public:
  explicit Program(const std::string &text) : source(text) {
    std::string error;
    OwningOpRef<ModuleOp> clone(source.module->clone());
    jit = Jit::compile(*clone, error);
    if (!jit)
      llvm::report_fatal_error(error.c_str());
  }

  Module source;
  std::unique_ptr<Jit> jit;
};

std::vector<float> toFloats(const Tensor &tensor) {
  return std::vector<float>(tensor.data.begin(), tensor.data.end());
}
std::vector<int32_t> toIntegers(const Tensor &tensor) {
  return std::vector<int32_t>(tensor.data.begin(), tensor.data.end());
}

/// What a step gives: logits [rows, 3], states [rows, 3], weights [rows, keys].
struct StepResult {
  std::vector<float> logits, states, weights;
};

/// Runs the model on memories [sentences, keys, 4] for rows of given sentences.
StepResult runModel(const Tensor &memory, const Tensor &lengths,
                    const Tensor &sentences, const Tensor &states,
                    const Parameters &parameters, int64_t shares = 1) {
  // Compiled once for all tests.
  static Program program(modelText);
  int64_t numSentences = memory.shape[0], numKeys = memory.shape[1];
  int64_t numRows = sentences.size();
  std::vector<float> U = toFloats(parameters.lookup("U")),
                     W = toFloats(parameters.lookup("W")),
                     a = toFloats(parameters.lookup("a")),
                     P = toFloats(parameters.lookup("P")),
                     b = toFloats(parameters.lookup("b"));
  // Packed weights: [ceil(N / 16), K, 16] for U (first, in encode), W and P.
  std::vector<float> packedU(4 * 16), packedW(3 * 16), packedP(7 * 16);
  int64_t none[ATTN_EXTENT_AXIS + 1] = {};
  program.jit->run("prepare", none,
                   {packedU.data(), U.data(), packedW.data(), W.data(),
                    packedP.data(), P.data()});
  // encode: x, its lengths, the memories h, U @ h and its exponentials, the
  // lengths.
  std::vector<float> x = toFloats(memory), h(x.size()),
                     uh(numSentences * numKeys * 5), eh(uh.size());
  std::vector<int32_t> n = toIntegers(lengths), encodedLengths(numSentences);
  // No past, so neither positions nor slots of one.
  int64_t encodeExtents[] = {numSentences, numSentences, 0, 0, 0, 0,
                             shares,       numKeys};
  program.jit->run("encode", encodeExtents,
                   {x.data(), n.data(), h.data(), uh.data(), eh.data(),
                    encodedLengths.data(), packedU.data()});
  EXPECT_EQ(encodedLengths, n);
  StepResult result;
  result.logits.resize(numRows * 3);
  result.states.resize(numRows * 3);
  result.weights.resize(numRows * numKeys);
  std::vector<int32_t> tokens(numRows), positions(numRows),
      rows = toIntegers(sentences);
  std::vector<float> s = toFloats(states);
  int64_t stepExtents[] = {numSentences, numRows, 0, 0, 0, 3, shares, numKeys};
  program.jit->run("step", stepExtents,
                   {tokens.data(), positions.data(), rows.data(), h.data(),
                    uh.data(), eh.data(), encodedLengths.data(), s.data(),
                    result.logits.data(), result.states.data(),
                    result.weights.data(), packedW.data(), a.data(),
                    packedP.data(), b.data()});
  return result;
}

Parameters makeParameters(std::mt19937 &generator) {
  Parameters parameters;
  parameters["U"] = makeRandom({5, 4}, generator);
  parameters["W"] = makeRandom({5, 3}, generator);
  parameters["a"] = makeRandom({5}, generator);
  parameters["P"] = makeRandom({3, 7}, generator);
  parameters["b"] = makeRandom({3}, generator);
  return parameters;
}

Tensor toTensor(ArrayRef<int64_t> shape, ArrayRef<float> data) {
  return Tensor::floats(shape, SmallVector<double>(data.begin(), data.end()));
}

TEST(Program, StepAgreesWithTheEvaluator) {
  std::mt19937 generator(7);
  Parameters parameters = makeParameters(generator);
  Tensor memory = makeRandom({2, 19, 4}, generator);
  Tensor lengths = Tensor::integers({2}, {19, 6});
  // Three hypotheses of the first sentence, two of the second (R14).
  Tensor sentences = Tensor::integers({5}, {0, 0, 0, 1, 1});
  Tensor states = makeRandom({5, 3}, generator);
  StepResult got = runModel(memory, lengths, sentences, states, parameters);

  Module source(modelText);
  Environment environment;
  environment.parameters = &parameters;
  auto encoded =
      encode(source.model().getEncoder(), {memory}, {lengths}, environment);
  ASSERT_TRUE(succeeded(encoded)) << environment.error;
  Tensor zeros = Tensor::integers({5}, {0, 0, 0, 0, 0});
  auto expected = step(source.model().getDecoder(), zeros, zeros, sentences,
                       *encoded, states, environment);
  ASSERT_TRUE(succeeded(expected)) << environment.error;
  expectNear(toTensor({5, 3}, got.logits), expected->logits.data);
  expectNear(toTensor({5, 3}, got.states), expected->states[0].data);
  expectNear(toTensor({5, 19}, got.weights), expected->weights->data);
}

TEST(Program, R13RowsDoNotDependOnTheBatch) {
  std::mt19937 generator(8);
  Parameters parameters = makeParameters(generator);
  Tensor memory = makeRandom({3, 33, 4}, generator);
  Tensor lengths = Tensor::integers({3}, {33, 1, 17});
  Tensor sentences = Tensor::integers({8}, {0, 0, 0, 1, 1, 2, 2, 2});
  Tensor states = makeRandom({8, 3}, generator);
  // Padding may hold anything (R2).
  for (auto [sentence, length] : {std::pair(1, 1), std::pair(2, 17)})
    for (int64_t key = length; key < 33; ++key)
      for (int64_t i = 0; i < 4; ++i)
        memory.data[(sentence * 33 + key) * 4 + i] = quietNaN;
  StepResult all = runModel(memory, lengths, sentences, states, parameters);
  // More shares than blocks of outputs, and than rows.
  for (int64_t shares : {2, 3, 9}) {
    StepResult divided =
        runModel(memory, lengths, sentences, states, parameters, shares);
    EXPECT_EQ(all.logits, divided.logits) << shares;
    EXPECT_EQ(all.states, divided.states) << shares;
    EXPECT_EQ(all.weights, divided.weights) << shares;
  }

  for (int64_t row = 0; row < 8; ++row) {
    int64_t sentence = sentences.data[row], length = lengths.data[sentence];
    Tensor alone = Tensor::floats(
        {1, length, 4},
        ArrayRef(memory.data).slice(sentence * 33 * 4, length * 4));
    StepResult one = runModel(
        alone, Tensor::integers({1}, {static_cast<int32_t>(length)}),
        Tensor::integers({1}, {0}),
        Tensor::floats({1, 3}, ArrayRef(states.data).slice(row * 3, 3)),
        parameters);
    EXPECT_EQ(ArrayRef(all.logits).slice(row * 3, 3), ArrayRef(one.logits));
    EXPECT_EQ(ArrayRef(all.states).slice(row * 3, 3), ArrayRef(one.states));
    EXPECT_EQ(ArrayRef(all.weights).slice(row * 33, length),
              ArrayRef(one.weights));
    for (int64_t key = length; key < 33; ++key)
      EXPECT_EQ(all.weights[row * 33 + key], 0);
  }
}

} // namespace
