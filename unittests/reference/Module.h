//===- Module.h - evaluate IR that a test writes --------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_REFERENCE_MODULE_H
#define ATTN_UNITTESTS_REFERENCE_MODULE_H

#include "reference/Evaluator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <limits>
#include <random>

namespace mlir::attn::reference {

inline constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// How exactly the engine that runs the tests computes.
extern const double engineTolerance;

/// Parsed IR: functions or a model.
class Module {
public:
  explicit Module(const std::string &text);

  ModelOp model();

  /// Evaluates the function `f`.
  FailureOr<SmallVector<Tensor>> tryEvaluate(ArrayRef<Tensor> arguments,
                                             Environment &environment);
  /// The same; the test fails if the evaluation does.
  SmallVector<Tensor> evaluate(ArrayRef<Tensor> arguments);
  /// The message that the evaluation fails with.
  std::string getError(ArrayRef<Tensor> arguments);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// A function `f` of the given arguments whose body returns by itself.
SmallVector<Tensor> evaluateFunction(const std::string &arguments,
                                     const std::string &results,
                                     const std::string &body,
                                     ArrayRef<Tensor> values);

/// Seeded numbers from a normal distribution.
Tensor makeRandom(ArrayRef<int64_t> shape, std::mt19937 &generator);

/// Expects numbers to agree to 1e-5 * max(1, |x|); NaN agrees with NaN.
void expectNear(const Tensor &actual, ArrayRef<double> expected);

/// Expects numbers to be the same bit for bit.
void expectSame(const Tensor &actual, const Tensor &expected);

} // namespace mlir::attn::reference

#endif // ATTN_UNITTESTS_REFERENCE_MODULE_H
