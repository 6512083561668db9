//===- Target.h - which processors a library is for -----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_TARGET_H
#define ATTN_LOWERING_CPU_TARGET_H

#include "lowering/cpu/Precision.h"

#include "llvm/Target/TargetMachine.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir::attn {

/// How products are summed (R21). Either way the same bits come out on every
/// processor that can run the library.
enum class Numerics {
  Fma,     ///< Fused multiply-add, rounded once.
  Portable ///< Multiply, then add, each rounded: no processor lacks these.
};

/// What a library is compiled for.
struct Target {
  /// A name of LLVM's, or "native": the processor that compiles.
  std::string cpu = "native";
  Numerics numerics = Numerics::Fma;
};

/// The targets of a list of names with commas between them. "any" stands for
/// the levels of x86-64, the widest first: those that have fused multiply-add,
/// or all that the numerics allow.
std::vector<Target> parseTargets(llvm::StringRef cpus, Numerics numerics);

/// The machine of `target`. Null and a message if there is no such processor,
/// or if it has no fused multiply-add and the target asks for it.
std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target,
                                                   std::string &error);

/// The widest vectors that code for `machine` uses, as lowering/cpu/schedules
/// names them: avx512, avx2 or portable.
llvm::StringRef getInstructionSet(const llvm::TargetMachine &machine);

/// The extensions that code for `machine` may use, a bit for each line of
/// runtime/cpu_features.def.
uint64_t getCpuFeatures(const llvm::TargetMachine &machine);

/// The best that `machine` has for products of bytes.
ByteDot getByteDot(const llvm::TargetMachine &machine);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_TARGET_H
