//===- Engine.cpp - runs what a test writes: one kernel of Halide ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives the tests of unittests/reference a third engine: the whole function as
// one kernel, by Halide alone. Neither the passes that write loops nor LLVM's
// newer version have a part in it.
//
//===----------------------------------------------------------------------===//

#include "unittests/halide/HalideJit.h"
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
  std::unique_ptr<HalideJit> jit =
      HalideJit::compile(*clone, environment.error);
  if (!jit)
    return failure();
  std::vector<Buffer> buffers = makeBuffers(arguments, *expected);
  jit->call("f", buffers);
  return readResults(buffers, arguments.size());
}
