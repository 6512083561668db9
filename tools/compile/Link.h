//===- Link.h - from an object to a library and its header ------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILE_LINK_H
#define ATTN_TOOLS_COMPILE_LINK_H

#include "mlir/Support/LLVM.h"

namespace mlir::attn {

/// Links `object` with the runtime into the shared library `path` and writes a
/// header beside it: `libg2p.so` gets `g2p.h`. Fails after a message; then
/// neither file is written.
LogicalResult linkLibrary(StringRef object, StringRef modelName, StringRef path,
                          StringRef compilerPath);

} // namespace mlir::attn

#endif // ATTN_TOOLS_COMPILE_LINK_H
