//===- Read.cpp - the masked, weighted read of a memory -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two passes over the positions that a query may read: scores, then contexts.
// Between them the scores of one query are weighted, 16 positions at a time.
// Loops end where the row does: padding costs nothing and is never read. A
// position that a mask hides has the score -inf, and is left out by selecting
// (R2), never by multiplying with zero.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/halide/Translator.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

/// Positions whose contexts are summed together.
static constexpr int blockSize = 128;

static constexpr float infinity = std::numeric_limits<float>::infinity();

Expr Translator::getSource(Value rows, Value lengths, Expr row) {
  return rows ? promisePlace(at(rows, {row}), getAxisSize(lengths, 0)) : row;
}

LogicalResult Translator::translatePairs(PairOpInterface op, Region &region,
                                         SmallVectorImpl<Value> &yielded) {
  Block &block = region.front();
  std::vector<Var> vars = {Var("key")};
  if (op.hasQueryAxis())
    vars.emplace_back("position");
  vars.emplace_back("row");
  size_t numPlaces = vars.size();
  Value rows = op.getRows(), lengths = op.getLengths(),
        queryLengths = op.getQueryLengths(),
        queryPositions = op.getQueryPositions();
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    AffineMap map = op.getIndexingMap(index);
    elements[block.getArgument(index)] = [=, this,
                                          input = input](const Place &place) {
      Place inner(place.begin(), place.end() - numPlaces);
      // Axes of the operand, the row last.
      for (AffineExpr expr : llvm::reverse(map.getResults()))
        switch (cast<AffineDimExpr>(expr).getPosition()) {
        case PairOpInterface::Row:
          inner.push_back(place.back());
          break;
        case PairOpInterface::Source:
          inner.push_back(getSource(rows, lengths, place.back()));
          break;
        case PairOpInterface::Query:
          inner.push_back(place[place.size() - 2]);
          break;
        default:
          inner.push_back(place[place.size() - numPlaces]);
        }
      return at(input, inner);
    };
  }
  size_t numInputs = op.getInputs().size();
  elements[block.getArgument(numInputs)] = [=, this](const Place &place) {
    if (queryLengths)
      return place[place.size() - 2];
    return queryPositions ? at(queryPositions, {place.back()}) : Expr(0);
  };
  elements[block.getArgument(numInputs + 1)] = [=](const Place &place) {
    return place[place.size() - numPlaces];
  };
  elements[block.getArgument(numInputs + 2)] = [=, this](const Place &place) {
    if (queryLengths)
      return at(queryLengths, {place.back()});
    return queryPositions ? at(queryPositions, {place.back()}) + 1 : Expr(1);
  };
  elements[block.getArgument(numInputs + 3)] = [=, this](const Place &place) {
    return at(lengths, {getSource(rows, lengths, place.back())});
  };
  auto outside = pairVars;
  pairVars = vars;
  LogicalResult translated = translate(block);
  pairVars = outside;
  llvm::append_range(yielded, block.getTerminator()->getOperands());
  return translated;
}

namespace mlir::attn::halide {

/// Whether a score is not -inf. NaN is none, but Halide says of it that it does
/// not differ from any number.
static Expr isSome(const Expr &score) {
  return hl::reinterpret<uint32_t>(score) != Expr(0xff800000u);
}

/// Translates one read.
class Reader {
public:
  Reader(Translator &translator, ReadOp op)
      : t(translator), math(t.math), op(op) {}

  LogicalResult run();

private:
  LogicalResult translateScores();
  /// Puts what `repair` gives where a score is not a number. Answers the stage
  /// that takes it.
  int repairScores(ArrayRef<int64_t> headSizes,
                   const std::function<Expr(Expr position)> &repair);
  LogicalResult translateContexts();
  void normalize();
  Func normalizeSoft();
  Func normalizeHard();
  Func normalizeSparse();

  /// A place: features, then the position if there is one, then the query.
  Place with(Place place) const {
    place.insert(place.end(), outer.begin(), outer.end());
    return place;
  }
  Place at(const Place &features, Expr key) const {
    Place place(features);
    place.push_back(std::move(key));
    return with(place);
  }
  /// A function of heads and the query.
  std::vector<Var> getHeadVars() const {
    std::vector<Var> vars = heads;
    vars.insert(vars.end(), outer.begin(), outer.end());
    return vars;
  }
  Place headPlace() const { return with(Place(heads.begin(), heads.end())); }
  Place headPlace(Expr key) const {
    return at(Place(heads.begin(), heads.end()), std::move(key));
  }
  Expr begins() const { return begin(with({})); }
  Expr ends() const { return end(with({})); }
  /// 0, which Halide does not know: its simplifier crashes on loops of which it
  /// knows that they are empty, or that nothing they make is used.
  Expr getZero() const { return hl::max(0, -numKeys); }
  /// All positions that may be read.
  RDom makePositions() const {
    RDom position(0, numKeys);
    position.where(position >= begins() && position < ends());
    return position;
  }
  /// The chunks of 16 in which they lie.
  RDom makeChunks() const {
    RDom chunk(0, (numKeys + (numLanes - 1)) / numLanes);
    chunk.where(chunk * numLanes < ends() &&
                chunk * numLanes + numLanes > begins());
    return chunk;
  }
  /// A number of each head, position and query, which updates write where it is
  /// wanted.
  Func makePositionNumbers(StringRef name,
                           std::vector<Expr> start = {hl::undef<float>()}) {
    Func numbers(t.nameOf(name));
    std::vector<Var> vars = heads;
    vars.push_back(key);
    vars.insert(vars.end(), outer.begin(), outer.end());
    if (start.size() == 1)
      numbers(vars) = start[0];
    else
      numbers(vars) = hl::Tuple(start);
    return numbers;
  }
  int addPositionNumbers(Func numbers, std::vector<RVar> loops) {
    return t.addStage(std::move(numbers), Stage::Kind::Positions,
                      heads.size() + 1, outer.size(), std::move(loops));
  }
  /// A number of each head and query.
  Func makeNumber(StringRef name, Expr value) {
    Func number(t.nameOf(name));
    std::vector<Var> vars = getHeadVars();
    number(vars) = std::move(value);
    t.addStage(number, Stage::Kind::Number, heads.size(), outer.size());
    return number;
  }
  /// Reduces all positions of a query to a number.
  Func reducePositions(StringRef name, Expr neutral,
                       const std::function<Expr(Expr key, Expr sum)> &add,
                       const std::function<Expr(Expr, Expr)> &combine);
  Expr isWithin(Expr key) const { return key >= begins() && key < ends(); }
  Expr isReadable(Expr key) const { return isSome(scores(headPlace(key))); }

  Translator &t;
  const Mathematics &math;
  ReadOp op;
  std::vector<Var> outer; ///< [position,] row
  std::vector<Var> heads; ///< The features of a score.
  Var key{"key"};
  Expr numKeys;
  Func begin, end, scores, highest, weights, total;
  /// Without what a sink adds.
  Func highestRead;
  Expr sink; ///< At headPlace(), or undefined.
  SmallVector<Value> contexts, summands;
  std::vector<Func> sums;
};

} // namespace mlir::attn::halide

Func Reader::reducePositions(StringRef name, Expr neutral,
                             const std::function<Expr(Expr, Expr)> &add,
                             const std::function<Expr(Expr, Expr)> &combine) {
  Var lane("lane");
  Func lanes(t.nameOf((name + "_lanes").str()));
  std::vector<Var> vars = {lane};
  std::vector<Var> headVars = getHeadVars();
  vars.insert(vars.end(), headVars.begin(), headVars.end());
  Place place(vars.begin(), vars.end());
  lanes(vars) = neutral;
  RDom chunk = makeChunks();
  Expr position = chunk * numLanes + lane;
  lanes(place) =
      hl::select(isWithin(position), add(position, lanes(place)), lanes(place));
  t.addStage(lanes, Stage::Kind::Lanes, heads.size() + 1, outer.size(),
             {chunk.x});
  return makeNumber(name,
                    Translator::combineLanes(lanes, headPlace(), combine));
}

LogicalResult Reader::translateScores() {
  SmallVector<Value> scoreValues, maskValues, bounds, sinkValues;
  if (op.hasQueryAxis())
    outer.emplace_back("position");
  outer.emplace_back("row");

  // What is read: an interval, cut to what there is.
  Expr row = outer.back();
  Expr source = t.getSource(op.getRows(), op.getLengths(), row);
  Expr first = 0, last = t.at(op.getLengths(), {source});
  if (!op.getInterval().empty()) {
    if (failed(t.translatePairs(op, op.getInterval(), bounds)))
      return failure();
    first = hl::max(first, t.at(bounds[0], at({}, 0)));
    last = hl::min(last, t.at(bounds[1], at({}, 0)));
  }
  if (op.hasQueryAxis())
    last =
        hl::select(outer.front() < t.at(op.getQueryLengths(), {row}), last, 0);
  for (unsigned index = 0; index < op.getInputs().size(); ++index)
    if (op.indexes(index, ReadOp::Key))
      numKeys = t.getAxisSize(op.getInputs()[index], 1);
  begin = Func(t.nameOf("begin"));
  end = Func(t.nameOf("end"));
  begin(outer) = first;
  t.addStage(begin, Stage::Kind::Number, 0, outer.size());
  end(outer) = op.getInterval().empty() ? last : last + getZero();
  t.addStage(end, Stage::Kind::Number, 0, outer.size());

  size_t firstStage = t.kernel.stages.size();
  if (failed(t.translatePairs(op, op.getScore(), scoreValues)) ||
      (!op.getMask().empty() &&
       failed(t.translatePairs(op, op.getMask(), maskValues))))
    return failure();
  Value score = scoreValues[0];
  for (size_t i = getFeatures(score.getType()).size(); i-- > 0;)
    heads.emplace_back("feature" + std::to_string(i));
  // A score that is not a number may have another way to be computed. It is
  // hardly ever needed, so it has a loop of its own, which goes nowhere then.
  auto choice = score.getDefiningOp<arith::SelectOp>();
  bool hasRepair = choice && isRepair(choice);
  std::vector<size_t> repairStages;
  if (hasRepair)
    for (Operation *repair : getRepairs(op.getScore().front()))
      if (auto range = t.stagesOf.find(repair); range != t.stagesOf.end())
        for (size_t i = range->second.first; i < range->second.second; ++i)
          repairStages.push_back(i);
  auto getMasked = [&](Value score, Expr position) {
    Expr element = t.at(score, headPlace(position));
    if (maskValues.empty())
      return element;
    bool perHead = !getFeatures(maskValues[0].getType()).empty();
    Expr allowed =
        t.at(maskValues[0], perHead ? headPlace(position) : at({}, position));
    return hl::select(allowed || getZero() != 0, element, Expr(-infinity));
  };
  scores = makePositionNumbers("scores");
  RDom position = makePositions();
  scores(headPlace(position)) =
      getMasked(hasRepair ? choice.getFalseValue() : score, position);
  int owner = addPositionNumbers(scores, {position.x});
  t.giveTo(firstStage, owner);
  if (hasRepair) {
    int repaired =
        repairScores(getFeatures(score.getType()), [&](Expr position) {
          return getMasked(choice.getTrueValue(), position);
        });
    for (size_t i : repairStages)
      t.kernel.stages[i].owner = repaired;
  }

  if (!op.getSink().empty()) {
    firstStage = t.kernel.stages.size();
    if (failed(t.translatePairs(op, op.getSink(), sinkValues)))
      return failure();
    sink = t.at(sinkValues[0], headPlace(0));
  }
  return success();
}

int Reader::repairScores(ArrayRef<int64_t> headSizes,
                         const std::function<Expr(Expr)> &repair) {
  Func usual = scores;
  Func failures = reducePositions(
      "failures", 0,
      [&](Expr position, Expr failed) {
        return hl::max(failed,
                       hl::cast<int32_t>(isNan(usual(headPlace(position)))));
      },
      [](Expr a, Expr b) { return hl::max(a, b); });
  // Of all heads together: one loop goes through positions for them.
  Func failed(t.nameOf("failed"));
  Expr any = 0;
  for (int64_t i = 0; i < llvm::product_of(headSizes); ++i)
    any = hl::max(any, failures(with(Translator::unflatten(
                           static_cast<int32_t>(i), headSizes))));
  failed(outer) = any;
  t.addStage(failed, Stage::Kind::Number, 0, outer.size());
  scores = makePositionNumbers("repaired");
  RDom position = makePositions();
  scores(headPlace(position)) = usual(headPlace(position));
  RDom again(0, numKeys);
  again.where(again >= begins() &&
              again < hl::select(failed(with({})) != 0, ends(), begins()));
  scores(headPlace(again)) = hl::select(isNan(usual(headPlace(again))),
                                        repair(again), usual(headPlace(again)));
  return addPositionNumbers(scores, {position.x, again.x});
}

Func Reader::normalizeSoft() {
  Func exponentials = makePositionNumbers("exponentials");
  RDom chunk(0, numLanes, 0, (numKeys + (numLanes - 1)) / numLanes);
  chunk.where(chunk.y * numLanes < ends() &&
              chunk.y * numLanes + numLanes > begins());
  Expr position = chunk.y * numLanes + chunk.x;
  exponentials(headPlace(position)) = hl::select(
      isWithin(position) && isReadable(position),
      math.exp(scores(headPlace(position)) - highest(headPlace())), 0.0f);
  int stage = addPositionNumbers(exponentials, {chunk.x, chunk.y});
  t.kernel.stages[stage].loopsOverLanes = true;
  total = reducePositions(
      "total", 0.0f,
      [&](Expr position, Expr sum) {
        return sum + exponentials(headPlace(position));
      },
      [](Expr a, Expr b) { return a + b; });
  if (sink.defined())
    total = makeNumber("total_with_sink",
                       total(headPlace()) +
                           hl::select(sink == Expr(-infinity), 0.0f,
                                      math.exp(sink - highest(headPlace()))));
  return exponentials;
}

Func Reader::normalizeHard() {
  constexpr int none = std::numeric_limits<int>::max();
  Func best = reducePositions(
      "best", none,
      [&](Expr position, Expr first) {
        Expr isBest = scores(headPlace(position)) == highestRead(headPlace());
        return hl::min(first, hl::select(isBest, position, none));
      },
      [](Expr a, Expr b) { return hl::min(a, b); });
  // A sink comes first among equals.
  Expr chosen = best(headPlace());
  if (sink.defined())
    chosen = hl::select(sink >= highestRead(headPlace()), none, chosen);
  Func choice = makeNumber("choice", chosen);
  Func result = makePositionNumbers("chosen");
  RDom position = makePositions();
  Expr most = highest(headPlace());
  result(headPlace(position)) =
      hl::select(isNan(most) || most == Expr(infinity),
                 Expr(std::numeric_limits<float>::quiet_NaN()),
                 position == choice(headPlace()), 1.0f, 0.0f);
  addPositionNumbers(result, {position.x});
  return result;
}

Func Reader::normalizeSparse() {
  // Below the highest, so that large scores lose nothing.
  auto excess = [&](Expr key) {
    return hl::select(isReadable(key),
                      scores(headPlace(key)) - highest(headPlace()),
                      Expr(-infinity));
  };
  Expr sinkExcess;
  if (sink.defined())
    sinkExcess = sink - highest(headPlace());
  // Of each score the number and the sum of those that are not below it: the
  // weights' support is where 1 + count score > sum (Martins and Astudillo
  // 2016).
  Func tally = makePositionNumbers("tally", {0.0f, 0.0f});
  RDom pair(0, numKeys, 0, numKeys);
  pair.where(pair.x >= begins() && pair.x < ends() && pair.y >= begins() &&
             pair.y < ends());
  auto count = [&](Expr of, Expr other, Expr count, Expr sum) {
    Expr counts = other >= of && other != Expr(-infinity);
    return hl::Tuple(count + hl::select(counts, 1.0f, 0.0f),
                     sum + hl::select(counts, other, 0.0f));
  };
  Place counted = headPlace(pair.y);
  tally(counted) = count(excess(pair.y), excess(pair.x), tally(counted)[0],
                         tally(counted)[1]);
  addPositionNumbers(tally, {pair.x, pair.y});
  auto isSupport = [&](Expr score, Expr count, Expr sum) {
    return score != Expr(-infinity) && 1.0f + count * score > sum;
  };
  auto add = [](Expr a, Expr b) { return a + b; };
  auto withSink = [&](Expr position, int which) {
    Expr value = tally(headPlace(position))[which];
    if (!sink.defined())
      return value;
    Expr counts =
        sinkExcess >= excess(position) && sinkExcess != Expr(-infinity);
    return value + hl::select(counts, which ? sinkExcess : Expr(1.0f), 0.0f);
  };
  auto inSupport = [&](Expr position) {
    return isSupport(excess(position), withSink(position, 0),
                     withSink(position, 1));
  };
  Func count_ = reducePositions(
      "support", 0.0f,
      [&](Expr position, Expr sum) {
        return sum + hl::select(inSupport(position), 1.0f, 0.0f);
      },
      add);
  Func sum_ = reducePositions(
      "support_sum", 0.0f,
      [&](Expr position, Expr sum) {
        return sum + hl::select(inSupport(position), excess(position), 0.0f);
      },
      add);
  Expr size = count_(headPlace()), sum = sum_(headPlace());
  if (sink.defined()) {
    // The sink is a position like the others.
    Func above = reducePositions(
        "above_sink", 0.0f,
        [&](Expr position, Expr sum) {
          Expr counts = excess(position) >= sinkExcess;
          return sum + hl::select(counts, 1.0f, 0.0f);
        },
        add);
    Func aboveSum = reducePositions(
        "above_sink_sum", 0.0f,
        [&](Expr position, Expr sum) {
          Expr counts = excess(position) >= sinkExcess;
          return sum + hl::select(counts, excess(position), 0.0f);
        },
        add);
    Expr counts = isSupport(sinkExcess, above(headPlace()) + 1.0f,
                            aboveSum(headPlace()) + sinkExcess);
    size = size + hl::select(counts, 1.0f, 0.0f);
    sum = sum + hl::select(counts, sinkExcess, 0.0f);
  }
  Func threshold = makeNumber("threshold", (sum - 1.0f) / size);
  Func result = makePositionNumbers("projected");
  RDom position = makePositions();
  Expr most = highest(headPlace());
  result(headPlace(position)) =
      hl::select(isNan(most) || most == Expr(infinity),
                 Expr(std::numeric_limits<float>::quiet_NaN()),
                 hl::max(excess(position) - threshold(headPlace()), 0.0f));
  addPositionNumbers(result, {position.x});
  return result;
}

void Reader::normalize() {
  highestRead = reducePositions(
      "highest", Expr(-infinity),
      [&](Expr position, Expr best) {
        return maximum(scores(headPlace(position)), best);
      },
      maximum);
  highest = highestRead;
  if (sink.defined())
    highest = makeNumber("highest_with_sink",
                         maximum(highestRead(headPlace()), sink));
  switch (op.getNormalizer()) {
  case Normalizer::Softmax:
    weights = normalizeSoft();
    break;
  case Normalizer::Hardmax:
    weights = normalizeHard();
    break;
  case Normalizer::Sparsemax:
    weights = normalizeSparse();
    break;
  }
}

LogicalResult Reader::translateContexts() {
  if (!op.getFactor().empty()) {
    SmallVector<Value> factors;
    size_t firstStage = t.kernel.stages.size();
    if (failed(t.translatePairs(op, op.getFactor(), factors)))
      return failure();
    Func scaled = makePositionNumbers("scaled");
    RDom position = makePositions();
    scaled(headPlace(position)) = hl::select(
        isReadable(position),
        weights(headPlace(position)) * t.at(factors[0], headPlace(position)),
        0.0f);
    int owner = addPositionNumbers(scaled, {position.x});
    t.giveTo(firstStage, owner);
    weights = scaled;
  }
  size_t firstStage = t.kernel.stages.size();
  if (failed(t.translatePairs(op, op.getSummand(), summands)))
    return failure();
  for (auto [context, summand] : llvm::zip(op.getContexts(), summands)) {
    std::vector<Var> vars = t.getVars(context);
    // Each block of positions by itself, then their sums: so the error of a sum
    // does not grow with the memory.
    Func part(t.nameOf("part")), sum(t.nameOf("context"));
    Var block("block");
    Place place(vars.begin(), vars.end());
    Place features(place.begin(), place.end() - outer.size());
    std::vector<Var> partVars(vars.begin(), vars.end() - outer.size());
    partVars.push_back(block);
    partVars.insert(partVars.end(), outer.begin(), outer.end());
    part(partVars) = 0.0f;
    RDom within(0, blockSize);
    Expr position = block * blockSize + within;
    within.where(position >= begins() && position < ends());
    // A weight's heads are a prefix of the features: the last ones here.
    Place head(features.end() - heads.size(), features.end());
    Expr score = scores(at(head, position));
    Place partPlace(partVars.begin(), partVars.end());
    part(partPlace) = hl::select(score == Expr(-infinity), part(partPlace),
                                 math.fma(weights(at(head, position)),
                                          t.at(summand, at(features, position)),
                                          part(partPlace)));
    int owner = t.addStage(part, Stage::Kind::Sums, features.size() + 1,
                           outer.size(), {within.x});
    t.giveTo(firstStage, owner);
    sum(vars) = 0.0f;
    RDom blocks(0, (numKeys + (blockSize - 1)) / blockSize);
    blocks.where(blocks * blockSize < ends() &&
                 blocks * blockSize + blockSize > begins());
    sum(place) = sum(place) + part(at(features, blocks));
    int all = t.addStage(sum, Stage::Kind::Blocks, features.size(),
                         outer.size(), {blocks.x});
    t.kernel.stages[owner].owner = all;
    ArrayRef<int64_t> sizes = getFeatures(context.getType());
    for (int stage : {owner, all})
      t.kernel.stages[stage].width = sizes.empty() ? 1 : sizes.back();
    firstStage = t.kernel.stages.size();
    sums.push_back(sum);
  }
  return success();
}

LogicalResult Reader::run() {
  if (failed(translateScores()))
    return failure();
  normalize();
  if (failed(translateContexts()))
    return failure();

  size_t numOuter = outer.size(), numHeads = heads.size();
  auto isValid = [=, highestRead = highestRead](const Place &place) {
    return isSome(highestRead(place));
  };
  for (auto [context, sum] : llvm::zip(op.getContexts(), sums))
    t.define(context, [&, sum = sum](const Place &place) {
      // The head that a feature belongs to, at its query.
      Place head(place.end() - numOuter - numHeads, place.end());
      Expr element = sum(place);
      if (total.defined())
        element = element / total(head);
      return hl::select(isValid(head), element, 0.0f);
    });
  if (Value result = op.getWeights())
    t.define(result, [&](const Place &place) {
      Place head(place.begin(), place.begin() + numHeads);
      Place query(place.end() - numOuter, place.end());
      Expr position = place[numHeads];
      Expr isRead = position >= begin(query) && position < end(query);
      Place numbers(head);
      numbers.insert(numbers.end(), query.begin(), query.end());
      Expr weight = weights(place);
      if (total.defined())
        weight = weight / total(numbers);
      return hl::select(isRead && isSome(scores(place)), weight, 0.0f);
    });
  if (Value result = op.getValid())
    t.define(result, [&](const Place &place) { return isValid(place); });
  return success();
}

LogicalResult Translator::translate(ReadOp op) {
  return Reader(*this, op).run();
}

LogicalResult Translator::translate(ScoreOp op) {
  SmallVector<Value> yielded;
  size_t firstStage = kernel.stages.size();
  if (failed(translatePairs(op, op.getBody(), yielded)))
    return failure();
  // They belong to whoever stores the scores: the stage after them.
  giveTo(firstStage, kernel.stages.size());
  define(op.getResult(),
         [&](const Place &place) { return at(yielded[0], place); });
  return success();
}
