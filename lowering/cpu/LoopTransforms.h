//===- LoopTransforms.h - how the loops of a kernel are arranged -*- C++
//-*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are written as plain nests of loops, and arranged for a processor
// afterwards. Loops that have a name may be run in any order and together:
// whoever names a loop says that its iterations do not depend on each other,
// but for what the loop carries. No arrangement changes the operations that
// make an element, or their order, and so none changes a bit (R13, R21).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_LOOPTRANSFORMS_H
#define ATTN_LOWERING_CPU_LOOPTRANSFORMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// On a function or an operation: the kind of kernel it is, by which its
/// schedule is found.
inline constexpr llvm::StringLiteral kernelAttrName = "attn.kernel";
/// On a loop of a kernel: its name.
inline constexpr llvm::StringLiteral loopAttrName = "attn.loop";

void nameLoop(scf::ForOp loop, StringRef name);
StringRef getLoopName(Operation *op);

/// Makes versions of the nest around `loop` in which it runs exactly so many
/// times, and chooses among them when it is known how often. Answers the nests
/// in the order of `counts`, and last the one for all other counts. Fails where
/// the nest decides how often the loop runs, or where it does not count from 0
/// in steps of 1.
FailureOr<SmallVector<scf::ForOp>> specializeLoop(RewriterBase &rewriter,
                                                  scf::ForOp loop,
                                                  ArrayRef<int64_t> counts);

/// Runs the nest around `loop` for at most `size` of its iterations at a time,
/// as equal parts as can be. Other loops of the nest with the same bounds get
/// the same parts. Answers the loop over the parts.
FailureOr<scf::ForOp> blockLoop(RewriterBase &rewriter, scf::ForOp loop,
                                int64_t size);

/// Splits `loop` into tiles of at most the largest of `sizes`, as equal as can
/// be, each of which is a loop that runs a fixed number of times. Answers these
/// loops in the order of `sizes`; tiles of other sizes remain plain loops.
FailureOr<SmallVector<scf::ForOp>>
tileLoop(RewriterBase &rewriter, scf::ForOp loop, ArrayRef<int64_t> sizes);

/// Runs as many iterations of `loop` at once as the first of `factors` says,
/// what is left by the second, and so on: loops within it are merged into one,
/// their carried values side by side. A loop that runs exactly once then
/// disappears. A loop named `epilogue` is not merged but run once after the
/// other, so that its code stands once.
LogicalResult jamLoop(RewriterBase &rewriter, scf::ForOp loop,
                      ArrayRef<int64_t> factors);

/// Fetches what vector loads in `loop` will need `distance` iterations later.
/// Loads that follow the loop's variable in one dimension only are meant.
LogicalResult prefetchInLoop(RewriterBase &rewriter, scf::ForOp loop,
                             int64_t distance);

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_LOOPTRANSFORMS_H
