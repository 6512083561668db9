//===- attnc.cpp - compiles a spec ----------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "Parameters.h"

#include "frontend/Frontend.h"
#include "tools/compile/Compile.h"
#include "tools/vocabulary/VocabularyFile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace attnc;

/// Adds a file to the source manager; 0 after an error.
static unsigned addFile(llvm::SourceMgr &sourceMgr, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file) {
    mlir::attn::printError("expected to read '" + path +
                           "', but got: " + file.getError().message());
    return 0;
  }
  return sourceMgr.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
}

/// A library needs the words themselves, not only how many there are.
static bool hasAllTokens(mlir::attn::ModelOp model,
                         const mlir::attn::VocabularyTokens &tokens) {
  bool all = true;
  for (auto vocabulary : model.getBody().getOps<mlir::attn::VocabularyOp>())
    if (!tokens.contains(vocabulary.getSymName())) {
      mlir::attn::printError(
          "expected --vocab " + vocabulary.getSymName() +
          "=FILE for the library, but only its size is known");
      all = false;
    }
  return all;
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
  frontendOptions.observe = options.observe;
  for (auto &[name, value] : options.dims)
    frontendOptions.sizes[name] = value;
  mlir::attn::VocabularyTokens tokens;
  for (auto &[name, path] : options.vocabularies)
    frontendOptions.vocabularies[name] =
        [&tokens, load = mlir::attn::makeVocabularyLoader(path)](
            const mlir::attn::frontend::VocabularyRequest &request,
            std::vector<std::string> &problems) {
          auto contents = load(request, problems);
          if (contents)
            tokens[request.name] = contents->tokens;
          return contents;
        };

  mlir::MLIRContext context;
  // Errors speak of the spec, which is what the user wrote.
  context.printOpOnDiagnostic(false);
  mlir::SourceMgrDiagnosticHandler handler(sourceMgr, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::attn::frontend::importSpec(sourceMgr, &context, frontendOptions);
  if (!module)
    return 1;

  if (options.emit == mlir::attn::Emit::Params && !options.explain) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printParameters(*module, os);
    return failed(mlir::attn::writeOutput(options.output, text));
  }
  mlir::attn::ModelOp model = *module->getOps<mlir::attn::ModelOp>().begin();
  if (!options.explain && mlir::attn::isLibrary(options.emit) &&
      !hasAllTokens(model, tokens))
    return 1;
  mlir::attn::CompileOptions compileOptions;
  compileOptions.emit = options.emit;
  compileOptions.explain = options.explain;
  compileOptions.output = options.output;
  compileOptions.precision = options.precision;
  compileOptions.weights = options.weights;
  compileOptions.irFolder = options.irFolder;
  compileOptions.targets =
      mlir::attn::parseTargets(options.cpus, options.numerics);
  compileOptions.graph.memoryLength = options.memoryLength;
  compileOptions.schedule = options.schedule;
  compileOptions.device = options.device;
  compileOptions.halide = options.halide;
  compileOptions.openCl = options.openCl;
  compileOptions.autoSchedule = options.autoSchedule;
  compileOptions.chip = options.chip;
  compileOptions.vocabularies = std::move(tokens);
  compileOptions.compilerPath = llvm::sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&addFile));
  return failed(mlir::attn::compile(*module, compileOptions));
}
