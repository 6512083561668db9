//===- Diagnostics.cpp - errors that point into a spec --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Diagnostics.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::attn::frontend;

Report &Report::note(llvm::SMLoc loc, const llvm::Twine &message) {
  if (diagnostic)
    diagnostic->attachNote(owner.translate(loc)) << message;
  return *this;
}

Report Diagnostics::error(llvm::SMLoc loc, const llvm::Twine &message) {
  ++numErrors;
  if (!reported.insert(loc.getPointer()).second)
    return Report(*this, std::nullopt);
  return Report(*this, emitError(translate(loc), message));
}

Report Diagnostics::warning(llvm::SMLoc loc, const llvm::Twine &message) {
  if (!reported.insert(loc.getPointer()).second)
    return Report(*this, std::nullopt);
  return Report(*this, emitWarning(translate(loc), message));
}

Location Diagnostics::translate(llvm::SMLoc loc) const {
  unsigned buffer = loc.isValid() ? sourceMgr.FindBufferContainingLoc(loc) : 0;
  if (buffer == 0)
    return UnknownLoc::get(context);
  auto [line, column] = sourceMgr.getLineAndColumn(loc, buffer);
  return FileLineColLoc::get(
      context, sourceMgr.getMemoryBuffer(buffer)->getBufferIdentifier(), line,
      column);
}

std::string
mlir::attn::frontend::suggest(llvm::StringRef name,
                              llvm::ArrayRef<llvm::StringRef> candidates) {
  // A third of the letters may differ; of one-letter names only the case.
  unsigned limit = (name.size() + 2) / 3;
  llvm::StringRef best;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = name.edit_distance_insensitive(
        candidate, /*AllowReplacements=*/true, limit);
    if (distance > limit || candidate == name ||
        (name.size() == 1 && distance > 0))
      continue;
    if (best.empty() || distance < name.edit_distance_insensitive(best))
      best = candidate;
  }
  return best.empty() ? std::string()
                      : ("; did you mean '" + best + "'?").str();
}
