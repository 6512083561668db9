//===- ReadKernel.cpp - a random read -------------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores have one of the forms that models have, with random terms beside it;
// masks, intervals, sinks, factors and summands are random expressions over
// what the pair is.
//
//===----------------------------------------------------------------------===//

#include "unittests/differential/Writer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::differential;

namespace {

/// An input of the read, and what regions call it.
struct Input {
  Term outside, inside;
  int argument; ///< The number of the argument that it is, or is made of.
};

class ReadMaker {
public:
  explicit ReadMaker(Random &random)
      : random(random), arguments(kernel, random), before(random, "%b") {}

  Kernel make();

private:
  Term addInput(Term outside);
  /// New inputs; a vector may be computed before the read.
  Term floats(const std::vector<Axis> &axes, const Shape &features,
              double scale = 1);
  Term integers(const std::vector<Axis> &axes, int64_t low, int64_t high);
  std::vector<Axis> queryAxes() {
    return random.percent(80) && hasQueries
               ? std::vector<Axis>{Axis::Row, Axis::Query}
               : std::vector<Axis>{Axis::Row};
  }
  std::vector<Axis> keyAxes() const {
    return {hasRows ? Axis::Source : Axis::Row, Axis::Key};
  }
  void markSteering();

  Term makeSimilarity(Writer &w);
  Term makeScore(Writer &w);
  /// An integer that the query determines.
  Term makeQueryInteger(Writer &w);
  Term makeCondition(Writer &w, int depth, bool onlyPositions);
  Term perHead(const Term &x, Writer &w);
  std::string makeMask();
  std::string makeInterval();
  std::string makeSink();
  std::string makeFactor();
  std::string makeSummands();

  std::string region(const std::string &body) const;
  std::string yield(ArrayRef<Term> values) const;
  std::string read(const std::string &score, const std::string &rest,
                   const std::string &summand) const;
  std::string normalizer;

  Random &random;
  Kernel kernel;
  Arguments arguments;
  Writer before;
  std::vector<Input> inputs;
  Shape heads;
  int64_t width = 1;
  bool hasRows = false, hasQueries = false, hasPositions = false;
  Term lengths, rows, queryLengths, positions;
  /// Of regions: positions of query and key, lengths of queries and memory.
  const Term i{"%i", {}, {}, "i32"}, j{"%j", {}, {}, "i32"},
      m{"%m", {}, {}, "i32"}, l{"%l", {}, {}, "i32"};
  Shape summandFeatures;
  std::vector<Term> summands;
};

} // namespace

Term ReadMaker::addInput(Term outside) {
  Term inside = outside;
  inside.axes.clear();
  inside.name = "%x" + std::to_string(inputs.size());
  inputs.push_back({outside, inside, int(kernel.arguments.size()) - 1});
  return inside;
}

Term ReadMaker::floats(const std::vector<Axis> &axes, const Shape &features,
                       double scale) {
  if (axes.empty() || features.empty() || random.percent(75))
    return addInput(arguments.floats(axes, features, scale));
  Term x = arguments.floats(axes, {random.between(1, 20)}, scale);
  Shape weightFeatures = features;
  weightFeatures.push_back(x.last());
  Term weight = arguments.floats({}, weightFeatures, 0.5),
       bias = arguments.floats({}, features);
  Term made = before.linear(x, weight, random.percent(50) ? &bias : nullptr);
  if (random.percent(40))
    made = before.unary(made);
  made = before.limit(made, 8);
  return addInput(made);
}

Term ReadMaker::integers(const std::vector<Axis> &axes, int64_t low,
                         int64_t high) {
  return addInput(arguments.integers(axes, {}, low, high));
}

/// All inputs of a mask that have the axis of keys.
void ReadMaker::markSteering() {
  kernel.arguments[inputs.back().argument].steers = true;
}

Term ReadMaker::perHead(const Term &x, Writer &w) {
  Term like{"", {}, heads};
  return w.broadcast(x, like);
}

/// The form of the scores: of heads.
Term ReadMaker::makeSimilarity(Writer &w) {
  Shape vector = heads;
  vector.push_back(width);
  auto scaled = [&](const Term &x) {
    return random.percent(60) ? w.limit(x, 12) : w.limit(x, 60);
  };
  switch (random.between(0, 6)) {
  case 0: // dot
  case 1: {
    Term query = floats(queryAxes(), vector);
    if (heads.size() == 2) {
      // Groups of heads that share keys.
      Term key = floats(keyAxes(), {heads[0], width});
      std::vector<Term> groups;
      for (int64_t g = 0; g < heads[0]; ++g) {
        Term one = w.slice(key, g, g + 1);
        groups.push_back(w.concat(std::vector<Term>(heads[1], one), 0));
      }
      std::vector<Term> sums;
      for (int64_t g = 0; g < heads[0]; ++g) {
        Term part = w.slice(query, g, g + 1, /*drop=*/true);
        sums.push_back(w.dot(part, groups[g]));
      }
      // All heads side by side.
      Term all = w.concat(sums);
      heads = all.features;
      return scaled(all);
    }
    return scaled(w.dot(query, floats(keyAxes(), vector)));
  }
  case 2: // additive
  case 3: {
    Term sum = w.binary("arith.addf", floats(queryAxes(), vector),
                        floats(keyAxes(), vector), 7);
    if (random.percent(30))
      sum = w.binary("arith.addf", sum, floats({}, vector), sum.bound + 4);
    if (random.percent(30)) {
      Term place = floats(keyAxes(), {random.between(1, 5)});
      Shape weight = vector;
      weight.push_back(place.last());
      Term term = w.linear(place, floats({}, weight, 0.5), nullptr);
      sum = w.binary("arith.addf", sum, term, sum.bound + term.bound);
    }
    Term hidden = random.percent(60) ? w.unary("math.tanh", sum, 1)
                                     : w.unary(w.limit(sum, 8));
    return scaled(w.dot(floats({}, vector), w.limit(hidden, 20)));
  }
  case 4: { // distance
    Term difference = w.binary("arith.subf", floats(queryAxes(), vector),
                               floats(keyAxes(), vector), 7);
    Term sum = w.dot(difference, difference);
    return scaled(w.unary("arith.negf", sum, sum.bound));
  }
  case 5: { // a product in the score
    Term key = floats(keyAxes(), {random.between(1, 12)});
    Shape weight = vector;
    weight.push_back(key.last());
    Term projected = w.linear(key, floats({}, weight, 0.5), nullptr);
    return scaled(w.dot(floats(queryAxes(), vector), w.limit(projected, 20)));
  }
  default: { // numbers
    Term number = floats(keyAxes(), heads);
    if (random.percent(60))
      number = w.binary(number, floats(queryAxes(), heads));
    if (random.percent(50))
      number = w.unary(number);
    return scaled(number);
  }
  }
}

Term ReadMaker::makeScore(Writer &w) {
  Term score = makeSimilarity(w);
  auto add = [&](const Term &term) {
    score = w.binary("arith.addf", score, term, score.bound + term.bound);
  };
  if (random.percent(15))
    score = w.limit(w.unary(score), 60);
  if (random.percent(20)) {
    // Of the distance, by table.
    int64_t reach = random.between(1, 6);
    Term distance = w.binary("arith.subi", j, i, 0);
    distance = w.binary("arith.maxsi", distance, w.integer(-reach), 0);
    distance = w.binary("arith.minsi", distance, w.integer(reach), 0);
    distance = w.binary("arith.addi", distance, w.integer(reach), 0);
    Shape features = heads;
    features.insert(features.begin(), 2 * reach + 1);
    Term table = floats({}, features);
    Term entry{"", {}, heads};
    add(w.define(entry, "attn.lookup " + table.name + "[" + distance.name +
                            "] : " + table.type() + ", i32 -> " +
                            entry.type()));
  }
  if (random.percent(15)) {
    Term distance = w.toFloat(w.binary("arith.subi", j, i, 0));
    distance =
        w.binary("arith.mulf", distance, w.constant(0.0625, distance), 10);
    Term slopes = floats({}, heads);
    add(w.binary("arith.mulf", perHead(distance, w), slopes, 20));
  }
  if (random.percent(20))
    add(perHead(floats(keyAxes(), {}), w));
  if (random.percent(10)) {
    // A soft cap.
    Term cap = w.constant(8, score);
    score = w.binary("arith.divf", score, cap, score.bound / 8);
    score = w.unary("math.tanh", score, 1);
    score = w.binary("arith.mulf", score, cap, 8);
  }
  if (random.percent(15))
    score = w.select(perHead(makeCondition(w, 1, true), w), score,
                     w.constant(-INFINITY, score));
  // Equal scores are equal in every precision, or differ by a random number.
  bool needsQuery =
      hasQueries && llvm::none_of(inputs, [](const Input &input) {
        return llvm::is_contained(input.outside.axes, Axis::Query);
      });
  if (needsQuery)
    add(perHead(floats({Axis::Row, Axis::Query}, {}), w));
  if (normalizer == "hardmax")
    add(perHead(floats(keyAxes(), {}), w));
  return score;
}

Term ReadMaker::makeQueryInteger(Writer &w) {
  switch (random.between(0, 3)) {
  case 0:
    return i;
  case 1:
    return w.binary("arith.addi", i, w.binary("arith.subi", l, m, 0), 0);
  case 2:
    return integers({Axis::Row}, -2, arguments.numKeys + 2);
  default:
    return w.integer(random.between(0, arguments.numKeys));
  }
}

Term ReadMaker::makeCondition(Writer &w, int depth, bool onlyPositions) {
  if (depth > 0 && random.percent(45)) {
    Term one = makeCondition(w, depth - 1, onlyPositions);
    if (random.percent(25)) {
      Term yes = w.define({"", {}, {}, "i1"}, "arith.constant true");
      return w.logical("arith.xori", one, yes);
    }
    Term other = makeCondition(w, depth - 1, onlyPositions);
    return w.logical(random.pick({"arith.andi", "arith.ori"}), one, other);
  }
  switch (random.between(0, onlyPositions ? 4 : 7)) {
  case 0: // causal
    return w.compare(
        "sle", j,
        w.binary("arith.addi", i, w.binary("arith.subi", l, m, 0), 0));
  case 1: { // a window
    Term distance = w.binary("arith.subi", j, i, 0);
    return w.compare(random.pick({"slt", "sge", "sle"}), distance,
                     w.integer(random.between(-4, 8)));
  }
  case 2: {
    int64_t step = random.between(2, 4);
    return w.compare(random.pick({"eq", "ne"}),
                     w.binary("arith.remsi", j, w.integer(step), 0),
                     w.integer(random.between(0, step - 1)));
  }
  case 3:
  case 4:
    return w.compare(random.pick({"slt", "sge", "ne"}), j, makeQueryInteger(w));
  case 5: { // segments
    Term key = integers(keyAxes(), 0, 2);
    markSteering();
    return w.compare(random.pick({"eq", "ne"}), key,
                     integers({Axis::Row}, 0, 2));
  }
  case 6: {
    // Inputs are compared as they are: sums would be rounded.
    Term key = addInput(arguments.floats(keyAxes(), {}));
    markSteering();
    Term bound = addInput(arguments.floats({Axis::Row}, {}));
    return w.compare(random.pick({"olt", "ogt", "ult"}), key, bound);
  }
  default: {
    Term flag = addInput(arguments.booleans(keyAxes(), {}));
    markSteering();
    return flag;
  }
  }
}

std::string ReadMaker::makeMask() {
  Writer w(random, "%");
  Term condition = makeCondition(w, 2, false);
  if (!heads.empty() && random.percent(50)) {
    Term like{"", {}, heads, "i1"};
    condition = w.broadcast(condition, like);
    if (random.percent(60)) {
      // Another one for some of the heads.
      Term number = addInput(arguments.integers({}, heads, 0, 2));
      Term chosen = w.compare("eq", number, w.broadcast(w.integer(0), number));
      condition = w.select(chosen, condition,
                           w.broadcast(makeCondition(w, 1, false), like));
    }
  }
  return w.text + yield(condition);
}

std::string ReadMaker::makeInterval() {
  Writer w(random, "%");
  Term begin = makeQueryInteger(w);
  begin = w.binary("arith.subi", begin, w.integer(random.between(0, 5)), 0);
  Term end = random.percent(30)
                 ? l
                 : w.binary("arith.addi",
                            random.percent(60) ? begin : makeQueryInteger(w),
                            w.integer(random.between(0, 20)), 0);
  return w.text + yield({begin, end});
}

std::string ReadMaker::makeSink() {
  Writer w(random, "%");
  Term sink =
      random.percent(50) ? floats({}, heads, 2) : floats(queryAxes(), heads, 2);
  if (random.percent(30))
    sink = w.unary(sink);
  return w.text + yield(w.limit(sink, 30));
}

std::string ReadMaker::makeFactor() {
  Writer w(random, "%");
  Term factor;
  if (random.percent(50)) {
    // A Gaussian around a place of the query's.
    Term place = w.toFloat(j);
    place.bound = 40;
    Term centre = floats(queryAxes(), {}, 3);
    Term distance = w.binary("arith.subf", place, centre, 50);
    Term square = w.binary("arith.mulf", distance, distance, 2500);
    Term scaled =
        w.binary("arith.mulf", square, w.constant(-0.0625, square), 8);
    factor = perHead(w.unary("math.exp", scaled, 1), w);
  } else {
    factor = w.unary("attn.sigmoid", floats(keyAxes(), heads), 1);
    if (random.percent(40))
      factor = w.limit(w.binary(factor, floats({}, heads)), 10);
  }
  return w.text + yield(factor);
}

std::string ReadMaker::makeSummands() {
  Writer w(random, "%");
  int count = random.percent(80) ? 1 : 2;
  for (int n = 0; n < count; ++n) {
    Shape features = heads;
    if (random.percent(85))
      features.push_back(random.between(1, 40));
    Term value = floats(keyAxes(), features);
    if (random.percent(20))
      value = w.unary(value);
    if (random.percent(15))
      value = w.binary(value, floats(queryAxes(), features));
    if (random.percent(10) && !features.empty()) {
      Shape weight = heads;
      weight.push_back(random.between(1, 20));
      weight.append(value.features.begin(), value.features.end());
      value = w.linear(w.limit(value, 10), floats({}, weight, 0.5), nullptr);
    }
    summands.push_back(w.limit(value, 100));
  }
  return w.text + yield(summands);
}

std::string ReadMaker::yield(ArrayRef<Term> values) const {
  return "  attn.yield " +
         llvm::join(llvm::map_range(values, [](auto &v) { return v.name; }),
                    ", ") +
         " : " +
         llvm::join(llvm::map_range(values, [](auto &v) { return v.type(); }),
                    ", ") +
         "\n";
}

std::string ReadMaker::region(const std::string &body) const {
  std::string text = "{\n^bb0(";
  for (const Input &input : inputs)
    text += input.inside.name + ": " + input.inside.type() + ", ";
  return text + "%i: i32, %j: i32, %m: i32, %l: i32):\n" + body + "}";
}

std::string ReadMaker::read(const std::string &score, const std::string &rest,
                            const std::string &summand) const {
  std::string text = "attn.read " + normalizer + " ins(";
  for (const auto &[index, input] : llvm::enumerate(inputs)) {
    const std::vector<Axis> &axes = input.outside.axes;
    const char *map = axes.empty()                 ? "[]"
                      : axes.back() == Axis::Query ? "[row, query]"
                      : axes.back() == Axis::Row   ? "[row]"
                      : axes.front() == Axis::Row  ? "[row, key]"
                                                   : "[source, key]";
    text += (index ? ", " : "") + input.outside.name + map + " : " +
            input.outside.type();
  }
  text += ") lengths(" + lengths.name + ")";
  if (hasRows)
    text += " rows(" + rows.name + ")";
  if (hasQueries)
    text += " query_lengths(" + queryLengths.name + ")";
  if (hasPositions)
    text += " query_positions(" + positions.name + ")";
  return text + "\n score " + region(score) + rest + " summand " +
         region(summand);
}

Kernel ReadMaker::make() {
  normalizer = random.pick(
      {"softmax", "softmax", "softmax", "softmax", "hardmax", "sparsemax"});
  kernel.hasHardmax = normalizer == "hardmax";
  hasRows = random.percent(50);
  hasQueries = random.percent(40);
  hasPositions = !hasQueries && random.percent(40);
  int size = int(random.between(0, 99));
  arguments.numKeys = size < 4    ? random.between(0, 1)
                      : size < 60 ? random.between(2, 20)
                      : size < 95 ? random.between(14, 70)
                                  : random.between(120, 300);
  arguments.numRows = random.between(1, size < 95 ? 6 : 3);
  arguments.numSources = hasRows ? random.between(1, 4) : arguments.numRows;
  arguments.numQueries = hasQueries ? random.between(1, size < 60 ? 9 : 3) : 0;
  if (random.percent(45))
    heads = random.percent(70)
                ? Shape{random.between(1, 4)}
                : Shape{random.between(1, 3), random.between(1, 3)};
  width =
      random.percent(25) ? random.pick({1, 8, 16, 32}) : random.between(1, 40);

  Axis memory = hasRows ? Axis::Source : Axis::Row;
  auto number = [&] { return int(kernel.arguments.size()); };
  kernel.lengths = number();
  lengths = arguments.integers({memory}, {}, 0, arguments.numKeys);
  // Most are long, some are empty.
  for (double &length : kernel.arguments.back().value.data)
    if (random.percent(60))
      length = double(random.between(std::max(0., arguments.numKeys - 5.),
                                     arguments.numKeys));
  if (hasRows) {
    kernel.rows = number();
    rows = arguments.integers({Axis::Row}, {}, 0, arguments.numSources - 1);
    if (random.percent(60))
      llvm::sort(kernel.arguments.back().value.data);
  }
  if (hasQueries) {
    kernel.queryLengths = number();
    queryLengths = arguments.integers({Axis::Row}, {}, 0, arguments.numQueries);
  }
  if (hasPositions)
    positions = arguments.integers({Axis::Row}, {}, 0, arguments.numKeys + 3);

  Writer scores(random, "%");
  Term score = makeScore(scores);
  std::string mask = random.percent(55) ? makeMask() : "";
  std::string interval = random.percent(25) ? makeInterval() : "";
  std::string sink = random.percent(20) ? makeSink() : "";
  std::string factor = random.percent(20) ? makeFactor() : "";
  std::string summand = makeSummands();
  if (random.percent(15))
    arguments.addSpecialNumbers();

  std::string conditions;
  if (!mask.empty())
    conditions += " mask " + region(mask);
  if (!interval.empty())
    conditions += " interval " + region(interval);
  std::string rest = conditions;
  if (!sink.empty())
    rest += " sink " + region(sink);
  if (!factor.empty())
    rest += " factor " + region(factor);

  std::vector<Axis> queries = {Axis::Row};
  if (hasQueries)
    queries.push_back(Axis::Query);
  std::vector<Axis> pairs = queries;
  pairs.push_back(Axis::Key);
  std::string names, types;
  for (auto [index, value] : llvm::enumerate(summands)) {
    Result result{"%c" + std::to_string(index),
                  typeOf(queries, value.features, "f32"), queries};
    names += (index ? ", " : "") + result.name;
    types += (index ? ", " : "") + result.type;
    kernel.results.push_back(result);
  }
  std::string weightsType = typeOf(pairs, heads, "f32");
  bool hasWeights = random.percent(50);
  if (hasWeights)
    kernel.results.push_back({"%w", weightsType, pairs, /*isWeights=*/true});
  std::string validType;
  if (random.percent(40)) {
    validType = typeOf(queries, heads, "i1");
    kernel.results.push_back({"%v", validType, queries});
  }
  Writer after(random, "%e");
  // What is made of a context may be fused with what follows.
  if (random.percent(10) && !summands[0].features.empty()) {
    Term context{"%c0", queries, summands[0].features, "f32",
                 summands[0].bound};
    Shape weight = context.features;
    weight.insert(weight.begin(), random.between(1, 20));
    Term w = arguments.floats({}, weight, 0.3);
    Term made = after.linear(after.limit(context, 10), w, nullptr);
    if (random.percent(50))
      made = after.unary(made);
    kernel.results.push_back({made.name, made.type(), queries});
  }
  auto makeBody = [&](bool withWeights) {
    std::string ownNames = names, ownTypes = types;
    if (withWeights) {
      ownNames += ", %w";
      ownTypes += " weights " + weightsType;
    }
    if (!validType.empty()) {
      ownNames += ", %v";
      ownTypes += " valid " + validType;
    }
    return before.text + "  " + ownNames + " = " +
           read(scores.text + yield(score), rest, summand) + "\n -> " +
           ownTypes + "\n" + after.text;
  };

  std::string parameters;
  for (const Argument &argument : kernel.arguments)
    parameters +=
        (parameters.empty() ? "" : ", ") + argument.name + ": " + argument.type;
  auto function = [&](const std::string &name, const std::string &text,
                      ArrayRef<Result> results) {
    std::string values, all;
    for (const Result &result : results) {
      values += (values.empty() ? "" : ", ") + result.name;
      all += (all.empty() ? "" : ", ") + result.type;
    }
    return "func.func @" + name + "(" + parameters + ") -> (" + all + ") {\n" +
           text + "  return " + values + " : " + all + "\n}\n";
  };
  kernel.text = function("f", makeBody(hasWeights), kernel.results);
  // The last choice, so that it changes no other.
  kernel.hasUnweighted = hasWeights && random.percent(50);
  if (kernel.hasUnweighted)
    kernel.text += function("unweighted", makeBody(/*withWeights=*/false),
                            kernel.getUnweighted());
  // Which pairs are masked, whatever the scores are.
  std::string same = normalizer;
  normalizer = "softmax";
  Writer zero(random, "%");
  Term none = zero.constant(0, {"", {}, heads});
  std::string equal = zero.text + yield(none);
  kernel.text += function(
      "readable",
      before.text + "  %c, %w = " + read(equal, conditions, equal) + "\n -> " +
          typeOf(queries, heads, "f32") + " weights " + weightsType + "\n",
      Result{"%w", weightsType, pairs});
  normalizer = same;
  kernel.hasReadable = true;
  return std::move(kernel);
}

Kernel differential::makeRead(Random &random) {
  return ReadMaker(random).make();
}
