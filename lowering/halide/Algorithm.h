//===- Algorithm.h - a kernel as Halide functions -------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a function of attn operations into Halide: what is computed, with
// nothing of when and where (see Schedule.h). Every value becomes a Halide
// function of its place; what a reduction, a product or a read computes on the
// way is a stage, which says on what it depends, so that a schedule can place
// it.
//
// A region is translated like any block: a value of it is a function of the
// pair, too. Nothing is recognised by its shape.
//
// How arguments lie in memory is said by attributes (docs/backends.md).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_ALGORITHM_H
#define ATTN_LOWERING_HALIDE_ALGORITHM_H

#include "lowering/halide/Halide.h"
#include "lowering/halide/Mathematics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mlir::attn::halide {

/// The lanes of every reduction (R21), whatever the width of registers.
inline constexpr int numLanes = 16;

/// A function that is computed and stored, not written out where it is used.
struct Stage {
  enum class Kind {
    Result,    ///< Of the kernel or of an operation: [features.., axes..].
    Lanes,     ///< The lanes of a reduction over features: [lane, ...].
    Positions, ///< One number a position of the memory: [heads.., key, ...].
    Number,    ///< Few numbers a query: [heads.., ...].
    Sums,      ///< Sums over the memory: [features.., ...].
    Blocks,    ///< Sums over blocks of the memory: [features.., ...].
    Product,   ///< Lanes of outputs: [lane, block, ...].
    Words      ///< What a weight of bytes has for each output: [lane, block].
  };
  Func func;
  Kind kind;
  int numFeatures; ///< Dimensions before those of axes; lanes count as one.
  int numAxes;     ///< The dimensions after them: [key,] [query,] row.
  /// What goes through positions or inputs in its updates; undefined without.
  std::vector<RVar> loops;
  /// How many elements the first dimension has; 0: known at run time only.
  int64_t width = 0;
  /// The four inputs that meet one word of weights; undefined without.
  RVar bytes;
  bool hasBytes = false;
  /// Whether the first loop goes through the lanes of a chunk of positions.
  bool loopsOverLanes = false;
  /// Of a stage that is made anew for every pair: the stage whose loop over
  /// positions it belongs to, by its index; -1 without.
  int owner = -1;
};

/// A kernel without a schedule.
struct Kernel {
  std::string name;
  std::vector<hl::Argument> arguments;
  /// In the order of the function's results.
  std::vector<Func> results;
  /// In the order in which they depend on each other; results included.
  std::vector<Stage> stages;
  /// The first of the stages at the end that only store a result.
  size_t firstFinal = 0;

  bool isResult(const Func &func) const {
    return std::any_of(results.begin(), results.end(), [&](const Func &result) {
      return result.name() == func.name();
    });
  }
};

/// What a kernel is translated for.
struct AlgorithmOptions {
  Multiply multiply = Multiply::Fused;
  /// Whether nothing beyond the ends of arguments is read wherever a value is
  /// computed: a schedule may compute more than what is wanted, such as pairs
  /// beyond the end of a row.
  bool clamped = false;
};

/// Translates `function`. Fails with a diagnostic where an operation has no
/// translation.
FailureOr<Kernel> translateKernel(func::FuncOp function,
                                  const AlgorithmOptions &options);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_ALGORITHM_H
