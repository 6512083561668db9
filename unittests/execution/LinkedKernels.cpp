//===- LinkedKernels.cpp - kernels of a device, for a test ----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/execution/LinkedKernels.h"

#include "runtime/halide_opencl.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <dlfcn.h>

using namespace mlir;
using namespace mlir::attn;

std::string attn::findOpenClDevice() {
  // As Halide's runtime opens it. It stays open.
  void *library = halide_load_library("libOpenCL.so");
  if (!library)
    return dlerror();
  // clGetPlatformIDs(room, platforms, count).
  using GetPlatforms = int32_t(uint32_t, void **, uint32_t *);
  auto *getPlatforms =
      reinterpret_cast<GetPlatforms *>(dlsym(library, "clGetPlatformIDs"));
  uint32_t count = 0;
  if (getPlatforms && getPlatforms(0, nullptr, &count) == 0 && count > 0)
    return "";
  return "expected a device of OpenCL, but got none";
}

std::unique_ptr<LinkedKernels>
LinkedKernels::link(StringRef kernels, StringRef runtime, std::string &error) {
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("attn-kernels", folder)) {
    error = "expected to make a temporary folder, but got: " + code.message();
    return nullptr;
  }
  llvm::scope_exit remove([&] { llvm::sys::fs::remove_directories(folder); });
  auto getPath = [&](StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path;
  };
  for (auto [name, contents] :
       {std::pair(StringRef("kernels.a"), kernels), {"runtime.a", runtime}}) {
    std::error_code code;
    llvm::raw_fd_ostream out(getPath(name), code);
    out << contents;
  }
  auto library = getPath("kernels.so"), first = getPath("kernels.a"),
       second = getPath("runtime.a");
  StringRef arguments[] = {ATTN_CXX,       "-shared",
                           "-fuse-ld=lld", "-o",
                           library,        "-Wl,--whole-archive",
                           first,          "-Wl,--no-whole-archive",
                           second,         "-ldl",
                           "-lpthread"};
  if (llvm::sys::ExecuteAndWait(ATTN_CXX, arguments) != 0) {
    error = "expected '" ATTN_CXX "' to link the kernels";
    return nullptr;
  }
  auto linked = std::make_unique<LinkedKernels>();
  linked->library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!linked->library) {
    error = dlerror();
    return nullptr;
  }
  // It opens OpenCL as the libraries do that attnc makes.
  using Load = void *(const char *);
  constexpr const char *setter = "halide_set_custom_load_library";
  if (void *set = linked->lookup(setter)) {
    reinterpret_cast<Load *(*)(Load *)>(set)(halide_load_library);
    return linked;
  }
  error =
      std::string("expected a runtime of Halide, but got none with ") + setter;
  return nullptr;
}

LinkedKernels::~LinkedKernels() {
  if (library)
    dlclose(library);
}

void *LinkedKernels::lookup(const std::string &name) const {
  return dlsym(library, name.c_str());
}
