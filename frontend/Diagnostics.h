//===- Diagnostics.h - errors that point into a spec ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_FRONTEND_DIAGNOSTICS_H
#define ATTN_FRONTEND_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/SMLoc.h"

#include <optional>
#include <string>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir::attn::frontend {

class Diagnostics;

/// A diagnostic being written; silent where one was written at that place
/// before.
class Report {
public:
  Report(Diagnostics &owner, std::optional<InFlightDiagnostic> diagnostic)
      : owner(owner), diagnostic(std::move(diagnostic)) {}

  template <typename Arg> Report &operator<<(Arg &&arg) {
    if (diagnostic)
      *diagnostic << std::forward<Arg>(arg);
    return *this;
  }

  /// Points at what the message conflicts with.
  Report &note(llvm::SMLoc loc, const llvm::Twine &message);

private:
  Diagnostics &owner;
  std::optional<InFlightDiagnostic> diagnostic;
};

/// Reports through MLIR's diagnostics, so that whoever owns the context decides
/// where they go. At one place of the text only the first error counts: code
/// that is imported several times (blocks, repeats) would repeat it.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sourceMgr, MLIRContext *context)
      : sourceMgr(sourceMgr), context(context) {}

  Report error(llvm::SMLoc loc, const llvm::Twine &message);
  Report warning(llvm::SMLoc loc, const llvm::Twine &message);
  unsigned getNumErrors() const { return numErrors; }

  /// The place in the spec as a location of the IR.
  Location translate(llvm::SMLoc loc) const;

private:
  llvm::SourceMgr &sourceMgr;
  MLIRContext *context;
  llvm::DenseSet<const char *> reported;
  unsigned numErrors = 0;
};

/// "; did you mean 'x'?" where a candidate is close to `name`, else nothing.
std::string suggest(llvm::StringRef name,
                    llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace mlir::attn::frontend

#endif // ATTN_FRONTEND_DIAGNOSTICS_H
