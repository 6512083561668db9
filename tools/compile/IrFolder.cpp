//===- IrFolder.cpp - the IR after every pass, a file each ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/compile/IrFolder.h"

#include "tools/compile/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
class WriteAfterPass : public PassInstrumentation {
public:
  WriteAfterPass(StringRef folder, unsigned &numPasses)
      : folder(folder), numPasses(numPasses) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    // Adaptors only run the passes inside of them.
    if (pass->getArgument().empty())
      return;
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, llvm::formatv("{0,0+2}-{1}.mlir", ++numPasses,
                                                pass->getArgument())
                                      .str());
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<ModuleOp>();
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out, OpPrintingFlags().printNameLocAsPrefix());
    out << "\n";
    (void)writeOutput(path, text);
  }

private:
  std::string folder;
  unsigned &numPasses;
};
} // namespace

LogicalResult IrFolder::create() {
  if (path.empty())
    return success();
  if (std::error_code error = llvm::sys::fs::create_directories(path)) {
    printError("expected to make the folder '" + path +
               "', but got: " + error.message());
    return failure();
  }
  return success();
}

void IrFolder::addTo(PassManager &manager) {
  if (path.empty())
    return;
  // Files are numbered in the order of the passes.
  manager.getContext()->disableMultithreading();
  manager.addInstrumentation(std::make_unique<WriteAfterPass>(path, numPasses));
}
