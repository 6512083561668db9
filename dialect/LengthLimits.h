//===- LengthLimits.h - how long sequences may be -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table that is indexed by a position has no row for a position beyond it
// (R20). Which tables a model indexes so, and how long its inputs and its
// target may be for that reason, follows from its graph.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_LENGTHLIMITS_H
#define ATTN_DIALECT_LENGTHLIMITS_H

#include "dialect/Attn.h"

namespace mlir::attn {

/// What limits the length of a sequence.
struct LengthLimit {
  int64_t length = 0; ///< Elements of the sequence at most.
  StringRef table;    ///< The parameter; empty: a value that is computed.
  int64_t size = 0;   ///< Rows of the table.
};

struct LengthLimits {
  SmallVector<std::optional<LengthLimit>> inputs; ///< By input of the encoder.
  std::optional<LengthLimit> target;
};

/// The limits of a model, as the front end makes it. An index counts that grows
/// with one position: the position, plus and times constants, divided by one,
/// within constant bounds. Others may say of two positions whatever they say.
LengthLimits findLengthLimits(ModelOp model);

} // namespace mlir::attn

#endif // ATTN_DIALECT_LENGTHLIMITS_H
