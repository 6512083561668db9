//===- Jit.cpp - runs compiled code in a test -----------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/Jit.h"

#include "lowering/cpu/Load.h"
#include "lowering/cpu/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// One thread that does all shares of every kernel, one after the other.
struct LonelyMember : attn_team_member {
  explicit LonelyMember(int64_t shares) : shares(shares) {
    next_share = [](attn_team_member *member) {
      auto *own = static_cast<LonelyMember *>(member);
      int64_t share = own->next;
      own->next = share == own->shares ? 0 : share + 1;
      return share;
    };
  }
  int64_t shares, next = 0;
};

} // namespace

std::unique_ptr<Jit> Jit::compile(ModuleOp module, std::string &error,
                                  StringRef instructionSet,
                                  const ProductOptions &products) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    error += d.str() + "\n";
    return success();
  });
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(Target(), error);
  if (!machine)
    return nullptr;
  KernelOptions kernels;
  if (instructionSet.empty())
    instructionSet = getInstructionSet(*machine);
  kernels.instructionSet = instructionSet.str();
  PassManager manager(module.getContext());
  buildGraphPipeline(manager);
  buildLoopsPipeline(manager, products);
  buildLlvmPipeline(manager, kernels);
  if (failed(manager.run(module)))
    return nullptr;
  std::unique_ptr<llvm::orc::LLJIT> loaded = loadCode(module, Target(), error);
  if (!loaded)
    return nullptr;
  auto result = std::make_unique<Jit>();
  result->jit = std::move(loaded);
  return result;
}

int64_t Jit::getWorkspaceSize(const std::string &program,
                              ArrayRef<int64_t> extents) {
  return lookup<int64_t(const int64_t *)>("attn_" + program +
                                          "_workspace")(extents.data());
}

void Jit::run(const std::string &program, ArrayRef<int64_t> extents,
              ArrayRef<void *> buffers) {
  LonelyMember member(extents[ATTN_EXTENT_SHARES]);
  // A program may not read what it has not written.
  std::vector<char> workspace(getWorkspaceSize(program, extents) + 63,
                              char(0xff));
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  lookup<std::remove_pointer_t<attn_program_function>>("attn_" + program)(
      extents.data(), buffers.data(), workspace.data() + -address % 64,
      &member);
}
