//===- PairOps.cpp - score, mask, normalise, read -------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "dialect/PairInputs.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Inputs with their axes: %uh[source, key] : type, ...
//===----------------------------------------------------------------------===//

static constexpr StringLiteral dimNames[] = {"row", "source", "query", "key"};

ParseResult
attn::parsePairInputs(OpAsmParser &parser,
                      SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inputs,
                      SmallVectorImpl<Type> &types, ArrayAttr &maps) {
  MLIRContext *context = parser.getContext();
  SmallVector<Attribute> mapAttributes;
  auto parseDim = [&](SmallVectorImpl<AffineExpr> &results) -> ParseResult {
    StringRef name;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    for (auto [index, dim] : llvm::enumerate(dimNames))
      if (dim == name) {
        results.push_back(getAffineDimExpr(index, context));
        return success();
      }
    return parser.emitError(location, "expected row, source, query or key, but "
                                      "got '")
           << name << "'";
  };
  auto parseInput = [&]() -> ParseResult {
    SmallVector<AffineExpr> results;
    if (parser.parseOperand(inputs.emplace_back()) ||
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                       [&] { return parseDim(results); }) ||
        parser.parseColonType(types.emplace_back()))
      return failure();
    mapAttributes.push_back(AffineMapAttr::get(
        AffineMap::get(PairOpInterface::NumDims, 0, results, context)));
    return success();
  };
  if (parser.parseCommaSeparatedList(parseInput))
    return failure();
  maps = parser.getBuilder().getArrayAttr(mapAttributes);
  return success();
}

void attn::printPairInputs(OpAsmPrinter &printer, Operation *,
                           OperandRange inputs, TypeRange types,
                           ArrayAttr maps) {
  llvm::interleaveComma(
      llvm::zip(inputs, types, maps), printer, [&](auto element) {
        auto [input, type, map] = element;
        printer << input << "[";
        llvm::interleaveComma(
            cast<AffineMapAttr>(map).getValue().getResults(), printer,
            [&](AffineExpr expr) {
              printer << dimNames[cast<AffineDimExpr>(expr).getPosition()];
            });
        printer << "] : " << type;
      });
}

AffineMap attn::getPairMap(MLIRContext *context,
                           ArrayRef<PairOpInterface::Dim> dims) {
  SmallVector<AffineExpr> results;
  for (PairOpInterface::Dim dim : dims)
    results.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(PairOpInterface::NumDims, 0, results, context);
}

//===----------------------------------------------------------------------===//
// What all operations over pairs have in common
//===----------------------------------------------------------------------===//

Type attn::getSliceType(Type type, unsigned numIterated) {
  return withNumAxes(type, getNumAxes(type) - numIterated);
}

bool attn::isLiftable(Operation *op) {
  if (!isMemoryEffectFree(op) ||
      llvm::any_of(op->getRegions(),
                   [](Region &region) { return !region.empty(); }))
    return false;
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return true;
  return isa<BroadcastOp, LookupOp, LinearOp, DotOp, OuterOp, ConcatOp, SliceOp,
             MaxoutOp, SigmoidOp, SoftmaxOp, HardmaxOp, LayerNormOp, RmsNormOp,
             SinusoidOp, RotaryOp, YieldOp>(op);
}

/// Whether `map` is one of the ways an input may be indexed (P2).
static bool isInputMap(AffineMap map) {
  using Op = PairOpInterface;
  SmallVector<unsigned> dims;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return false;
    dims.push_back(dim.getPosition());
  }
  using Dims = SmallVector<unsigned>;
  return llvm::is_contained({Dims{}, Dims{Op::Row}, Dims{Op::Row, Op::Query},
                             Dims{Op::Row, Op::Key}, Dims{Op::Source},
                             Dims{Op::Source, Op::Key}},
                            dims);
}

LogicalResult attn::detail::verifyPairOp(Operation *op) {
  auto pair = cast<PairOpInterface>(op);
  if (pair.getIndexingMaps().size() != pair.getInputs().size())
    return op->emitOpError("expected a map for each of ")
           << pair.getInputs().size() << " inputs, but got "
           << pair.getIndexingMaps().size();
  if (pair.getQueryLengths() && pair.getQueryPositions())
    return op->emitOpError(
        "expected lengths of the queries or their position, but got both");

  SmallVector<Type> arguments;
  bool hasKey = false;
  for (auto [index, input] : llvm::enumerate(pair.getInputs())) {
    AffineMap map = pair.getIndexingMap(index);
    if (map.getNumDims() != PairOpInterface::NumDims || !isInputMap(map))
      return op->emitOpError("expected input ")
             << index
             << " to be indexed by [], [row], [row, query], [row, key], "
                "[source] or [source, key]";
    if (map.isFunctionOfDim(PairOpInterface::Source) && !pair.getRows())
      return op->emitOpError("expected 'rows', because input ")
             << index << " is indexed by source";
    if (map.isFunctionOfDim(PairOpInterface::Query) && !pair.getQueryLengths())
      return op->emitOpError("expected 'query_lengths', because input ")
             << index << " is indexed by query";
    if (getNumAxes(input.getType()) != map.getNumResults())
      return op->emitOpError("expected input ")
             << index << " to have " << map.getNumResults() << " axes, but got "
             << input.getType();
    hasKey |= map.isFunctionOfDim(PairOpInterface::Key);
    arguments.push_back(getSliceType(input.getType(), map.getNumResults()));
  }
  if (!hasKey)
    return op->emitOpError("expected an input indexed by key");
  arguments.append(4, IntegerType::get(op->getContext(), 32));

  for (Region *region : pair.getPairRegions()) {
    if (TypeRange(region->getArgumentTypes()) != TypeRange(arguments))
      return op->emitOpError("expected a region with arguments (")
             << arguments << "), but got (" << region->getArgumentTypes()
             << ")";
    if (!region->hasOneBlock() || region->front().empty() ||
        !isa<YieldOp>(region->front().back()))
      return op->emitOpError("expected a region that ends in attn.yield");
    for (Operation &inner : region->front())
      if (!isLiftable(&inner)) {
        InFlightDiagnostic diagnostic = op->emitOpError(
            "expected only operations that can be lifted over a tile of pairs");
        diagnostic.attachNote(inner.getLoc())
            << "'" << inner.getName() << "' is not";
        return diagnostic;
      }
  }
  return success();
}

/// Names the four positions as the descriptions do; the slices have the names
/// of their inputs, if any.
static void namePositions(Region &region, OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"i", "j", "n", "m"};
  if (region.getNumArguments() < std::size(names))
    return;
  for (auto [argument, name] :
       llvm::zip(region.getArguments().take_back(std::size(names)), names))
    setName(argument, name);
}

/// The values that a region yields.
static OperandRange getYielded(Region &region) {
  return cast<YieldOp>(region.front().back()).getValues();
}

/// The type that a value for one pair has for all pairs; without the key axis
/// what remains of it after the sum.
static Type getPairsType(PairOpInterface op, Type slice, bool withKey) {
  unsigned numAxes = 1 + op.hasQueryAxis() + withKey;
  return getValueType(numAxes, getFeatures(slice), getElementTypeOrSelf(slice));
}

/// Checks that a region yields one value whose type over all pairs is `result`.
static LogicalResult verifyOneYield(PairOpInterface op, Region &region,
                                    StringRef what, Type result) {
  OperandRange yielded = getYielded(region);
  if (yielded.size() != 1)
    return op->emitOpError("expected ")
           << what << " that yields one value, but got " << yielded.size();
  Type expected = getPairsType(op, yielded[0].getType(), /*withKey=*/true);
  if (expected != result)
    return op->emitOpError("expected a result of type ")
           << expected << " for " << what << " that yields "
           << yielded[0].getType() << ", but got " << result;
  return success();
}

/// Checks the sums over summands against the types of the contexts.
static LogicalResult verifyContexts(PairOpInterface op, Region &region,
                                    ArrayRef<int64_t> heads,
                                    TypeRange contexts) {
  OperandRange yielded = getYielded(region);
  if (yielded.size() != contexts.size() || yielded.empty())
    return op->emitOpError("expected one context per summand, but got ")
           << contexts.size() << " for " << yielded.size();
  for (auto [summand, context] : llvm::zip(yielded, contexts)) {
    if (!isPrefix(heads, getFeatures(summand.getType())))
      return op->emitOpError("expected a summand whose features begin with the "
                             "weights', but got ")
             << summand.getType();
    Type expected = getPairsType(op, summand.getType(), /*withKey=*/false);
    if (context != expected)
      return op->emitOpError("expected a context of type ")
             << expected << ", but got " << context;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ScoreOp, MaskOp, FactorOp, SumOp
//===----------------------------------------------------------------------===//

/// Checks that something says how many queries there are.
static LogicalResult verifyQueries(PairOpInterface op) {
  auto indexesQuery = [&](unsigned index) {
    return op.indexes(index, PairOpInterface::Query);
  };
  if (op.hasQueryAxis() &&
      llvm::none_of(llvm::seq<unsigned>(op.getInputs().size()), indexesQuery))
    return op->emitOpError("expected an input indexed by query");
  return success();
}

LogicalResult ScoreOp::verifyRegions() {
  if (failed(verifyQueries(*this)))
    return failure();
  return verifyOneYield(*this, getBody(), "a score", getResult().getType());
}

LogicalResult MaskOp::verifyRegions() {
  OperandRange yielded = getYielded(getBody());
  if (yielded.size() == 1 && !getElementTypeOrSelf(yielded[0]).isInteger(1))
    return emitOpError("expected a mask that yields i1, but got ")
           << yielded[0].getType();
  return verifyOneYield(*this, getBody(), "a mask", getResult().getType());
}

LogicalResult FactorOp::verifyRegions() {
  if (getWeights().getType() != getResult().getType())
    return emitOpError("expected a result of the weights' type ")
           << getWeights().getType() << ", but got " << getResult().getType();
  return verifyOneYield(*this, getBody(), "a factor", getResult().getType());
}

LogicalResult SumOp::verifyRegions() {
  return verifyContexts(*this, getBody(), getFeatures(getWeights().getType()),
                        getContexts().getTypes());
}

//===----------------------------------------------------------------------===//
// NormalizeOp
//===----------------------------------------------------------------------===//

LogicalResult NormalizeOp::verify() {
  Type scores = getScores().getType();
  Type boolean = IntegerType::get(getContext(), 1);
  unsigned numAxes = getQueryLengths() ? 3 : 2;
  if (getNumAxes(scores) != numAxes)
    return emitOpError("expected scores of ")
           << numAxes << " axes, but got " << scores;
  if (getWeights().getType() != scores)
    return emitOpError("expected weights of type ")
           << scores << ", but got " << getWeights().getType();
  Type readable = withElement(scores, boolean);
  if (getReadable().getType() != readable)
    return emitOpError("expected readable of type ")
           << readable << ", but got " << getReadable().getType();
  Type valid = withNumAxes(readable, numAxes - 1);
  if (getValid().getType() != valid)
    return emitOpError("expected valid of type ")
           << valid << ", but got " << getValid().getType();
  if (getMask() && getMask().getType() != readable &&
      getMask().getType() != withFeatures(readable, {}))
    return emitOpError("expected a mask of type ")
           << readable << " or " << withFeatures(readable, {}) << ", but got "
           << getMask().getType();
  if (Value sink = getSink())
    if (getNumAxes(sink.getType()) >= numAxes ||
        withNumAxes(sink.getType(), numAxes) != scores)
      return emitOpError("expected a sink of type ")
             << withNumAxes(scores, 0) << " for all rows, for each row or for "
             << "each query, but got " << sink.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ReadOp
//===----------------------------------------------------------------------===//

/// Checks that a region is determined by the query: it uses nothing of a memory
/// position.
static LogicalResult verifyPerQuery(PairOpInterface op, Region &region,
                                    StringRef what) {
  auto isOfKey = [&](BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    unsigned numInputs = op.getInputs().size();
    return index < numInputs ? op.indexes(index, PairOpInterface::Key)
                             : index == numInputs + 1;
  };
  for (BlockArgument argument : region.getArguments())
    if (isOfKey(argument) && !argument.use_empty())
      return op->emitOpError("expected ")
             << what << " that uses nothing of a memory position, but it uses "
             << "argument " << argument.getArgNumber();
  return success();
}

LogicalResult ReadOp::verifyRegions() {
  if (failed(verifyQueries(*this)))
    return failure();
  OperandRange scores = getYielded(getScore());
  if (scores.size() != 1 || !getElementTypeOrSelf(scores[0]).isF32())
    return emitOpError("expected a score that yields one f32 or tensor of f32");
  Type score = scores[0].getType();
  ArrayRef<int64_t> heads = getFeatures(score);
  if (!getMask().empty()) {
    OperandRange yielded = getYielded(getMask());
    if (yielded.size() != 1 || !getElementTypeOrSelf(yielded[0]).isInteger(1) ||
        (!getFeatures(yielded[0].getType()).empty() &&
         getFeatures(yielded[0].getType()) != heads))
      return emitOpError("expected a mask that yields i1, alone or in the "
                         "score's shape");
  }
  if (!getInterval().empty()) {
    OperandRange yielded = getYielded(getInterval());
    if (yielded.size() != 2 || !yielded[0].getType().isInteger(32) ||
        !yielded[1].getType().isInteger(32))
      return emitOpError("expected an interval that yields two i32");
    if (failed(verifyPerQuery(*this, getInterval(), "an interval")))
      return failure();
  }
  if (!getSink().empty()) {
    OperandRange yielded = getYielded(getSink());
    if (yielded.size() != 1 || yielded[0].getType() != score)
      return emitOpError("expected a sink that yields ")
             << score << " as the score does";
    if (failed(verifyPerQuery(*this, getSink(), "a sink")))
      return failure();
  }
  if (!getFactor().empty()) {
    OperandRange yielded = getYielded(getFactor());
    if (yielded.size() != 1 || yielded[0].getType() != score)
      return emitOpError("expected a factor that yields ")
             << score << " as the score does";
  }
  if (failed(
          verifyContexts(*this, getSummand(), heads, getContexts().getTypes())))
    return failure();
  if (getWeights() &&
      getWeights().getType() != getPairsType(*this, score, /*withKey=*/true))
    return emitOpError("expected weights of type ")
           << getPairsType(*this, score, true) << ", but got "
           << getWeights().getType();
  if (getValid()) {
    Type valid = withElement(getPairsType(*this, score, /*withKey=*/false),
                             IntegerType::get(getContext(), 1));
    if (getValid().getType() != valid)
      return emitOpError("expected valid of type ")
             << valid << ", but got " << getValid().getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Names of region arguments
//===----------------------------------------------------------------------===//

void ScoreOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  namePositions(region, setName);
}
void MaskOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  namePositions(region, setName);
}
void FactorOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  namePositions(region, setName);
}
void SumOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  namePositions(region, setName);
}
void ReadOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  namePositions(region, setName);
}
