//===- PairSides.h - what values of a pair depend on ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair is a query and a memory position. What only one of them determines
// need not be computed for every pair.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_PAIRSIDES_H
#define ATTN_LOWERING_GRAPH_PAIRSIDES_H

#include "dialect/Attn.h"

namespace mlir::attn {

/// The sides of a pair that a value depends on.
struct Sides {
  bool query = false;  ///< the row or the query position
  bool shared = false; ///< a position of the sentence's memory ([source, key])
  bool own = false;    ///< a position of the row's own memory ([row, key])
  bool source = false; ///< the memory as a whole ([source], its length)

  Sides operator|(Sides other) const {
    return {query || other.query, shared || other.shared, own || other.own,
            source || other.source};
  }
  bool isConstant() const { return !query && !shared && !own && !source; }
  /// One value per memory position, whoever asks.
  bool isMemory() const { return !query && shared != own; }
  /// One value per query, whatever it reads.
  bool isQuery() const { return !shared && !own && !isConstant(); }
  bool isPair() const { return !isConstant() && !isMemory() && !isQuery(); }
};

/// The sides of every value in a region of an operation over pairs.
class PairSides {
public:
  PairSides(PairOpInterface op, Block &block);

  Sides operator[](Value value) const { return sides.lookup(value); }
  void set(Value value, Sides of) { sides[value] = of; }

  /// Whether `value` can be computed for all positions at once: what the
  /// operations that make it take must be liftable too.
  bool canLift(Value value) const;

private:
  DenseMap<Value, Sides> sides;
};

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_PAIRSIDES_H
