//===- FuseEpilogues.cpp - arithmetic on a product, in the product
//---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise operations on the result of a product move into its epilogue, so
// that the result is stored once, as what others read. The operations stay what
// they are and in their order, so no bit changes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Parameters.h"
#include "lowering/graph/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Finds and moves the operations that can follow one product.
class EpilogueFuser {
public:
  explicit EpilogueFuser(LinearOp linear) : linear(linear) {}

  void run();

private:
  bool isOnSamePlaces(Type type) {
    return withElement(type, Float32Type::get(type.getContext())) ==
           linear.getType();
  }
  bool isStored(Value value);
  bool canEnter(Operation *op);
  bool collectOperations(Operation *last,
                         llvm::SetVector<Operation *> &operations);
  void fuse(ArrayRef<Operation *> operations);

  LinearOp linear;
  /// Elementwise operations over the product, in their order.
  llvm::SetVector<Operation *> candidates;
};

} // namespace

/// Whether the elements of `value` are in memory anyway. To read others would
/// mean to store them first.
bool EpilogueFuser::isStored(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    // What a scan runs over is not where a product could read it.
    return !isa<ScanOp>(value.getParentBlock()->getParentOp());
  if (isElementwise(op))
    return !value.hasOneUse();
  return !isa<BroadcastOp, SliceOp, EmbedOp, LookupOp, ToRowsOp, ReverseOp,
              FirstOp, LastOp, PositionOp, OuterOp>(op);
}

bool EpilogueFuser::canEnter(Operation *op) {
  if (!isElementwise(op) || op->getNumResults() != 1 ||
      !isOnSamePlaces(op->getResult(0).getType()))
    return false;
  bool dependsOnProduct = false;
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (definition == linear || candidates.contains(definition)) {
      dependsOnProduct = true;
      continue;
    }
    if (getUniformConstant(operand))
      continue;
    if (auto broadcast = dyn_cast_or_null<BroadcastOp>(definition);
        broadcast && isParameterOnly(broadcast.getInput()) &&
        broadcast.getInput().getType() == withNumAxes(linear.getType(), 0))
      continue;
    if (operand.getType() != linear.getType() || !isStored(operand))
      return false;
  }
  return dependsOnProduct;
}

/// The operations between the product and `last`; false where something else
/// uses one of their results.
bool EpilogueFuser::collectOperations(
    Operation *last, llvm::SetVector<Operation *> &operations) {
  SmallVector<Operation *> pending = {last};
  operations.insert(last);
  while (!pending.empty())
    for (Value operand : pending.pop_back_val()->getOperands())
      if (Operation *definition = operand.getDefiningOp();
          definition && candidates.contains(definition) &&
          operations.insert(definition))
        pending.push_back(definition);
  auto isUsedInside = [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      // What only takes its places from the product goes with it.
      if (isa<BroadcastOp>(user) && user->getOperand(0) != op->getResult(0))
        return llvm::all_of(user->getUsers(), [&](Operation *next) {
          return operations.contains(next);
        });
      return operations.contains(user);
    });
  };
  return isUsedInside(linear) && llvm::all_of(operations, [&](Operation *op) {
           return op == last || isUsedInside(op);
         });
}

void EpilogueFuser::run() {
  if (getNumAxes(linear.getType()) == 0 || !linear.getEpilogue().empty())
    return;
  for (Operation *op = linear->getNextNode(); op; op = op->getNextNode())
    if (canEnter(op))
      candidates.insert(op);
  for (Operation *last : llvm::reverse(candidates)) {
    if (last->getResult(0).getType() != linear.getType())
      continue;
    llvm::SetVector<Operation *> operations;
    if (!collectOperations(last, operations))
      continue;
    SmallVector<Operation *> ordered;
    for (Operation *op : candidates)
      if (operations.contains(op))
        ordered.push_back(op);
    return fuse(ordered);
  }
}

void EpilogueFuser::fuse(ArrayRef<Operation *> operations) {
  Operation *last = operations.back();
  SmallVector<Location> locations = {linear.getLoc()};
  std::string names;
  for (Operation *op : operations) {
    locations.push_back(op->getLoc());
    names += (names.empty() ? "" : ", ") +
             op->getName().getIdentifier().strref().split('.').second.str();
  }
  ImplicitLocOpBuilder b(last->getLoc(), last);
  b.setLoc(b.getFusedLoc(locations));

  // The operands of the region, each once.
  SmallVector<Value> elements;
  llvm::SetVector<Value> sources;
  llvm::MapVector<Value, double> constants;
  for (Operation *op : operations)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition == linear || llvm::is_contained(operations, definition))
        continue;
      if (std::optional<APFloat> number = getUniformConstant(operand))
        constants[operand] = number->convertToDouble();
      else
        sources.insert(operand);
    }
  for (Value source : sources) {
    auto broadcast = source.getDefiningOp<BroadcastOp>();
    elements.push_back(broadcast && isParameterOnly(broadcast.getInput())
                           ? broadcast.getInput()
                           : source);
  }
  auto fused = LinearOp::create(b, linear.getType(), linear.getInput(),
                                linear.getWeight(), linear.getBias(), elements);
  Block &block = fused.getEpilogue().emplaceBlock();
  Type f32 = b.getF32Type();
  IRMapping mapping;
  mapping.map(linear.getResult(), block.addArgument(f32, linear.getLoc()));
  for (Value source : sources)
    mapping.map(source, block.addArgument(f32, source.getLoc()));
  b.setInsertionPointToEnd(&block);
  for (auto [value, number] : constants)
    mapping.map(value, arith::ConstantOp::create(
                           b, b.getF32FloatAttr(static_cast<float>(number))));
  for (Operation *op : operations) {
    Operation *clone = b.clone(*op, mapping);
    clone->getResult(0).setType(
        getElementTypeOrSelf(op->getResult(0).getType()));
  }
  YieldOp::create(b, mapping.lookup(last->getResult(0)));

  remark::passed(
      last->getLoc(),
      remark::RemarkOpts::name("epilogue").category("attn-fuse-epilogues"))
      << llvm::formatv("{0} in the product with '{1}'", names,
                       getSpecName(linear.getWeight()))
             .str();
  last->replaceAllUsesWith(fused);
  // With broadcasts that took their places from them.
  auto erase = [](Operation *op) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      user->erase();
    op->erase();
  };
  llvm::for_each(llvm::reverse(operations), erase);
  erase(linear);
}

namespace {
struct FuseEpilogues : attn::impl::FuseEpiloguesBase<FuseEpilogues> {
  using FuseEpiloguesBase::FuseEpiloguesBase;

  void runOnOperation() override {
    SmallVector<LinearOp> linears;
    getOperation()->walk([&](LinearOp op) {
      if (!isa<PairOpInterface>(op->getParentOp()))
        linears.push_back(op);
    });
    for (LinearOp linear : linears)
      EpilogueFuser(linear).run();
  }
};
} // namespace
