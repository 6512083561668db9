//===- FusedMultiplyAdd.cpp - vectors of fused products -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/FusedMultiplyAdd.h"

#include "llvm/Support/ErrorHandling.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

using namespace mlir::attn::halide;

namespace {

/// The few functions of LLVM's C interface that write bitcode, of the LLVM that
/// Halide is linked with: this program has another one of the same names.
class HalidesLlvm {
public:
  HalidesLlvm() {
    // It has the symbol that Halide's own code is bound to.
    for (int version = 12; version < 30 && !library; ++version)
      if (void *found =
              dlopen(("libLLVM-" + std::to_string(version) + ".so.1").c_str(),
                     RTLD_NOLOAD | RTLD_LAZY))
        library = found;
    if (!library)
      return;
    find(createContext, "LLVMContextCreate");
    find(disposeContext, "LLVMContextDispose");
    find(createBuffer, "LLVMCreateMemoryBufferWithMemoryRangeCopy");
    find(parse, "LLVMParseIRInContext");
    find(write, "LLVMWriteBitcodeToMemoryBuffer");
    find(getStart, "LLVMGetBufferStart");
    find(getSize, "LLVMGetBufferSize");
    find(disposeBuffer, "LLVMDisposeMemoryBuffer");
    find(disposeModule, "LLVMDisposeModule");
  }
  ~HalidesLlvm() {
    if (library)
      dlclose(library);
  }

  /// The bitcode of a text, or nothing.
  std::vector<uint8_t> assemble(const std::string &text) const {
    if (!isWhole)
      return {};
    void *context = createContext(), *module = nullptr;
    char *message = nullptr;
    std::vector<uint8_t> code;
    // The parser takes the buffer.
    if (parse(context, createBuffer(text.data(), text.size(), "fma"), &module,
              &message) == 0) {
      void *buffer = write(module);
      const char *start = getStart(buffer);
      code.assign(start, start + getSize(buffer));
      disposeBuffer(buffer);
      disposeModule(module);
    }
    disposeContext(context);
    return code;
  }

private:
  template <typename Function>
  void find(Function *&function, const char *name) {
    function = reinterpret_cast<Function *>(dlsym(library, name));
    isWhole &= function != nullptr;
  }

  void *library = nullptr;
  bool isWhole = true;
  void *(*createContext)() = nullptr;
  void (*disposeContext)(void *) = nullptr;
  void *(*createBuffer)(const char *, size_t, const char *) = nullptr;
  int (*parse)(void *, void *, void **, char **) = nullptr;
  void *(*write)(void *) = nullptr;
  const char *(*getStart)(void *) = nullptr;
  size_t (*getSize)(void *) = nullptr;
  void (*disposeBuffer)(void *) = nullptr;
  void (*disposeModule)(void *) = nullptr;
};

} // namespace

/// A function for so many lanes; 1: for a number.
static std::string makeFunction(int lanes) {
  std::string type = "float", suffix, intrinsic = "f32";
  if (lanes > 1) {
    type = "<" + std::to_string(lanes) + " x float>";
    suffix = "x" + std::to_string(lanes);
    intrinsic = "v" + std::to_string(lanes) + "f32";
  }
  std::string name = "@llvm.fma." + intrinsic;
  return "declare " + type + " " + name + "(" + type + ", " + type + ", " +
         type + ")\ndefine weak_odr hidden " + type + " @" +
         fusedMultiplyAddName + suffix + "(" + type + " %a, " + type + " %b, " +
         type + " %c) alwaysinline nounwind readnone {\n  %r = call " + type +
         " " + name + "(" + type + " %a, " + type + " %b, " + type +
         " %c)\n  ret " + type + " %r\n}\n";
}

void mlir::attn::halide::addFusedMultiplyAdd(hl::Module &module,
                                             const hl::Target &target) {
  // That of x86-64, as Halide's modules have it.
  std::string text =
      "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-"
      "f80:128-n8:16:32:64-S128\"\n";
  for (int lanes : {1, 4, 8, 16})
    text += makeFunction(lanes);
  static const HalidesLlvm llvm;
  std::vector<uint8_t> code = llvm.assemble(text);
  if (code.empty())
    throw hl::RuntimeError("no library of LLVM beside Halide's, which fused "
                           "products need; --numerics portable needs none");
  module.append(hl::ExternalCode::bitcode_wrapper(target, code, "attn_fma"));
}
