//===- PairInputs.h - building operations over pairs ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes share that rewrite the inputs and regions of operations over
// pairs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_PAIRINPUTS_H
#define ATTN_LOWERING_GRAPH_PAIRINPUTS_H

#include "dialect/Attn.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::attn {

/// A growing list of inputs, each value and map once.
class PairInputList {
public:
  /// The place of an input, added if it is new.
  unsigned add(Value value, AffineMap map);

  ArrayRef<Value> getValues() const { return values; }
  ArrayAttr getMaps(MLIRContext *context) const;

  /// The arguments of a region over these inputs.
  SmallVector<Type> getRegionArgumentTypes(MLIRContext *context) const;

private:
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
};

/// The four position arguments at the end of a pair region, in order.
enum PositionArgument : unsigned {
  QueryPosition,
  KeyPosition,
  QueryLength,
  MemoryLength,
  NumPositionArguments
};

/// The position argument of a pair region.
BlockArgument getPositionArgument(Block &block, PositionArgument which);

/// Gives a block the arguments of a region over `inputs`.
void addRegionArguments(Block &block, const PairInputList &inputs,
                        MLIRContext *context);

/// Gives an empty region a block with the arguments of another region's.
Block &addBlockLike(Region &region, Block &like);

/// Clones the region `from` of `op` into `to`, whose inputs are `inputs`:
/// arguments are connected by value and map, so `inputs` must hold all those
/// of `op`.
void cloneRegionOver(PairOpInterface op, Region &from, Region &to,
                     PairInputList &inputs);

/// Drops inputs that no region uses, and merges equal ones. An input with the
/// axis `key` stays, because it gives the number of memory positions.
void dropUnusedInputs(PairOpInterface op);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_PAIRINPUTS_H
