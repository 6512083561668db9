//===- Compile.cpp - from attn IR to what attnc emits ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/compile/Compile.h"

#include "lowering/cpu/Pipeline.h"
#include "lowering/gpu/Passes.h"
#include "lowering/gpu/Pipeline.h"
#include "lowering/graph/Report.h"
#include "lowering/halide/Tool.h"
#include "runtime/weights.h"
#include "tools/compile/Constants.h"
#include "tools/compile/IrFolder.h"
#include "tools/compile/Link.h"

#include "dialect/Axes.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Deserialization.h"
#include "mlir/Target/SPIRV/SPIRVBinaryUtils.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::attn;

void mlir::attn::printError(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "attnc") << message << "\n";
}

LogicalResult mlir::attn::writeOutput(StringRef path, StringRef contents) {
  if (path == "-") {
    llvm::outs() << contents;
    llvm::outs().flush();
    return success();
  }
  // The file appears when it is whole.
  if (llvm::Error error =
          llvm::writeToOutput(path, [&](llvm::raw_ostream &out) -> llvm::Error {
            out << contents;
            return llvm::Error::success();
          })) {
    printError("expected to write '" + path +
               "', but got: " + llvm::toString(std::move(error)));
    return failure();
  }
  return success();
}

/// Reads the weights file and checks it against the parameters of the model,
/// all problems at once. Null after messages.
static std::unique_ptr<::attn::Weights> readWeights(ModelOp model,
                                                    StringRef path) {
  std::vector<::attn::Parameter> parameters;
  for (auto op : model.getBody().getOps<ParameterOp>()) {
    ::attn::Parameter parameter;
    parameter.name = op.getSymName().str();
    ArrayRef<int64_t> shape = getFeatures(op.getType());
    parameter.shape.assign(shape.begin(), shape.end());
    auto makeSlice = [](std::optional<ArrayRef<int64_t>> ranges) {
      ::attn::Slice slice;
      for (size_t i = 0; ranges && i < ranges->size(); i += 2)
        slice.emplace_back((*ranges)[i], (*ranges)[i + 1]);
      return slice;
    };
    parameter.source = op.getFrom().value_or("").str();
    parameter.slice = makeSlice(op.getSlice());
    parameter.scale = op.getScale().value_or("").str();
    parameter.scaleSlice = makeSlice(op.getScaleSlice());
    parameter.divided = op.getDivided();
    parameters.push_back(parameter);
  }
  std::vector<std::string> problems, ignored;
  if (auto names = model->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName))
    for (Attribute name : names)
      ignored.push_back(cast<StringAttr>(name).str());
  auto file = ::attn::Safetensors::open(path.str(), problems);
  std::unique_ptr<::attn::Weights> weights;
  if (file)
    weights =
        ::attn::Weights::bind(std::move(file), parameters, ignored, problems);
  for (const std::string &problem : problems)
    printError(problem);
  return weights;
}

/// Writes the constants of a library into a temporary file and answers its
/// path. Nothing after a message.
static std::optional<std::string> makeConstantsFile(ModuleOp module,
                                                    StringRef description,
                                                    ::attn::Weights &weights) {
  int descriptor;
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "attn", "constants", descriptor, path)) {
    printError("expected to make a temporary file, but got: " +
               error.message());
    return std::nullopt;
  }
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  LogicalResult written = writeConstants(module, description, weights, out);
  out.close();
  if (out.has_error()) {
    printError("expected to write '" + path +
               "', but got: " + out.error().message());
    out.clear_error();
    written = failure();
  }
  if (succeeded(written))
    return path.str().str();
  llvm::sys::fs::remove(path);
  return std::nullopt;
}

/// The code of kernels as text: PTX, or the SPIR-V dialect.
static std::string printCode(MLIRContext *context, const DeviceCode &device) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const std::string &code : device.code) {
    if (code.size() % sizeof(uint32_t) != 0 ||
        *reinterpret_cast<const uint32_t *>(code.data()) !=
            spirv::kMagicNumber) {
      out << code;
      continue;
    }
    SmallVector<uint32_t> words(code.size() / sizeof(uint32_t));
    memcpy(words.data(), code.data(), code.size());
    if (OwningOpRef<spirv::ModuleOp> module =
            spirv::deserialize(words, context))
      out << *module << "\n";
  }
  return text;
}

LogicalResult mlir::attn::compile(ModuleOp module,
                                  const CompileOptions &options) {
  MLIRContext *context = module.getContext();
  ModelOp model = *module.getOps<ModelOp>().begin();
  std::string name = model.getSymName().str();
  std::string error;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines;
  for (const Target &target : options.targets) {
    machines.push_back(createMachine(target, error));
    if (!machines.back()) {
      printError(error);
      return failure();
    }
  }
  HalideTool halide;
  // What is printed of programs needs no kernels' code.
  if (options.halide &&
      (isLibrary(options.emit) || options.emit == Emit::KernelCode)) {
    std::optional<std::string> path = findHalideTool(
        llvm::sys::path::parent_path(options.compilerPath), error);
    if (!path) {
      printError(error);
      return failure();
    }
    halide.path = *path;
    halide.openCl = options.openCl;
    halide.autoSchedule = options.autoSchedule;
  }
  std::unique_ptr<::attn::Weights> weights;
  if (!options.weights.empty()) {
    weights = readWeights(model, options.weights);
    if (!weights)
      return failure();
  }

  // Passes compute tables ahead, so that lookups of them are no more.
  LengthLimits limits = findLengthLimits(model);

  IrFolder folder(options.irFolder);
  if (failed(folder.create()))
    return failure();
  auto run = [&](function_ref<void(OpPassManager &)> build) -> LogicalResult {
    PassManager manager(context);
    folder.addTo(manager);
    build(manager);
    return manager.run(module);
  };
  auto print = [&](ModuleOp module) -> LogicalResult {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out, OpPrintingFlags().printNameLocAsPrefix());
    out << "\n";
    return writeOutput(options.output, text);
  };
  auto buildGraph = [&](OpPassManager &manager) {
    buildGraphPipeline(manager, options.graph);
  };
  if (options.explain) {
    std::shared_ptr<std::vector<PassRemark>> remarks = collectRemarks(*context);
    if (!remarks || failed(run(buildGraph)))
      return failure();
    std::string text;
    llvm::raw_string_ostream out(text);
    printReport(model, *remarks,
                {stringifyPrecision(options.precision),
                 getWeightBytes(options.precision)},
                out);
    return writeOutput(options.output, text);
  }
  if (options.emit == Emit::Attn)
    return print(module);
  if (options.emit == Emit::Header)
    return writeOutput(options.output, makeHeader(name));
  if (failed(run(buildGraph)))
    return failure();
  if (options.emit == Emit::AttnFused)
    return print(module);

  // The model is gone after it has become functions, so it is described before.
  llvm::json::Object description =
      describeModel(model, options.vocabularies, limits);
  description["precision"] = stringifyPrecision(options.precision);
  // One variant after the other; the last takes the module itself.
  SmallVector<OwningOpRef<ModuleOp>> copies;
  SmallVector<ModuleOp> lowered;
  for (size_t i = 0; i + 1 < machines.size(); ++i) {
    copies.push_back(module.clone());
    lowered.push_back(*copies.back());
  }
  lowered.push_back(module);
  DeviceCode device;
  std::vector<std::string> objects(1); ///< The first is that of the programs.
  for (auto [number, variant, machine, target] :
       llvm::enumerate(lowered, machines, options.targets)) {
    PassManager loops(context), manager(context);
    folder.addTo(loops);
    folder.addTo(manager);
    ByteDot byteDot =
        options.device ? getByteDot(*options.device) : getByteDot(*machine);
    // Halide has its own instructions for the products of bytes.
    if (options.halide)
      byteDot = ByteDot::Generic;
    buildLoopsPipeline(loops, {options.precision, byteDot,
                               options.device.has_value(), options.halide});
    if (failed(loops.run(variant)))
      return failure();
    if (options.emit == Emit::Loops ||
        (options.halide && options.emit == Emit::Kernels))
      return print(variant);
    if (number > 0)
      renameKernels(variant, "_" + std::to_string(number));
    if (ModuleOp made = getKernels(variant); made && !halide.path.empty()) {
      halide.cpu = target.cpu;
      halide.portable = target.numerics == Numerics::Portable;
      bool asText = options.emit == Emit::KernelCode;
      std::optional<std::string> code =
          runHalide(made, halide, asText ? "stmt" : "obj", error);
      if (!code) {
        printError(error);
        return failure();
      }
      if (asText)
        return writeOutput(options.output, *code);
      objects.push_back(std::move(*code));
    }
    // Kernels of all processors share it.
    if (number == 0 && halide.openCl && objects.size() > 1) {
      std::optional<std::string> runtime =
          getHalideRuntime(context, halide, error);
      if (!runtime) {
        printError(error);
        return failure();
      }
      objects.push_back(std::move(*runtime));
    }
    // What the runtime sees of programs is the same for all processors.
    if (variant == module)
      description["programs"] = describePrograms(variant);
    KernelOptions kernels;
    kernels.numerics = target.numerics;
    kernels.instructionSet = getInstructionSet(*machine).str();
    kernels.scheduleFile = options.schedule;
    kernels.external = options.halide;
    kernels.externalDevice = options.openCl;
    if (options.device) {
      PassManager outline(context);
      folder.addTo(outline);
      buildKernelsPipeline(outline, *options.device, kernels);
      if (failed(outline.run(variant)))
        return failure();
      // The same for all processors.
      if (variant == module) {
        if (options.emit == Emit::Kernels)
          return print(variant);
        FailureOr<DeviceCode> code =
            compileKernels(variant, *options.device, options.chip);
        if (failed(code))
          return failure();
        device = std::move(*code);
        if (options.emit == Emit::KernelCode)
          return writeOutput(options.output, printCode(context, device));
      }
      for (auto kernel :
           llvm::make_early_inc_range(variant.getOps<gpu::GPUModuleOp>()))
        kernel.erase();
      buildHostPipeline(manager);
    } else {
      buildLlvmPipeline(manager, kernels);
    }
    if (failed(manager.run(variant)))
      return failure();
  }

  LibraryContents contents;
  contents.modelName = name;
  if (options.device)
    contents.device = &device;
  contents.description =
      llvm::formatv("{0}", llvm::json::Value(std::move(description)));
  llvm::scope_exit removeConstants([&] {
    if (!contents.constantsPath.empty())
      llvm::sys::fs::remove(contents.constantsPath);
  });
  if (weights && options.emit != Emit::Llvm) {
    std::optional<std::string> path =
        makeConstantsFile(module, contents.description, *weights);
    if (!path)
      return failure();
    contents.constantsPath = *path;
    weights.reset();
  }
  llvm::LLVMContext llvmContext;
  SmallVector<Variant> variants;
  for (auto [variant, machine] : llvm::zip(lowered, machines)) {
    variants.push_back({translate(variant, name, *machine, llvmContext),
                        getCpuFeatures(*machine)});
    if (!variants.back().code)
      return failure();
  }
  std::unique_ptr<llvm::Module> code = makeLibrary(variants, contents);
  if (!code)
    return failure();

  llvm::SmallString<0> output;
  llvm::raw_svector_ostream stream(output);
  if (options.emit == Emit::Llvm) {
    code->print(stream, nullptr);
    return writeOutput(options.output, output);
  }
  if (!emitCode(*code, *machines.front(), stream, options.emit == Emit::Asm)) {
    printError("expected a target that writes object files");
    return failure();
  }
  if (!isLibrary(options.emit))
    return writeOutput(options.output, output);
  objects.front() = output.str().str();
  if (options.emit == Emit::Lib)
    return linkLibrary(objects, name, options.output, options.compilerPath);
  if (options.emit == Emit::Static)
    return linkArchive(objects, name, options.output, options.compilerPath);
  if (objects.size() > 1)
    return linkObject(objects, options.output, options.compilerPath);
  return writeOutput(options.output, output);
}
