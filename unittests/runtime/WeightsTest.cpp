//===- WeightsTest.cpp - damaged and fitting weights files ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/weights.h"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::string entry(const std::string &name, const std::string &type,
                  const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\": {\"dtype\": \"" + type + "\", \"shape\": " + shape +
         ", \"data_offsets\": " + offsets + "}";
}

/// The problems of a file for a model with parameters a [2, 3] and b [4].
std::vector<std::string> problemsOf(const std::string &file) {
  std::vector<std::string> problems;
  std::unique_ptr<Safetensors> read =
      Safetensors::fromMemory(file.data(), file.size(), "w", problems);
  if (!read) {
    EXPECT_FALSE(problems.empty());
    return problems;
  }
  std::unique_ptr<Weights> weights =
      Weights::bind(std::move(read),
                    {{"a", {2, 3}, "", {}}, {"b", {4}, "", {}}}, {}, problems);
  EXPECT_EQ(weights == nullptr, !problems.empty());
  return problems;
}

/// Expects one problem with the given text.
void expectProblem(const std::string &file, const std::string &problem) {
  EXPECT_EQ(problemsOf(file), std::vector<std::string>{"w: " + problem});
}

const std::string goodA = entry("a", "F32", "[2, 3]", "[0, 24]");
const std::string goodB = entry("b", "F32", "[4]", "[24, 40]");
const std::vector<float> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

std::string fileWith(const std::string &entries,
                     const std::vector<float> &values = numbers) {
  return makeSafetensors("{" + entries + "}", floatBytes(values));
}

TEST(Weights, ReadsWhatIsThere) {
  // In any order, with metadata and trailing spaces in the header.
  std::string file = makeSafetensors("{\"__metadata__\": {\"k\": \"v\"}, " +
                                         goodB + ", " + goodA + "}   ",
                                     floatBytes(numbers));
  std::vector<std::string> problems;
  auto read = Safetensors::fromMemory(file.data(), file.size(), "w", problems);
  ASSERT_TRUE(read);
  auto weights =
      Weights::bind(std::move(read),
                    {{"b", {4}, "", {}}, {"a", {2, 3}, "", {}}}, {}, problems);
  ASSERT_TRUE(weights);
  EXPECT_EQ(weights->data(0)[3], 9);
  EXPECT_EQ(weights->data(1)[5], 5);
  for (size_t i : {0, 1})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weights->data(i)) % 64, 0u);
}

TEST(Weights, UsesTheFileInPlaceWhereAligned) {
  std::string header = "{" + goodA + ", " + goodB + "}";
  header.resize(256 - 8, ' ');
  TemporaryFile file(makeSafetensors(header, floatBytes(numbers)));
  std::vector<std::string> problems;
  auto read = Safetensors::open(file.path, problems);
  ASSERT_TRUE(read);
  const char *inFile = read->find("a")->data;
  auto weights =
      Weights::bind(std::move(read),
                    {{"a", {2, 3}, "", {}}, {"b", {4}, "", {}}}, {}, problems);
  ASSERT_TRUE(weights);
  EXPECT_EQ(reinterpret_cast<const char *>(weights->data(0)), inFile);
  EXPECT_EQ(weights->data(1)[0], 6);
}

TEST(Weights, ConvertsNarrowAndWideTypes) {
  // 1, -2, infinity's neighbour 65504, the smallest subnormal half.
  const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001};
  const uint16_t brains[] = {0x3f80, 0xc000};
  const double doubles[] = {0.5};
  std::string data(reinterpret_cast<const char *>(halves), 8);
  data.append(reinterpret_cast<const char *>(brains), 4);
  data.append(reinterpret_cast<const char *>(doubles), 8);
  std::string file =
      makeSafetensors("{" + entry("h", "F16", "[4]", "[0, 8]") + ", " +
                          entry("r", "BF16", "[2]", "[8, 12]") + ", " +
                          entry("d", "F64", "[]", "[12, 20]") + "}",
                      data);
  std::vector<std::string> problems;
  auto read = Safetensors::fromMemory(file.data(), file.size(), "w", problems);
  ASSERT_TRUE(read);
  auto weights =
      Weights::bind(std::move(read),
                    {{"h", {4}, "", {}}, {"r", {2}, "", {}}, {"d", {}, "", {}}},
                    {}, problems);
  ASSERT_TRUE(weights);
  EXPECT_EQ(std::vector<float>(weights->data(0), weights->data(0) + 4),
            (std::vector<float>{1, -2, 65504, 0x1p-24f}));
  EXPECT_EQ(std::vector<float>(weights->data(1), weights->data(1) + 2),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(*weights->data(2), 0.5f);
}

TEST(Weights, TakesSlicesOfForeignTensors) {
  std::string file = fileWith(entry("t", "F32", "[5, 2]", "[0, 40]"));
  std::vector<std::string> problems;
  auto bind = [&](const std::vector<Parameter> &parameters,
                  const std::vector<std::string> &ignored = {}) {
    problems.clear();
    return Weights::bind(
        Safetensors::fromMemory(file.data(), file.size(), "w", problems),
        parameters, ignored, problems);
  };
  auto weights = bind({{"x", {3, 2}, "t", {{0, 3}}},
                       {"y", {2}, "t", {{3, 5}, {0, 1}}},
                       {"z", {2, 1}, "t", {{3, 5}, {1, 2}}}});
  ASSERT_TRUE(weights) << problems[0];
  EXPECT_EQ(weights->data(0)[5], 5);
  EXPECT_EQ(std::vector<float>(weights->data(1), weights->data(1) + 2),
            (std::vector<float>{6, 8}));
  EXPECT_EQ(std::vector<float>(weights->data(2), weights->data(2) + 2),
            (std::vector<float>{7, 9}));
  // A foreign tensor is read in row-major order in the parameter's shape.
  EXPECT_TRUE(bind({{"x", {2, 5}, "t", {}}}));

  EXPECT_FALSE(bind({{"x", {3, 2}, "t", {{0, 3}}}}));
  EXPECT_EQ(problems, std::vector<std::string>{
                          "w: tensor 't': expected all of shape [5, 2] to be "
                          "used, but got slices that leave a part"});
  EXPECT_TRUE(bind({{"x", {3, 2}, "t", {{0, 3}}}}, {"t"}));
  EXPECT_FALSE(bind({{"x", {3, 2}, "t", {{3, 6}}}}));
  EXPECT_EQ(problems, std::vector<std::string>{
                          "w: tensor 't': expected dimension 0 to contain [3, "
                          "6), but got shape [5, 2], for parameter 'x'"});
}

TEST(Weights, ScalesQuantisedTensors) {
  const int8_t whole[] = {-128, 127, 1, 2, 0, -3};
  // q [3, 2], and scales of its rows, of its elements, of all of it.
  std::string data(reinterpret_cast<const char *>(whole), 6);
  data += floatBytes({4, 0.5, 2, 1, 2, 3, 4, 5, 6, 10});
  std::string file =
      makeSafetensors("{" + entry("q", "I8", "[3, 2]", "[0, 6]") + ", " +
                          entry("rows", "F32", "[3]", "[6, 18]") + ", " +
                          entry("each", "F32", "[3, 2]", "[18, 42]") + ", " +
                          entry("all", "F32", "[1]", "[42, 46]") + "}",
                      data);
  const std::vector<std::string> others = {"q", "rows", "each", "all"};
  std::vector<std::string> problems;
  auto bind = [&](const Parameter &parameter) {
    problems.clear();
    return Weights::bind(
        Safetensors::fromMemory(file.data(), file.size(), "w", problems),
        {parameter}, others, problems);
  };
  auto numbersOf = [&](const Parameter &parameter) {
    auto weights = bind(parameter);
    EXPECT_TRUE(weights) << problems[0];
    int64_t size = 1;
    for (int64_t extent : parameter.shape)
      size *= extent;
    return weights
               ? std::vector<float>(weights->data(0), weights->data(0) + size)
               : std::vector<float>();
  };
  EXPECT_EQ(numbersOf({"p", {3, 2}, "q", {}, "rows", {}, true}),
            (std::vector<float>{-32, 31.75, 2, 4, 0, -1.5}));
  EXPECT_EQ(numbersOf({"p", {3, 2}, "q", {}, "rows", {}, false}),
            (std::vector<float>{-512, 508, 0.5, 1, 0, -6}));
  EXPECT_EQ(numbersOf({"p", {6}, "q", {}, "each", {}, false}),
            (std::vector<float>{-128, 254, 3, 8, 0, -18}));
  EXPECT_EQ(numbersOf({"p", {2, 2}, "q", {{1, 3}}, "all", {}, true}),
            (std::vector<float>{0.1f, 0.2f, 0, -0.3f}));
  // Slices of both, of the second dimension too, and of a real tensor.
  EXPECT_EQ(numbersOf({"p", {2, 2}, "q", {{1, 3}}, "rows", {{1, 3}}, true}),
            (std::vector<float>{2, 4, 0, -1.5}));
  EXPECT_EQ(
      numbersOf({"p", {2}, "q", {{0, 2}, {1, 2}}, "rows", {{0, 2}}, true}),
      (std::vector<float>{31.75, 4}));
  EXPECT_EQ(numbersOf({"p", {3, 2}, "each", {}, "rows", {}, false}),
            (std::vector<float>{4, 8, 1.5, 2, 10, 12}));

  auto expectWrong = [&](const Parameter &parameter, const std::string &text) {
    EXPECT_FALSE(bind(parameter));
    EXPECT_EQ(problems, std::vector<std::string>{"w: tensor " + text});
  };
  expectWrong({"p", {2, 2}, "q", {{1, 3}}, "rows", {}, true},
              "'rows': expected a scale for the leading dimensions of shape "
              "[2, 2], but got [3], for parameter 'p'");
  expectWrong({"p", {6}, "rows", {}, "each", {}, true},
              "'rows': expected shape [6], but got [3], for parameter 'p'");
  expectWrong({"p", {3}, "rows", {}, "each", {}, true},
              "'each': expected a scale for the leading dimensions of shape "
              "[3], but got [3, 2], for parameter 'p'");
  expectWrong({"p", {3, 2}, "q", {}, "rows", {{2, 5}}, true},
              "'rows': expected dimension 0 to contain [2, 5), but got shape "
              "[3], for parameter 'p'");
  expectWrong(
      {"p", {3, 2}, "q", {}, "row", {}, true},
      "'row': expected a tensor of this name for the scale of parameter "
      "'p' [3, 2], but got none");
  expectWrong({"p", {3, 2}, "each", {}, "q", {}, true},
              "'q': expected dtype F32, F16, BF16 or F64, or I8 with a scale, "
              "but got I8");
  data.replace(6, 4, floatBytes({0}));
  file.replace(file.size() - data.size(), data.size(), data);
  expectWrong({"p", {3, 2}, "q", {}, "rows", {}, true},
              "'rows': expected scales that give finite numbers, but got -inf "
              "at [0, 0] of parameter 'p'");
}

TEST(Weights, IgnoresWhatIsNamed) {
  std::string file =
      fileWith(entry("l.12.x", "F32", "[6]", "[0, 24]") + ", " + goodB);
  std::vector<std::string> problems;
  for (std::string pattern : {"l.12.x", "l.{i}.x", "l.{i}.y", "l.{i}", "{i}"}) {
    problems.clear();
    auto weights = Weights::bind(
        Safetensors::fromMemory(file.data(), file.size(), "w", problems),
        {{"b", {4}, "", {}}}, {pattern}, problems);
    EXPECT_EQ(weights != nullptr, pattern.size() >= 6 && pattern.back() == 'x')
        << pattern;
  }
}

// The cases of damage. Each ends in one message.

TEST(DamagedWeights, Missing) {
  expectProblem(fileWith(goodA, {0, 1, 2, 3, 4, 5}),
                "tensor 'b': expected a tensor of this name for parameter 'b' "
                "[4], but got none");
}

TEST(DamagedWeights, Surplus) {
  std::vector<float> more = numbers;
  more.push_back(1);
  expectProblem(fileWith(goodA + ", " + goodB + ", " +
                             entry("zzz", "F32", "[1]", "[40, 44]"),
                         more),
                "tensor 'zzz': expected only tensors of the model, but got one "
                "of shape [1] that no parameter uses");
}

TEST(DamagedWeights, Misshapen) {
  expectProblem(fileWith(entry("a", "F32", "[3, 2]", "[0, 24]") + ", " + goodB),
                "tensor 'a': expected shape [2, 3], but got [3, 2]");
}

TEST(DamagedWeights, AllAtOnceWithTheNearestName) {
  std::vector<std::string> problems =
      problemsOf(fileWith(entry("a", "F32", "[6]", "[0, 24]") + ", " +
                              entry("B", "F32", "[4]", "[24, 40]"),
                          {nan, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0], "w: tensor 'b': expected a tensor of this name for "
                         "parameter 'b' [4], but got none; the nearest name is "
                         "'B'");
  EXPECT_NE(problems[1].find("expected shape [2, 3]"), std::string::npos);
  EXPECT_NE(problems[2].find("finite"), std::string::npos);
  EXPECT_NE(problems[3].find("the nearest name is 'b'"), std::string::npos);
}

TEST(DamagedWeights, CutInTheData) {
  std::string file = fileWith(goodA + ", " + goodB);
  file.resize(file.size() - 1);
  expectProblem(file, "tensor 'b': expected data_offsets within the 39 bytes "
                      "of data that the file has, but got [24, 40]");
}

TEST(DamagedWeights, EveryCutIsAnError) {
  std::string file = fileWith(goodA + ", " + goodB);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(problemsOf(file.substr(0, size)).empty()) << size;
}

TEST(DamagedWeights, CutInTheHeader) {
  expectProblem(fileWith(goodA + ", " + goodB).substr(0, 60),
                "expected a header within the file's 60 bytes, but got a "
                "header of 128");
}

TEST(DamagedWeights, NoHeader) {
  expectProblem("abc", "expected a safetensors file of at least 8 bytes, but "
                       "got 3");
}

TEST(DamagedWeights, HeaderLargerThanTheFile) {
  std::string file = fileWith(goodA + ", " + goodB);
  file.replace(0, 8, 8, '\xff');
  expectProblem(file, "expected a header within the file's 176 bytes, but got "
                      "a header of 18446744073709551615");
}

TEST(DamagedWeights, NotFinite) {
  for (float bad : {nan, infinity, -infinity}) {
    std::vector<float> values = numbers;
    values[4] = bad;
    std::string name = bad != bad ? "nan" : bad > 0 ? "inf" : "-inf";
    expectProblem(fileWith(goodA + ", " + goodB, values),
                  "tensor 'a': expected finite numbers, but got " + name +
                      " at [1, 1]");
  }
}

TEST(DamagedWeights, Overlap) {
  std::vector<float> values = numbers;
  values.pop_back();
  expectProblem(
      fileWith(goodA + ", " + entry("b", "F32", "[4]", "[20, 36]"), values),
      "tensor 'b': expected its data at byte 24, the end of tensor "
      "'a', but got byte 20: tensors overlap");
}

TEST(DamagedWeights, Hole) {
  std::vector<float> values = numbers;
  values.push_back(0);
  expectProblem(
      fileWith(goodA + ", " + entry("b", "F32", "[4]", "[28, 44]"), values),
      "tensor 'b': expected its data at byte 24, the end of tensor "
      "'a', but got byte 28: there is a hole");
}

TEST(DamagedWeights, HoleAtTheEnd) {
  std::vector<float> values = numbers;
  values.push_back(0);
  expectProblem(fileWith(goodA + ", " + goodB, values),
                "expected tensors up to the end of the data, byte 44, but got "
                "40");
}

TEST(DamagedWeights, BackwardOffsets) {
  expectProblem(
      fileWith(goodA + ", " + entry("b", "F32", "[4]", "[40, 24]")),
      "tensor 'b': expected ascending data_offsets, but got [40, 24]");
}

TEST(DamagedWeights, NegativeOffsets) {
  expectProblem(
      fileWith(goodA + ", " + entry("b", "F32", "[4]", "[-16, 0]")),
      "tensor 'b': expected ascending data_offsets, but got [-16, 0]");
}

TEST(DamagedWeights, OffsetsAgainstShape) {
  expectProblem(fileWith(goodA + ", " + entry("b", "F32", "[3]", "[24, 40]")),
                "tensor 'b': expected 12 bytes for F32 [3], but got 16");
}

TEST(DamagedWeights, HugeShape) {
  // 2^62 * 4 elements wrap to 0, of 4 bytes each.
  expectProblem(
      fileWith(goodA + ", " +
               entry("b", "F32", "[4611686018427387904, 4]", "[24, 40]")),
      "tensor 'b': expected a shape that fits in memory, but got more than "
      "2^63 bytes");
  expectProblem(
      fileWith(goodA + ", " +
               entry("b", "F32", "[99999999999999999999999]", "[24, 40]")),
      "tensor 'b': expected a shape that fits in memory, but got more than "
      "2^63 bytes");
}

TEST(DamagedWeights, NegativeShape) {
  expectProblem(
      fileWith(goodA + ", " + entry("b", "F32", "[-2, -2]", "[24, 40]")),
      "tensor 'b': expected a shape of non-negative integers");
}

TEST(DamagedWeights, DeepNesting) {
  std::string deep(100000, '[');
  expectProblem(fileWith("\"a\": " + deep),
                "header: expected JSON nested at most 8 deep, but got more");
}

TEST(DamagedWeights, UnknownType) {
  expectProblem(fileWith(goodA + ", " + entry("b", "F31", "[4]", "[24, 40]")),
                "tensor 'b': expected a known dtype (such as F32), but got "
                "'F31'");
}

TEST(DamagedWeights, UnreadableType) {
  expectProblem(
      fileWith(goodA + ", " + entry("b", "I32", "[4]", "[24, 40]")),
      "tensor 'b': expected dtype F32, F16, BF16 or F64, or I8 with a scale, "
      "but got I32");
  expectProblem(
      fileWith(goodA + ", " + entry("b", "I8", "[4]", "[24, 28]"),
               {0, 1, 2, 3, 4, 5, 6}),
      "tensor 'b': expected dtype F32, F16, BF16 or F64, or I8 with a scale, "
      "but got I8");
}

TEST(DamagedWeights, NoJson) {
  expectProblem(makeSafetensors("{\"a\" 1}", ""),
                "header: expected valid JSON, but got an error at byte 5");
  expectProblem(makeSafetensors("", ""),
                "header: expected valid JSON, but got an error at byte 0");
  expectProblem(makeSafetensors("[]", ""), "header: expected a JSON object");
}

TEST(DamagedWeights, InvalidUtf8) {
  EXPECT_EQ(problemsOf(fileWith("\"\xff\": 1")).size(), 1u);
}

TEST(DamagedWeights, SameNameTwice) {
  expectProblem(fileWith(goodA + ", " + goodA),
                "header: expected different names in one JSON object, but got "
                "'a' twice");
}

TEST(DamagedWeights, NotATensor) {
  expectProblem(fileWith(goodA + ", \"b\": 3"),
                "tensor 'b': expected exactly dtype, shape and data_offsets");
}

TEST(DamagedWeights, NoFile) {
  std::vector<std::string> problems;
  EXPECT_FALSE(Safetensors::open("/no/such/file", problems));
  EXPECT_EQ(problems,
            std::vector<std::string>{"expected a readable file, but got 'No "
                                     "such file or directory': /no/such/file"});
  problems.clear();
  EXPECT_FALSE(Safetensors::open("/", problems));
  EXPECT_EQ(problems.size(), 1u);
}

} // namespace
