//===- FoldWeights.cpp - weights that meet only weights
//--------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of a table's row is a row of the table's product, and a product of
// a product is one product: both are computed when the model is opened, where
// that saves work later and takes no more memory.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Parameters.h"
#include "lowering/graph/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FOLDWEIGHTS
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr remark::RemarkOpts remarkOpts =
    remark::RemarkOpts::name("weights").category("attn-fold-weights");

/// Whether `value` is a matrix, or a vector, of parameters.
static bool isWeight(Value value, size_t rank) {
  return isParameterOnly(value) && getFeatures(value.getType()).size() == rank;
}

/// Rows of tables leave the input of `linear`. Gives what takes its place, or
/// null where nothing leaves.
static Value foldTables(LinearOp linear, ImplicitLocOpBuilder &b) {
  Type inputType = linear.getInput().getType();
  if (getNumAxes(inputType) == 0 || getFeatures(inputType).size() != 1 ||
      !isWeight(linear.getWeight(), 2) || !linear.getEpilogue().empty())
    return {};
  SmallVector<Value> parts = {linear.getInput()};
  if (auto concat = linear.getInput().getDefiningOp<ConcatOp>())
    parts.assign(concat.getInputs().begin(), concat.getInputs().end());

  Type weightType = linear.getWeight().getType();
  int64_t numOutputs = getFeatures(weightType)[0], first = 0;
  auto columns = [&](int64_t from, int64_t size) -> Value {
    return b.createOrFold<SliceOp>(withFeatures(weightType, {numOutputs, size}),
                                   linear.getWeight(), from, from + size,
                                   /*drop=*/false, /*feature=*/1);
  };
  SmallVector<Value> kept, keptColumns, looked;
  SmallVector<std::pair<int64_t, int64_t>> keptRanges;
  for (Value part : parts) {
    int64_t size = getFeatures(part.getType())[0], from = first;
    first += size;
    auto embed = part.getDefiningOp<EmbedOp>();
    if (!embed || !isWeight(embed.getTable(), 2)) {
      kept.push_back(part);
      keptRanges.push_back({from, size});
      continue;
    }
    int64_t numRows = getFeatures(embed.getTable().getType())[0];
    if (numRows > size) {
      remark::missed(linear.getLoc(), remarkOpts)
          << llvm::formatv("the product of '{0}' with '{1}' stays in place: "
                           "its table would have {2} rows, more than the {3} "
                           "inputs of the weight that it would replace",
                           getSpecName(linear.getWeight()),
                           getSpecName(embed.getTable()), numRows, size)
                 .str();
      kept.push_back(part);
      keptRanges.push_back({from, size});
      continue;
    }
    Value table = MatmulOp::create(
        b, withFeatures(weightType, {numRows, numOutputs}), embed.getTable(),
        columns(from, size), b.getUnitAttr());
    looked.push_back(
        EmbedOp::create(b, linear.getType(), embed.getTokens(), table));
    remark::passed(linear.getLoc(), remarkOpts)
        << llvm::formatv("'{0}' times '{1}' is a table of {2} x {3}, made when "
                         "the model is opened: {4} multiply-adds a row less",
                         getSpecName(linear.getWeight()),
                         getSpecName(embed.getTable()), numRows, numOutputs,
                         size * numOutputs)
               .str();
  }
  if (looked.empty())
    return {};

  Value result;
  if (!kept.empty()) {
    for (auto [from, size] : keptRanges)
      keptColumns.push_back(columns(from, size));
    int64_t size = 0;
    for (auto [from, count] : keptRanges)
      size += count;
    Value input = b.createOrFold<ConcatOp>(withFeatures(inputType, {size}),
                                           kept, IntegerAttr());
    Value weight =
        b.createOrFold<ConcatOp>(withFeatures(weightType, {numOutputs, size}),
                                 keptColumns, IntegerAttr());
    result =
        LinearOp::create(b, linear.getType(), input, weight, linear.getBias());
  } else if (linear.getBias()) {
    result = BroadcastOp::create(b, linear.getType(), linear.getBias(),
                                 linear.getInput());
  }
  for (Value row : looked)
    result = result ? arith::AddFOp::create(b, result, row).getResult() : row;
  return result;
}

/// `weight (inner (x))` is one product where that is less work and no more
/// memory.
static Value foldProducts(LinearOp linear, ImplicitLocOpBuilder &b) {
  auto inner = linear.getInput().getDefiningOp<LinearOp>();
  if (!inner || inner->getBlock() != linear->getBlock() ||
      getNumAxes(inner.getType()) == 0 || !inner.getEpilogue().empty() ||
      !linear.getEpilogue().empty() || !isWeight(linear.getWeight(), 2) ||
      !isWeight(inner.getWeight(), 2) ||
      getFeatures(linear.getInput().getType()).size() != 1)
    return {};
  int64_t outputs = getFeatures(linear.getWeight().getType())[0],
          between = getFeatures(inner.getWeight().getType())[0],
          inputs = getFeatures(inner.getWeight().getType())[1];
  int64_t before = outputs * between + between * inputs;
  // What others need is computed all the same.
  if (!inner->hasOneUse())
    before = outputs * between;
  if (outputs * inputs >= before) {
    remark::missed(linear.getLoc(), remarkOpts)
        << llvm::formatv("'{0}' and '{1}' stay two products: one would be {2} "
                         "multiply-adds a row instead of {3}",
                         getSpecName(linear.getWeight()),
                         getSpecName(inner.getWeight()), outputs * inputs,
                         before)
               .str();
    return {};
  }
  remark::passed(linear.getLoc(), remarkOpts)
      << llvm::formatv("'{0}' times '{1}' is one weight, made when the model "
                       "is opened: {2} multiply-adds a row instead of {3}",
                       getSpecName(linear.getWeight()),
                       getSpecName(inner.getWeight()), outputs * inputs, before)
             .str();
  Type type = linear.getWeight().getType();
  Value weight =
      MatmulOp::create(b, withFeatures(type, {outputs, inputs}),
                       linear.getWeight(), inner.getWeight(), UnitAttr());
  Value bias = linear.getBias();
  if (inner.getBias()) {
    Value moved =
        MatmulOp::create(b, withFeatures(type, {outputs}), inner.getBias(),
                         linear.getWeight(), b.getUnitAttr());
    bias = bias ? arith::AddFOp::create(b, moved, bias).getResult() : moved;
  }
  return LinearOp::create(b, linear.getType(), inner.getInput(), weight, bias);
}

namespace {
struct FoldWeights : attn::impl::FoldWeightsBase<FoldWeights> {
  using FoldWeightsBase::FoldWeightsBase;

  void runOnOperation() override {
    SmallVector<LinearOp> linears;
    getOperation()->walk([&](LinearOp op) {
      if (!isa<PairOpInterface>(op->getParentOp()))
        linears.push_back(op);
    });
    for (LinearOp linear : linears) {
      ImplicitLocOpBuilder b(linear.getLoc(), linear);
      Value folded = foldProducts(linear, b);
      if (!folded)
        folded = foldTables(linear, b);
      if (!folded)
        continue;
      Operation *input = linear.getInput().getDefiningOp();
      linear.replaceAllUsesWith(folded);
      linear.erase();
      // The input was perhaps made for this product alone.
      while (input && isOpTriviallyDead(input)) {
        Operation *next = input->getNumOperands()
                              ? input->getOperand(0).getDefiningOp()
                              : nullptr;
        input->erase();
        input = next;
      }
    }
  }
};
} // namespace
