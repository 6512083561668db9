//===- ParallelDecoder.cpp - the decoder over a whole target --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is written for one position. Where nothing but attn.past connects the
// positions, each value of the step becomes a sequence over the target: the
// past of a value is that sequence itself, of which position i sees the
// positions up to i.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "dialect/PairInputs.h"
#include "lowering/graph/PairInputs.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PARALLELDECODER
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Writes the parallel form of a decoder.
class DecoderLifter {
public:
  explicit DecoderLifter(DecoderOp decoder)
      : decoder(decoder), builder(decoder->getContext()) {}

  /// False, and nothing written, where the decoder has no such form.
  bool run();

private:
  /// What a value of the step is in the parallel form.
  enum class Kind {
    Constant, ///< the same everywhere
    Step,     ///< a sequence over the target: gets its axis
    Past,     ///< such a sequence already
    Memory,   ///< of the encoder: stays as it is
    Sentence, ///< which sentence a row belongs to: stays as it is
    Weights   ///< of a read; only predicted
  };

  bool lift(Operation &op);
  bool liftRead(ReadOp op);
  void hidePositionsToCome(ReadOp read);
  /// Whether `lengths` are those of a past: the step's number and one.
  bool isPastLength(Value lengths);
  Kind kindOf(Value value) { return kinds.lookup(value); }
  void clone(Operation &op, Kind kind);

  DecoderOp decoder;
  ParallelDecoderOp parallel;
  OpBuilder builder;
  IRMapping mapping;
  DenseMap<Value, Kind> kinds;
};

} // namespace

bool DecoderLifter::run() {
  if (!decoder.getStates().empty() || !decoder.getVocabulary())
    return false;
  builder.setInsertionPointAfter(decoder);
  parallel = ParallelDecoderOp::create(builder, decoder.getLoc());
  Block &block = parallel.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&block);
  Type i32 = builder.getI32Type();
  auto add = [&](Type type, Value of, Kind kind) {
    Value argument = block.addArgument(type, of.getLoc());
    mapping.map(of, argument);
    kinds[of] = kind;
    return argument;
  };
  Value tokens = add(getValueType(2, {}, i32), decoder.getToken(), Kind::Step);
  block.addArgument(getValueType(1, {}, i32), decoder.getLoc());
  add(decoder.getSentence().getType(), decoder.getSentence(), Kind::Sentence);
  for (Value memory : decoder.getMemoryArguments())
    add(memory.getType(), memory, Kind::Memory);
  for (Value lengths : decoder.getLengthArguments())
    add(lengths.getType(), lengths, Kind::Memory);
  mapping.map(
      decoder.getPosition(),
      PositionOp::create(builder, decoder.getLoc(), tokens.getType(), tokens));
  kinds[decoder.getPosition()] = Kind::Step;

  PredictOp predict = decoder.getPredict();
  bool lifted =
      llvm::all_of(decoder.getBody().front().without_terminator(),
                   [&](Operation &op) { return lift(op); }) &&
      kindOf(predict.getLogits()) == Kind::Step &&
      (!predict.getWeights() || kindOf(predict.getWeights()) == Kind::Weights);
  if (!lifted) {
    parallel.erase();
    return false;
  }
  SmallVector<Value> results = {mapping.lookup(predict.getLogits())};
  if (predict.getWeights())
    results.push_back(mapping.lookup(predict.getWeights()));
  YieldOp::create(builder, predict.getLoc(), results);
  return true;
}

/// Clones an operation; what belongs to the step gets the axis of the target.
void DecoderLifter::clone(Operation &op, Kind kind) {
  Operation *copy = builder.clone(op, mapping);
  for (auto [old, result] : llvm::zip(op.getResults(), copy->getResults())) {
    kinds[old] = kind;
    if (kind == Kind::Step)
      result.setType(withNumAxes(old.getType(), 2));
  }
}

bool DecoderLifter::lift(Operation &op) {
  // What is observed are the values of steps.
  if (isa<ObserveOp>(op))
    return true;
  if (auto read = dyn_cast<ReadOp>(op))
    return liftRead(read);
  if (auto past = dyn_cast<PastOp>(op)) {
    if (kindOf(past.getInput()) != Kind::Step)
      return false;
    mapping.map(past.getResult(), mapping.lookup(past.getInput()));
    kinds[past.getResult()] = Kind::Past;
    return true;
  }
  if (auto toRows = dyn_cast<ToRowsOp>(op)) {
    // A value of the sentence is the same at every position of the target.
    Value input = toRows.getInput();
    if (kindOf(input) != Kind::Memory || getNumAxes(input.getType()) != 1 ||
        kindOf(toRows.getRows()) != Kind::Sentence)
      return false;
    clone(op, Kind::Memory);
    Value rows = mapping.lookup(toRows.getResult());
    mapping.map(toRows.getResult(),
                BroadcastOp::create(builder, op.getLoc(),
                                    withNumAxes(rows.getType(), 2), rows,
                                    parallel.getTokens()));
    kinds[toRows.getResult()] = Kind::Step;
    return true;
  }
  if (!isLiftable(&op) && !isa<EmbedOp, GetParameterOp, PositionOp>(op))
    return false;
  // All that has axes is of one kind.
  Kind kind = Kind::Constant;
  for (Value operand : op.getOperands()) {
    Kind other = kindOf(operand);
    if (other == Kind::Constant)
      continue;
    if (other == Kind::Sentence || other == Kind::Weights ||
        (kind != Kind::Constant && kind != other))
      return false;
    kind = other;
  }
  clone(op, kind);
  return true;
}

bool DecoderLifter::isPastLength(Value lengths) {
  auto sum = lengths.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return false;
  for (auto [position, one] : {std::pair(sum.getLhs(), sum.getRhs()),
                               std::pair(sum.getRhs(), sum.getLhs())}) {
    if (position != decoder.getPosition())
      continue;
    if (auto broadcast = one.getDefiningOp<BroadcastOp>())
      one = broadcast.getInput();
    if (matchPattern(one, m_One()))
      return true;
  }
  return false;
}

bool DecoderLifter::liftRead(ReadOp op) {
  using Dim = PairOpInterface::Dim;
  MLIRContext *context = op.getContext();
  PairOpInterface pair = op;
  bool overPast = false, overMemory = false;
  SmallVector<Attribute> maps;
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    AffineMap map = pair.getIndexingMap(index);
    switch (kindOf(input)) {
    case Kind::Step:
      map = getPairMap(context, {Dim::Row, Dim::Query});
      break;
    case Kind::Past:
      if (!pair.indexes(index, Dim::Key))
        return false;
      overPast = true;
      break;
    case Kind::Memory:
      overMemory |= pair.indexes(index, Dim::Key);
      break;
    case Kind::Constant:
      break;
    default:
      return false;
    }
    maps.push_back(AffineMapAttr::get(map));
  }
  if (overPast == overMemory || op.getQueryLengths() ||
      (overPast ? !isPastLength(op.getLengths())
                : kindOf(op.getLengths()) != Kind::Memory))
    return false;

  auto read = cast<ReadOp>(builder.clone(*op, mapping));
  read.setIndexingMapsAttr(builder.getArrayAttr(maps));
  read.getQueryPositionsMutable().clear();
  read.getQueryLengthsMutable().assign(parallel.getTargetLengths());
  if (overPast)
    read.getLengthsMutable().assign(parallel.getTargetLengths());
  // Some input must say how many queries there are.
  auto ofQueries = [](Attribute map) {
    return cast<AffineMapAttr>(map).getValue().isFunctionOfDim(Dim::Query);
  };
  if (llvm::none_of(maps, ofQueries)) {
    Value tokens = parallel.getTokens();
    for (Region *region : read.getPairRegions())
      region->front().insertArgument(
          read.getInputs().size(),
          getSliceType(tokens.getType(), /*numIterated=*/2), tokens.getLoc());
    read.getInputsMutable().append(tokens);
    maps.push_back(
        AffineMapAttr::get(getPairMap(context, {Dim::Row, Dim::Query})));
    read.setIndexingMapsAttr(builder.getArrayAttr(maps));
  }
  for (Region *region : read.getPairRegions()) {
    // At step i the text had i + 1 words, and so had its past.
    Block &block = region->front();
    OpBuilder inner = OpBuilder::atBlockBegin(&block);
    Value one = arith::ConstantIntOp::create(inner, op.getLoc(), 1, 32);
    Value length = arith::AddIOp::create(
        inner, op.getLoc(), getPositionArgument(block, QueryPosition), one);
    getPositionArgument(block, QueryLength).replaceAllUsesWith(length);
    if (overPast)
      getPositionArgument(block, MemoryLength).replaceAllUsesWith(length);
  }
  if (overPast)
    hidePositionsToCome(read);

  for (auto [old, result] : llvm::zip(op.getContexts(), read.getContexts())) {
    result.setType(withNumAxes(old.getType(), 2));
    kinds[old] = Kind::Step;
  }
  if (Value weights = op.getWeights()) {
    read.getWeights().setType(withNumAxes(weights.getType(), 3));
    kinds[weights] = Kind::Weights;
  }
  if (Value valid = op.getValid()) {
    read.getValid().setType(withNumAxes(valid.getType(), 2));
    kinds[valid] = Kind::Step;
  }
  return true;
}

/// Masks what a position could not have seen: the positions after it.
void DecoderLifter::hidePositionsToCome(ReadOp read) {
  Location location = read.getLoc();
  if (read.getMask().empty()) {
    Block &block = addBlockLike(read.getMask(), read.getScore().front());
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    Value seen =
        arith::CmpIOp::create(inner, location, arith::CmpIPredicate::sle,
                              getPositionArgument(block, KeyPosition),
                              getPositionArgument(block, QueryPosition));
    YieldOp::create(inner, location, seen);
    return;
  }
  Block &block = read.getMask().front();
  Operation *yield = block.getTerminator();
  OpBuilder inner(yield);
  Value condition = yield->getOperand(0);
  Value seen = arith::CmpIOp::create(inner, location, arith::CmpIPredicate::sle,
                                     getPositionArgument(block, KeyPosition),
                                     getPositionArgument(block, QueryPosition));
  if (seen.getType() != condition.getType())
    seen = BroadcastOp::create(inner, location, condition.getType(), seen,
                               Value());
  yield->setOperand(0, arith::AndIOp::create(inner, location, seen, condition));
}

namespace {
struct ParallelDecoder : attn::impl::ParallelDecoderBase<ParallelDecoder> {
  using ParallelDecoderBase::ParallelDecoderBase;

  void runOnOperation() override {
    SmallVector<DecoderOp> decoders;
    getOperation()->walk([&](DecoderOp op) { decoders.push_back(op); });
    for (DecoderOp decoder : decoders)
      DecoderLifter(decoder).run();
  }
};
} // namespace
