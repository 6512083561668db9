//===- ReadTest.cpp - the masked, weighted read ---------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R1 to R8 in the numbers of the semantics, each through the separate
// operations and through attn.read.
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include "llvm/ADT/Sequence.h"

#include <array>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// A read in its parts, from which both forms are written.
struct ReadText {
  std::string normalizer = "softmax";
  std::string arguments; ///< Of the function.
  std::string inputs;    ///< "%q[row] : tensor<?xf32>, ..."
  std::string slices;    ///< The region's arguments without the four i32.
  std::string axes = "lengths(%n)";
  std::string score, mask, factor, summand; ///< Bodies of regions.
  std::string interval;                     ///< Of the fused form only.
  bool hasSink = false;                     ///< The query, one number, is it.
  std::string heads;                        ///< "x2" for two heads.
  std::string context;                      ///< Features: "x4".
  bool hasQueries = false;
  std::string maskHeads;  ///< "x2" for a mask per head.
  bool hasWeights = true; ///< And what is valid; of the fused form only.

  std::string region(const std::string &body) const {
    return "{\n^bb0(" + slices + (slices.empty() ? "" : ", ") +
           "%i: i32, %j: i32, %m: i32, %l: i32):\n" + body + "\n}";
  }
  std::string axesType(const std::string &rest, const char *element,
                       bool withKey) const {
    return std::string("tensor<?x") + (hasQueries ? "?x" : "") +
           (withKey ? "?x" : "") + (rest.empty() ? "" : rest.substr(1) + "x") +
           element + ">";
  }
  std::string results() const {
    return axesType(context, "f32", false) + ", " +
           axesType(heads, "f32", true) + ", " + axesType(heads, "i1", false);
  }
  std::string normalizeAxes() const {
    // The normaliser has no need of the queries' position.
    size_t position = axes.find(" query_positions");
    return axes.substr(0, position);
  }
  std::string fused() const {
    std::string contextType = axesType(context, "f32", false);
    std::string types = hasWeights ? results() : contextType;
    return "func.func @f(" + arguments + ") -> (" + types + ") {\n" +
           (hasWeights ? "%c, %w, %v" : "%c") + " = attn.read " + normalizer +
           " ins(" + inputs + ") " + axes + " score " + region(score) +
           (mask.empty() ? "" : " mask " + region(mask)) +
           (interval.empty() ? "" : " interval " + region(interval)) +
           (hasSink ? " sink " + region("attn.yield %s : f32") : "") +
           (factor.empty() ? "" : " factor " + region(factor)) + " summand " +
           region(summand) + " -> " + contextType +
           (hasWeights ? " weights " + axesType(heads, "f32", true) +
                             " valid " + axesType(heads, "i1", false)
                       : "") +
           "\nreturn " + (hasWeights ? "%c, %w, %v" : "%c") + " : " + types +
           "\n}";
  }
  std::string unfused() const {
    std::string scores = axesType(heads, "f32", true);
    std::string readable = axesType(heads, "i1", true);
    std::string text = "func.func @f(" + arguments + ") -> (" + results() +
                       ") {\n%e = attn.score ins(" + inputs + ") " + axes +
                       " " + region(score) + " -> " + scores + "\n";
    std::string maskType = axesType(maskHeads, "i1", true);
    if (!mask.empty())
      text += "%mask = attn.mask ins(" + inputs + ") " + axes + " " +
              region(mask) + " -> " + maskType + "\n";
    text += "%a, %r, %v = attn.normalize " + normalizer + " %e " +
            (mask.empty() ? "" : "mask(%mask : " + maskType + ") ") +
            (hasSink ? "sink(%q : tensor<?xf32>) " : "") + normalizeAxes() +
            " : " + scores + " -> " + scores + ", " + readable + ", " +
            axesType(heads, "i1", false) + "\n";
    std::string weights = "%a";
    if (!factor.empty()) {
      text += "%b = attn.factor %a : " + scores + " readable(%r : " + readable +
              ") ins(" + inputs + ") " + axes + " " + region(factor) + " -> " +
              scores + "\n";
      weights = "%b";
    }
    return text + "%c = attn.sum " + weights + " : " + scores +
           " readable(%r : " + readable + ") ins(" + inputs + ") " + axes +
           " " + region(summand) + " -> " + axesType(context, "f32", false) +
           "\nreturn %c, " + weights + ", %v : " + results() + "\n}";
  }
};

/// The results of a read.
struct Result {
  Tensor context, weights, valid;
};

/// Evaluates both forms, which have to agree, and gives the fused one's.
Result evaluateBoth(const ReadText &text, ArrayRef<Tensor> arguments) {
  SmallVector<Tensor> fused = Module(text.fused()).evaluate(arguments);
  SmallVector<Tensor> unfused = Module(text.unfused()).evaluate(arguments);
  for (auto [one, other] : llvm::zip(fused, unfused)) {
    EXPECT_EQ(one.shape, other.shape);
    expectNear(one, other.data);
  }
  return {fused[0], fused[1], fused[2]};
}

/// Additive attention of one feature: v = 1, W and U the identity. The row's
/// query, keys and memory are arguments.
ReadText additive() {
  ReadText text;
  text.arguments = "%q: tensor<?xf32>, %k: tensor<?x?xf32>, "
                   "%h: tensor<?x?xf32>, %n: tensor<?xi32>";
  text.inputs = "%q[row] : tensor<?xf32>, %k[row, key] : tensor<?x?xf32>, "
                "%h[row, key] : tensor<?x?xf32>";
  text.slices = "%s: f32, %x: f32, %y: f32";
  text.score = "%0 = arith.addf %s, %x : f32\n"
               "%1 = math.tanh %0 : f32\nattn.yield %1 : f32";
  text.summand = "attn.yield %y : f32";
  return text;
}

/// Scores and values are arguments.
ReadText direct() {
  ReadText text = additive();
  text.score = "attn.yield %x : f32";
  return text;
}

Result readScores(const ReadText &text, ArrayRef<double> scores,
                  ArrayRef<double> values, int32_t length, double query = 0) {
  int64_t size = scores.size();
  return evaluateBoth(
      text, {Tensor::floats({1}, query), Tensor::floats({1, size}, scores),
             Tensor::floats({1, size}, values), Tensor::integers({1}, length)});
}

TEST(Read, WorkedExample) {
  for (double key : {5.0, quietNaN, infinity})
    for (double memory : {30.0, quietNaN, -infinity}) {
      Result result = readScores(additive(), {0, 1, key}, {10, 20, memory}, 2);
      expectNear(result.context, {16.816997});
      expectNear(result.weights, {0.318300, 0.681700, 0});
      EXPECT_EQ(result.weights.data[2], 0.0);
      EXPECT_EQ(result.valid.data[0], 1.0);
    }
}

/// Scores `v . function(q + k)` of rows of `features`, each reading one of the
/// memories (see attn-split-exponentials).
std::vector<double> scoreSums(const std::string &function, int64_t features,
                              ArrayRef<double> queries, ArrayRef<double> keys,
                              ArrayRef<double> vector, ArrayRef<int32_t> rows) {
  std::string size = std::to_string(features),
              type = "tensor<" + size + "xf32>";
  std::string row = "tensor<?x" + size + "xf32>";
  std::string memory = "tensor<?x?x" + size + "xf32>";
  std::string text =
      "func.func @f(%q: " + row + ", %k: " + memory + ", %v: " + type +
      ", %n: tensor<?xi32>, %r: tensor<?xi32>) -> tensor<?x?xf32> {\n"
      "%e = attn.score ins(%q[row] : " +
      row + ", %k[source, key] : " + memory + ", %v[] : " + type +
      ") lengths(%n) rows(%r) {\n"
      "^bb0(%a: " +
      type + ", %b: " + type + ", %c: " + type +
      ", %i: i32, %j: i32, %o: i32, %m: i32):\n"
      "%0 = arith.addf %a, %b : " +
      type +
      "\n"
      "%1 = " +
      function + " %0 : " + type +
      "\n"
      "%2 = attn.dot %c, %1 : " +
      type +
      " -> f32\n"
      "attn.yield %2 : f32\n} -> tensor<?x?xf32>\n"
      "return %e : tensor<?x?xf32>\n}";
  int64_t numSources = *llvm::max_element(rows) + 1;
  int64_t positions = keys.size() / features / numSources;
  SmallVector<Tensor> results = Module(text).evaluate(
      {Tensor::floats({int64_t(rows.size()), features}, queries),
       Tensor::floats({numSources, positions, features}, keys),
       Tensor::floats({features}, vector),
       Tensor::integers({numSources},
                        std::vector<int32_t>(numSources, positions)),
       Tensor::integers({int64_t(rows.size())}, rows)});
  return results[0].data;
}

TEST(Read, ScoresOfSums) {
  std::mt19937 generator(7);
  auto test = [&](const char *name, double (*function)(double),
                  int64_t features) {
    constexpr int64_t positions = 3;
    Tensor queries = makeRandom({2, features}, generator);
    Tensor keys = makeRandom({positions, features}, generator);
    Tensor vector = makeRandom({features}, generator);
    // Saturated, as much as a trained model would be.
    for (double &x : queries.data)
      x *= 3;
    for (double &x : vector.data)
      x /= std::sqrt(double(features));
    queries.data[features / 2] = 12;
    keys.data[features - 1] = -12;
    std::vector<double> actual =
        scoreSums(name, features, queries.data, keys.data, vector.data, {0, 0});
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t j = 0; j < positions; ++j) {
        double sum = 0, largest = 1;
        for (int64_t f = 0; f < features; ++f) {
          double term =
              vector.data[f] * function(queries.data[row * features + f] +
                                        keys.data[j * features + f]);
          sum += term;
          largest = std::max(largest, std::abs(term));
        }
        EXPECT_NEAR(actual[row * positions + j], sum, 1e-5 * largest) << name;
      }
  };
  // Less than a chunk, chunks that share a division, and ends of them.
  for (int64_t features : {5, 128, 99})
    test("math.tanh", [](double x) { return std::tanh(x); }, features);
  test("attn.sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 40);
  test("math.exp", [](double x) { return std::exp(x); }, 17);
}

TEST(Read, ScoresOfSumsThatAreLarge) {
  // Where an exponential of one side leaves f32, beside features of no matter.
  constexpr int64_t features = 18;
  const std::vector<double> queries = {
      0, 1, 20, 42.9, 43.1, 50, 99, 1e30, -44, infinity, -infinity, quietNaN};
  const std::vector<double> keys = {0.25, -19.5, -42.5,    43.5,      -49.5,
                                    44,   -1e30, infinity, -infinity, quietNaN};
  auto extend = [&](ArrayRef<double> numbers, double rest) {
    std::vector<double> all(numbers.size() * features, rest);
    for (auto [index, number] : llvm::enumerate(numbers))
      all[index * features + 17] = number;
    return all;
  };
  std::vector<double> actual =
      scoreSums("math.tanh", features, extend(queries, 0.125),
                extend(keys, -0.125), std::vector<double>(features, 0.5),
                std::vector<int32_t>(queries.size(), 0));
  std::vector<double> expected;
  for (double query : queries)
    for (double key : keys)
      expected.push_back(0.5 * std::tanh(float(query) + float(key)));
  expectNear(Tensor::floats({int64_t(actual.size())}, actual), expected);
}

TEST(Read, R13LargeNeighbours) {
  // Neither rows nor sentences nor positions with numbers of which exponentials
  // do not fit touch the others.
  constexpr int64_t features = 70, positions = 2;
  std::mt19937 generator(11);
  Tensor queries = makeRandom({3, features}, generator);
  Tensor keys = makeRandom({2, positions, features}, generator);
  Tensor vector = makeRandom({features}, generator);
  queries.data[2 * features + 7] = 1e30;
  keys.data[features + 3] = quietNaN; // sentence 0, position 1
  keys.data[2 * features + 5] = -60;  // sentence 1, position 0
  std::vector<double> together = scoreSums("math.tanh", features, queries.data,
                                           keys.data, vector.data, {0, 1, 1});
  EXPECT_TRUE(std::isnan(together[1]));
  for (int64_t row : {0, 1, 2}) {
    std::vector<double> alone =
        scoreSums("math.tanh", features,
                  ArrayRef(queries.data).slice(row * features, features),
                  ArrayRef(keys.data).slice((row > 0) * positions * features,
                                            positions * features),
                  vector.data, {0});
    expectSame(Tensor::floats({positions}, alone),
               Tensor::floats({positions}, ArrayRef(together).slice(
                                               row * positions, positions)));
  }
}

TEST(Read, R2NothingMaskedHasAnEffect) {
  Result clean = readScores(additive(), {0, 1, 5}, {10, 20, 30}, 2);
  Result dirty =
      readScores(additive(), {0, 1, quietNaN}, {10, 20, quietNaN}, 2);
  expectSame(dirty.context, clean.context);
  expectSame(dirty.weights, clean.weights);

  // The same under a condition, in the middle.
  ReadText text = direct();
  text.mask = "%two = arith.constant 1 : i32\n"
              "%0 = arith.cmpi ne, %j, %two : i32\nattn.yield %0 : i1";
  clean = readScores(text, {0, 1, 5}, {10, 20, 30}, 3);
  dirty = readScores(text, {0, quietNaN, 5}, {10, infinity, 30}, 3);
  expectSame(dirty.context, clean.context);
  expectSame(dirty.weights, clean.weights);
  EXPECT_EQ(dirty.weights.data[1], 0.0);
}

TEST(Read, R2MinusInfinityMasks) {
  Result result = readScores(direct(), {0, -infinity, 0}, {1, quietNaN, 3}, 3);
  expectNear(result.context, {2});
  EXPECT_EQ(result.weights.data[1], 0.0);
}

TEST(Read, R2PlusInfinityIsNaN) {
  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    ReadText text = direct();
    text.normalizer = normalizer;
    Result result = readScores(text, {0, infinity, 0}, {1, 2, 3}, 3);
    expectNear(result.context, {quietNaN});
    expectNear(result.weights, {quietNaN, quietNaN, quietNaN});
  }
}

TEST(Read, R3NothingToRead) {
  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    ReadText text = direct();
    text.normalizer = normalizer;
    // Length 0, scores of -inf, and a memory without any position.
    for (const Result &result :
         {readScores(text, {quietNaN, 1}, {quietNaN, 2}, 0),
          readScores(text, {-infinity, -infinity}, {quietNaN, 2}, 2),
          readScores(text, {}, {}, 0)}) {
      EXPECT_EQ(result.context.data[0], 0.0);
      EXPECT_EQ(result.valid.data[0], 0.0);
      for (double weight : result.weights.data)
        EXPECT_EQ(weight, 0.0);
    }
  }
}

TEST(Read, R3OtherRowsAreUnaffected) {
  Tensor query = Tensor::floats({3}, {0, 0, 0});
  Tensor keys = Tensor::floats({3, 2}, {0, 1, 0, 1, quietNaN, quietNaN});
  Tensor memory = Tensor::floats({3, 2}, {10, 20, quietNaN, quietNaN, 1, 2});
  Result result = evaluateBoth(
      additive(), {query, keys, memory, Tensor::integers({3}, {2, 0, 2})});
  Result alone = readScores(additive(), {0, 1}, {10, 20}, 2);
  EXPECT_EQ(result.context.data[0], alone.context.data[0]);
  EXPECT_EQ(result.context.data[1], 0.0);
  EXPECT_TRUE(std::isnan(result.context.data[2])); // R5: its own row only.
  EXPECT_EQ(result.valid.data, (std::vector<double>{1, 0, 1}));
}

TEST(Read, R4Normalizers) {
  Result result = readScores(direct(), {120, 0}, {1, 2}, 2);
  expectNear(result.weights, {1, 0});
  result = readScores(direct(), {1e4, 1e4 - 1}, {1, 2}, 2);
  expectNear(result.weights, {0.731059, 0.268941});

  ReadText hard = direct();
  hard.normalizer = "hardmax";
  result = readScores(hard, {1, 3, 3, 2}, {10, 20, 30, 40}, 4);
  EXPECT_EQ(result.weights.data, (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(result.context.data[0], 20.0);
}

TEST(Read, Sparsemax) {
  ReadText text = direct();
  text.normalizer = "sparsemax";
  // The threshold is 1/4, wherever scores lie.
  for (double base : {0.0, 1000.0, -1000.0}) {
    Result result = readScores(text, {base + 1, base + 0.5, base, base - 1e6},
                               {1, 2, 4, 8}, 4);
    expectNear(result.weights, {0.75, 0.25, 0, 0});
    EXPECT_EQ(result.weights.data[2], 0.0);
    expectNear(result.context, {1.25});
  }
  // Scores that are near each other share; one that is far ahead has it all.
  expectNear(readScores(text, {3, 3, 3, 3}, {1, 2, 3, 4}, 4).weights,
             {0.25, 0.25, 0.25, 0.25});
  expectNear(readScores(text, {3, 5, 4}, {1, 2, 3}, 3).weights, {0, 1, 0});
  // Every threshold that the algorithm tries drops one more.
  expectNear(readScores(text, {0, -0.9, -0.95, -0.99}, {1, 2, 3, 4}, 4).weights,
             {0.95, 0.05, 0, 0});
}

TEST(Read, SinksTakeTheirShare) {
  ReadText text = direct();
  text.hasSink = true;
  Result result = readScores(text, {0, 0}, {1, 3}, 2, /*sink=*/0);
  expectNear(result.weights, {1 / 3.0, 1 / 3.0});
  expectNear(result.context, {4 / 3.0});
  // However large or small.
  expectNear(readScores(text, {100, 100}, {1, 3}, 2, std::log(2) + 100).weights,
             {0.25, 0.25});
  expectNear(readScores(text, {0, 0}, {1, 3}, 2, 1e4).weights, {0, 0});
  expectNear(readScores(text, {0, 0}, {1, 3}, 2, -infinity).weights,
             {0.5, 0.5});

  text.normalizer = "sparsemax";
  expectNear(readScores(text, {0.5, 0}, {1, 2}, 2, 1).weights, {0.25, 0});
  expectNear(readScores(text, {0.5, 0}, {1, 2}, 2, 9).weights, {0, 0});

  // It stands before the positions, so an equal of the largest gets nothing.
  text.normalizer = "hardmax";
  expectNear(readScores(text, {1, 3}, {1, 2}, 2, 2).weights, {0, 1});
  result = readScores(text, {1, 3}, {1, 2}, 2, 3);
  expectNear(result.weights, {0, 0});
  EXPECT_EQ(result.valid.data[0], 1.0);

  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    text.normalizer = normalizer;
    // It is nothing to read (R3), and NaN in it spoils the row (R5).
    result = readScores(text, {-infinity}, {quietNaN}, 1, 2);
    EXPECT_EQ(result.context.data[0], 0.0);
    EXPECT_EQ(result.valid.data[0], 0.0);
    for (double sink : {quietNaN, infinity})
      expectNear(readScores(text, {0, 1}, {1, 2}, 2, sink).weights,
                 {quietNaN, quietNaN});
    // Without a position nobody asks for it.
    ReadText empty = text;
    empty.interval =
        "%0 = arith.constant 1 : i32\nattn.yield %0, %0 : i32, i32";
    SmallVector<Tensor> results =
        Module(empty.fused())
            .evaluate({Tensor::floats({1}, 2.0), Tensor::floats({1, 2}, {0, 1}),
                       Tensor::floats({1, 2}, {1, 2}),
                       Tensor::integers({1}, 2)});
    EXPECT_EQ(results[0].data[0], 0.0);
    EXPECT_EQ(results[2].data[0], 0.0);
  }
}

TEST(Read, OutsideOfTheIntervalNothingIsRead) {
  // Begins and ends around lanes, before and behind the memory; a row each.
  std::vector<int32_t> begins, ends;
  for (int32_t begin : {-3, 0, 1, 15, 16, 17, 30, 40, 90})
    for (int32_t end : {-2, 0, 1, 16, 18, 33, 40, 90}) {
      begins.push_back(begin);
      ends.push_back(end);
    }
  constexpr int64_t positions = 40;
  int64_t rows = begins.size();
  std::vector<double> scores, values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t j = 0; j < positions; ++j) {
      bool inside = j >= begins[row] && j < ends[row];
      scores.push_back(inside ? std::sin(j) : quietNaN);
      values.push_back(inside ? j : quietNaN);
    }
  ReadText text = direct();
  text.arguments += ", %b: tensor<?xi32>, %e: tensor<?xi32>";
  text.inputs += ", %b[row] : tensor<?xi32>, %e[row] : tensor<?xi32>";
  text.slices += ", %from: i32, %to: i32";
  ReadText masked = text;
  text.interval = "attn.yield %from, %to : i32, i32";
  masked.mask = "%0 = arith.cmpi sge, %j, %from : i32\n"
                "%1 = arith.cmpi slt, %j, %to : i32\n"
                "%2 = arith.andi %0, %1 : i1\nattn.yield %2 : i1";
  SmallVector<Tensor> arguments = {
      Tensor::floats({rows}, std::vector<double>(rows)),
      Tensor::floats({rows, positions}, scores),
      Tensor::floats({rows, positions}, values),
      Tensor::integers({rows}, std::vector<int32_t>(rows, positions - 3)),
      Tensor::integers({rows}, begins),
      Tensor::integers({rows}, ends)};
  SmallVector<Tensor> one = Module(text.fused()).evaluate(arguments);
  SmallVector<Tensor> other = Module(masked.fused()).evaluate(arguments);
  for (auto [x, y] : llvm::zip(one, other))
    expectSame(x, y); // to the bit
  EXPECT_EQ(llvm::count(one[2].data, 1.0), 33);
}

TEST(Read, R5NaNSpoilsItsRow) {
  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    ReadText text = direct();
    text.normalizer = normalizer;
    Result result = readScores(text, {0, 1, quietNaN}, {1, 2, 3}, 3);
    expectNear(result.context, {quietNaN});
    expectNear(result.weights, {quietNaN, quietNaN, quietNaN});
    EXPECT_EQ(result.valid.data[0], 1.0);
  }
}

/// What a kernel does with scores on the way to several results: a product of
/// the score's region and one of the context, beside all that a read gives.
TEST(Read, ResultsBesideProducts) {
  std::string region =
      "{\n^bb0(%x: f32, %y: tensor<1xf32>, %z: tensor<2x1xf32>, "
      "%u: tensor<2xf32>, %b: i32, %e: i32, %i: i32, %j: i32, "
      "%m: i32, %l: i32):\n";
  std::string text =
      "func.func @f(%q: tensor<?xf32>, %h: tensor<?x?x1xf32>, "
      "%w: tensor<2x1xf32>, %v: tensor<2xf32>, %n: tensor<?xi32>, "
      "%from: tensor<?xi32>, %to: tensor<?xi32>) -> (tensor<?x1xf32>, "
      "tensor<?x?xf32>, tensor<?xi1>, tensor<?x2xf32>) {\n"
      "%c, %a, %r = attn.read softmax ins(%q[row] : tensor<?xf32>, "
      "%h[row, key] : tensor<?x?x1xf32>, %w[] : tensor<2x1xf32>, "
      "%v[] : tensor<2xf32>, %from[row] : tensor<?xi32>, "
      "%to[row] : tensor<?xi32>) lengths(%n) score " +
      region +
      "%0 = attn.broadcast %x : f32 -> tensor<1xf32>\n"
      "%1 = arith.mulf %0, %y : tensor<1xf32>\n"
      "%2 = attn.linear %1, %z : tensor<1xf32>, tensor<2x1xf32> -> "
      "tensor<2xf32>\n"
      "%3 = attn.dot %2, %u : tensor<2xf32> -> f32\n"
      "attn.yield %3 : f32\n} interval " +
      region + "attn.yield %b, %e : i32, i32\n} summand " + region +
      "attn.yield %y : tensor<1xf32>\n} -> tensor<?x1xf32> weights "
      "tensor<?x?xf32> valid tensor<?xi1>\n"
      "%p = attn.linear %c, %w : tensor<?x1xf32>, tensor<2x1xf32> -> "
      "tensor<?x2xf32>\n"
      "return %c, %a, %r, %p : tensor<?x1xf32>, tensor<?x?xf32>, tensor<?xi1>, "
      "tensor<?x2xf32>\n}";
  // Scores are 2 q h; of the second row NaN, and of the third there are none.
  SmallVector<Tensor> results = Module(text).evaluate(
      {Tensor::floats({3}, {0.5, quietNaN, 1}),
       Tensor::floats({3, 2, 1}, {120, 0, 1, 2, 3, 4}),
       Tensor::floats({2, 1}, {1, 3}), Tensor::floats({2}, {-1, 1}),
       Tensor::integers({3}, {2, 2, 2}), Tensor::integers({3}, {-1, 0, 1}),
       Tensor::integers({3}, {2, 2, 1})});
  expectNear(results[0], {120, quietNaN, 0});
  expectNear(results[1], {1, 0, quietNaN, quietNaN, 0, 0});
  EXPECT_EQ(results[2].data, (std::vector<double>{1, 1, 0}));
  expectNear(results[3], {120, 360, quietNaN, quietNaN, 0, 0});
}

/// What a query reads of 10 and 20, of which it scores 0 and 1.
double readDirectly(const ReadText &text) {
  return Module(text.fused())
      .evaluate({Tensor::floats({1}, 0.0), Tensor::floats({1, 2}, {0, 1}),
                 Tensor::floats({1, 2}, {10, 20}), Tensor::integers({1}, 2)})[0]
      .data[0];
}

/// Neither where the query alone decides that there is nothing.
TEST(Read, R3NothingIsReadWhateverThereIs) {
  ReadText text = direct();
  text.interval = "%0 = arith.constant 0 : i32\n%1 = arith.constant -4 : i32\n"
                  "attn.yield %0, %1 : i32, i32";
  EXPECT_EQ(readDirectly(text), 0.0);
  text.interval.clear();
  text.mask = "%0 = arith.cmpi slt, %j, %i : i32\nattn.yield %0 : i1";
  EXPECT_EQ(readScores(text, {0, 1}, {10, 20}, 2).context.data[0], 0.0);
}

TEST(Read, R3NothingIsReadByAnyNormalizer) {
  // Nothing but a context is asked for: no position is needed at all.
  ReadText text = direct();
  text.hasWeights = false;
  text.interval = "%0 = arith.constant 5 : i32\n%1 = arith.constant 3 : i32\n"
                  "attn.yield %0, %1 : i32, i32";
  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    text.normalizer = normalizer;
    EXPECT_EQ(readDirectly(text), 0.0) << normalizer;
  }
}

TEST(Read, R6ConditionsCombineAsBooleans) {
  ReadText text = direct();
  text.mask =
      "%zero = arith.constant 0 : i32\n%three = arith.constant 3 : i32\n"
      "%0 = arith.cmpi ne, %j, %zero : i32\n"
      "%1 = arith.cmpi ne, %j, %three : i32\n"
      "%2 = arith.andi %0, %1 : i1\nattn.yield %2 : i1";
  Result result = readScores(text, {9, 0, 0, 9}, {1, 2, 4, 8}, 4);
  expectNear(result.weights, {0, 0.5, 0.5, 0});
  expectNear(result.context, {3});

  // A float mask is a term of the score.
  text = additive();
  text.score = "%0 = arith.addf %s, %x : f32\nattn.yield %0 : f32";
  result = readScores(text, {0, -1}, {1, 2}, 2);
  expectNear(result.weights, {0.731059, 0.268941});
}

/// Queries of a sequence, all scores equal.
Result readCausal(int32_t queries, ArrayRef<double> values) {
  ReadText text;
  text.hasQueries = true;
  text.arguments = "%q: tensor<?x?xf32>, %h: tensor<?x?xf32>, "
                   "%n: tensor<?xi32>, %qn: tensor<?xi32>";
  text.inputs = "%q[row, query] : tensor<?x?xf32>, "
                "%h[row, key] : tensor<?x?xf32>";
  text.slices = "%s: f32, %y: f32";
  text.axes = "lengths(%n) query_lengths(%qn)";
  text.score = "attn.yield %s : f32";
  text.mask = "%0 = arith.subi %l, %m : i32\n%1 = arith.addi %i, %0 : i32\n"
              "%2 = arith.cmpi sle, %j, %1 : i32\nattn.yield %2 : i1";
  text.summand = "attn.yield %y : f32";
  // One padding query and one padding key.
  std::vector<double> padded(values.begin(), values.end());
  padded.push_back(quietNaN);
  int64_t keys = padded.size();
  return evaluateBoth(
      text,
      {Tensor::floats({1, queries + 1}, std::vector<double>(queries + 1, 0.25)),
       Tensor::floats({1, keys}, padded),
       Tensor::integers({1}, static_cast<int32_t>(values.size())),
       Tensor::integers({1}, queries)});
}

TEST(Read, R7CausalAlignsAtTheEnd) {
  Result result = readCausal(2, {1, 2, 3, 4});
  expectNear(result.context, {2.0, 2.5, 0});
  result = readCausal(4, {1, 3});
  expectNear(result.context, {0, 0, 1, 2, 0});
  EXPECT_EQ(result.valid.data, (std::vector<double>{0, 0, 1, 1, 0}));
}

TEST(Read, R8WeightsDoNotChangeTheContext) {
  ReadText text = additive();
  std::string without = text.fused();
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t place = without.find(from);
    ASSERT_NE(place, std::string::npos);
    without.replace(place, from.size(), to);
  };
  replace("-> (" + text.results() + ")", "-> tensor<?xf32>");
  replace("%c, %w, %v =", "%c =");
  replace(" weights tensor<?x?xf32> valid tensor<?xi1>", "");
  replace("return %c, %w, %v : " + text.results(), "return %c : tensor<?xf32>");
  SmallVector<Tensor> arguments = {
      Tensor::floats({1}, 0.5), Tensor::floats({1, 3}, {0.1, -0.7, 0.4}),
      Tensor::floats({1, 3}, {3, 1, 4}), Tensor::integers({1}, 3)};
  expectSame(Module(without).evaluate(arguments)[0],
             Module(text.fused()).evaluate(arguments)[0]);
}

TEST(Read, TileEdges) {
  for (int32_t size :
       {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000}) {
    std::vector<double> scores(size, 0.7), values(size);
    for (int32_t t = 0; t < size; ++t)
      values[t] = t;
    Result result = readScores(direct(), scores, values, size);
    expectNear(result.context, {(size - 1) / 2.0});
  }
}

/// A dot score of width 4 as `heads` heads, over `divisor`.
Result readDot(int64_t heads, double divisor) {
  std::string width = std::to_string(4 / heads);
  std::string head = heads == 1 ? "" : std::to_string(heads) + "x";
  std::string vector = "<" + head + width + "xf32>";
  std::string number = heads == 1 ? "f32" : "tensor<2xf32>";
  ReadText text;
  text.heads = heads == 1 ? "" : "x2";
  text.context = "x" + head + width;
  text.arguments = "%q: tensor<?x" + vector.substr(1) + ", %h: tensor<?x?x" +
                   vector.substr(1) + ", %n: tensor<?xi32>";
  text.inputs = "%q[row] : tensor<?x" + vector.substr(1) +
                ", %h[row, key] : tensor<?x?x" + vector.substr(1);
  text.slices = "%s: tensor" + vector + ", %y: tensor" + vector;
  text.score =
      "%0 = attn.dot %s, %y : tensor" + vector + " -> " + number +
      "\n%1 = arith.constant " + (heads == 1 ? "" : std::string("dense<")) +
      std::to_string(divisor) + (heads == 1 ? "" : ">") + " : " + number +
      "\n%2 = arith.divf %0, %1 : " + number + "\nattn.yield %2 : " + number;
  text.summand = "attn.yield %y : tensor" + vector;
  SmallVector<int64_t> query = {1}, memory = {1, 2};
  if (heads > 1) {
    query.push_back(heads);
    memory.push_back(heads);
  }
  query.push_back(4 / heads);
  memory.push_back(4 / heads);
  // Per head of width 2 the raw scores are (0, 1), of the whole too.
  std::vector<double> keys = {0, 0, 0, 0, 1, 0, heads == 1 ? 0.0 : 1.0, 0};
  return evaluateBoth(text,
                      {Tensor::floats(query, {1, 0, 1, 0}),
                       Tensor::floats(memory, keys), Tensor::integers({1}, 2)});
}

TEST(Read, DotScoresAreScaledWhereTheModelSaysSo) {
  expectNear(readDot(1, 2).weights, {0.377541, 0.622459});
  expectNear(readDot(1, 1).weights, {0.268941, 0.731059});
  Result heads = readDot(2, 1.41421356);
  expectNear(heads.weights, {0.330238, 0.330238, 0.669762, 0.669762});
  expectNear(heads.context, {0.669762, 0, 0.669762, 0});
}

TEST(Read, R1FactorsAtReadablePositionsOnly) {
  ReadText text = direct();
  // 1 / (key - 1) has no value at key 1, which is masked.
  text.mask = "%one = arith.constant 1 : i32\n"
              "%0 = arith.cmpi ne, %j, %one : i32\nattn.yield %0 : i1";
  text.factor = "%one = arith.constant 1 : i32\n"
                "%f = arith.constant 1.0 : f32\n"
                "%0 = arith.subi %j, %one : i32\n"
                "%1 = arith.sitofp %0 : i32 to f32\n"
                "%2 = arith.divf %f, %1 : f32\nattn.yield %2 : f32";
  Result result = readScores(text, {0, 0, 0}, {4, 8, 16}, 3);
  expectNear(result.weights, {-0.5, 0, 0.5});
  expectNear(result.context, {6});
}

TEST(Read, R14RowsOfOneSentenceShareItsMemory) {
  ReadText text = additive();
  text.arguments += ", %sentence: tensor<?xi32>";
  text.inputs = "%q[row] : tensor<?xf32>, %k[source, key] : tensor<?x?xf32>, "
                "%h[source, key] : tensor<?x?xf32>";
  text.axes = "lengths(%n) rows(%sentence)";
  Result result = evaluateBoth(
      text, {Tensor::floats({3}, {0, 0, 0}),
             Tensor::floats({2, 3}, {0, 0, quietNaN, 0, 1, 5}),
             Tensor::floats({2, 3}, {1, 2, quietNaN, 10, 20, quietNaN}),
             Tensor::integers({2}, {2, 2}), Tensor::integers({3}, {1, 0, 1})});
  expectNear(result.context, {16.816997, 1.5, 16.816997});
}

TEST(Read, R20MaskedLookupsHaveNoEffect) {
  ReadText text = direct();
  text.arguments += ", %table: tensor<2xf32>";
  text.inputs += ", %table[] : tensor<2xf32>";
  text.slices += ", %t: tensor<2xf32>";
  text.score = "%0 = attn.lookup %t[%j] : tensor<2xf32>, i32 -> f32\n"
               "attn.yield %0 : f32";
  auto arguments = [](int32_t length) {
    return SmallVector<Tensor>{
        Tensor::floats({1}, 0.0), Tensor::floats({1, 3}, {0, 0, 0}),
        Tensor::floats({1, 3}, {1, 3, 7}), Tensor::integers({1}, length),
        Tensor::floats({2}, {0, 0})};
  };
  expectNear(evaluateBoth(text, arguments(2)).context, {2});
  for (const std::string &module : {text.fused(), text.unfused()})
    EXPECT_EQ(Module(module).getError(arguments(3)),
              "'attn.lookup' expected an index of 0 to 1, because the table "
              "has size 2, but got 2");
  text.mask = "%two = arith.constant 2 : i32\n"
              "%0 = arith.cmpi slt, %j, %two : i32\nattn.yield %0 : i1";
  expectNear(evaluateBoth(text, arguments(3)).context, {2});
}

/// Rows of sentences whose memories end around the blocks that a read takes, in
/// plain arithmetic: two heads, numbers that are added to the scores, -inf
/// among them, intervals and masks.
class LongMemories : public testing::TestWithParam<const char *> {
protected:
  static constexpr int64_t width = 21, size = 19;
  static constexpr std::array<int32_t, 8> lengths = {700, 128, 255, 256,
                                                     257, 513, 0,   1};
  /// Sentences by row: groups of 1, 2, 5, 8 and more, and rows of one sentence
  /// that do not stand together.
  static constexpr std::array<int32_t, 32> sentences = {
      0, 0, 0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3,
      3, 3, 0, 6, 6, 7, 4, 4, 2, 5, 5, 5, 5, 5, 5, 5};
  static constexpr int64_t numRows = sentences.size();

  LongMemories() : withInterval(is("interval")), withMask(is("mask")) {
    std::mt19937 generator(11);
    queries = makeRandom({numRows, 2, width}, generator);
    for (int32_t length : lengths) {
      keys.push_back(makeRandom({length, 2, width}, generator));
      values.push_back(makeRandom({length, 2, size}, generator));
      terms.push_back(makeRandom({length}, generator));
      // Of one sentence a block has nothing to read; of others single
      // positions.
      for (int32_t j = 0; j < length; ++j)
        if (length == 513 ? j < 256 : j % 97 == 96)
          terms.back().data[j] = -infinity;
      std::vector<int32_t> mask(length);
      for (int32_t &readable : mask)
        readable = generator() % 3 != 0;
      if (length == 256)
        std::fill(mask.begin(), mask.end(), 0);
      masks.push_back(mask);
    }
    for (int32_t sentence : sentences) {
      int32_t length = lengths[sentence];
      begins.push_back(int32_t(generator() % (length + 4)) - 2);
      ends.push_back(int32_t(generator() % (length + 4)) - 1);
      if (generator() % 2)
        begins.back() = begins.back() / 128 * 128;
    }
  }
  static bool is(const char *name) {
    return std::string(GetParam()).find(name) != std::string::npos;
  }

  /// The arguments for some of the rows, with memories as long as `positions`.
  SmallVector<Tensor> arguments(ArrayRef<int64_t> rows,
                                int64_t positions) const {
    int64_t count = lengths.size();
    auto pad = [&](ArrayRef<Tensor> parts, SmallVector<int64_t> features) {
      int64_t step = 1;
      for (int64_t feature : features)
        step *= feature;
      std::vector<double> data(count * positions * step, quietNaN);
      for (auto [index, part] : llvm::enumerate(parts))
        std::copy(part.data.begin(), part.data.end(),
                  data.begin() + index * positions * step);
      features.insert(features.begin(), {count, positions});
      return Tensor::floats(features, data);
    };
    auto pick = [&](ArrayRef<int32_t> numbers) {
      std::vector<int32_t> picked;
      for (int64_t row : rows)
        picked.push_back(numbers[row]);
      return Tensor::integers({int64_t(rows.size())}, picked);
    };
    SmallVector<Tensor> all = {gatherRows(queries, rows),
                               pad(keys, {2, width}),
                               pad(values, {2, size}),
                               pad(terms, {}),
                               Tensor::integers({count}, lengths),
                               pick(sentences)};
    if (withInterval) {
      all.push_back(pick(begins));
      all.push_back(pick(ends));
    }
    if (withMask) {
      std::vector<int32_t> data(count * positions);
      for (auto [index, mask] : llvm::enumerate(masks))
        std::copy(mask.begin(), mask.end(), data.begin() + index * positions);
      all.push_back(Tensor::integers({count, positions}, data));
    }
    return all;
  }

  std::string text() const {
    ReadText text;
    text.heads = "x2";
    text.context = "x2x19";
    text.arguments = "%q: tensor<?x2x21xf32>, %k: tensor<?x?x2x21xf32>, "
                     "%h: tensor<?x?x2x19xf32>, %t: tensor<?x?xf32>, "
                     "%n: tensor<?xi32>, %r: tensor<?xi32>";
    text.inputs = "%q[row] : tensor<?x2x21xf32>, "
                  "%k[source, key] : tensor<?x?x2x21xf32>, "
                  "%h[source, key] : tensor<?x?x2x19xf32>, "
                  "%t[source, key] : tensor<?x?xf32>";
    text.slices = "%a: tensor<2x21xf32>, %x: tensor<2x21xf32>, "
                  "%y: tensor<2x19xf32>, %z: f32";
    text.axes = "lengths(%n) rows(%r)";
    text.score = "%0 = attn.dot %a, %x : tensor<2x21xf32> -> tensor<2xf32>\n"
                 "%1 = attn.broadcast %z : f32 -> tensor<2xf32>\n"
                 "%2 = arith.addf %0, %1 : tensor<2xf32>\n"
                 "attn.yield %2 : tensor<2xf32>";
    text.summand = "attn.yield %y : tensor<2x19xf32>";
    if (withInterval) {
      text.arguments += ", %b: tensor<?xi32>, %e: tensor<?xi32>";
      text.inputs += ", %b[row] : tensor<?xi32>, %e[row] : tensor<?xi32>";
      text.slices += ", %from: i32, %to: i32";
      text.interval = "attn.yield %from, %to : i32, i32";
    }
    if (withMask) {
      text.arguments += ", %p: tensor<?x?xi32>";
      text.inputs += ", %p[source, key] : tensor<?x?xi32>";
      text.slices += ", %o: i32";
      text.mask = "%zero = arith.constant 0 : i32\n"
                  "%0 = arith.cmpi ne, %o, %zero : i32\nattn.yield %0 : i1";
    }
    if (is("factor"))
      text.factor = "%0 = arith.sitofp %j : i32 to f32\n"
                    "%f = arith.constant 1.0 : f32\n"
                    "%1 = arith.addf %0, %f : f32\n"
                    "%2 = arith.divf %f, %1 : f32\n"
                    "%3 = attn.broadcast %2 : f32 -> tensor<2xf32>\n"
                    "attn.yield %3 : tensor<2xf32>";
    return text.fused();
  }

  /// The weights of a row's head, unnormalised those that are read, and its
  /// context.
  std::pair<std::vector<double>, std::vector<double>>
  expected(int64_t row, int64_t head) const {
    int32_t sentence = sentences[row], length = lengths[sentence];
    std::vector<double> weights(length), context(size);
    double total = 0;
    for (int32_t j = 0; j < length; ++j) {
      double score = terms[sentence].data[j];
      for (int64_t i = 0; i < width; ++i)
        score += queries.data[(row * 2 + head) * width + i] *
                 keys[sentence].data[(j * 2 + head) * width + i];
      if ((withInterval && (j < begins[row] || j >= ends[row])) ||
          (withMask && !masks[sentence][j]))
        continue;
      total += weights[j] = std::exp(score);
    }
    for (int32_t j = 0; j < length; ++j) {
      if (weights[j] == 0)
        continue;
      weights[j] *= (is("factor") ? 1.0 / (j + 1) : 1) / total;
      for (int64_t i = 0; i < size; ++i)
        context[i] +=
            weights[j] * values[sentence].data[(j * 2 + head) * size + i];
    }
    return {weights, context};
  }

  bool withInterval, withMask;
  Tensor queries;
  std::vector<Tensor> keys, values, terms;
  std::vector<std::vector<int32_t>> masks;
  std::vector<int32_t> begins, ends;
};

TEST_P(LongMemories, R13BlocksAndGroupsDoNotMatter) {
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, numRows));
  constexpr int64_t positions = 700, padded = 741;
  SmallVector<Tensor> together =
      Module(text()).evaluate(arguments(rows, positions));
  for (int64_t row : rows)
    for (int64_t head : {0, 1}) {
      auto [weights, context] = expected(row, head);
      for (int64_t j = 0; j < positions; ++j)
        ASSERT_NEAR(together[1].data[(row * positions + j) * 2 + head],
                    j < int64_t(weights.size()) ? weights[j] : 0, 1e-5)
            << "row " << row << ", head " << head << ", position " << j;
      for (int64_t i = 0; i < size; ++i)
        ASSERT_NEAR(together[0].data[(row * 2 + head) * size + i], context[i],
                    1e-4)
            << "row " << row << ", head " << head << ", feature " << i;
      bool readsAny = llvm::any_of(weights, [](double w) { return w != 0; });
      ASSERT_EQ(together[2].data[row * 2 + head], readsAny) << "row " << row;
    }
  // In another order, where neighbours have other sentences, and padded.
  SmallVector<int64_t> apart(numRows);
  for (int64_t i = 0; i < numRows; ++i)
    apart[i] = i * 13 % numRows;
  SmallVector<Tensor> others =
      Module(text()).evaluate(arguments(apart, padded));
  expectSame(others[0], gatherRows(together[0], apart));
  expectSame(others[2], gatherRows(together[2], apart));
  Tensor weights = gatherRows(together[1], apart);
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t i = 0; i < padded * 2; ++i)
      ASSERT_EQ(others[1].data[row * padded * 2 + i],
                i < positions * 2 ? weights.data[row * positions * 2 + i] : 0);
}

INSTANTIATE_TEST_SUITE_P(Read, LongMemories,
                         testing::Values("plain", "interval", "mask",
                                         "interval, mask, factor"));

TEST(Read, SinksOfLongMemories) {
  ReadText text = direct();
  text.hasSink = true;
  for (double sink : {0.0, 3.0, -infinity}) {
    std::vector<double> scores(300), values(300);
    double total = std::exp(sink), sum = 0;
    for (int j = 0; j < 300; ++j) {
      scores[j] = std::sin(j) * 2;
      values[j] = std::cos(j);
      total += std::exp(scores[j]);
      sum += std::exp(scores[j]) * values[j];
    }
    Result result = readScores(text, scores, values, 300, sink);
    expectNear(result.context, {sum / total});
  }
}

TEST(Read, FusedAndUnfusedAgree) {
  // Two heads, queries of a sequence, a mask per head and a factor.
  ReadText text;
  text.hasQueries = true;
  text.heads = text.maskHeads = "x2";
  text.context = "x2x3";
  text.arguments =
      "%q: tensor<?x?x2x3xf32>, %h: tensor<?x?x4xf32>, "
      "%k: tensor<2x3x4xf32>, %u: tensor<2x3x4xf32>, %g: tensor<?xf32>, "
      "%n: tensor<?xi32>, %qn: tensor<?xi32>";
  text.inputs = "%q[row, query] : tensor<?x?x2x3xf32>, %h[row, key] : "
                "tensor<?x?x4xf32>, %k[] : tensor<2x3x4xf32>, %u[] : "
                "tensor<2x3x4xf32>, %g[row] : tensor<?xf32>";
  text.slices = "%s: tensor<2x3xf32>, %x: tensor<4xf32>, "
                "%wk: tensor<2x3x4xf32>, %wv: tensor<2x3x4xf32>, %z: f32";
  text.axes = "lengths(%n) query_lengths(%qn)";
  text.score = "%0 = attn.linear %x, %wk : tensor<4xf32>, tensor<2x3x4xf32> -> "
               "tensor<2x3xf32>\n%1 = attn.dot %s, %0 : tensor<2x3xf32> -> "
               "tensor<2xf32>\nattn.yield %1 : tensor<2xf32>";
  // The first head sees earlier keys, the second only other ones.
  text.mask = "%s0 = arith.cmpi sle, %j, %i : i32\n"
              "%s1 = arith.cmpi ne, %j, %i : i32\n"
              "%first = arith.constant dense<[true, false]> : tensor<2xi1>\n"
              "%a = attn.broadcast %s0 : i1 -> tensor<2xi1>\n"
              "%b = attn.broadcast %s1 : i1 -> tensor<2xi1>\n"
              "%0 = arith.select %first, %a, %b : tensor<2xi1>, "
              "tensor<2xi1>\nattn.yield %0 : tensor<2xi1>";
  text.factor = "%0 = arith.sitofp %j : i32 to f32\n"
                "%1 = arith.subf %0, %z : f32\n%2 = arith.mulf %1, %1 : f32\n"
                "%3 = arith.negf %2 : f32\n%4 = math.exp %3 : f32\n"
                "%5 = attn.broadcast %4 : f32 -> tensor<2xf32>\n"
                "attn.yield %5 : tensor<2xf32>";
  text.summand = "%0 = attn.linear %x, %wv : tensor<4xf32>, "
                 "tensor<2x3x4xf32> -> tensor<2x3xf32>\n"
                 "attn.yield %0 : tensor<2x3xf32>";
  std::mt19937 generator(7);
  for (const char *normalizer : {"softmax", "hardmax", "sparsemax"}) {
    text.normalizer = normalizer;
    Result result = evaluateBoth(
        text,
        {makeRandom({3, 4, 2, 3}, generator), makeRandom({3, 5, 4}, generator),
         makeRandom({2, 3, 4}, generator), makeRandom({2, 3, 4}, generator),
         makeRandom({3}, generator), Tensor::integers({3}, {5, 1, 3}),
         Tensor::integers({3}, {4, 2, 3})});
    // Row 1 has one key: the second head of its first query sees none.
    EXPECT_EQ(result.valid.data[1 * 4 * 2 + 0], 1.0);
    EXPECT_EQ(result.valid.data[1 * 4 * 2 + 1], 0.0);
  }
}

} // namespace
