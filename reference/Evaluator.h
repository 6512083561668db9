//===- Evaluator.h - evaluates attn IR from its definition ----*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle of every pass and back end: plain loops in double precision, no
// lowering, fused or not. An operation without a meaning here is an error that
// names it, as are a table read outside of its range (R20) and sizes that
// contradict each other.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_EVALUATOR_H
#define ATTN_REFERENCE_EVALUATOR_H

#include "dialect/Attn.h"
#include "reference/Tensor.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::attn::reference {

/// The parameters of a model, by path.
using Parameters = llvm::StringMap<Tensor>;

/// What every `attn.past` of a decoder remembers of the hypotheses.
class Histories {
public:
  /// Before a step: its row r continues row `parents[r]` of the step before.
  void reorder(ArrayRef<int64_t> parents);

  /// The values of every row of the step so far, oldest first.
  std::vector<std::vector<double>> &of(Operation *past) { return rows[past]; }

private:
  llvm::DenseMap<Operation *, std::vector<std::vector<double>>> rows;
};

/// What an evaluation knows besides its arguments, and why it failed.
struct Environment {
  const Parameters *parameters = nullptr; ///< For `attn.get_parameter`.
  Histories *histories = nullptr;         ///< For `attn.past`.
  /// Sees the values of `attn.observe`; may be empty.
  std::function<void(ObserveOp, const Tensor &)> observe;
  /// Changes what a product multiplies, as compiled code does at other
  /// precisions than f32: rows of `numInputs` numbers, and a row of weights for
  /// each output. May be empty.
  std::function<void(Operation *product, MutableArrayRef<double> rows,
                     MutableArrayRef<double> weights, int64_t numInputs)>
      round;
  std::string error;
  /// Scores of which some pair has none, and why. They are NaN, and an error
  /// only where they are readable (R2).
  llvm::DenseMap<Value, std::string> missingScores;
};

/// Evaluates a block; gives the operands of its terminator.
FailureOr<SmallVector<Tensor>>
evaluate(Block &block, ArrayRef<Tensor> arguments, Environment &environment);

/// What an encoder shows of a batch of sentences.
struct Encoded {
  SmallVector<Tensor> memory;
  SmallVector<Tensor> lengths; ///< One per memory axis.
  SmallVector<Tensor> initial; ///< The states that do not start as zeros.
};

/// Runs an encoder on its inputs and the lengths of the input axes.
FailureOr<Encoded> encode(EncoderOp encoder, ArrayRef<Tensor> inputs,
                          ArrayRef<Tensor> lengths, Environment &environment);

/// The states before the first step, one row per sentence.
SmallVector<Tensor> getFirstStates(DecoderOp decoder, const Encoded &encoded,
                                   int64_t numSentences);

/// What a step yields for its rows.
struct Step {
  Tensor logits; ///< Or the features that are predicted.
  SmallVector<Tensor> states;
  std::optional<Tensor> weights;
  std::optional<Tensor> stop; ///< With features.
};

/// Runs one step of a decoder. `tokens` is what was emitted before; it,
/// `positions` and `sentences` are one i32 per row, or `tokens` features. The
/// histories of the environment, if there are any, have been reordered.
FailureOr<Step> step(DecoderOp decoder, const Tensor &tokens,
                     const Tensor &positions, const Tensor &sentences,
                     const Encoded &encoded, ArrayRef<Tensor> states,
                     Environment &environment);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_EVALUATOR_H
