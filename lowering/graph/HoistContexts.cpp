//===- HoistContexts.cpp - products of contexts move into the read --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read is a sum, and a product of a sum is a sum of products: what a decoder
// multiplies a context with can be multiplied with the memory once, instead of
// with the context at every step of every hypothesis.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "dialect/PairInputs.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/PairInputs.h"
#include "lowering/graph/Parameters.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOISTCONTEXTS
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr remark::RemarkOpts remarkOpts =
    remark::RemarkOpts::name("contexts").category("attn-hoist-contexts");

/// How often a position of a memory is read, in relation to the positions there
/// are: once for every word, of which there are about as many, of every
/// hypothesis of a small beam.
static constexpr int64_t readsPerPosition = 4;

namespace {

/// A product of a context, alone or beside other inputs.
struct ContextProduct {
  LinearOp linear;
  unsigned context; ///< Which of the read's.
  int64_t first;    ///< The column of the weight that the context begins at.
};

/// Moves the products of the contexts of one read.
class ReadRewriter {
public:
  ReadRewriter(ReadOp read, int64_t memoryLength)
      : read(read), memoryLength(memoryLength) {}

  void run();

private:
  bool isOfMemory(Value summand);
  void collect(unsigned context, SmallVectorImpl<ContextProduct> &products);
  bool isWorthIt(unsigned context, ArrayRef<ContextProduct> products);
  void rewrite(ArrayRef<ContextProduct> products);

  ReadOp read;
  int64_t memoryLength;
};

} // namespace

/// Whether a value of the read's summand is one of a position of the memory,
/// whoever asks.
bool ReadRewriter::isOfMemory(Value summand) {
  using Dim = PairOpInterface::Dim;
  PairOpInterface pair = read;
  Block &block = read.getSummand().front();
  SmallVector<Value> pending = {summand};
  bool hasKey = false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (Operation *op = value.getDefiningOp()) {
      llvm::append_range(pending, op->getOperands());
      continue;
    }
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    if (number >= pair.getInputs().size()) {
      if (value == getPositionArgument(block, QueryPosition) ||
          value == getPositionArgument(block, QueryLength))
        return false;
      continue;
    }
    if (pair.indexes(number, Dim::Row) || pair.indexes(number, Dim::Query))
      return false;
    hasKey |= pair.indexes(number, Dim::Key);
  }
  return hasKey;
}

/// Whether a product has weights alone beside its input, as one row.
static bool isPlain(LinearOp linear) {
  return linear.getEpilogue().empty() && isParameterOnly(linear.getWeight()) &&
         (!linear.getBias() || isParameterOnly(linear.getBias())) &&
         getFeatures(linear.getWeight().getType()).size() == 2 &&
         getFeatures(linear.getInput().getType()).size() == 1;
}

void ReadRewriter::collect(unsigned context,
                           SmallVectorImpl<ContextProduct> &products) {
  Value value = read.getContexts()[context];
  Block *block = read->getBlock();
  if (getFeatures(value.getType()).size() != 1)
    return;
  for (Operation *user : value.getUsers()) {
    if (auto linear = dyn_cast<LinearOp>(user);
        linear && linear->getBlock() == block && isPlain(linear)) {
      products.push_back({linear, context, 0});
      continue;
    }
    auto concat = dyn_cast<ConcatOp>(user);
    if (!concat || llvm::count(concat.getInputs(), value) != 1)
      continue;
    int64_t first = 0;
    for (Value input : concat.getInputs()) {
      if (input == value)
        break;
      first += getFeatures(input.getType()).front();
    }
    for (Operation *consumer : concat->getUsers())
      if (auto linear = dyn_cast<LinearOp>(consumer);
          linear && linear->getBlock() == block && isPlain(linear))
        products.push_back({linear, context, first});
  }
}

bool ReadRewriter::isWorthIt(unsigned context,
                             ArrayRef<ContextProduct> products) {
  int64_t size = getFeatures(read.getContexts()[context].getType()).front();
  // A position costs a product once, and as many multiply-adds more at every
  // read as the product has outputs; what is saved is a product at every read.
  bool worthIt =
      (readsPerPosition - 1) * size > readsPerPosition * memoryLength;
  int64_t longest = (readsPerPosition - 1) * size / readsPerPosition;
  for (const ContextProduct &product : products) {
    LinearOp linear = product.linear;
    int64_t outputs = getFeatures(linear.getType()).front();
    auto message = worthIt ? remark::passed(linear.getLoc(), remarkOpts)
                           : remark::missed(linear.getLoc(), remarkOpts);
    message << llvm::formatv(
                   worthIt
                       ? "the product of the context with '{0}' is read from "
                         "the memory: {1} multiply-adds a row less, {2} for "
                         "every position more; for memories of up to {3} "
                         "positions"
                       : "the product of the context with '{0}' stays in the "
                         "step: {1} multiply-adds a row, which a memory of "
                         "more than {3} positions would not repay at {2} a "
                         "position",
                   getSpecName(linear.getWeight()), outputs * size, outputs,
                   longest)
                   .str();
  }
  return worthIt;
}

/// Makes the read again with contexts of other types, which its summands have
/// by now. What the other results are used for is unchanged; `read` is erased
/// by the caller, who replaces its contexts.
static ReadOp recreate(ReadOp read, ArrayRef<Type> contexts) {
  OpBuilder builder(read);
  auto made = ReadOp::create(
      builder, read.getLoc(), contexts,
      read.getWeights() ? read.getWeights().getType() : Type(),
      read.getValid() ? read.getValid().getType() : Type(),
      read.getNormalizerAttr(), read.getInputs(), read.getIndexingMapsAttr(),
      read.getLengths(), read.getRows(), read.getQueryLengths(),
      read.getQueryPositions());
  for (auto [from, to] : llvm::zip(read->getRegions(), made->getRegions()))
    to.takeBody(from);
  if (read.getWeights())
    read.getWeights().replaceAllUsesWith(made.getWeights());
  if (read.getValid())
    read.getValid().replaceAllUsesWith(made.getValid());
  return made;
}

/// Contexts that nobody uses are not summed.
static ReadOp dropUnusedContexts(ReadOp read) {
  SmallVector<Type> types;
  SmallVector<Value> used, summands;
  Operation *yield = read.getSummand().front().getTerminator();
  for (auto [context, summand] :
       llvm::zip(read.getContexts(), yield->getOperands())) {
    if (context.use_empty())
      continue;
    types.push_back(context.getType());
    used.push_back(context);
    summands.push_back(summand);
  }
  if (used.size() == read.getContexts().size() || used.empty())
    return read;
  yield->setOperands(summands);
  eraseDead(read.getSummand().front());
  ReadOp made = recreate(read, types);
  for (auto [old, context] : llvm::zip(used, made.getContexts()))
    old.replaceAllUsesWith(context);
  read.erase();
  return made;
}

/// Columns [first, first + size) of a weight.
static Value takeColumns(ImplicitLocOpBuilder &b, Value weight, int64_t first,
                         int64_t size) {
  int64_t outputs = getFeatures(weight.getType()).front();
  return b.createOrFold<SliceOp>(
      withFeatures(weight.getType(), {outputs, size}), weight, first,
      first + size, /*drop=*/false, /*feature=*/1);
}

/// What remains of a product without one of its inputs, or null.
static Value multiplyOthers(ImplicitLocOpBuilder &b, LinearOp linear,
                            Value without) {
  Type inputType = linear.getInput().getType();
  Value weight = linear.getWeight();
  SmallVector<Value> inputs, columns;
  int64_t first = 0, numInputs = 0;
  if (auto concat = linear.getInput().getDefiningOp<ConcatOp>())
    for (Value input : concat.getInputs()) {
      int64_t size = getFeatures(input.getType()).front();
      if (input != without) {
        inputs.push_back(input);
        columns.push_back(takeColumns(b, weight, first, size));
        numInputs += size;
      }
      first += size;
    }
  if (inputs.empty())
    return linear.getBias()
               ? BroadcastOp::create(b, linear.getType(), linear.getBias(),
                                     linear.getInput())
                     .getResult()
               : Value();
  int64_t outputs = getFeatures(linear.getType()).front();
  Value input = b.createOrFold<ConcatOp>(withFeatures(inputType, {numInputs}),
                                         inputs, IntegerAttr());
  Value rest = b.createOrFold<ConcatOp>(
      withFeatures(weight.getType(), {outputs, numInputs}), columns,
      IntegerAttr());
  return LinearOp::create(b, linear.getType(), input, rest, linear.getBias());
}

void ReadRewriter::rewrite(ArrayRef<ContextProduct> products) {
  ImplicitLocOpBuilder b(read.getLoc(), read);
  // The weights become inputs without axes, the products summands.
  SmallVector<Value> inputs(read.getInputs());
  SmallVector<Attribute> maps(read.getIndexingMaps().getValue());
  SmallVector<Type> types(read.getContexts().getTypes());
  Operation *yield = read.getSummand().front().getTerminator();
  SmallVector<Value> summands(yield->getOperands());
  for (const ContextProduct &product : products) {
    LinearOp linear = product.linear;
    b.setInsertionPoint(read);
    b.setLoc(linear.getLoc());
    Value summand = summands[product.context];
    Value columns = takeColumns(b, linear.getWeight(), product.first,
                                getFeatures(summand.getType()).front());
    inputs.push_back(columns);
    maps.push_back(AffineMapAttr::get(getPairMap(read.getContext(), {})));
    for (Region *region : PairOpInterface(read).getPairRegions()) {
      Block &block = region->front();
      block.insertArgument(block.getNumArguments() - NumPositionArguments,
                           columns.getType(), columns.getLoc());
    }
    Block &block = read.getSummand().front();
    b.setInsertionPoint(yield);
    summands.push_back(LinearOp::create(
        b, withNumAxes(linear.getType(), 0), summand,
        block.getArgument(block.getNumArguments() - NumPositionArguments - 1),
        Value()));
    types.push_back(linear.getType());
  }
  yield->setOperands(summands);
  read.getInputsMutable().assign(inputs);
  read.setIndexingMapsAttr(b.getArrayAttr(maps));

  ReadOp made = recreate(read, types);
  auto results = made.getContexts();
  for (auto [old, context] : llvm::zip(read.getContexts(), results))
    old.replaceAllUsesWith(context);
  read.erase();
  for (auto [product, moved] :
       llvm::zip(products, results.take_back(products.size()))) {
    LinearOp linear = product.linear;
    b.setInsertionPoint(linear);
    b.setLoc(linear.getLoc());
    Value sum = moved;
    if (Value others = multiplyOthers(b, linear, results[product.context]))
      sum = arith::AddFOp::create(b, others, moved);
    linear.replaceAllUsesWith(sum);
  }
  eraseDead(*made->getBlock());
  dropUnusedInputs(dropUnusedContexts(made));
}

void ReadRewriter::run() {
  // A query axis means that all queries are there at once: nothing is repeated.
  if (PairOpInterface(read).hasQueryAxis())
    return;
  SmallVector<ContextProduct> all;
  Operation *yield = read.getSummand().front().getTerminator();
  for (unsigned i = 0; i < read.getContexts().size(); ++i) {
    SmallVector<ContextProduct> products;
    if (isOfMemory(yield->getOperand(i)))
      collect(i, products);
    // A product of two contexts of one read gives up one at a time.
    llvm::erase_if(products, [&](const ContextProduct &product) {
      return llvm::any_of(all, [&](const ContextProduct &other) {
        return other.linear == product.linear;
      });
    });
    if (!products.empty() && isWorthIt(i, products))
      llvm::append_range(all, products);
  }
  llvm::sort(all, [](const ContextProduct &a, const ContextProduct &b) {
    return LinearOp(a.linear)->isBeforeInBlock(b.linear);
  });
  if (!all.empty())
    rewrite(all);
}

namespace {
struct HoistContexts : attn::impl::HoistContextsBase<HoistContexts> {
  using HoistContextsBase::HoistContextsBase;

  void runOnOperation() override {
    SmallVector<ReadOp> reads;
    getOperation()->walk([&](DecoderOp decoder) {
      llvm::append_range(reads, decoder.getBody().front().getOps<ReadOp>());
    });
    for (ReadOp read : reads) {
      moveParametersToStart(*read->getBlock());
      ReadRewriter(read, memoryLength).run();
    }
  }
};
} // namespace
