//===- AxisTable.h - the axes of a model ----------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An axis of a model is the longest sequence of an input, or that of another
// axis divided by a stride. Axes are numbered: inputs first, then the strided
// ones in the order of the encoder.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_AXISTABLE_H
#define ATTN_LOWERING_CPU_AXISTABLE_H

#include "dialect/Attn.h"

namespace mlir::attn {

class AxisTable {
public:
  /// `encoder` may be null: no axes.
  explicit AxisTable(EncoderOp encoder) {
    if (!encoder)
      return;
    for (int64_t axis = 0; axis < encoder.getNumInputAxes(); ++axis)
      lengths.push_back(
          encoder.getBody().getArgument(encoder.getInputs().size() + axis));
    encoder.walk(
        [&](StridedLengthOp op) { lengths.push_back(op.getResult()); });
  }

  int64_t size() const { return lengths.size(); }
  /// The number of the axis that these lengths belong to.
  int64_t getNumber(Value value) const {
    return llvm::find(lengths, value) - lengths.begin();
  }
  /// The lengths of axis `number`: an argument of the encoder, or a
  /// attn.strided_length.
  Value getLengths(int64_t number) const { return lengths[number]; }

private:
  SmallVector<Value> lengths;
};

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_AXISTABLE_H
