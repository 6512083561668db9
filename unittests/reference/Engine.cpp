//===- Engine.cpp - runs what a test writes: the evaluator ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// unittests/execution runs the same tests with another engine.
//
//===----------------------------------------------------------------------===//

#include "unittests/reference/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

const double reference::engineTolerance = 1e-12;

FailureOr<SmallVector<Tensor>> Module::tryEvaluate(ArrayRef<Tensor> arguments,
                                                   Environment &environment) {
  auto function = module->lookupSymbol<func::FuncOp>("f");
  return reference::evaluate(function.getBody().front(), arguments,
                             environment);
}
