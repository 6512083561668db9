//===- Engine.cpp - runs what a test writes: compiled code ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the tests of unittests/reference compiled code to run. The evaluator
// gives the shapes of the results, and its errors where the input has one.
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"
#include "unittests/reference/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

const double reference::engineTolerance = 1e-6;

FailureOr<SmallVector<Tensor>> Module::tryEvaluate(ArrayRef<Tensor> arguments,
                                                   Environment &environment) {
  auto function = module->lookupSymbol<func::FuncOp>("f");
  FailureOr<SmallVector<Tensor>> expected =
      reference::evaluate(function.getBody().front(), arguments, environment);
  if (failed(expected))
    return failure();

  OwningOpRef<ModuleOp> clone(module->clone());
  std::unique_ptr<Jit> jit = Jit::compile(*clone, environment.error);
  if (!jit)
    return failure();
  std::vector<Buffer> buffers = makeBuffers(arguments, *expected);
  jit->call("f", buffers);
  return readResults(buffers, arguments.size());
}
