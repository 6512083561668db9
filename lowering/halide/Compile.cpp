//===- Compile.cpp - kernels to objects -----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Objects need no Halide: what kernels ask of its runtime is memory for scores,
// by two functions that the runtime of attn has (runtime/halide_memory.cpp).
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Compile.h"

#include "lowering/cpu/Target.h"
#include "lowering/halide/Algorithm.h"
#include "lowering/halide/FusedMultiplyAdd.h"
#include "lowering/halide/Schedule.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

/// The processor, as Halide describes it.
static FailureOr<hl::Target> getTarget(ModuleOp module,
                                       const CompileOptions &options) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(
      {options.cpu, options.fused ? Numerics::Fma : Numerics::Portable}, error);
  if (!machine)
    return module.emitError(error);
  if (machine->getTargetTriple().getArch() != llvm::Triple::x86_64)
    return module.emitError("expected an x86-64 processor for Halide kernels, "
                            "but got '")
           << machine->getTargetTriple().str() << "'";
  // Numbers are what the algorithm says (R13): no reordering, NaN as it is, and
  // places in buffers of any size. Who calls a kernel knows what it takes.
  hl::Target target(hl::Target::Linux, hl::Target::X86, 64,
                    {hl::Target::NoRuntime, hl::Target::NoAsserts,
                     hl::Target::NoBoundsQuery, hl::Target::StrictFloat,
                     hl::Target::LargeBuffers});
  const std::pair<const char *, hl::Target::Feature> features[] = {
      {"+sse4.1", hl::Target::SSE41},
      {"+avx", hl::Target::AVX},
      {"+avx2", hl::Target::AVX2},
      {"+fma", hl::Target::FMA},
      {"+f16c", hl::Target::F16C},
      {"+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd",
       hl::Target::AVX512_Skylake}};
  for (auto [name, feature] : features)
    if (machine->getMCSubtargetInfo()->checkFeatures(name))
      target.set_feature(feature);
  if (target.has_feature(hl::Target::AVX512_Skylake))
    target.set_feature(hl::Target::AVX512);
  // What Halide calls by these names has instructions for bytes and bfloat16.
  if (machine->getMCSubtargetInfo()->checkFeatures(
          "+avx512vnni,+avx512bf16,+avx512vbmi,+avx512ifma"))
    for (hl::Target::Feature feature :
         {hl::Target::AVX512_Cannonlake, hl::Target::AVX512_SapphireRapids})
      target.set_feature(feature);
  return target;
}

/// Moves a file to where it was asked for; text may go to standard output.
static LogicalResult deliver(ModuleOp module, StringRef path,
                             StringRef output) {
  std::unique_ptr<llvm::MemoryBuffer> contents;
  if (auto buffer = llvm::MemoryBuffer::getFile(path))
    contents = std::move(*buffer);
  else
    return module.emitError("expected to read '")
           << path << "', but got: " << buffer.getError().message();
  llvm::Error error =
      llvm::writeToOutput(output, [&](llvm::raw_ostream &out) -> llvm::Error {
        out << contents->getBuffer();
        return llvm::Error::success();
      });
  if (error)
    return module.emitError("expected to write '")
           << output << "', but got: " << llvm::toString(std::move(error));
  return success();
}

static LogicalResult compile(ModuleOp module, const CompileOptions &options) {
  FailureOr<hl::Target> target = getTarget(module, options);
  if (failed(target))
    return failure();
  AlgorithmOptions algorithm;
  algorithm.multiply = options.fused ? Multiply::Fused : Multiply::Separately;
  std::vector<hl::Module> modules;
  std::string schedules;
  for (auto function : module.getOps<func::FuncOp>()) {
    FailureOr<Kernel> kernel = translateKernel(function, algorithm);
    if (failed(kernel))
      return failure();
    scheduleForCpu(*kernel, *target);
    if (options.emit == Emit::Schedule) {
      schedules += describeSchedule(*kernel);
      continue;
    }
    modules.push_back(hl::Pipeline(kernel->results)
                          .compile_to_module(kernel->arguments, kernel->name,
                                             *target,
                                             hl::LinkageType::External));
  }
  if (options.emit == Emit::Schedule) {
    llvm::Error error = llvm::writeToOutput(
        options.output, [&](llvm::raw_ostream &out) -> llvm::Error {
          out << schedules;
          return llvm::Error::success();
        });
    if (error)
      return module.emitError("expected to write '")
             << options.output
             << "', but got: " << llvm::toString(std::move(error));
    return success();
  }
  if (modules.empty())
    return module.emitError("expected kernels, but got a module without "
                            "functions");
  hl::Module linked = hl::link_modules("kernels", modules);
  if (options.fused)
    addFusedMultiplyAdd(linked, *target);
  hl::OutputFileType type = hl::OutputFileType::object;
  switch (options.emit) {
  case Emit::Assembly:
    type = hl::OutputFileType::assembly;
    break;
  case Emit::Statement:
    type = hl::OutputFileType::stmt;
    break;
  case Emit::Html:
    type = hl::OutputFileType::stmt_html;
    break;
  default:
    break;
  }
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("attn-halide", "out", path))
    return module.emitError("expected to make a temporary file, but got: ")
           << error.message();
  llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
  linked.compile({{type, path.str().str()}});
  return deliver(module, path, options.output);
}

LogicalResult
mlir::attn::halide::compileKernels(ModuleOp module,
                                   const CompileOptions &options) {
  // Halide reports by exceptions what it cannot schedule.
  try {
    return compile(module, options);
  } catch (const hl::Error &error) {
    StringRef message = error.what();
    return module.emitError("expected kernels that Halide compiles, but got: ")
           << message.rtrim();
  }
}
