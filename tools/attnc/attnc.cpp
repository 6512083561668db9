//===- attnc.cpp - compiles a spec ----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Parameters.h"
#include "Vocabularies.h"

#include "frontend/Frontend.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attnc;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "attnc") << message << '\n';
  return 1;
}

/// Adds a file to the source manager; 0 after an error.
static unsigned addFile(llvm::SourceMgr &sourceMgr, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file) {
    fail("cannot read '" + path + "': " + file.getError().message());
    return 0;
  }
  return sourceMgr.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
}

/// Writes all of the text or, after an error, nothing.
static int write(const std::string &path, llvm::StringRef text) {
  if (path == "-") {
    llvm::outs() << text;
    return 0;
  }
  if (llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
        os << text;
        return llvm::Error::success();
      }))
    return fail("cannot write '" + path +
                "': " + llvm::toString(std::move(error)));
  return 0;
}

int main(int argc, char **argv) {
  Options options = parseOptions(argc, argv);

  llvm::SourceMgr sourceMgr;
  mlir::attn::frontend::Options frontendOptions;
  if (!addFile(sourceMgr, options.spec))
    return 1;
  if (!options.names.empty()) {
    frontendOptions.namesBuffer = addFile(sourceMgr, options.names);
    if (!frontendOptions.namesBuffer)
      return 1;
  }
  for (auto &[name, value] : options.dims)
    frontendOptions.sizes[name] = value;
  for (auto &[name, path] : options.vocabularies)
    frontendOptions.vocabularies[name] = makeVocabularyLoader(path);

  mlir::MLIRContext context;
  mlir::SourceMgrDiagnosticHandler handler(sourceMgr, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::attn::frontend::importSpec(
      sourceMgr, &context, frontendOptions);
  if (!module)
    return 1;

  std::string text;
  llvm::raw_string_ostream os(text);
  switch (options.emit) {
  case Emit::Attn:
    module->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
    os << '\n';
    break;
  case Emit::Params:
    printParameters(*module, os);
    break;
  }
  return write(options.output, text);
}
