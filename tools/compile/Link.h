//===- Link.h - from an object to a library and its header ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILE_LINK_H
#define ATTN_TOOLS_COMPILE_LINK_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::attn {

/// The C interface and the declaration of the model's function.
std::string makeHeader(StringRef modelName);

/// Links `objects` with the runtime into the shared library `path` and writes a
/// header beside it: `libg2p.so` gets `g2p.h`. Fails after a message; then
/// neither file is written.
LogicalResult linkLibrary(ArrayRef<std::string> objects, StringRef modelName,
                          StringRef path, StringRef compilerPath);

/// The same for a static library, `libg2p.a`. It holds one object, whose only
/// visible symbol is the function of the model, so that any number of such
/// libraries fit into one program.
LogicalResult linkArchive(ArrayRef<std::string> objects, StringRef modelName,
                          StringRef path, StringRef compilerPath);

/// Makes one object of several, without the runtime.
LogicalResult linkObject(ArrayRef<std::string> objects, StringRef path,
                         StringRef compilerPath);

} // namespace mlir::attn

#endif // ATTN_TOOLS_COMPILE_LINK_H
