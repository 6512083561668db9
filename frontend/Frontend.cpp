//===- Frontend.cpp - spec text to attn IR --------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"

#include "dialect/Attn.h"
#include "frontend/Importer.h"
#include "frontend/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::attn::frontend;

OwningOpRef<ModuleOp>
mlir::attn::frontend::importSpec(llvm::SourceMgr &sourceMgr,
                                 MLIRContext *context, const Options &options) {
  context->loadDialect<AttnDialect, arith::ArithDialect, math::MathDialect>();
  Diagnostics diagnostics(sourceMgr, context);
  const llvm::MemoryBuffer *buffer =
      sourceMgr.getMemoryBuffer(sourceMgr.getMainFileID());
  Spec spec;
  spec.start = llvm::SMLoc::getFromPointer(buffer->getBufferStart());
  parse(*buffer, diagnostics, spec);
  if (options.namesBuffer != 0)
    spec.names = parseNames(*sourceMgr.getMemoryBuffer(options.namesBuffer),
                            diagnostics, spec);
  if (diagnostics.getNumErrors() > 0)
    return nullptr;
  return Importer(context, spec, options, diagnostics).run();
}
