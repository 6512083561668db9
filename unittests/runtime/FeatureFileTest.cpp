//===- FeatureFileTest.cpp - features from files, and lines that name them ===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/feature_file.h"
#include "tools/decode/npy.h"
#include "tools/decode/source_line.h"
#include "unittests/runtime/test_files.h"

#include <gtest/gtest.h>

using namespace attn;
using namespace attn::test;
using namespace attn::tool;

namespace {

std::string makeNpy(const std::string &header, const std::string &numbers) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + numbers;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

const std::vector<float> six = {1, 2, 3, 4, 5, 6.5};

void expectError(const std::string &contents, const std::string &message) {
  TemporaryFile file(contents);
  FeatureArray array;
  std::string error;
  EXPECT_FALSE(readFeatures(file.path, array, error));
  EXPECT_EQ(error, message + ": " + file.path);
}

TEST(FeatureFile, ReadsWhatIsWritten) {
  TemporaryFile file("");
  std::string error;
  ASSERT_TRUE(writeNpy(file.path, false, {2, 3}, floatBytes(six), error));
  FeatureArray array;
  ASSERT_TRUE(readFeatures(file.path, array, error)) << error;
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.values, six);
}

TEST(FeatureFile, OtherTypesAndOrders) {
  // 1, -2 and 0.5 in half precision.
  TemporaryFile half(makeNpy(header("<f2", "(3,)"),
                             std::string("\x00\x3c\x00\xc0\x00\x38", 6)));
  FeatureArray array;
  std::string error;
  ASSERT_TRUE(readFeatures(half.path, array, error)) << error;
  EXPECT_EQ(array.values, (std::vector<float>{1, -2, 0.5}));
  EXPECT_EQ(array.shape, (std::vector<int64_t>{3}));

  TemporaryFile columns(
      makeNpy(header("<f4", "(3, 2)", "True"), floatBytes(six)));
  ASSERT_TRUE(readFeatures(columns.path, array, error)) << error;
  EXPECT_EQ(array.values, (std::vector<float>{1, 4, 2, 5, 3, 6.5}));

  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7};
  toRowMajor({2, 2, 2}, values);
  EXPECT_EQ(values, (std::vector<float>{0, 4, 2, 6, 1, 5, 3, 7}));

  // No position, and a number alone.
  for (const char *shape : {"(0, 5)", "(5, 0)"}) {
    TemporaryFile empty(makeNpy(header("<f4", shape), ""));
    ASSERT_TRUE(readFeatures(empty.path, array, error)) << error;
    EXPECT_TRUE(array.values.empty());
  }
  TemporaryFile scalar(makeNpy(header("<f4", "()"), floatBytes({2})));
  ASSERT_TRUE(readFeatures(scalar.path, array, error)) << error;
  EXPECT_TRUE(array.shape.empty());
}

TEST(FeatureFile, DamagedFilesAreErrors) {
  std::string whole = makeNpy(header("<f4", "(2, 3)"), floatBytes(six));
  for (size_t size = 0; size < whole.size(); ++size) {
    TemporaryFile file(whole.substr(0, size));
    FeatureArray array;
    std::string error;
    EXPECT_FALSE(readFeatures(file.path, array, error)) << size;
    EXPECT_FALSE(error.empty());
  }
  expectError(whole + "x",
              "expected 6 numbers, as the header says, but got 25 bytes");
  expectError(makeNpy(header(">f4", "(2, 3)"), floatBytes(six)),
              "expected numbers of type <f2, <f4 or <f8, but got '>f4'");
  expectError(makeNpy("{'shape': (2, 3)}", floatBytes(six)),
              "expected numbers of type <f2, <f4 or <f8, but got ''");
  for (const char *shape :
       {"(2, 3", "2, 3", "(-2, 3)", "(a)", "(99999999999999999999,)",
        "(9999999999, 9999999999)", ""})
    expectError(makeNpy(header("<f4", shape), floatBytes(six)),
                "expected a .npy file with a shape, but got none");
  expectError(makeNpy("{'descr': '<f4', 'shape': (6,)}", floatBytes(six)),
              "expected a .npy file with an order, but got none");
  expectError(makeNpy(header("<f8", "(4611686018427387904,)"), ""),
              "expected 4611686018427387904 numbers, as the header says, but "
              "got 0 bytes");
}

TEST(SourceLine, IsDividedAtTabs) {
  attn_input x = {}, y = {};
  x.name = "x";
  y.name = "y";
  SourceReader reader;
  reader.mostPositions = 3;
  reader.inputs = {&x, &y};
  EXPECT_EQ(reader.read("a b\tc").inputs[0].tokens,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(reader.read("a b\tc").inputs[1].tokens,
            std::vector<std::string>{"c"});
  EXPECT_EQ(reader.read("\tc").inputs[0].length(), 0u);
  EXPECT_EQ(reader.read("").error, "");
  EXPECT_EQ(reader.read("").inputs.size(), 2u);
  EXPECT_EQ(reader.read("a").error,
            "expected 2 inputs separated by tabs, but got 1");
  EXPECT_EQ(reader.read("a\tb\tc").error,
            "expected 2 inputs separated by tabs, but got 3");
  EXPECT_EQ(reader.read("a\ta b c d").error,
            "input 'y': expected at most 3 tokens, but got more; see "
            "--max-source-length");
  // With one input a tab is like other characters, and without any, too.
  reader.inputs = {&x};
  EXPECT_EQ(reader.read("a\tb").inputs[0].tokens,
            std::vector<std::string>{"a\tb"});
  reader.inputs.clear();
  EXPECT_EQ(reader.read("a\tb c").inputs[0].tokens,
            (std::vector<std::string>{"a\tb", "c"}));
}

TEST(SourceLine, TurnsAndGrows) {
  SourceInput input;
  input.features = six;
  input.positions = 3;
  input.reverse();
  EXPECT_EQ(input.features, (std::vector<float>{5, 6.5, 3, 4, 1, 2}));
  input.append(input);
  EXPECT_EQ(input.length(), 6u);
  EXPECT_EQ(input.features.size(), 12u);
}

} // namespace
