//===- EmptyStages.h - stages without elements, on a device ---*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage may have no elements: where an interval is empty, say, Halide infers
// that nothing is needed, by extents that are zero or less. On the CPU that is
// an allocation of nothing and a loop that goes nowhere. A device has neither:
// Halide's runtime ends the process where memory of no bytes is asked for, and
// a launch of no threads is an error of OpenCL before 2.1.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_EMPTYSTAGES_H
#define ATTN_LOWERING_HALIDE_EMPTYSTAGES_H

#include "lowering/halide/Halide.h"

namespace mlir::attn::halide {

/// Gives every stage on a device an element at least, and leaves out launches
/// of no threads.
void guardEmptyStages(hl::Module &module);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_EMPTYSTAGES_H
