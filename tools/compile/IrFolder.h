//===- IrFolder.h - the IR after every pass, a file each --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILE_IRFOLDER_H
#define ATTN_TOOLS_COMPILE_IRFOLDER_H

#include "mlir/Pass/PassManager.h"

#include <string>

namespace mlir::attn {

/// A folder that gets one numbered file per pass, `03-attn-fuse-read.mlir`,
/// with the whole module as the pass left it. Does nothing without a path.
class IrFolder {
public:
  explicit IrFolder(std::string path) : path(std::move(path)) {}

  /// Makes the folder. Fails after a message.
  LogicalResult create();
  /// Makes `manager` write its passes; numbers go on from manager to manager.
  void addTo(PassManager &manager);

private:
  std::string path;
  unsigned numPasses = 0;
};

} // namespace mlir::attn

#endif // ATTN_TOOLS_COMPILE_IRFOLDER_H
