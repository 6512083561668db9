//===- LongMemoryTest.cpp - reads of 65,536 positions ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A memory may be long: contexts stay as exact as others, and what a step needs
// beside it does not depend on its length.
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

constexpr int64_t positions = 65536, width = 4, rows = 5;

/// {0}: the score of a query %a and a key %b. A step is one read by its state.
const char *const modelText = R"(
attn.model @m {{
  attn.vocabulary @words size 4
  attn.encoder inputs ["k", "h"] vocabularies ["", ""] ends [false, false] axes [0, 0] {{
  ^bb0(%k: tensor<?x?x4xf32>, %h: tensor<?x?x4xf32>, %n: tensor<?xi32>):
    attn.encoded memory(%k, %h : tensor<?x?x4xf32>, tensor<?x?x4xf32>) axes [0, 0] lengths(%n)
  }
  attn.decoder vocabulary @words memories ["k", "h"] axes [0, 0] states ["q"] axes [-1]
      zero [true] {{
  ^bb0(%y: tensor<?xi32>, %t: tensor<?xi32>, %r: tensor<?xi32>, %k: tensor<?x?x4xf32>,
       %h: tensor<?x?x4xf32>, %n: tensor<?xi32>, %q: tensor<?x4xf32>):
    %c = attn.read softmax ins(%q[row] : tensor<?x4xf32>, %k[source, key] : tensor<?x?x4xf32>,
        %h[source, key] : tensor<?x?x4xf32>) lengths(%n) rows(%r) score {{
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %v: tensor<4xf32>, %i: i32, %j: i32, %o: i32,
         %m: i32):
      {0}
      attn.yield %score : f32
    } summand {{
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %v: tensor<4xf32>, %i: i32, %j: i32, %o: i32,
         %m: i32):
      attn.yield %v : tensor<4xf32>
    } -> tensor<?x4xf32>
    attn.predict %c : tensor<?x4xf32> states(%q : tensor<?x4xf32>)
  }
}
)";

struct Score {
  const char *name;
  const char *text;
  /// Whether what depends on keys alone takes another array.
  bool isAdditive;

  double compute(const float *query, const float *key) const {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += isAdditive ? std::tanh(double(query[i]) + key[i])
                        : double(query[i]) * key[i];
    return sum;
  }
  friend void PrintTo(const Score &score, std::ostream *out) {
    *out << score.name;
  }
};

const Score scores[] = {
    {"dot", "%score = attn.dot %a, %b : tensor<4xf32> -> f32", false},
    {"additive", R"(%0 = arith.addf %a, %b : tensor<4xf32>
      %1 = math.tanh %0 : tensor<4xf32>
      %one = arith.constant dense<1.0> : tensor<4xf32>
      %score = attn.dot %one, %1 : tensor<4xf32> -> f32)",
     true}};

class LongMemory : public testing::TestWithParam<Score> {
protected:
  LongMemory()
      : source(llvm::formatv(modelText, GetParam().text).str()),
        keys(positions * width), values(positions * width),
        queries(rows * width) {
    std::string error;
    OwningOpRef<ModuleOp> clone(source.module->clone());
    jit = Jit::compile(*clone, error);
    if (!jit)
      llvm::report_fatal_error(error.c_str());
  }

  void SetUp() override {
    if (std::string problem = jit->checkLength(positions); !problem.empty())
      GTEST_SKIP() << problem;
  }

  static std::vector<int64_t> extentsOf(int64_t length) {
    std::vector<int64_t> extents(ATTN_EXTENT_AXIS + 1);
    extents[ATTN_EXTENT_SENTENCES] = 1;
    extents[ATTN_EXTENT_ROWS] = rows;
    extents[ATTN_EXTENT_SHARES] = 1;
    extents[ATTN_EXTENT_AXIS] = length;
    return extents;
  }

  /// [rows, width] What each row reads.
  std::vector<float> read() {
    std::vector<float> memory(keys.size()), summands(keys.size()),
        exponentials(keys.size()), contexts(queries.size()),
        next(queries.size());
    std::vector<int32_t> unused(rows), lengths = {positions}, encoded(1);
    std::vector<int64_t> extents = extentsOf(positions);
    std::vector<void *> encode = {keys.data(), values.data(), lengths.data(),
                                  memory.data(), summands.data()};
    std::vector<void *> step = {unused.data(), unused.data(), unused.data(),
                                memory.data(), summands.data()};
    if (GetParam().isAdditive)
      for (std::vector<void *> *buffers : {&encode, &step})
        buffers->push_back(exponentials.data());
    encode.push_back(encoded.data());
    for (void *buffer : {static_cast<void *>(encoded.data()),
                         static_cast<void *>(queries.data()),
                         static_cast<void *>(contexts.data()),
                         static_cast<void *>(next.data())})
      step.push_back(buffer);
    jit->run("encode", extents, encode);
    jit->run("step", extents, step);
    return contexts;
  }

  Module source;
  std::unique_ptr<Jit> jit;
  std::vector<float> keys, values, queries;
};

/// All scores are equal, so that a context is the average.
TEST_P(LongMemory, AveragesAllPositions) {
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t i = 0; i < width; ++i)
      keys[t * width + i] = 0.25f * i;
    float own[width] = {float(t), 1, t % 2 ? -1.0f : 1.0f, float(t < 128)};
    std::copy(own, own + width, &values[t * width]);
  }
  for (size_t i = 0; i < queries.size(); ++i)
    queries[i] = 0.5f - 0.125f * i;
  std::vector<float> contexts = read();
  for (int64_t row = 0; row < rows; ++row) {
    const float *context = &contexts[row * width];
    EXPECT_NEAR(context[0], (positions - 1) / 2.0, 1e-5 * positions / 2);
    EXPECT_NEAR(context[1], 1, 1e-6);
    EXPECT_NEAR(context[2], 0, 1e-6);
    EXPECT_NEAR(context[3], 128.0 / positions, 1e-8);
  }
}

/// The largest score is in another place for each row: first, last, and
/// between.
TEST_P(LongMemory, FollowsTheLargestScores) {
  for (int64_t t = 0; t < positions; ++t) {
    double place = double(t) / positions;
    for (int64_t i = 0; i < width; ++i) {
      keys[t * width + i] = float(4 * std::sin((i + 1) * 3 * place));
      values[t * width + i] = float(std::cos((i + 1) * 7 * place));
    }
  }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      queries[row * width + i] = float(std::sin(row * 5 + i * 2)) * 3;
  std::vector<float> contexts = read();
  for (int64_t row = 0; row < rows; ++row) {
    double total = 0, sums[width] = {};
    for (int64_t t = 0; t < positions; ++t) {
      double weight =
          std::exp(GetParam().compute(&queries[row * width], &keys[t * width]));
      total += weight;
      for (int64_t i = 0; i < width; ++i)
        sums[i] += weight * values[t * width + i];
    }
    for (int64_t i = 0; i < width; ++i)
      EXPECT_NEAR(contexts[row * width + i], sums[i] / total, 1e-5) << row;
  }
}

/// No row of scores is stored, nor anything else that grows; on a device a few
/// numbers for each block of 128 positions.
TEST_P(LongMemory, NeedsNoMoreWorkspace) {
  int64_t most = jit->getWorkspaceSize("step", extentsOf(128));
  if (usesDevice())
    most += rows * (positions / 128) * (width + 2) * sizeof(float);
  EXPECT_LE(jit->getWorkspaceSize("step", extentsOf(positions)), most);
}

INSTANTIATE_TEST_SUITE_P(Scores, LongMemory, testing::ValuesIn(scores),
                         [](const testing::TestParamInfo<Score> &score) {
                           return score.param.name;
                         });

} // namespace
