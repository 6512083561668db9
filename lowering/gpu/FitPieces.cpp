//===- FitPieces.cpp - products where their results are used --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element of a product is the same however its rows and columns are divided
// (R21), so that whoever uses it may say how.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Accesses.h"
#include "lowering/gpu/Nests.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallSet.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FITPIECES
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// So many times 16 columns an iteration computes at most: a group of lanes has
/// several sums under way at once, but not any number of them.
static constexpr int64_t maxBlocks = 32;

namespace {

/// A nest that multiplies pieces of rows, and the buffer that it writes.
struct Product {
  scf::ForOp rows, columns;
  SmallVector<Access> uses;
  Value results;
  int64_t numColumns;

  static std::optional<Product> match(scf::ForOp outermost);
};

/// A nest that uses results of a product by rows and heads.
struct Consumer {
  scf::ForOp rows, heads;
  SmallVector<Access> uses;
  int64_t numHeads;

  static std::optional<Consumer> match(scf::ForOp outermost);
  /// How many parts of a row of `product` there are of which each iteration
  /// looks at its own head; 0 where it looks at something else.
  int64_t countParts(const Product &product);
};

} // namespace

std::optional<Product> Product::match(scf::ForOp outermost) {
  SmallVector<scf::ForOp> nest = collectNest(outermost);
  if (nest.size() != 2 || !getPieceLength(nest[0]) || !getPieceLength(nest[1]))
    return std::nullopt;
  Product product{nest[0], nest[1], {}, {}, 0};
  auto size = getConstantIntValue(nest[1].getUpperBound());
  auto uses = collectUses(outermost);
  if (!size || !uses)
    return std::nullopt;
  product.numColumns = *size;
  product.uses = std::move(*uses);
  for (const Access &use : product.uses)
    if (use.isWrite) {
      if (product.results && product.results != use.root)
        return std::nullopt;
      product.results = use.root;
    }
  if (!product.results)
    return std::nullopt;
  return product;
}

std::optional<Consumer> Consumer::match(scf::ForOp outermost) {
  SmallVector<scf::ForOp> nest = collectNest(outermost);
  if (nest.size() != 2 || outermost->hasAttr(piecesAttrName) ||
      !isOneInteger(nest[0].getStep()) || !isOneInteger(nest[1].getStep()) ||
      !isZeroInteger(nest[1].getLowerBound()))
    return std::nullopt;
  auto numHeads = getConstantIntValue(nest[1].getUpperBound());
  auto uses = collectUses(outermost);
  if (!numHeads || !uses)
    return std::nullopt;
  return Consumer{nest[0], nest[1], std::move(*uses), *numHeads};
}

int64_t Consumer::countParts(const Product &product) {
  auto type = cast<MemRefType>(product.results.getType());
  if (!haveSameBounds(product.rows, rows, /*anyStep=*/true) ||
      type.getRank() < 3 || type.getNumDynamicDims() != 1 ||
      !type.isDynamicDim(0))
    return 0;
  int64_t size = llvm::product_of(type.getShape().drop_front());
  int64_t width = size / type.getDimSize(1);
  if (size != product.numColumns || width % numLanes != 0 ||
      type.getDimSize(1) % numHeads != 0 ||
      size / numHeads > maxBlocks * numLanes)
    return 0;
  llvm::SmallSet<int64_t, 4> parts;
  for (const Access &use : uses) {
    if (use.root != product.results)
      continue;
    if (use.isWrite || use.view != use.root || use.indices.empty() ||
        use.indices[0] != rows.getInductionVar())
      return 0;
    Value head = use.indices[1];
    int64_t first = 0;
    if (auto sum = head.getDefiningOp<arith::AddIOp>()) {
      auto number = getConstantIntValue(sum.getRhs());
      if (!number)
        return 0;
      first = *number;
      head = sum.getLhs();
    }
    if (head != heads.getInductionVar() || first % numHeads != 0)
      return 0;
    parts.insert(first);
  }
  return parts.size() * numHeads == uint64_t(type.getDimSize(1)) ? parts.size()
                                                                 : 0;
}

/// Computes the parts of a product where they are used.
static void moveInto(const Product &product, const Consumer &consumer,
                     int64_t numParts) {
  scf::ForOp rows = product.rows, columns = product.columns,
             rowsOfConsumer = consumer.rows, heads = consumer.heads;
  auto b = ImplicitLocOpBuilder::atBlockBegin(rows.getLoc(), heads.getBody());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  int64_t width = product.numColumns / (numParts * consumer.numHeads);
  Value head = heads.getInductionVar();
  if (numParts > 1) {
    // From head to head of the parts.
    Value numHeads = constant(consumer.numHeads);
    Value end =
        arith::AddIOp::create(b, head, constant(numParts * consumer.numHeads));
    auto loop = scf::ForOp::create(b, head, end, numHeads);
    b.setInsertionPointToStart(loop.getBody());
    head = loop.getInductionVar();
  }
  IRMapping mapping;
  mapping.map(rows.getInductionVar(), rowsOfConsumer.getInductionVar());
  mapping.map(columns.getInductionVar(),
              arith::MulIOp::create(b, head, constant(width)).getResult());
  Operation *count = getPieceLength(rows), *size = getPieceLength(columns);
  mapping.map(count->getResult(0), constant(1));
  mapping.map(size->getResult(0), constant(width));
  for (scf::ForOp loop : {rows, columns})
    for (Operation &op : loop.getBody()->without_terminator())
      if (&op != columns && &op != count && &op != size)
        b.clone(op, mapping);
  rows->erase();
}

/// Moves products into their consumer.
static void fitPieces(scf::ForOp nest) {
  auto consumer = Consumer::match(nest);
  for (scf::ForOp earlier : collectNestsBefore(nest)) {
    if (!consumer)
      return;
    auto product = Product::match(earlier);
    if (!product)
      continue;
    int64_t numParts = consumer->countParts(*product);
    // Other iterations must not write what the product looks at.
    auto writesOperand = [&](const Access &use) {
      return use.isWrite &&
             llvm::any_of(product->uses, [&](const Access &other) {
               return other.root == use.root;
             });
    };
    if (numParts == 0 || !areFew(product->uses, consumer->uses) ||
        llvm::any_of(consumer->uses, writesOperand) ||
        !canMoveTo(product->rows, product->uses, nest))
      continue;
    moveInto(*product, *consumer, numParts);
    consumer = Consumer::match(nest);
  }
}

/// Makes the lengths of pieces numbers where all of a loop are as long, which
/// spares the code for shorter ones.
static void fixLengths(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    auto begin = getConstantIntValue(loop.getLowerBound()),
         end = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!begin || !end || !step || (*end - *begin) % *step != 0)
      return;
    if (auto length = getPieceLength(loop)) {
      length.replaceAllUsesWith(loop.getStep());
      length.erase();
      loop->removeAttr(piecesAttrName);
    }
  });
}

namespace {
struct FitPieces : attn::impl::FitPiecesBase<FitPieces> {
  using FitPiecesBase::FitPiecesBase;

  void runOnOperation() override {
    forEachNest(getOperation(), fitPieces);
    fixLengths(getOperation());
  }
};
} // namespace
