//===- Link.cpp - from an object to a library and its header --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/compile/Link.h"

#include "tools/compile/Compile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::attn;

/// The C interface, runtime/include/attn/attn.h.
static constexpr char interfaceHeader[] = {
#include "tools/compile/InterfaceHeader.inc"
};

/// The linker driver: clang as installed with the compiler, or the system's.
static std::string findLinker() {
  for (StringRef name : {"clang++-22", "clang++", "c++"})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  return "";
}

static std::string makeHeader(StringRef modelName) {
  std::string guard = "ATTN_MODEL_" + modelName.upper() + "_H";
  std::string text(interfaceHeader, sizeof interfaceHeader);
  text += "\n#ifndef " + guard + "\n#define " + guard + "\n\n" +
          "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + "/* The model '" +
          modelName.str() + "': the one function of its library. */\n" +
          "const attn_api *attn_model_" + modelName.str() + "(void);\n\n" +
          "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " + guard + " */\n";
  return text;
}

LogicalResult attn::linkLibrary(StringRef object, StringRef modelName,
                                StringRef path, StringRef compilerPath) {
  StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder)) {
    printError("expected a folder for the library, but '" + folder +
               "' does not exist");
    return failure();
  }
  llvm::SmallString<128> runtime(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(compilerPath)));
  llvm::sys::path::append(runtime, "lib", "libattn_runtime.a");
  if (!llvm::sys::fs::exists(runtime)) {
    printError("expected the runtime at '" + runtime +
               "', but it is not there");
    return failure();
  }
  std::string linker = findLinker();
  if (linker.empty()) {
    printError("expected clang++-22, clang++ or c++ to link with, but found "
               "none of them");
    return failure();
  }

  // Everything is made in temporary files and moved into place at the end.
  llvm::SmallString<128> objectPath, messagesPath;
  std::string libraryPath = path.str() + ".partial";
  llvm::scope_exit cleanUp([&] {
    for (StringRef file : {StringRef(objectPath), StringRef(messagesPath),
                           StringRef(libraryPath)})
      if (!file.empty())
        llvm::sys::fs::remove(file);
  });
  int descriptor;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "attn", "o", descriptor, objectPath)) {
    printError("expected to make a temporary file, but got: " +
               error.message());
    return failure();
  }
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << object;
    out.close();
    if (out.has_error()) {
      printError("expected to write '" + objectPath +
                 "', but got: " + out.error().message());
      out.clear_error();
      return failure();
    }
  }
  (void)llvm::sys::fs::createTemporaryFile("attn", "txt", messagesPath);

  SmallVector<StringRef> arguments = {
      linker, "-shared", "-o", libraryPath, objectPath, runtime,
      // Nothing but libc and libm is needed.
      "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections",
      "-Wl,--exclude-libs,ALL", "-s"};
  if (StringRef(linker).contains("clang"))
    arguments.push_back("-fuse-ld=lld");
#ifdef ATTN_SANITIZE
  // The runtime beside this compiler is built with sanitizers.
  arguments.push_back("-fsanitize=address,undefined");
#endif
  std::optional<StringRef> redirects[] = {
      StringRef(""), StringRef(messagesPath), StringRef(messagesPath)};
  int status =
      llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects);
  if (status != 0) {
    auto messages = llvm::MemoryBuffer::getFile(messagesPath);
    printError("expected '" + linker + "' to link the library, but got:\n" +
               (messages ? (*messages)->getBuffer() : StringRef()));
    return failure();
  }

  llvm::SmallString<128> headerPath(folder);
  StringRef stem = llvm::sys::path::stem(path);
  stem.consume_front("lib");
  llvm::sys::path::append(headerPath, stem + ".h");
  if (failed(writeOutput(headerPath, makeHeader(modelName))))
    return failure();
  if (std::error_code error = llvm::sys::fs::rename(libraryPath, path)) {
    llvm::sys::fs::remove(headerPath);
    printError("expected to write '" + path + "', but got: " + error.message());
    return failure();
  }
  return success();
}
