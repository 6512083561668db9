//===- FuseRead.cpp - one operation for a whole read ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fuses attn.score, attn.mask, attn.normalize, attn.factor and attn.sum into
// attn.read. The fusion is a matter of who uses what, never of what the regions
// say: regions are moved as they are.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "dialect/PairInputs.h"
#include "lowering/graph/PairInputs.h"
#include "lowering/graph/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"

namespace mlir::attn {
#define GEN_PASS_DEF_FUSEREAD
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The operations of one read, as the front end writes them.
struct UnfusedRead {
  NormalizeOp normalize;
  ScoreOp score;
  MaskOp mask;     // may be null
  FactorOp factor; // may be null
  SmallVector<SumOp> sums;

  /// The weights that a user sees: after the factor, if there is one.
  Value getWeights() {
    return factor ? factor.getResult() : normalize.getWeights();
  }

  SmallVector<PairOpInterface> getPairOps() {
    SmallVector<PairOpInterface> ops = {score};
    if (mask)
      ops.push_back(mask);
    if (factor)
      ops.push_back(factor);
    ops.append(sums.begin(), sums.end());
    return ops;
  }
};

} // namespace

/// Finds the read around `normalize`; nothing if it cannot be fused.
static std::optional<UnfusedRead> matchRead(NormalizeOp normalize) {
  UnfusedRead read;
  read.normalize = normalize;
  read.score = normalize.getScores().getDefiningOp<ScoreOp>();
  if (!read.score)
    return std::nullopt;
  if (normalize.getMask()) {
    read.mask = normalize.getMask().getDefiningOp<MaskOp>();
    if (!read.mask)
      return std::nullopt;
  }
  for (Operation *user : normalize.getWeights().getUsers())
    if (auto factor = dyn_cast<FactorOp>(user);
        factor && factor.getWeights() == normalize.getWeights()) {
      if (read.factor && read.factor != factor)
        return std::nullopt;
      read.factor = factor;
    }
  // With a factor, the weights before it exist inside of the read only.
  if (read.factor &&
      !llvm::all_of(normalize.getWeights().getUsers(),
                    [&](Operation *user) { return user == read.factor; }))
    return std::nullopt;
  for (Operation *user : read.getWeights().getUsers())
    if (auto sum = dyn_cast<SumOp>(user))
      if (!llvm::is_contained(read.sums, sum))
        read.sums.push_back(sum);
  if (read.sums.empty())
    return std::nullopt;
  llvm::sort(read.sums, [](SumOp a, SumOp b) { return a->isBeforeInBlock(b); });
  for (Operation *user : normalize.getReadable().getUsers())
    if (user != read.factor && !llvm::is_contained(read.sums, user))
      return std::nullopt;
  // The weights may only be summed; as an input of the sum's own region they
  // would have to exist before the read.
  for (SumOp sum : read.sums)
    if (llvm::is_contained(sum.getInputs(), read.getWeights()))
      return std::nullopt;

  for (PairOpInterface op : read.getPairOps())
    if (op->getBlock() != normalize->getBlock() ||
        op.getLengths() != normalize.getLengths() ||
        op.getRows() != normalize.getRows() ||
        op.getQueryLengths() != normalize.getQueryLengths() ||
        op.getQueryPositions() != read.score.getQueryPositions())
      return std::nullopt;
  return read;
}

/// How a sink is indexed: it is one for all, for each row or for each query.
static AffineMap getSinkMap(Value sink) {
  using Dim = PairOpInterface::Dim;
  return getPairMap(
      sink.getContext(),
      ArrayRef({Dim::Row, Dim::Query}).take_front(getNumAxes(sink.getType())));
}

/// Makes a region that yields one of its inputs.
static void yieldInput(Region &region, unsigned input,
                       const PairInputList &inputs) {
  Block &block = region.emplaceBlock();
  addRegionArguments(block, inputs, region.getContext());
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  Value value = block.getArgument(input);
  YieldOp::create(builder, value.getLoc(), value);
}

/// Replaces the operations of `read` by one. False where no place for it lies
/// after all its inputs and before all its users.
static bool fuse(UnfusedRead read) {
  SmallVector<PairOpInterface> ops = read.getPairOps();
  SmallVector<Value> results = {read.getWeights(), read.normalize.getValid()};
  for (SumOp sum : read.sums)
    llvm::append_range(results, sum.getContexts());

  Operation *place = read.sums.back();
  for (Value result : results)
    for (Operation *user : result.getUsers()) {
      if (llvm::is_contained(ops, user))
        continue;
      Operation *ancestor =
          read.normalize->getBlock()->findAncestorOpInBlock(*user);
      if (ancestor->isBeforeInBlock(place))
        place = ancestor;
    }
  DominanceInfo dominance(read.normalize->getParentOp());
  for (PairOpInterface op : ops)
    for (Value input : op.getInputs())
      if (!dominance.properlyDominates(input, place))
        return false;
  if (Value sink = read.normalize.getSink();
      sink && !dominance.properlyDominates(sink, place))
    return false;

  MLIRContext *context = read.normalize.getContext();
  OpBuilder builder(place);
  PairInputList inputs;
  for (PairOpInterface op : ops)
    for (auto [index, input] : llvm::enumerate(op.getInputs()))
      inputs.add(input, op.getIndexingMap(index));
  unsigned sinkInput = 0;
  if (Value sink = read.normalize.getSink())
    sinkInput = inputs.add(sink, getSinkMap(sink));

  bool wantsWeights =
      llvm::any_of(read.getWeights().getUsers(),
                   [](Operation *user) { return !isa<SumOp>(user); });
  bool wantsValid = !read.normalize.getValid().use_empty();
  SmallVector<Type> contextTypes;
  for (SumOp sum : read.sums)
    llvm::append_range(contextTypes, sum.getContexts().getTypes());

  SmallVector<Location> locations = {read.normalize.getLoc()};
  for (PairOpInterface op : ops)
    locations.push_back(op->getLoc());
  auto fused =
      ReadOp::create(builder, builder.getFusedLoc(locations), contextTypes,
                     wantsWeights ? read.getWeights().getType() : Type(),
                     wantsValid ? read.normalize.getValid().getType() : Type(),
                     read.normalize.getNormalizerAttr(), inputs.getValues(),
                     inputs.getMaps(context), read.normalize.getLengths(),
                     read.normalize.getRows(), read.normalize.getQueryLengths(),
                     read.score.getQueryPositions());
  cloneRegionOver(read.score, read.score.getBody(), fused.getScore(), inputs);
  if (read.mask)
    cloneRegionOver(read.mask, read.mask.getBody(), fused.getMask(), inputs);
  if (read.normalize.getSink())
    yieldInput(fused.getSink(), sinkInput, inputs);
  if (read.factor)
    cloneRegionOver(read.factor, read.factor.getBody(), fused.getFactor(),
                    inputs);

  // One region yields the summands of all sums.
  cloneRegionOver(read.sums[0], read.sums[0].getBody(), fused.getSummand(),
                  inputs);
  Block &summands = fused.getSummand().front();
  for (SumOp sum : ArrayRef(read.sums).drop_front()) {
    Region scratch;
    cloneRegionOver(sum, sum.getBody(), scratch, inputs);
    Operation *yield = summands.getTerminator();
    SmallVector<Value> yielded(yield->getOperands());
    for (auto [from, to] :
         llvm::zip(scratch.front().getArguments(), summands.getArguments()))
      from.replaceAllUsesWith(to);
    Operation *added = scratch.front().getTerminator();
    llvm::append_range(yielded, added->getOperands());
    added->erase();
    summands.getOperations().splice(yield->getIterator(),
                                    scratch.front().getOperations());
    yield->setOperands(yielded);
  }

  auto replacement = fused.getContexts().begin();
  for (SumOp sum : read.sums)
    for (Value old : sum.getContexts())
      old.replaceAllUsesWith(*replacement++);
  if (wantsValid)
    read.normalize.getValid().replaceAllUsesWith(fused.getValid());
  Value weights = read.getWeights();
  for (SumOp sum : llvm::reverse(read.sums))
    sum.erase();
  if (wantsWeights)
    weights.replaceAllUsesWith(fused.getWeights());
  if (read.factor)
    read.factor.erase();
  read.normalize.erase();
  if (read.mask && read.mask->use_empty())
    read.mask.erase();
  if (read.score->use_empty())
    read.score.erase();
  dropUnusedInputs(fused);
  return true;
}

namespace {
struct FuseRead : attn::impl::FuseReadBase<FuseRead> {
  using FuseReadBase::FuseReadBase;

  void runOnOperation() override {
    SmallVector<NormalizeOp> normalizers;
    getOperation()->walk([&](NormalizeOp op) { normalizers.push_back(op); });
    static constexpr auto remarkOpts =
        remark::RemarkOpts::name("read").category("attn-fuse-read");
    for (NormalizeOp normalize : normalizers) {
      Location location = normalize.getLoc();
      std::optional<UnfusedRead> read = matchRead(normalize);
      std::string parts = "score, ";
      if (read)
        parts += std::string(read->mask ? "mask, " : "") +
                 stringifyNormalizer(normalize.getNormalizer()).str() +
                 (normalize.getSink() ? " with a sink" : "") +
                 (read->factor ? ", factor" : "") + " and sum";
      if (read && fuse(*read))
        remark::passed(location, remarkOpts) << parts + " are one read";
      else
        remark::missed(location, remarkOpts)
            << "score, normaliser and sum stay apart: something else uses what "
               "is between them, or they lie over different memories";
    }
  }
};
} // namespace
