//===- Target.cpp - which processors a library is for ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace mlir::attn;

/// The extensions of x86-64 that a library can look for when it is opened.
static constexpr llvm::StringLiteral checkedFeatures[] = {
#define ATTN_CPU_FEATURE(NAME, LEAF, SUBLEAF, REGISTER, BIT, STATE) NAME,
#include "runtime/cpu_features.def"
};
/// What every x86-64 processor has.
static constexpr llvm::StringLiteral baselineFeatures[] = {
    "64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"};
static_assert(std::size(checkedFeatures) <= 64, "they are bits of a number");

static std::string quote(llvm::StringRef text) {
  return "'" + text.str() + "'";
}

/// The message for a processor that there is not, with the names nearest to it.
static std::string
describeUnknown(llvm::StringRef cpu,
                llvm::SmallVectorImpl<llvm::StringRef> &all) {
  llvm::stable_sort(all, [&](llvm::StringRef a, llvm::StringRef b) {
    return cpu.edit_distance(a) < cpu.edit_distance(b);
  });
  std::string message = "expected the name of a processor for --cpu, but got " +
                        quote(cpu) + "; near ones are";
  for (llvm::StringRef name : llvm::ArrayRef(all).take_front(4))
    message += " " + name.str();
  return message;
}

/// The features of an x86-64 processor, without those that a library could not
/// look for. False if there is no such processor.
static bool getX86Features(llvm::StringRef cpu, std::string &features,
                           std::string &error) {
  llvm::StringMap<bool> available;
  if (cpu == "native") {
    available = llvm::sys::getHostCPUFeatures();
  } else {
    if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) ==
        llvm::X86::CK_None) {
      llvm::SmallVector<llvm::StringRef> all = {"native"};
      llvm::X86::fillValidCPUArchList(all, /*Only64Bit=*/true);
      error = describeUnknown(cpu, all);
      return false;
    }
    llvm::SmallVector<llvm::StringRef> names;
    llvm::X86::getFeaturesForCPU(cpu, names);
    for (llvm::StringRef name : names)
      available[name] = true;
  }
  for (const auto &[name, has] : available) {
    bool known = llvm::is_contained(checkedFeatures, name) ||
                 llvm::is_contained(baselineFeatures, name);
    features += (features.empty() ? "" : ",") +
                std::string(has && known ? "+" : "-") + name.str();
  }
  return true;
}

std::vector<Target> attn::parseTargets(llvm::StringRef cpus,
                                       Numerics numerics) {
  llvm::SmallVector<llvm::StringRef> names;
  cpus.split(names, ',');
  std::vector<Target> targets;
  for (llvm::StringRef name : names) {
    if (name != "any") {
      targets.push_back({name.str(), numerics});
      continue;
    }
    targets.push_back({"x86-64-v4", numerics});
    targets.push_back({"x86-64-v3", numerics});
    if (numerics == Numerics::Portable)
      targets.push_back({"x86-64", numerics});
  }
  return targets;
}

std::unique_ptr<llvm::TargetMachine> attn::createMachine(const Target &target,
                                                         std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *description =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!description)
    return nullptr;
  std::string features;
  if (triple.getArch() == llvm::Triple::x86_64 &&
      !getX86Features(target.cpu, features, error))
    return nullptr;
  llvm::StringRef cpu = target.cpu;
  if (cpu == "native")
    cpu = llvm::sys::getHostCPUName();

  llvm::TargetOptions options;
  // Products and sums are fused where the code says so, and nowhere else (R13).
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = true;
  options.DataSections = true;
  std::unique_ptr<llvm::TargetMachine> machine(description->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (triple.getArch() != llvm::Triple::x86_64) {
    // Elsewhere fused multiply-add belongs to the baseline.
    if (machine->getMCSubtargetInfo()->isCPUStringValid(cpu))
      return machine;
    error = "expected the name of a processor for --cpu, but got " + quote(cpu);
    return nullptr;
  }
  if (target.numerics == Numerics::Fma &&
      !machine->getMCSubtargetInfo()->checkFeatures("+fma")) {
    error = "expected a processor with fused multiply-add, but " +
            quote(target.cpu) + " has none; --numerics portable needs none";
    return nullptr;
  }
  return machine;
}

llvm::StringRef attn::getInstructionSet(const llvm::TargetMachine &machine) {
  if (machine.getTargetTriple().getArch() == llvm::Triple::x86_64)
    for (auto [feature, name] :
         {std::pair("+avx512f", "avx512"), std::pair("+avx2", "avx2")})
      if (machine.getMCSubtargetInfo()->checkFeatures(feature))
        return name;
  return "portable";
}

uint64_t attn::getCpuFeatures(const llvm::TargetMachine &machine) {
  uint64_t features = 0;
  if (machine.getTargetTriple().getArch() != llvm::Triple::x86_64)
    return features;
  for (auto [place, name] : llvm::enumerate(checkedFeatures))
    if (machine.getMCSubtargetInfo()->checkFeatures("+" + name.str()))
      features |= uint64_t(1) << place;
  return features;
}

ByteDot attn::getByteDot(const llvm::TargetMachine &machine) {
  if (machine.getTargetTriple().getArch() != llvm::Triple::x86_64)
    return ByteDot::Generic;
  auto has = [&](llvm::StringRef features) {
    return machine.getMCSubtargetInfo()->checkFeatures(features.str());
  };
  if (has("+avx512vnni"))
    return ByteDot::Avx512Vnni;
  if (has("+avxvnni"))
    return ByteDot::AvxVnni;
  if (has("+avx512bw"))
    return ByteDot::Avx512;
  return has("+avx2") ? ByteDot::Avx2 : ByteDot::Sse2;
}
