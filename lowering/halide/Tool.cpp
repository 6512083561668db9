//===- Tool.cpp - runs attn-halide ----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Tool.h"

#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::attn;

std::optional<std::string> attn::findHalideTool(StringRef folder,
                                                std::string &error) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "attn-halide");
  if (llvm::sys::fs::can_execute(path))
    return path.str().str();
  error = ("expected attn-halide beside attnc for --kernels halide, but '" +
           path + "' is not there; build with Halide (libhalide14-0-dev)")
              .str();
  return std::nullopt;
}

ModuleOp attn::getKernels(ModuleOp program) {
  return program.lookupSymbol<ModuleOp>(kernelsModuleName);
}

void attn::renameKernels(ModuleOp program, StringRef suffix) {
  for (auto caller : program.getOps<func::FuncOp>())
    if (auto name = caller->getAttrOfType<SymbolRefAttr>(externalAttrName))
      caller->setAttr(externalAttrName,
                      SymbolRefAttr::get(
                          name.getRootReference(),
                          FlatSymbolRefAttr::get(program.getContext(),
                                                 name.getLeafReference().str() +
                                                     suffix.str())));
  if (ModuleOp kernels = getKernels(program))
    for (auto kernel : kernels.getOps<func::FuncOp>())
      kernel.setSymName(kernel.getSymName().str() + suffix.str());
}

namespace {

/// A temporary file, removed at the end.
class TemporaryFile {
public:
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }

  bool create(StringRef suffix, StringRef contents, std::string &error) {
    int descriptor;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile(
            "attn", suffix, descriptor, path)) {
      error = "expected to make a temporary file, but got: " + code.message();
      return false;
    }
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << contents;
    out.close();
    if (!out.has_error())
      return true;
    error =
        ("expected to write '" + path + "', but got: " + out.error().message())
            .str();
    out.clear_error();
    return false;
  }

  std::string read() const {
    auto contents = llvm::MemoryBuffer::getFile(path);
    return contents ? (*contents)->getBuffer().str() : "";
  }
  StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
};

} // namespace

/// Prints remarks without their places, which are in a file that is no more.
static void printRemarks(StringRef messages) {
  constexpr StringLiteral marker = ": remark: ";
  for (StringRef line : llvm::split(messages, '\n'))
    if (size_t place = line.find(marker); place != StringRef::npos)
      llvm::WithColor::remark(llvm::errs(), "attnc")
          << line.drop_front(place + marker.size()) << "\n";
}

std::optional<std::string> attn::runHalide(ModuleOp kernels,
                                           const HalideTool &tool,
                                           StringRef emit, std::string &error) {
  std::string text;
  llvm::raw_string_ostream(text) << kernels;
  TemporaryFile input, output, messages;
  if (!input.create("mlir", text, error) || !output.create("o", "", error) ||
      !messages.create("txt", "", error))
    return std::nullopt;
  SmallVector<StringRef> arguments = {tool.path,        input.getPath(), "-o",
                                      output.getPath(), "--emit",        emit,
                                      "--cpu",          tool.cpu};
  if (tool.openCl)
    arguments.push_back("--target=opencl");
  if (tool.autoSchedule)
    arguments.push_back("--schedule=auto");
  if (tool.portable)
    arguments.push_back("--portable");
  std::optional<StringRef> redirects[] = {StringRef(""), messages.getPath(),
                                          messages.getPath()};
  if (llvm::sys::ExecuteAndWait(tool.path, arguments, std::nullopt,
                                redirects) == 0) {
    printRemarks(messages.read());
    return output.read();
  }
  error = "expected attn-halide to compile the kernels, but got:\n" +
          StringRef(messages.read()).rtrim().str();
  return std::nullopt;
}

std::optional<std::string> attn::getHalideRuntime(MLIRContext *context,
                                                  const HalideTool &tool,
                                                  std::string &error) {
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  return runHalide(*none, tool, "runtime", error);
}
