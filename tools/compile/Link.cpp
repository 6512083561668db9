//===- Link.cpp - from an object to a library and its header --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/compile/Link.h"

#include "tools/compile/Compile.h"

#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
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

std::string attn::makeHeader(StringRef modelName) {
  std::string guard = "ATTN_MODEL_" + modelName.upper() + "_H";
  std::string text(interfaceHeader, sizeof interfaceHeader);
  text += "\n#ifndef " + guard + "\n#define " + guard + "\n\n" +
          "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + "/* The model '" +
          modelName.str() + "': the one function of its library. */\n" +
          "const attn_api *attn_model_" + modelName.str() + "(void);\n\n" +
          "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " + guard + " */\n";
  return text;
}

namespace {
/// One run of the linker. Everything is made in temporary files and moved into
/// place at the end.
class Linking {
public:
  Linking(StringRef path, StringRef compilerPath)
      : path(path), compilerPath(compilerPath) {}
  ~Linking() {
    for (StringRef file : {StringRef(messagesPath), StringRef(partialPath)})
      if (!file.empty())
        llvm::sys::fs::remove(file);
    for (StringRef file : objectPaths)
      llvm::sys::fs::remove(file);
  }

  /// Finds what is needed and writes the objects to files.
  LogicalResult prepare(ArrayRef<std::string> objects);
  /// Links the objects, and the runtime if told so, into the partial file.
  LogicalResult link(ArrayRef<StringRef> options, bool withRuntime = true);
  /// Moves the partial file into place and writes the header beside it.
  LogicalResult finish(StringRef modelName);
  /// Only the former.
  LogicalResult rename();

  StringRef getPartialPath() const { return partialPath; }

private:
  std::string path;
  std::string compilerPath;
  LogicalResult writeObject(StringRef object);

  std::string linker;
  std::vector<std::string> objectPaths;
  llvm::SmallString<128> runtime, messagesPath, partialPath;
};
} // namespace

LogicalResult Linking::writeObject(StringRef object) {
  int descriptor;
  llvm::SmallString<128> objectPath;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "attn", "o", descriptor, objectPath)) {
    printError("expected to make a temporary file, but got: " +
               error.message());
    return failure();
  }
  objectPaths.push_back(objectPath.str().str());
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << object;
  out.close();
  if (out.has_error()) {
    printError("expected to write '" + objectPath +
               "', but got: " + out.error().message());
    out.clear_error();
    return failure();
  }
  return success();
}

LogicalResult Linking::prepare(ArrayRef<std::string> objects) {
  StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder)) {
    printError("expected a folder for the library, but '" + folder +
               "' does not exist");
    return failure();
  }
  runtime =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(compilerPath));
  llvm::sys::path::append(runtime, "lib", "libattn_runtime.a");
  if (!llvm::sys::fs::exists(runtime)) {
    printError("expected the runtime at '" + runtime +
               "', but it is not there");
    return failure();
  }
  linker = findLinker();
  if (linker.empty()) {
    printError("expected clang++-22, clang++ or c++ to link with, but found "
               "none of them");
    return failure();
  }

  partialPath = path + ".partial";
  (void)llvm::sys::fs::createTemporaryFile("attn", "txt", messagesPath);
  for (const std::string &object : objects)
    if (failed(writeObject(object)))
      return failure();
  return success();
}

LogicalResult Linking::link(ArrayRef<StringRef> options, bool withRuntime) {
  SmallVector<StringRef> arguments = {linker, "-o", partialPath};
  llvm::append_range(arguments, objectPaths);
  if (withRuntime)
    arguments.push_back(runtime);
  llvm::append_range(arguments, options);
  if (StringRef(linker).contains("clang")) {
    arguments.push_back("-fuse-ld=lld");
    // Functions of the same code are one function; nobody compares addresses.
    if (llvm::is_contained(options, "-shared"))
      arguments.push_back("-Wl,--icf=all");
  }
  std::optional<StringRef> redirects[] = {
      StringRef(""), StringRef(messagesPath), StringRef(messagesPath)};
  int status =
      llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects);
  if (status == 0)
    return success();
  auto messages = llvm::MemoryBuffer::getFile(messagesPath);
  printError("expected '" + linker + "' to link the library, but got:\n" +
             (messages ? (*messages)->getBuffer() : StringRef()));
  return failure();
}

LogicalResult Linking::finish(StringRef modelName) {
  llvm::SmallString<128> headerPath(llvm::sys::path::parent_path(path));
  StringRef stem = llvm::sys::path::stem(path);
  stem.consume_front("lib");
  llvm::sys::path::append(headerPath, stem + ".h");
  if (failed(writeOutput(headerPath, makeHeader(modelName))))
    return failure();
  if (failed(rename())) {
    llvm::sys::fs::remove(headerPath);
    return failure();
  }
  return success();
}

LogicalResult Linking::rename() {
  if (std::error_code error = llvm::sys::fs::rename(partialPath, path)) {
    printError("expected to write '" + path + "', but got: " + error.message());
    return failure();
  }
  return success();
}

LogicalResult attn::linkLibrary(ArrayRef<std::string> objects,
                                StringRef modelName, StringRef path,
                                StringRef compilerPath) {
  Linking linking(path, compilerPath);
  SmallVector<StringRef> options = {"-shared",
                                    // Nothing but libc and libm is needed.
                                    "-static-libstdc++", "-static-libgcc",
                                    "-Wl,--gc-sections",
                                    "-Wl,--exclude-libs,ALL", "-s"};
#ifdef ATTN_SANITIZE
  // The runtime beside this compiler is built with sanitizers.
  options.push_back("-fsanitize=address,undefined");
#endif
  return success(succeeded(linking.prepare(objects)) &&
                 succeeded(linking.link(options)) &&
                 succeeded(linking.finish(modelName)));
}

/// Makes every symbol of the object `from` local but `symbol`, and wraps it in
/// an archive.
static llvm::Error makeArchive(StringRef from, StringRef symbol, StringRef to) {
  llvm::Expected<llvm::object::OwningBinary<llvm::object::Binary>> linked =
      llvm::object::createBinary(from);
  if (!linked)
    return linked.takeError();
  llvm::objcopy::ConfigManager config;
  llvm::Expected<llvm::objcopy::NameOrPattern> name =
      llvm::objcopy::NameOrPattern::create(
          symbol, llvm::objcopy::MatchStyle::Literal,
          [](llvm::Error error) { return error; });
  if (!name)
    return name.takeError();
  if (llvm::Error error =
          config.Common.SymbolsToKeepGlobal.addMatcher(std::move(name)))
    return error;
  llvm::SmallString<0> contents;
  llvm::raw_svector_ostream out(contents);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(
          config, *linked->getBinary(), out))
    return error;
  llvm::NewArchiveMember member(llvm::MemoryBufferRef(contents, "model.o"));
  return llvm::writeArchive(to, member, llvm::SymtabWritingMode::NormalSymtab,
                            llvm::object::Archive::K_GNU,
                            /*Deterministic=*/true, /*Thin=*/false);
}

/// Makes one object of all. Section groups go: a final link must not take one
/// library's functions for those of another that happen to have the same name.
static constexpr StringRef relocatable[] = {"-r", "-nostdlib",
                                            "-Wl,--force-group-allocation"};

LogicalResult attn::linkObject(ArrayRef<std::string> objects, StringRef path,
                               StringRef compilerPath) {
  Linking linking(path, compilerPath);
  return success(succeeded(linking.prepare(objects)) &&
                 succeeded(linking.link(relocatable, /*withRuntime=*/false)) &&
                 succeeded(linking.rename()));
}

LogicalResult attn::linkArchive(ArrayRef<std::string> objects,
                                StringRef modelName, StringRef path,
                                StringRef compilerPath) {
  Linking linking(path, compilerPath);
  if (failed(linking.prepare(objects)) || failed(linking.link(relocatable)))
    return failure();
  if (llvm::Error error = makeArchive(linking.getPartialPath(),
                                      ("attn_model_" + modelName).str(),
                                      linking.getPartialPath())) {
    printError("expected to write '" + path +
               "', but got: " + llvm::toString(std::move(error)));
    return failure();
  }
  return linking.finish(modelName);
}
