//===- Object.cpp - from the LLVM dialect to an object --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Pipeline.h"

#include "runtime/compiled_model.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"

using namespace mlir;
using namespace mlir::attn;

/// Adds the constants as data, without reading them into the compiler.
static void embedConstants(llvm::Module &module, StringRef path) {
  std::string assembly;
  llvm::raw_string_ostream out(assembly);
  out << "\t.section .rodata.attn_constants,\"a\",@progbits\n"
      << "\t.p2align 6\n"
      << "attn_constants_begin:\n\t.incbin \"";
  out.write_escaped(path);
  out << "\"\nattn_constants_end:\n"
      << "\t.byte 0\n"
      << "\t.p2align 3\n"
      << "attn_constants_size:\n"
      << "\t.quad attn_constants_end - attn_constants_begin\n"
      << "\t.text\n";
  module.appendModuleInlineAsm(assembly);
}

/// What something of a variant is called; the first has the plain names.
static std::string getVariantName(StringRef name, size_t number) {
  return number == 0 ? name.str() : (name + "." + llvm::Twine(number)).str();
}

/// Adds the kernels of a device and answers the last fields of the table.
static SmallVector<llvm::Constant *> addDevice(llvm::Module &module,
                                               const DeviceCode *device) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *i32 = llvm::Type::getInt32Ty(context);
  auto *i64 = llvm::Type::getInt64Ty(context);
  llvm::Constant *null = llvm::ConstantPointerNull::get(pointer);
  auto number = [&](llvm::Type *type, uint64_t value) -> llvm::Constant * {
    return llvm::ConstantInt::get(type, value);
  };
  if (!device)
    return {null, null, number(i64, 0), number(i64, 0)};
  auto addData = [&](StringRef data, llvm::Align alignment) {
    auto *text = llvm::ConstantDataArray::getString(context, data,
                                                    /*AddNull=*/true);
    auto *global = new llvm::GlobalVariable(
        module, text->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, text, "attn_kernel");
    global->setAlignment(alignment);
    return global;
  };
  SmallVector<llvm::Constant *> codes, kernels;
  for (const std::string &code : device->code)
    codes.push_back(addData(code, llvm::Align(16)));
  uint64_t gather = 0;
  for (const DeviceCode::Kernel &kernel : device->kernels) {
    if (kernel.name == "gather")
      gather = kernels.size();
    kernels.push_back(llvm::ConstantStruct::getAnon(
        {addData(kernel.name, llvm::Align(1)), codes[kernel.code],
         number(i64, device->code[kernel.code].size()),
         number(i32, kernel.numBuffers), number(i32, kernel.numScalars),
         number(i32, kernel.groupSize),
         number(i32, kernel.loopsOverPositions)}));
  }
  auto *type = llvm::ArrayType::get(kernels.front()->getType(), kernels.size());
  auto *table = new llvm::GlobalVariable(
      module, type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantArray::get(type, kernels), "attn_kernels");
  auto *driver = new llvm::GlobalVariable(
      module, llvm::Type::getInt8Ty(context), /*isConstant=*/true,
      llvm::GlobalValue::ExternalLinkage, nullptr, device->driver);
  driver->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return {driver, table, number(i64, kernels.size()), number(i64, gather)};
}

/// Adds `attn_compiled`, the table of runtime/compiled_model.h with an entry
/// for each processor, and the one function that the library exports.
static void addCompiledModel(llvm::Module &module,
                             const LibraryContents &contents,
                             ArrayRef<uint64_t> features,
                             const llvm::Triple &triple) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *i32 = llvm::Type::getInt32Ty(context);
  auto *i64 = llvm::Type::getInt64Ty(context);
  auto *null = llvm::ConstantPointerNull::get(pointer);

  auto *text = llvm::ConstantDataArray::getString(context, contents.description,
                                                  /*AddNull=*/true);
  auto *description = new llvm::GlobalVariable(
      module, text->getType(), /*isConstant=*/true,
      llvm::GlobalValue::InternalLinkage, text, "attn_description");

  llvm::Constant *constants = null;
  uint64_t constantsSize = 0;
  if (!contents.constantsPath.empty()) {
    embedConstants(module, contents.constantsPath);
    auto *symbol = new llvm::GlobalVariable(
        module, llvm::Type::getInt8Ty(context), /*isConstant=*/true,
        llvm::GlobalValue::ExternalLinkage, nullptr, "attn_constants_begin");
    symbol->setVisibility(llvm::GlobalValue::HiddenVisibility);
    constants = symbol;
    llvm::sys::fs::file_size(contents.constantsPath, constantsSize);
  }

  // All variants launch the same kernels.
  SmallVector<llvm::Constant *> device = addDevice(module, contents.device);
  // The last entry has none after it.
  llvm::Constant *otherwise = null;
  for (size_t number = features.size(); number-- > 0;) {
    SmallVector<llvm::Constant *> fields = {
        llvm::ConstantInt::get(i32, ATTN_COMPILED_MODEL_VERSION),
        llvm::ConstantInt::get(i32, 0),
        llvm::ConstantInt::get(i64, features[number]),
        description,
        llvm::ConstantInt::get(i64, contents.description.size()),
        constants,
        llvm::ConstantInt::get(i64, constantsSize)};
    for (StringRef name : {"prepare", "encode", "step", "force"})
      for (StringRef suffix : {"", "_workspace"})
        fields.push_back(module.getFunction(
            getVariantName(("attn_" + name + suffix).str(), number)));
    fields.push_back(otherwise);
    fields.append(device);
    auto *table = llvm::ConstantStruct::getAnon(fields);
    auto *compiled =
        new llvm::GlobalVariable(module, table->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::ExternalLinkage, table,
                                 getVariantName("attn_compiled", number));
    compiled->setVisibility(llvm::GlobalValue::HiddenVisibility);
    otherwise = compiled;
  }

  auto *type = llvm::FunctionType::get(pointer, false);
  llvm::FunctionCallee api =
      module.getOrInsertFunction("attn_runtime_api", type);
  cast<llvm::Function>(api.getCallee())
      ->setVisibility(llvm::GlobalValue::HiddenVisibility);
  auto *exported =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                             "attn_model_" + contents.modelName, module);
  // It runs before anyone knows what the processor has.
  if (triple.getArch() == llvm::Triple::x86_64) {
    exported->addFnAttr("target-cpu", "x86-64");
    exported->addFnAttr("target-features", "");
  }
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", exported));
  llvm::CallInst *call = b.CreateCall(api);
  call->setTailCall();
  b.CreateRet(call);
}

std::unique_ptr<llvm::Module> attn::translate(ModuleOp module, StringRef name,
                                              llvm::TargetMachine &machine,
                                              llvm::LLVMContext &context) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(module, context, name);
  if (!translated)
    return nullptr;
  translated->setTargetTriple(machine.getTargetTriple());
  translated->setDataLayout(machine.createDataLayout());
  // Vectors as wide as the machine has them.
  for (llvm::Function &function : *translated) {
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }

  // Kernels are vectors by now, and as long as their schedules say: unrolled or
  // vectorised once more they would only be larger.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopInterleaving = tuning.LoopVectorization = false;
  tuning.SLPVectorization = tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(*translated, modules);
  return translated;
}

std::unique_ptr<llvm::Module>
attn::makeLibrary(MutableArrayRef<Variant> variants,
                  const LibraryContents &contents) {
  std::unique_ptr<llvm::Module> library;
  SmallVector<uint64_t> features;
  llvm::Triple triple = variants.front().code->getTargetTriple();
  for (auto [number, variant] : llvm::enumerate(variants)) {
    features.push_back(variant.cpuFeatures);
    for (llvm::Function &function : *variant.code)
      if (!function.isDeclaration() && !function.hasLocalLinkage())
        function.setName(getVariantName(function.getName(), number));
    if (!library)
      library = std::move(variant.code);
    else if (llvm::Linker::linkModules(*library, std::move(variant.code)))
      return nullptr;
  }
  addCompiledModel(*library, contents, features, triple);
  return library;
}

bool attn::emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                    llvm::raw_pwrite_stream &output, bool assembly) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, output, nullptr,
                                  assembly ? llvm::CodeGenFileType::AssemblyFile
                                           : llvm::CodeGenFileType::ObjectFile))
    return false;
  passes.run(module);
  return true;
}
