//===- compile.h - the code that benchmarks run ---------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BENCH_COMPILE_H
#define ATTN_BENCH_COMPILE_H

#include "unittests/execution/Jit.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <cstdio>

namespace attn::bench {

/// Compiles the text of a module. Null after a message.
inline std::unique_ptr<mlir::attn::Jit> compile(const std::string &text,
                                                mlir::MLIRContext &context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  std::string error;
  std::unique_ptr<mlir::attn::Jit> jit;
  if (module)
    jit = mlir::attn::Jit::compile(*module, error);
  if (!jit)
    std::fprintf(stderr, "%s\n", error.c_str());
  return jit;
}

} // namespace attn::bench

#endif // ATTN_BENCH_COMPILE_H
