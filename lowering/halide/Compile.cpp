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
#include "lowering/halide/EmptyStages.h"
#include "lowering/halide/FusedMultiplyAdd.h"
#include "lowering/halide/Schedule.h"
#include "lowering/halide/TableAlignment.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <iostream>

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
  if (options.runs == Runs::OpenCl) {
    target.set_feature(hl::Target::OpenCL);
    // Angles of positions are computed in 64 bits.
    target.set_feature(hl::Target::CLDoubles);
    // What 64 bits are for on the CPU is not to be had of all devices.
    target.set_feature(hl::Target::LargeBuffers, false);
  }
  return target;
}

/// What `write` writes to a file. Null after a diagnostic.
static std::unique_ptr<llvm::MemoryBuffer>
readWritten(ModuleOp module,
            function_ref<void(const std::string &path)> write) {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("attn-halide", "out", path)) {
    module.emitError("expected to make a temporary file, but got: ")
        << error.message();
    return nullptr;
  }
  llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
  write(path.str().str());
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (buffer)
    return std::move(*buffer);
  module.emitError("expected to read '")
      << path << "', but got: " << buffer.getError().message();
  return nullptr;
}

/// Writes what is asked for; text may go to standard output.
static LogicalResult
deliver(ModuleOp module, StringRef output,
        function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (llvm::Error error = llvm::writeToOutput(output, write))
    return module.emitError("expected to write '")
           << output << "', but got: " << llvm::toString(std::move(error));
  return success();
}

/// Writes objects as an archive: a linker takes of it what others refer to, and
/// hides it.
static LogicalResult
deliverArchive(ModuleOp module, StringRef output,
               ArrayRef<std::unique_ptr<llvm::MemoryBuffer>> objects) {
  std::vector<std::string> names;
  for (size_t i = 0; i < objects.size(); ++i)
    names.push_back("kernels" + std::to_string(i) + ".o");
  return deliver(module, output, [&](llvm::raw_ostream &out) {
    std::vector<llvm::NewArchiveMember> members;
    for (auto [object, name] : llvm::zip(objects, names)) {
      members.emplace_back(object->getMemBufferRef());
      members.back().MemberName = name;
    }
    return llvm::writeArchiveToStream(
        out, members, llvm::SymtabWritingMode::NormalSymtab,
        llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  });
}

namespace {

/// While there is one, what Halide writes to std::cerr is not heard: its
/// autoscheduler tells of its progress, and of its schedules there are
/// warnings.
class Silence {
public:
  Silence() : buffer(std::cerr.rdbuf(nullptr)) {}
  ~Silence() { std::cerr.rdbuf(buffer); }

private:
  std::streambuf *buffer;
};

} // namespace

static hl::Module lower(const Kernel &kernel, const hl::Target &target) {
  hl::Module module = hl::Pipeline(kernel.results)
                          .compile_to_module(kernel.arguments, kernel.name,
                                             target, hl::LinkageType::External);
  forgetTableAlignment(module);
  return module;
}

/// A kernel with Halide's own schedule. Nothing and the reason where none is
/// found that serves: it is not known before what is lowered.
static std::optional<hl::Module> lowerAutomatically(Kernel &kernel,
                                                    const hl::Target &target,
                                                    std::string &reason) {
  Silence silence;
  try {
    reason = scheduleAutomatically(kernel, target);
    if (reason.empty())
      return lower(kernel, target);
  } catch (const hl::Error &error) {
    reason = StringRef(error.what()).rtrim().str();
    llvm::replace(reason, '\n', ' ');
  }
  return std::nullopt;
}

static LogicalResult compile(ModuleOp module, const CompileOptions &options) {
  FailureOr<hl::Target> target = getTarget(module, options);
  if (failed(target))
    return failure();
  AlgorithmOptions algorithm;
  algorithm.multiply = !options.fused                 ? Multiply::Separately
                       : options.runs == Runs::OpenCl ? Multiply::OpenCl
                                                      : Multiply::Fused;
  const bool isAutomatic =
      options.scheduler == Scheduler::Auto && options.runs == Runs::Cpu;
  if (isAutomatic)
    loadAutoscheduler();
  std::vector<hl::Module> modules;
  std::string schedules;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (isAutomatic) {
      AlgorithmOptions clamped = algorithm;
      clamped.clamped = true;
      FailureOr<Kernel> kernel = translateKernel(function, clamped);
      if (failed(kernel))
        return failure();
      std::string reason;
      if (std::optional<hl::Module> lowered =
              lowerAutomatically(*kernel, *target, reason)) {
        modules.push_back(std::move(*lowered));
        schedules += describeSchedule(*kernel, "by Halide's autoscheduler");
        continue;
      }
      function.emitRemark("expected a schedule by Halide's autoscheduler for '")
          << kernel->name << "', which has attn's now, but got: " << reason;
    }
    FailureOr<Kernel> kernel = translateKernel(function, algorithm);
    if (failed(kernel))
      return failure();
    if (options.runs == Runs::OpenCl)
      scheduleForDevice(*kernel);
    else
      scheduleForCpu(*kernel, *target);
    if (options.emit == Emit::Schedule) {
      schedules += describeSchedule(*kernel, "by attn");
      continue;
    }
    modules.push_back(lower(*kernel, *target));
    if (options.runs == Runs::OpenCl)
      guardEmptyStages(modules.back());
  }
  if (options.emit == Emit::Schedule)
    return deliver(module, options.output,
                   [&](llvm::raw_ostream &out) -> llvm::Error {
                     out << schedules;
                     return llvm::Error::success();
                   });
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
  if (options.emit == Emit::Runtime) {
    files.push_back(readWritten(module, [&](const std::string &path) {
      hl::compile_standalone_runtime(
          {{hl::OutputFileType::object, path}},
          target->without_feature(hl::Target::NoRuntime));
    }));
    return files.back() ? deliverArchive(module, options.output, files)
                        : failure();
  }
  if (modules.empty())
    return module.emitError("expected kernels, but got a module without "
                            "functions");
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
  // A device's code belongs to one kernel, which has it in an object of its
  // own.
  bool isDevices =
      options.runs == Runs::OpenCl && type == hl::OutputFileType::object;
  if (!isDevices) {
    modules = {hl::link_modules("kernels", modules)};
    // Linking forgets it, and LLVM would fuse what has two roundings.
    modules.front().set_any_strict_float(true);
  }
  if (options.fused && options.runs == Runs::Cpu)
    addFusedMultiplyAdd(modules.front(), *target);
  for (const hl::Module &part : modules) {
    files.push_back(readWritten(module, [&](const std::string &path) {
      part.compile({{type, path}});
    }));
    if (!files.back())
      return failure();
  }
  if (isDevices)
    return deliverArchive(module, options.output, files);
  return deliver(module, options.output,
                 [&](llvm::raw_ostream &out) -> llvm::Error {
                   out << files.front()->getBuffer();
                   return llvm::Error::success();
                 });
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
