//===- FuseProducts.cpp - fewer products, and smaller ones
//-----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of products become products of what is concatenated, rows of a weight
// that nobody reads go, and products of one input become one. What is stacked
// and concatenated are parameters, so all of that happens when a model is
// opened.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/Parameters.h"
#include "lowering/graph/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FUSEPRODUCTS
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr remark::RemarkOpts remarkOpts =
    remark::RemarkOpts::name("products").category("attn-fuse-products");

/// "'decoder.align.W', 'decoder.cell.weight_hh'"
static std::string getWeightNames(ArrayRef<LinearOp> linears) {
  std::string names;
  for (LinearOp linear : linears)
    names +=
        (names.empty() ? "'" : ", '") + getSpecName(linear.getWeight()) + "'";
  return names;
}

static bool isPlainProduct(LinearOp linear) {
  return linear && getNumAxes(linear.getType()) > 0 &&
         linear.getEpilogue().empty() && isParameterOnly(linear.getWeight()) &&
         (!linear.getBias() || isParameterOnly(linear.getBias()));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The terms of a sum: sums that are used by sums alone are looked through.
static void collectTerms(Value value, arith::AddFOp root,
                         SmallVectorImpl<Value> &terms) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum || (sum != root &&
               (!sum->hasOneUse() || sum->getBlock() != root->getBlock()))) {
    terms.push_back(value);
    return;
  }
  collectTerms(sum.getLhs(), root, terms);
  collectTerms(sum.getRhs(), root, terms);
}

/// A vector that is added to every row, if `term` is one.
static Value getBiasOf(Value term) {
  auto broadcast = term.getDefiningOp<BroadcastOp>();
  if (!broadcast || !isParameterOnly(broadcast.getInput()) ||
      getFeatures(broadcast.getInput().getType()) !=
          getFeatures(term.getType()))
    return {};
  return broadcast.getInput();
}

/// How many numbers have to be copied to put the input of `linear` beside
/// others: none where it is a concat that is used once.
static int64_t getCopies(LinearOp linear) {
  Value input = linear.getInput();
  if (input.getDefiningOp<ConcatOp>() && input.hasOneUse())
    return 0;
  return getNumFeatureElements(input.getType());
}

/// Makes one product of the products in a sum, biases included.
static void fuseSum(arith::AddFOp sum) {
  Type type = sum.getType();
  if (getNumAxes(type) == 0)
    return;
  // Only the whole of a sum is looked at.
  if (sum->hasOneUse())
    if (auto user = dyn_cast<arith::AddFOp>(*sum->user_begin());
        user && user->getBlock() == sum->getBlock())
      return;
  SmallVector<Value> terms, rest, biases;
  SmallVector<LinearOp> products;
  collectTerms(sum, sum, terms);
  for (Value term : terms) {
    auto linear = term.getDefiningOp<LinearOp>();
    if (isPlainProduct(linear) && linear->hasOneUse() &&
        linear->getBlock() == sum->getBlock())
      products.push_back(linear);
    else if (Value bias = getBiasOf(term))
      biases.push_back(bias);
    else
      rest.push_back(term);
  }
  if (products.empty())
    return;

  // Inputs of one feature can lie side by side.
  bool together = products.size() > 1;
  int64_t copies = 0, numOutputs = getNumFeatureElements(type);
  for (LinearOp product : products) {
    together &= getFeatures(product.getInput().getType()).size() == 1 &&
                getFeatures(product.getWeight().getType()).size() > 1;
    copies += getCopies(product);
  }
  if (together && copies > 2 * numOutputs) {
    remark::missed(sum.getLoc(), remarkOpts)
        << llvm::formatv("{0} stay apart: to put their inputs side by side "
                         "would copy {1} numbers a row, to save {2}",
                         getWeightNames(products), copies, 2 * numOutputs)
               .str();
    together = false;
  }
  if (!together && biases.empty())
    return;

  ImplicitLocOpBuilder b(sum.getLoc(), sum);
  size_t numFused = together ? products.size() : 1;
  ArrayRef<LinearOp> fused = ArrayRef(products).take_front(numFused);
  for (LinearOp other : ArrayRef(products).drop_front(numFused))
    rest.push_back(other.getResult());
  SmallVector<Value> inputs, weights;
  Value bias;
  auto addBias = [&](Value other) {
    if (other)
      bias = bias ? arith::AddFOp::create(b, bias, other).getResult() : other;
  };
  int64_t numInputs = 0;
  for (LinearOp product : fused) {
    inputs.push_back(product.getInput());
    weights.push_back(product.getWeight());
    addBias(product.getBias());
    numInputs += getNumFeatureElements(product.getInput().getType());
  }
  for (Value other : biases)
    addBias(other);
  Value input = inputs[0], weight = weights[0];
  if (together) {
    input =
        ConcatOp::create(b, withFeatures(input.getType(), {numInputs}), inputs);
    SmallVector<int64_t> shape(getFeatures(weight.getType()));
    shape.back() = numInputs;
    weight =
        ConcatOp::create(b, withFeatures(weight.getType(), shape), weights);
    remark::passed(sum.getLoc(), remarkOpts)
        << llvm::formatv("{0} are one product of {1} inputs",
                         getWeightNames(fused), numInputs)
               .str();
  }
  if (!biases.empty())
    remark::passed(sum.getLoc(), remarkOpts)
        << llvm::formatv("what is added to {0} is the bias of the product",
                         getWeightNames(fused))
               .str();
  Value result = LinearOp::create(b, type, input, weight, bias);
  for (Value term : rest)
    result = arith::AddFOp::create(b, result, term);
  sum.replaceAllUsesWith(result);
}

//===----------------------------------------------------------------------===//
// Rows that nobody reads
//===----------------------------------------------------------------------===//

/// The slices that are all uses of a value, in the order of their starts; none
/// where something else uses it.
static SmallVector<SliceOp> getSlicesOf(Value value) {
  SmallVector<SliceOp> slices;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || slice.getFeature() != 0)
      return {};
    slices.push_back(slice);
  }
  llvm::sort(slices,
             [](SliceOp a, SliceOp b) { return a.getStart() < b.getStart(); });
  return slices;
}

/// Rows `ranges` of a weight or bias, one below the other.
static Value takeRows(ImplicitLocOpBuilder &b, Value value,
                      ArrayRef<std::pair<int64_t, int64_t>> ranges) {
  SmallVector<Value> parts;
  SmallVector<int64_t> shape(getFeatures(value.getType()));
  int64_t total = 0;
  for (auto [start, stop] : ranges) {
    shape[0] = stop - start;
    total += shape[0];
    parts.push_back(SliceOp::create(b, withFeatures(value.getType(), shape),
                                    value, start, stop));
  }
  shape[0] = total;
  return b.createOrFold<ConcatOp>(withFeatures(value.getType(), shape), parts,
                                  b.getI64IntegerAttr(0));
}

/// The rows [start, stop) that slices read, in order and without overlap.
static SmallVector<std::pair<int64_t, int64_t>>
getRowsRead(ArrayRef<SliceOp> slices) {
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (SliceOp slice : slices) {
    int64_t start = slice.getStart(), stop = slice.getStop();
    if (!ranges.empty() && start <= ranges.back().second)
      ranges.back().second = std::max(ranges.back().second, stop);
    else
      ranges.push_back({start, stop});
  }
  return ranges;
}

static int64_t countRows(ArrayRef<std::pair<int64_t, int64_t>> ranges) {
  int64_t count = 0;
  for (auto [start, stop] : ranges)
    count += stop - start;
  return count;
}

/// Ranges of a sum of which not everything is read are sums of ranges, so that
/// it is seen what is read of the terms.
static void sliceTerms(arith::AddFOp sum) {
  if (getNumAxes(sum.getType()) == 0 || getFeatures(sum.getType()).empty())
    return;
  SmallVector<SliceOp> slices = getSlicesOf(sum);
  if (slices.empty() ||
      countRows(getRowsRead(slices)) == getFeatures(sum.getType())[0])
    return;
  for (SliceOp slice : slices) {
    ImplicitLocOpBuilder b(slice.getLoc(), slice);
    auto take = [&](Value term) -> Value {
      return SliceOp::create(b, slice.getType(), term, slice.getStart(),
                             slice.getStop(), slice.getDrop());
    };
    slice.replaceAllUsesWith(
        arith::AddFOp::create(b, take(sum.getLhs()), take(sum.getRhs()))
            .getResult());
    slice.erase();
  }
  sum.erase();
}

static void dropUnusedRows(LinearOp linear) {
  if (!isPlainProduct(linear) || getFeatures(linear.getType()).empty())
    return;
  SmallVector<SliceOp> slices = getSlicesOf(linear);
  SmallVector<std::pair<int64_t, int64_t>> ranges = getRowsRead(slices);
  int64_t before = getFeatures(linear.getType())[0], after = countRows(ranges);
  if (slices.empty() || after == before)
    return;
  ImplicitLocOpBuilder b(linear.getLoc(), linear);
  Value weight = takeRows(b, linear.getWeight(), ranges);
  Value bias =
      linear.getBias() ? takeRows(b, linear.getBias(), ranges) : Value();
  SmallVector<int64_t> shape(getFeatures(linear.getType()));
  shape[0] = after;
  auto smaller = LinearOp::create(b, withFeatures(linear.getType(), shape),
                                  linear.getInput(), weight, bias);
  for (SliceOp slice : slices) {
    int64_t start = slice.getStart(), offset = 0;
    for (auto [from, stop] : ranges) {
      if (start < stop)
        break;
      offset += stop - from;
    }
    for (auto [from, stop] : ranges)
      if (start >= from && start < stop)
        offset += start - from;
    OpBuilder at(slice);
    int64_t size = static_cast<int64_t>(slice.getStop()) - start;
    slice.replaceAllUsesWith(SliceOp::create(at, slice.getLoc(),
                                             slice.getType(), smaller, offset,
                                             offset + size, slice.getDrop())
                                 .getResult());
    slice.erase();
  }
  remark::passed(linear.getLoc(), remarkOpts)
      << llvm::formatv("{0} of the {1} rows of '{2}' are not computed, because "
                       "nothing reads them",
                       before - after, before, getSpecName(linear.getWeight()))
             .str();
  linear.erase();
}

//===----------------------------------------------------------------------===//
// Products of one input
//===----------------------------------------------------------------------===//

/// Whether all that use `value` can read it as a part of a larger one where
/// that is. The others would need a copy.
static bool isReadInPlace(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isElementwise(user) || isa<ScanOp, PairOpInterface, SliceOp>(user);
  });
}

static void stack(ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  ImplicitLocOpBuilder b(first.getLoc(), first);
  SmallVector<Location> locations;
  for (LinearOp linear : linears)
    locations.push_back(linear.getLoc());
  b.setLoc(b.getFusedLoc(locations));

  SmallVector<Value> weights, biases;
  int64_t numRows = 0;
  bool anyBias = llvm::any_of(
      linears, [](LinearOp linear) { return bool(linear.getBias()); });
  for (LinearOp linear : linears) {
    weights.push_back(linear.getWeight());
    numRows += getFeatures(linear.getType())[0];
    if (!anyBias)
      continue;
    Type biasType = withNumAxes(linear.getType(), 0);
    biases.push_back(linear.getBias()
                         ? linear.getBias()
                         : arith::ConstantOp::create(b, b.getZeroAttr(biasType))
                               .getResult());
  }
  auto withRows = [&](Type type) {
    SmallVector<int64_t> shape(getFeatures(type));
    shape[0] = numRows;
    return withFeatures(type, shape);
  };
  IntegerAttr feature = b.getI64IntegerAttr(0);
  Value weight =
      ConcatOp::create(b, withRows(weights[0].getType()), weights, feature);
  Value bias;
  if (anyBias)
    bias = ConcatOp::create(b, withRows(biases[0].getType()), biases, feature);
  Value all = LinearOp::create(b, withRows(first.getType()), first.getInput(),
                               weight, bias);
  int64_t start = 0;
  for (LinearOp linear : linears) {
    int64_t stop = start + getFeatures(linear.getType())[0];
    b.setInsertionPoint(linear);
    Value part = SliceOp::create(b, linear.getType(), all, start, stop);
    linear.replaceAllUsesWith(part);
    linear.erase();
    start = stop;
  }
}

/// What is put side by side for several products is put there once.
static void mergeConcats(Block &block) {
  SmallVector<ConcatOp> seen;
  for (auto concat : llvm::make_early_inc_range(block.getOps<ConcatOp>())) {
    auto same = llvm::find_if(seen, [&](ConcatOp other) {
      return other.getType() == concat.getType() &&
             other.getFeatureAttr() == concat.getFeatureAttr() &&
             llvm::equal(other.getInputs(), concat.getInputs());
    });
    if (same == seen.end()) {
      seen.push_back(concat);
      continue;
    }
    concat.replaceAllUsesWith(same->getResult());
    concat.erase();
  }
}

static void stackProducts(Block &block) {
  // Products that can be stacked: of one input, with weights that agree in all
  // but the number of rows.
  using Key = std::pair<Value, std::vector<int64_t>>;
  std::vector<std::pair<Key, SmallVector<LinearOp>>> groups;
  for (auto linear : block.getOps<LinearOp>()) {
    if (!isPlainProduct(linear) || getFeatures(linear.getType()).empty())
      continue;
    Key key = {linear.getInput(),
               getFeatures(linear.getWeight().getType()).drop_front().vec()};
    auto known = llvm::find_if(
        groups, [&](const auto &group) { return group.first == key; });
    if (known == groups.end())
      groups.push_back({key, {linear}});
    else
      known->second.push_back(linear);
  }
  for (auto &[key, linears] : groups) {
    if (linears.size() < 2)
      continue;
    // A product over a sequence has many rows as it is. One more copy of its
    // result would be all that stacking changes.
    if (getNumAxes(key.first.getType()) > 1 &&
        !llvm::all_of(linears, [](LinearOp linear) {
          return isReadInPlace(linear.getResult());
        })) {
      remark::missed(linears.front().getLoc(), remarkOpts)
          << llvm::formatv("{0} stay products of their own: over a sequence "
                           "there is nothing to gain, and their results would "
                           "be copied",
                           getWeightNames(linears))
                 .str();
      continue;
    }
    remark::passed(linears.front().getLoc(), remarkOpts)
        << llvm::formatv("{0} are one product, because they have one input",
                         getWeightNames(linears))
               .str();
    stack(linears);
  }
}

namespace {
struct FuseProducts : attn::impl::FuseProductsBase<FuseProducts> {
  using FuseProductsBase::FuseProductsBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) {
      Operation *parent = block->getParentOp();
      if (isa<EncoderOp, DecoderOp, ParallelDecoderOp, ScanOp>(parent) ||
          isa<FunctionOpInterface>(parent))
        blocks.push_back(block);
    });
    for (Block *block : blocks)
      runOnBlock(*block);
  }

  void runOnBlock(Block &block) {
    moveParametersToStart(block);
    SmallVector<arith::AddFOp> sums(block.getOps<arith::AddFOp>());
    for (arith::AddFOp sum : llvm::reverse(sums))
      fuseSum(sum);
    eraseDead(block);
    sums.assign(block.getOps<arith::AddFOp>().begin(),
                block.getOps<arith::AddFOp>().end());
    for (arith::AddFOp sum : llvm::reverse(sums))
      sliceTerms(sum);
    for (LinearOp linear : SmallVector<LinearOp>(block.getOps<LinearOp>()))
      dropUnusedRows(linear);
    mergeConcats(block);
    moveParametersToStart(block);
    stackProducts(block);
    eraseDead(block);
  }
};
} // namespace
