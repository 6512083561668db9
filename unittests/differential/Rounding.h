//===- Rounding.h - what products multiply at a precision -----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_DIFFERENTIAL_ROUNDING_H
#define ATTN_UNITTESTS_DIFFERENTIAL_ROUNDING_H

#include "lowering/cpu/Precision.h"
#include "unittests/differential/Kernel.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::attn::differential {

/// Rounds what products multiply as `attnc --precision` has it, by its
/// definition. A number may lie so near to the middle of two that compiled code
/// rounds it to the other one: `nudge` moves the middle.
class Rounding {
public:
  enum class Nudge { None, Up, Down, Random };
  Rounding(Precision precision, Nudge nudge, uint64_t seed)
      : precision(precision), nudge(nudge), random(seed) {}

  /// Rounds rows of `numInputs` numbers, and a row of weights for each output.
  void round(Operation *product, MutableArrayRef<double> rows,
             MutableArrayRef<double> weights, int64_t numInputs);

  /// Whether there was a product.
  bool hasProducts() const { return wasUsed; }

private:
  double toInteger(double number);
  double toBfloat16(double number);
  /// Numbers of [-127, 127] times one for all of them.
  void quantize(MutableArrayRef<double> row);

  Precision precision;
  Nudge nudge;
  Random random;
  bool wasUsed = false;
};

} // namespace mlir::attn::differential

#endif // ATTN_UNITTESTS_DIFFERENTIAL_ROUNDING_H
