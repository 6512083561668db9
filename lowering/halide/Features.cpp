//===- Features.cpp - reductions over features, and sequences -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/halide/Translator.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

static Place concat(Place first, const std::vector<Var> &rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Expr Translator::combineTree(std::vector<Expr> lanes,
                             const std::function<Expr(Expr, Expr)> &combine) {
  // Lane i meets lane i + width / 2.
  for (int width = numLanes / 2; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i)
      lanes[i] = combine(lanes[i], lanes[i + width]);
  return lanes[0];
}

Expr Translator::combineLanes(const Func &lanes, const Place &outer,
                              const std::function<Expr(Expr, Expr)> &combine) {
  std::vector<Expr> sums;
  for (int i = 0; i < numLanes; ++i) {
    Place place = {i};
    place.insert(place.end(), outer.begin(), outer.end());
    sums.push_back(lanes(place));
  }
  return combineTree(std::move(sums), combine);
}

Func Translator::reduce(StringRef name, const std::vector<Var> &outer,
                        int numAxes, int64_t size, Expr neutral,
                        const std::function<Expr(Expr, Expr)> &add,
                        const std::function<Expr(Expr, Expr)> &combine) {
  Var lane("lane");
  Func lanes(nameOf((name + "_lanes").str())), result(nameOf(name));
  Place place = concat({lane}, outer);
  std::vector<Var> vars = {lane};
  vars.insert(vars.end(), outer.begin(), outer.end());
  lanes(vars) = neutral;
  int full = size / numLanes, rest = size % numLanes;
  std::vector<RVar> loops;
  if (full > 0) {
    RDom chunk(0, full);
    lanes(place) = add(chunk * numLanes + lane, lanes(place));
    loops.push_back(chunk.x);
  }
  if (rest > 0) {
    // Lanes beyond the end take an element that is there, and forget it.
    Expr index = hl::min(lane + full * numLanes, static_cast<int>(size) - 1);
    lanes(place) =
        hl::select(lane < rest, add(index, lanes(place)), lanes(place));
  }
  addStage(lanes, Stage::Kind::Lanes, outer.size() - numAxes + 1, numAxes,
           loops);
  Expr sum = combineLanes(lanes, Place(outer.begin(), outer.end()), combine);
  if (outer.empty())
    result() = sum;
  else
    result(outer) = sum;
  addStage(result, Stage::Kind::Number, outer.size() - numAxes, numAxes);
  return result;
}

Func Translator::sum(StringRef name, const std::vector<Var> &outer, int numAxes,
                     int64_t size, const std::function<Expr(Expr)> &term) {
  return reduce(
      name, outer, numAxes, size, 0.0f,
      [&](Expr index, Expr sum) { return sum + term(index); },
      [](Expr a, Expr b) { return a + b; });
}

Func Translator::findHighest(const std::vector<Var> &outer, int numAxes,
                             int64_t size,
                             const std::function<Expr(Expr)> &element) {
  return reduce(
      "maximum", outer, numAxes, size,
      Expr(-std::numeric_limits<float>::infinity()),
      [&](Expr index, Expr best) { return maximum(element(index), best); },
      maximum);
}

/// `func` where the last feature is left out of a place.
static Expr outerOf(const Func &func, const Place &place) {
  Place outer(place.begin() + 1, place.end());
  return outer.empty() ? Expr(func()) : Expr(func(outer));
}

LogicalResult Translator::translateFeatures(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<DotOp, MatmulOp, ConcatOp, MaxoutOp, SoftmaxOp, HardmaxOp, RankOp,
            MeanOp, PairsOp, SinusoidOp, RotaryOp>([&](auto concrete) {
        translate(concrete);
        return success();
      })
      .Case<LayerNormOp>([&](LayerNormOp norm) {
        translateNorm(norm, norm.getEpsilon().convertToDouble(),
                      norm.getWeight(), norm.getBias());
        return success();
      })
      .Case<RmsNormOp>([&](RmsNormOp norm) {
        translateNorm(norm, norm.getEpsilon().convertToDouble(),
                      norm.getWeight(), Value());
        return success();
      })
      .Default([](Operation *op) {
        return op->emitError("expected an operation that has a Halide kernel, "
                             "but got '")
               << op->getName() << "'";
      });
}

void Translator::translate(DotOp op) {
  int64_t size = getFeatures(op.getLhs().getType()).back();
  std::vector<Var> outer = getVars(op.getResult());
  Func result = reduce(
      "dot", outer, getAxisVars(op.getResult().getType()).size(), size, 0.0f,
      [&](Expr index, Expr sum) {
        Place place = concat({index}, outer);
        return math.fma(at(op.getLhs(), place), at(op.getRhs(), place), sum);
      },
      [](Expr a, Expr b) { return a + b; });
  elements[op.getResult()] = [result](const Place &place) {
    return place.empty() ? Expr(result()) : Expr(result(place));
  };
}

void Translator::translate(MatmulOp op) {
  // Parameters only: once when a model is opened.
  int64_t size = getFeatures(op.getLhs().getType()).back();
  std::vector<Var> outer = getVars(op.getResult());
  Func result = reduce(
      "matmul", outer, 0, size, 0.0f,
      [&](Expr index, Expr sum) {
        Place left = {index}, right;
        left.insert(left.end(), outer.begin() + 1, outer.end());
        right = op.getTransposed() ? Place{index, outer[0]}
                                   : Place{outer[0], index};
        return math.fma(at(op.getLhs(), left), at(op.getRhs(), right), sum);
      },
      [](Expr a, Expr b) { return a + b; });
  elements[op.getResult()] = [result](const Place &place) {
    return Expr(result(place));
  };
}

void Translator::translate(ConcatOp op) {
  size_t feature = getFeatures(op.getType()).size() - 1 - op.getFeatureNumber();
  define(op.getResult(), [&](const Place &place) {
    // From the last to the first: of each what lies before its end.
    Expr result;
    int end = getFeatures(op.getType())[op.getFeatureNumber()];
    for (Value input : llvm::reverse(op.getInputs())) {
      int size = getFeatures(input.getType())[op.getFeatureNumber()];
      int begin = end - size;
      Place inner(place);
      inner[feature] = hl::clamp(place[feature] - begin, 0, size - 1);
      Expr element = at(input, inner);
      result = result.defined()
                   ? hl::select(place[feature] < end, element, result)
                   : element;
      end = begin;
    }
    return result;
  });
}

void Translator::translate(MaxoutOp op) {
  int pieces = op.getPieces();
  define(op.getResult(), [&](const Place &place) {
    Expr best;
    for (int piece = 0; piece < pieces; ++piece) {
      Place inner(place);
      inner[0] = place[0] * pieces + piece;
      Expr candidate = at(op.getInput(), inner);
      best = best.defined() ? maximum(candidate, best) : candidate;
    }
    return best;
  });
}

void Translator::translate(SoftmaxOp op) {
  int64_t size = getFeatures(op.getType()).back();
  std::vector<Var> vars = getVars(op.getResult());
  std::vector<Var> outer(vars.begin() + 1, vars.end());
  int numAxes = getAxisVars(op.getType()).size();
  auto element = [&](Expr index) {
    return at(op.getInput(), concat({index}, outer));
  };
  Func highest = findHighest(outer, numAxes, size, element);
  Func total = sum("total", outer, numAxes, size, [&](Expr index) {
    return math.exp(element(index) - outerOf(highest, concat({index}, outer)));
  });
  define(op.getResult(), [&](const Place &place) {
    return math.exp(at(op.getInput(), place) - outerOf(highest, place)) /
           outerOf(total, place);
  });
}

void Translator::translate(HardmaxOp op) {
  int size = getFeatures(op.getType()).back();
  std::vector<Var> vars = getVars(op.getResult());
  std::vector<Var> outer(vars.begin() + 1, vars.end());
  int numAxes = getAxisVars(op.getType()).size();
  auto element = [&](Expr index) {
    return at(op.getInput(), concat({index}, outer));
  };
  Func highest = findHighest(outer, numAxes, size, element);
  Func first = reduce(
      "first", outer, numAxes, size, size,
      [&](Expr index, Expr best) {
        Expr equal = element(index) == outerOf(highest, concat({index}, outer));
        return hl::min(best, hl::select(equal, index, size));
      },
      [](Expr a, Expr b) { return hl::min(a, b); });
  define(op.getResult(), [&](const Place &place) {
    Expr best = outerOf(highest, place);
    return hl::select(isNan(best), best, place[0] == outerOf(first, place),
                      1.0f, 0.0f);
  });
}

void Translator::translateNorm(Operation *op, double epsilon, Value weight,
                               Value bias) {
  Value input = op->getOperand(0), result = op->getResult(0);
  int64_t size = getFeatures(result.getType()).back();
  float count = size;
  std::vector<Var> vars = getVars(result);
  std::vector<Var> outer(vars.begin() + 1, vars.end());
  int numAxes = getAxisVars(result.getType()).size();
  // A norm without a bias does not subtract the mean either.
  std::optional<Func> mean;
  if (bias)
    mean = sum("sum", outer, numAxes, size,
               [&](Expr index) { return at(input, concat({index}, outer)); });
  auto centred = [&](const Place &place) {
    Expr x = at(input, place);
    return mean ? x - outerOf(*mean, place) / count : x;
  };
  Func square = sum("squares", outer, numAxes, size, [&](Expr index) {
    Expr x = centred(concat({index}, outer));
    return x * x;
  });
  define(result, [&](const Place &place) {
    Expr deviation = hl::sqrt(outerOf(square, place) / count +
                              Expr(static_cast<float>(epsilon)));
    Place last = {place[0]};
    if (pairVars)
      last.insert(last.end(), place.end() - pairVars->size(), place.end());
    Expr x = centred(place) / deviation * at(weight, last);
    return bias ? x + at(bias, last) : x;
  });
}

void Translator::translate(MeanOp op) {
  std::vector<Var> vars = getVars(op.getResult());
  Func sums(nameOf("sums"));
  sums(vars) = 0.0f;
  RDom position(0, getAxisSize(op.getInput(), 1));
  Expr length = at(op.getLengths(), {vars.back()});
  position.where(position < length);
  Place place(vars.begin(), vars.end()), inner(place);
  inner.insert(inner.end() - 1, position);
  sums(place) = sums(place) + at(op.getInput(), inner);
  int stage =
      addStage(sums, Stage::Kind::Sums, vars.size() - 1, 1, {position.x});
  ArrayRef<int64_t> sizes = getFeatures(op.getType());
  kernel.stages[stage].width = sizes.empty() ? 1 : sizes.back();
  define(op.getResult(), [&](const Place &place) {
    // An empty sequence has a mean of 0 / 1.
    Expr count = hl::max(at(op.getLengths(), {place.back()}), 1);
    return sums(place) / hl::cast<float>(count);
  });
}

void Translator::translate(PairsOp op) {
  int last = getFeatures(op.getInput().getType()).back();
  Expr positions = getAxisSize(op.getInput(), 1);
  define(op.getResult(), [&](const Place &place) {
    size_t position = place.size() - 2;
    Place inner(place);
    Expr source = place[position] * 2 + place[0] / last;
    inner[0] = place[0] % last;
    inner[position] = hl::clamp(source, 0, positions - 1);
    Expr element = at(op.getInput(), inner);
    return hl::select(source < at(op.getLengths(), {place.back()}), element,
                      hl::cast(element.type(), 0));
  });
}

/// base^(-2 k / size) for every k, or 10000^(-k / steps): the angles of one
/// position, in full precision.
static hl::Buffer<double> makeAngles(int count, double base, double perStep,
                                     const std::string &name) {
  hl::Buffer<double> angles(std::vector<int>{count}, name);
  for (int k = 0; k < count; ++k)
    angles(k) = std::pow(base, -k * perStep);
  return angles;
}

void Translator::translate(SinusoidOp op) {
  int size = getFeatures(op.getType()).back(), half = size / 2;
  bool interleaved = op.getLayout() == Layout::Interleaved;
  hl::Buffer<double> angles = makeAngles(
      half, 10000.0, 1 / op.getSteps().convertToDouble(), nameOf("angles"));
  define(op.getResult(), [&](const Place &place) {
    Expr k = interleaved ? place[0] / 2 : place[0] % half;
    Expr isSine = interleaved ? place[0] % 2 == 0 : place[0] < half;
    Expr position = at(op.getPosition(), Place(place.begin() + 1, place.end()));
    Expr angle = hl::cast<double>(position) * angles(k);
    return hl::cast<float>(
        hl::select(isSine, Mathematics::sin(angle), Mathematics::cos(angle)));
  });
}

void Translator::translate(RotaryOp op) {
  ArrayRef<int64_t> features = getFeatures(op.getType());
  int size = features.back(), half = size / 2;
  bool interleaved = op.getLayout() == Layout::Interleaved;
  hl::Buffer<double> angles = makeAngles(half, op.getBase().convertToDouble(),
                                         2.0 / size, nameOf("angles"));
  define(op.getResult(), [&](const Place &place) {
    Expr k = interleaved ? place[0] / 2 : place[0] % half;
    Expr isFirst = interleaved ? place[0] % 2 == 0 : place[0] < half;
    Place first(place), second(place);
    first[0] = interleaved ? k * 2 : k;
    second[0] = interleaved ? k * 2 + 1 : k + half;
    Expr position = at(op.getPosition(),
                       Place(place.begin() + features.size(), place.end()));
    Expr angle = hl::cast<double>(position) * angles(k);
    Expr cosine = hl::cast<float>(Mathematics::cos(angle));
    Expr sine = hl::cast<float>(Mathematics::sin(angle));
    Expr x = at(op.getInput(), first), y = at(op.getInput(), second);
    return hl::select(isFirst, x * cosine - y * sine, x * sine + y * cosine);
  });
}
