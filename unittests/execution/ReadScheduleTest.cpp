//===- ReadScheduleTest.cpp - reads under all schedules -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule changes no bit of a read (R13, R21): groups of one to eight rows,
// memories around a block, features that fill no chunk.
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "dialect/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <array>
#include <random>

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr int64_t heads = 2, width = 200, positions = 140, sentences = 8;

const char *const text = R"(
func.func @f(%q: tensor<?x2x200xf32>, %k: tensor<?x?x2x200xf32>, %n: tensor<?xi32>,
             %r: tensor<?xi32>) -> tensor<?x2x200xf32> {
  %c = attn.read softmax ins(%q[row] : tensor<?x2x200xf32>,
      %k[source, key] : tensor<?x?x2x200xf32>) lengths(%n) rows(%r) score {
  ^bb0(%a: tensor<2x200xf32>, %b: tensor<2x200xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    %0 = attn.dot %a, %b : tensor<2x200xf32> -> tensor<2xf32>
    attn.yield %0 : tensor<2xf32>
  } summand {
  ^bb0(%a: tensor<2x200xf32>, %b: tensor<2x200xf32>, %i: i32, %j: i32, %o: i32, %m: i32):
    attn.yield %b : tensor<2x200xf32>
  } -> tensor<?x2x200xf32>
  return %c : tensor<?x2x200xf32>
}
)";

std::vector<float> readWith(const char *instructionSet) {
  MLIRContext context;
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  std::string error;
  std::unique_ptr<Jit> jit;
  JitOptions options;
  options.instructionSet = instructionSet;
  if (module)
    jit = Jit::compile(*module, error, options);
  EXPECT_TRUE(jit) << error;
  if (!jit)
    return {};
  // Sentence i has i + 1 rows.
  std::vector<int32_t> sources, lengths;
  for (int32_t i = 0; i < sentences; ++i) {
    sources.insert(sources.end(), i + 1, i);
    lengths.push_back(int32_t(positions - 2 * i));
  }
  int64_t rows = int64_t(sources.size());
  std::mt19937 generator(5);
  std::normal_distribution<float> distribution(0, 0.2f);
  std::vector<float> queries(rows * heads * width),
      keys(sentences * positions * heads * width), contexts(queries.size());
  for (std::vector<float> *numbers : {&queries, &keys})
    for (float &number : *numbers)
      number = distribution(generator);
  jit->call("f", {{queries.data(), {rows, heads, width}},
                  {keys.data(), {sentences, positions, heads, width}},
                  {lengths.data(), {sentences}},
                  {sources.data(), {rows}},
                  {contexts.data(), {rows, heads, width}}});
  return contexts;
}

TEST(ReadSchedules, R21NoScheduleChangesABit) {
  if (usesDevice())
    GTEST_SKIP() << "a device has schedules of its own";
  std::vector<float> plain = readWith("portable");
  for (const char *instructionSet : {"avx2", "avx512"}) {
    std::vector<float> arranged = readWith(instructionSet);
    ASSERT_EQ(arranged.size(), plain.size());
    for (size_t i = 0; i < plain.size(); ++i)
      ASSERT_EQ(arranged[i], plain[i]) << instructionSet << ", element " << i;
  }
}

} // namespace
