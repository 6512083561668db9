//===- Report.h - what a model costs, and what was made of it --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of `attnc --explain`. Costs are counted on the IR as it is after the
// graph passes, and what passes did or left is what they said themselves, in
// MLIR's optimisation remarks; nothing is written down a second time.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_GRAPH_REPORT_H
#define ATTN_LOWERING_GRAPH_REPORT_H

#include "dialect/Attn.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::attn {

/// Something that a pass did (`passed`), or found and left as it was.
struct PassRemark {
  std::string pass;
  Location location;
  bool passed;
  std::string text;
};

/// Makes `context` keep what passes remark from now on; null if it has other
/// plans for remarks.
std::shared_ptr<std::vector<PassRemark>> collectRemarks(MLIRContext &context);

/// How often something is computed, from the rarest on.
enum class Frequency {
  Model,    ///< once, when the model is opened
  Sentence, ///< once per sentence
  Source,   ///< for every position of a sentence
  Row,      ///< in every step, for every hypothesis
  Pair,     ///< in every step, for every hypothesis and position of the memory
};

/// What is computed once at its frequency.
struct Cost {
  int64_t multiplyAdds = 0;
  int64_t functions = 0; ///< exp, tanh and the like
  int64_t weights = 0;   ///< the numbers of the products' weights
  int64_t biases = 0;    ///< and of their biases

  Cost &operator+=(const Cost &other);
};

/// Something of a model that costs more than arithmetic on a vector.
struct CostItem {
  Operation *op;
  Frequency frequency;
  std::string text;
  Cost cost;
};

/// What `model` computes, from the start of the encoder to the end of the step.
std::vector<CostItem> computeCosts(ModelOp model);

/// How the weights of products are kept.
struct WeightFormat {
  StringRef name = "f32";
  int64_t bytes = 4; ///< Of one weight.
};

/// Writes a report for a person.
void printReport(ModelOp model, ArrayRef<PassRemark> remarks,
                 const WeightFormat &format, llvm::raw_ostream &os);

} // namespace mlir::attn

#endif // ATTN_LOWERING_GRAPH_REPORT_H
