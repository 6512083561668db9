//===- Load.h - generated code in this process ----------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_LOAD_H
#define ATTN_LOWERING_CPU_LOAD_H

#include "lowering/cpu/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>
#include <string>

namespace mlir::attn {

/// Makes machine code of a module in the LLVM dialect and loads it. Null and a
/// message on failure.
std::unique_ptr<llvm::orc::LLJIT>
loadCode(ModuleOp module, const Target &target, std::string &error);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_LOAD_H
