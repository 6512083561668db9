//===- Pipeline.h - from a model to an object file ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes of a CPU library in order, and what follows them: translation to
// LLVM, the table that the runtime reads, and the object.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_PIPELINE_H
#define ATTN_LOWERING_CPU_PIPELINE_H

#include "lowering/cpu/Precision.h"
#include "lowering/cpu/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace mlir::attn {

/// What the work of a model is reckoned with.
struct GraphOptions {
  /// Positions of a memory.
  int64_t memoryLength = 32;
};
/// attn to attn: fuses reads, hoists memories, cleans up.
void buildGraphPipeline(OpPassManager &manager,
                        const GraphOptions &options = {});
/// attn to functions of loops over buffers.
void buildLoopsPipeline(OpPassManager &manager,
                        const ProductOptions &products = {});
/// What kernels are written for.
struct KernelOptions {
  Numerics numerics = Numerics::Fma;
  /// Whose schedules arrange them: a folder of lowering/cpu/schedules.
  std::string instructionSet = "portable";
  /// A file of schedules that come first, or empty.
  std::string scheduleFile;
  /// Whether Halide makes them (see ProductOptions).
  bool external = false;
  /// Whether those run on a device.
  bool externalDevice = false;
};
/// Parts of pipelines that those of devices have too: kernels arranged,
/// functions written as arithmetic, and what loops are left with.
void addSchedules(OpPassManager &manager, const KernelOptions &options);
void addMath(OpPassManager &manager, Numerics numerics);
void addCleanup(OpPassManager &manager);
/// These to the LLVM dialect, with the runtime's entry points.
void buildLlvmPipeline(OpPassManager &manager,
                       const KernelOptions &options = {});
/// The end of that: MLIR's own lowerings, and the entry points.
void addLlvmConversions(OpPassManager &manager);
/// Makes them known to attn-opt: -attn-graph-pipeline, -attn-loops-pipeline,
/// -attn-llvm-pipeline.
void registerCpuPipelines();

/// The kernels of a device, see runtime/compiled_model.h.
struct DeviceCode {
  struct Kernel {
    std::string name;
    uint32_t numBuffers = 0, numScalars = 0;
    uint32_t groupSize = 0; ///< Invocations of a workgroup.
    /// Whether an invocation goes through all positions of a sequence.
    bool loopsOverPositions = false;
    size_t code = 0; ///< Its place in `code`.
  };
  std::string driver; ///< The symbol of the runtime that opens devices.
  std::vector<Kernel> kernels;
  std::vector<std::string> code;
};

/// What a library holds besides its code.
struct LibraryContents {
  std::string modelName;
  std::string description; ///< JSON.
  /// A file with the image of runtime/constants.h, or empty.
  std::string constantsPath;
  /// What programs launch, or null: the CPU has all the code.
  const DeviceCode *device = nullptr;
};

/// Translates `module` (LLVM dialect) for `machine` and optimises. Null after a
/// diagnostic.
std::unique_ptr<llvm::Module> translate(ModuleOp module, llvm::StringRef name,
                                        llvm::TargetMachine &machine,
                                        llvm::LLVMContext &context);

/// The programs of a model for one kind of processor.
struct Variant {
  std::unique_ptr<llvm::Module> code;
  uint64_t cpuFeatures = 0; ///< What it may use, see getCpuFeatures.
};

/// One module of all variants, which is a library: with the table of
/// runtime/compiled_model.h, the variants in the order in which a processor
/// takes the first that it can run, and the one exported function. Null after a
/// diagnostic.
std::unique_ptr<llvm::Module> makeLibrary(MutableArrayRef<Variant> variants,
                                          const LibraryContents &contents);

/// Writes the code of `module` as an object or as assembly.
bool emitCode(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::raw_pwrite_stream &output, bool assembly);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_PIPELINE_H
