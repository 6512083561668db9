//===- Rank.cpp - the best logits of rows, and what normalises all --------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are those of the other back end (lowering/cpu/OutputLayer.cpp)
// and of the runtime (runtime/distribution.cpp), to the bit. Only blocks of
// logits that have one better than the last of those before are looked through.
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Translator.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

/// The larger of two, and of a number and NaN the number, if that is `y`.
static Expr larger(Expr x, Expr y) { return hl::select(x > y, x, y); }

/// e^x for x that is not positive, as the runtime has it: every product is
/// rounded, whatever the numerics are.
static Expr exponential(Expr x) {
  const float shift = 0x1.8p23f;
  x = larger(Expr(-126.0f), x * 0x1.715476p0f);
  Expr shifted = x + shift;
  Expr f = x - (shifted - shift);
  Expr p = 0x1.5a5592p-10f;
  for (float coefficient :
       {0x1.3ce8b0p-7f, 0x1.c6bad0p-5f, 0x1.ebf9cap-3f, 0x1.62e426p-1f, 1.0f})
    p = p * f + coefficient;
  Expr power = (hl::reinterpret<int32_t>(shifted) << 23) + 0x3f800000;
  return p * hl::reinterpret<float>(power);
}

void Translator::translate(RankOp op) {
  Value logits = op.getLogits();
  Var row("row"), lane("lane"), block("block"), place("place");
  Expr size = getAxisSize(logits, 1);
  auto logit = [&](const Expr &index) {
    return at(logits, {hl::min(index, size - 1), row});
  };
  Expr numBlocks = (size + (numLanes - 1)) / numLanes;

  /// What all logits of a row come to, lane by lane.
  auto reduceRow = [&](StringRef name, Expr neutral,
                       const std::function<Expr(Expr x, Expr sum)> &add,
                       const std::function<Expr(Expr, Expr)> &combine) {
    Func lanes(nameOf((name + "_lanes").str())), result(nameOf(name));
    lanes(lane, row) = neutral;
    RDom chunk(0, numBlocks);
    Expr index = chunk * numLanes + lane, sum = lanes(lane, row);
    lanes(lane, row) = hl::select(index < size, add(logit(index), sum), sum);
    addStage(lanes, Stage::Kind::Lanes, 1, 1, {chunk.x});
    result(row) = combineLanes(lanes, {row}, combine);
    addStage(result, Stage::Kind::Number, 0, 1);
    return result;
  };
  Func highest = reduceRow("maximum", std::numeric_limits<float>::lowest(),
                           larger, larger);
  Func total = reduceRow(
      "exponentials", 0.0f,
      [&](Expr x, Expr sum) {
        return sum + exponential(std::move(x) - highest(row));
      },
      [](Expr x, Expr y) { return x + y; });
  Func sums(nameOf("sums"));
  sums(place, row) = hl::select(place == 0, highest(row), total(row));
  int stage = addStage(sums, Stage::Kind::Result, 1, 1);
  kernel.stages[stage].width = 2;

  // What no rank is better than, in a block of logits.
  Func candidate(nameOf("candidate"));
  std::vector<Expr> numbers;
  const float none = -std::numeric_limits<float>::infinity();
  for (int i = 0; i < numLanes; ++i) {
    Expr index = block * numLanes + i;
    numbers.push_back(
        hl::select(index < size && logit(index) > none, logit(index), none));
  }
  candidate(block, row) = combineTree(std::move(numbers), larger);
  stage = addStage(candidate, Stage::Kind::Number, 1, 1);

  // From the last rank to the first, each takes what is better than its own:
  // the logit, or what the rank before gives away. Halide stores a token before
  // it looks at its logit's place again.
  Func best(nameOf("best"));
  best(place, row) = hl::Tuple(at(op.getTokens(), {place, row}),
                               at(op.getBest(), {place, row}));
  Expr numRanks = getAxisSize(op.getBest(), 1);
  RDom each(0, numRanks, 0, numLanes, 0, numBlocks);
  Expr rank = numRanks - 1 - each.x, before = hl::max(rank - 1, 0);
  Expr hasBetter =
      candidate(each.z, row) > at(op.getBest(), {numRanks - 1, row});
  each.where(each.y < hl::select(hasBetter, size - each.z * numLanes, Expr(0)));
  Expr index = each.z * numLanes + each.y, x = logit(index);
  each.where(x > best(rank, row)[1]);
  Expr shifts = rank > 0 && x > best(before, row)[1];
  best(rank, row) = hl::Tuple(
      hl::select(shifts, best(before, row)[0], at(op.getFirst(), {}) + index),
      hl::select(shifts, best(before, row)[1], x));
  int owner =
      addStage(best, Stage::Kind::Result, 0, 2, {each.x, each.y, each.z});
  kernel.stages[owner].width = 1;
  kernel.stages[stage].owner = owner;

  results[op.getNewBest()] = results[op.getNewTokens()] = best;
  results[op.getSums()] = sums;
  elements[op.getNewTokens()] = [best](const Place &at) { return best(at)[0]; };
  elements[op.getNewBest()] = [best](const Place &at) { return best(at)[1]; };
  elements[op.getSums()] = [sums](const Place &at) { return sums(at); };
}
