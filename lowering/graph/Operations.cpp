//===- Operations.cpp - what passes ask of operations ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/graph/Operations.h"

#include "dialect/Axes.h"
#include "lowering/graph/Parameters.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isCostlyFunction(Operation *op) {
  return isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::FmaOp,
              math::FloorOp, math::CeilOp>(op);
}

bool attn::isRepair(arith::SelectOp choice) {
  auto failed = choice.getCondition().getDefiningOp<arith::CmpFOp>();
  return failed && failed.getPredicate() == arith::CmpFPredicate::UNO &&
         failed.getLhs() == failed.getRhs() &&
         failed.getLhs() == choice.getFalseValue();
}

llvm::SmallPtrSet<Operation *, 8> attn::getRepairs(Block &block) {
  llvm::SmallPtrSet<Operation *, 8> repairs;
  for (Operation &op : llvm::reverse(block)) {
    bool serves = !op.use_empty();
    for (OpOperand &use : op.getUses()) {
      auto choice = dyn_cast<arith::SelectOp>(use.getOwner());
      serves &= repairs.contains(use.getOwner()) ||
                (choice && isRepair(choice) && use.getOperandNumber() == 1);
    }
    if (serves)
      repairs.insert(&op);
  }
  return repairs;
}

void attn::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

Value attn::cloneExpression(OpBuilder &builder, Value value,
                            IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneExpression(builder, operand, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// The weight of which a part of a product is made, where several stand over
/// each other in it.
static Value findWeight(SliceOp part) {
  auto linear = part.getInput().getDefiningOp<LinearOp>();
  auto stack = linear ? linear.getWeight().getDefiningOp<ConcatOp>() : nullptr;
  if (!stack || stack.getFeatureNumber() != 0 || part.getFeature() != 0)
    return Value();
  int64_t begin = 0;
  for (Value weight : stack.getInputs()) {
    int64_t end = begin + getFeatures(weight.getType()).front();
    if (begin == static_cast<int64_t>(part.getStart()) &&
        end == static_cast<int64_t>(part.getStop()))
      return weight;
    begin = end;
  }
  return Value();
}

std::string attn::describeComputation(Value value) {
  if (auto part = value.getDefiningOp<SliceOp>())
    if (Value weight = findWeight(part))
      return "the product with '" + getSpecName(weight) + "'";
  llvm::SetVector<Value> seen;
  seen.insert(value);
  std::string parameters, operation, function;
  for (size_t i = 0; i < seen.size(); ++i)
    if (Operation *op = seen[i].getDefiningOp()) {
      if (function.empty() && operation != "the product" &&
          isCostlyFunction(op))
        function = op->getName().stripDialect().str();
      if (isa<GetParameterOp>(op))
        parameters +=
            (parameters.empty() ? "'" : ", '") + getSpecName(seen[i]) + "'";
      else if (operation.empty() || isa<LinearOp>(op))
        operation = isa<LinearOp>(op) ? "the product"
                                      : op->getName().stripDialect().str();
      // Not what a layer before was made with.
      if (isa<LinearOp>(op))
        seen.insert_range(op->getOperands().drop_front());
      else if (op->getNumRegions() == 0)
        seen.insert_range(op->getOperands());
    }
  if (!function.empty())
    operation =
        operation == "the product" ? function + " of the product" : function;
  return operation + (parameters.empty() ? "" : " with " + parameters);
}
