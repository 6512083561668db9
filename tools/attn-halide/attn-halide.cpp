//===- attn-halide.cpp - compiles kernels with Halide ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads kernels as MLIR (what `attnc --kernels halide --emit kernels` prints in
// `@kernels`, or any functions of attn operations on tensors) and writes an
// object with a function in Halide's calling convention for each of them.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "lowering/halide/Compile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::attn;

namespace cl = llvm::cl;

static cl::OptionCategory category("attn-halide");
static cl::opt<std::string> input(cl::Positional, cl::desc("KERNELS"),
                                  cl::init("-"), cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("where to write (default -)"),
                                   cl::value_desc("file"), cl::init("-"),
                                   cl::cat(category));
static cl::opt<std::string>
    cpu("cpu", cl::desc("the processor, as LLVM names it (default native)"),
        cl::value_desc("name"), cl::init("native"), cl::cat(category));
static cl::opt<bool> portable(
    "portable",
    cl::desc(
        "multiply and add in two steps, for processors that cannot in one"),
    cl::cat(category));
static cl::opt<halide::Emit> emit(
    "emit", cl::desc("what to write:"), cl::init(halide::Emit::Object),
    cl::values(clEnumValN(halide::Emit::Object, "obj", "an object (default)"),
               clEnumValN(halide::Emit::Assembly, "asm", "assembly"),
               clEnumValN(halide::Emit::Statement, "stmt",
                          "what Halide makes of algorithm and schedule"),
               clEnumValN(halide::Emit::Html, "html", "the same as a page"),
               clEnumValN(halide::Emit::Schedule, "schedule",
                          "where every stage is computed"),
               clEnumValN(halide::Emit::Runtime, "runtime",
                          "what kernels of a device need, as an object")),
    cl::cat(category));

static cl::opt<halide::Runs>
    target("target", cl::desc("what runs the kernels:"),
           cl::init(halide::Runs::Cpu),
           cl::values(clEnumValN(halide::Runs::Cpu, "cpu",
                                 "this processor, or --cpu (default)"),
                      clEnumValN(halide::Runs::OpenCl, "opencl",
                                 "a device of OpenCL")),
           cl::cat(category));

static cl::opt<halide::Scheduler> scheduler(
    "schedule", cl::desc("who arranges the loops of kernels for the CPU:"),
    cl::init(halide::Scheduler::Own),
    cl::values(clEnumValN(halide::Scheduler::Own, "own",
                          "this compiler (default)"),
               clEnumValN(halide::Scheduler::Auto, "auto",
                          "Halide's autoscheduler, where it succeeds")),
    cl::cat(category));

#if __has_feature(address_sanitizer)
// Functions that refer to themselves are never given back by Halide.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:libHalide";
}
#endif

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles kernels of attn with Halide.\n");
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &error);
  if (!file) {
    llvm::WithColor::error(llvm::errs(), "attn-halide") << error << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  DialectRegistry registry;
  registry.insert<AttnDialect, arith::ArithDialect, func::FuncDialect,
                  math::MathDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (scheduler == halide::Scheduler::Auto && target != halide::Runs::Cpu) {
    llvm::WithColor::error(llvm::errs(), "attn-halide")
        << "expected --target cpu for --schedule auto\n";
    return 1;
  }
  halide::CompileOptions options;
  options.cpu = cpu;
  options.runs = target;
  options.fused = !portable;
  options.scheduler = scheduler;
  options.emit = emit;
  options.output = output;
  return failed(halide::compileKernels(*module, options));
}
