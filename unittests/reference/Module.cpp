//===- Module.cpp - evaluate IR that a test writes ------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

Module::Module(const std::string &text) {
  context.loadDialect<AttnDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  // Nothing of a test makes sense without its module.
  if (!module)
    llvm::report_fatal_error("expected IR that parses");
}

ModelOp Module::model() { return *module->getOps<ModelOp>().begin(); }

SmallVector<Tensor> Module::evaluate(ArrayRef<Tensor> arguments) {
  Environment environment;
  FailureOr<SmallVector<Tensor>> results = tryEvaluate(arguments, environment);
  if (succeeded(results))
    return *results;
  ADD_FAILURE() << environment.error;
  auto function = module->lookupSymbol<func::FuncOp>("f");
  return SmallVector<Tensor>(function.getNumResults());
}

std::string Module::getError(ArrayRef<Tensor> arguments) {
  Environment environment;
  EXPECT_TRUE(failed(tryEvaluate(arguments, environment)));
  return environment.error;
}

SmallVector<Tensor> reference::evaluateFunction(const std::string &arguments,
                                                const std::string &results,
                                                const std::string &body,
                                                ArrayRef<Tensor> values) {
  Module module("func.func @f(" + arguments + ") -> (" + results + ") {\n" +
                body + "\n}");
  return module.evaluate(values);
}

Tensor reference::makeRandom(ArrayRef<int64_t> shape, std::mt19937 &generator) {
  std::normal_distribution<double> distribution;
  std::vector<double> data(countElements(shape));
  for (double &number : data)
    number = distribution(generator);
  return Tensor::floats(shape, data);
}

void reference::expectNear(const Tensor &actual, ArrayRef<double> expected) {
  ASSERT_EQ(actual.size(), static_cast<int64_t>(expected.size()));
  for (auto [index, number] : llvm::enumerate(expected)) {
    double got = actual.data[index];
    if (std::isnan(number))
      EXPECT_TRUE(std::isnan(got)) << got << " as element " << index;
    else
      EXPECT_NEAR(got, number, 1e-5 * std::max(1.0, std::abs(number)))
          << "as element " << index;
  }
}

void reference::expectSame(const Tensor &actual, const Tensor &expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  EXPECT_EQ(0, std::memcmp(actual.data.data(), expected.data.data(),
                           actual.data.size() * sizeof(double)));
}
