//===- Features.cpp - operations on features ------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "reference/Frame.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

double reference::sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

static LogicalResult evaluateGetParameter(GetParameterOp op, Frame &frame) {
  const Parameters *parameters = frame.environment.parameters;
  auto place = parameters ? parameters->find(op.getParameter())
                          : Parameters::const_iterator();
  if (!parameters || place == parameters->end())
    return frame.fail(op, "expected a value for parameter '" +
                              op.getParameter() + "', but got none");
  if (!place->second.isOfType(op.getType()))
    return frame.fail(op, "expected parameter '" + op.getParameter() +
                              "' to have its declared shape, but got " +
                              place->second.describe());
  frame.bind(op.getValue(), place->second);
  return success();
}

static LogicalResult evaluateBroadcast(BroadcastOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  unsigned numInputAxes = getNumAxes(op.getInput().getType());
  ArrayRef<int64_t> inputAxes = ArrayRef(input.shape).take_front(numInputAxes);
  ArrayRef<int64_t> axes =
      op.getLike() ? getAxes(frame, op.getLike()) : inputAxes;
  if (axes.take_front(numInputAxes) != inputAxes)
    return frame.fail(op, "expected an operand that agrees with 'like' " +
                              frame.get(op.getLike()).describe() +
                              " in its axes, but got " + input.describe());
  Tensor &result = frame.own(op.getResult(), axes);
  int64_t repeats = countElements(axes.drop_front(numInputAxes));
  int64_t from = getNumFeatureElements(op.getInput().getType());
  int64_t to = getNumFeatureElements(op.getType());
  double *out = result.data.data();
  for (int64_t i = 0, e = countElements(inputAxes); i < e; ++i)
    for (int64_t repeat = 0; repeat < repeats; ++repeat)
      for (int64_t k = 0; k < to; ++k)
        *out++ = input.data[i * from + k / (to / from)];
  return success();
}

/// Rows of `table` by index: the common part of embed and lookup. A negative
/// index gives zeros if `zeroIfNegative`.
static LogicalResult takeRows(Operation *op, Frame &frame, Value tableValue,
                              Value indexValue, bool zeroIfNegative) {
  const Tensor &table = frame.get(tableValue);
  const Tensor &index = frame.get(indexValue);
  Tensor &result = frame.own(op->getResult(0), getAxes(frame, indexValue));
  int64_t rows = table.shape[0];
  int64_t features = table.size() / rows;
  for (int64_t i = 0, e = index.size(); i < e; ++i) {
    int64_t row = static_cast<int64_t>(index.data[i]);
    auto out = result.data.begin() + i * features;
    if (row < 0 && zeroIfNegative) {
      std::fill_n(out, features, 0.0);
      continue;
    }
    if (row < 0 || row >= rows) {
      auto parameter = tableValue.getDefiningOp<GetParameterOp>();
      return frame.fail(
          op, "expected an index of 0 to " + Twine(rows - 1) + ", because " +
                  (parameter ? "'" + parameter.getParameter().str() + "'"
                             : std::string("the table")) +
                  " has size " + Twine(rows) + ", but got " + Twine(row));
    }
    std::copy_n(table.data.begin() + row * features, features, out);
  }
  return success();
}

static LogicalResult evaluateEmbed(EmbedOp op, Frame &frame) {
  return takeRows(op, frame, op.getTable(), op.getTokens(), true);
}

static LogicalResult evaluateLookup(LookupOp op, Frame &frame) {
  return takeRows(op, frame, op.getTable(), op.getIndex(), false);
}

/// Puts every element of a product through its epilogue.
static LogicalResult applyEpilogue(LinearOp op, Frame &frame, Tensor &result) {
  Block &block = op.getEpilogue().front();
  Frame inner(block, frame.environment, &frame);
  SmallVector<Tensor> scalars;
  for (Type type : block.getArgumentTypes())
    scalars.push_back(Tensor::zeros(type, {}));
  for (auto [argument, scalar] : llvm::zip(block.getArguments(), scalars))
    inner.bind(argument, scalar);
  int64_t features = getNumFeatureElements(op.getType());
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    scalars[0].data[0] = result.data[i];
    for (auto [index, value] : llvm::enumerate(op.getElements())) {
      // An operand without axes has one row for all.
      const Tensor &element = frame.get(value);
      bool perRow = value.getType() == op.getType();
      if (perRow && element.shape != result.shape)
        return frame.fail(op, "expected an epilogue over " + result.describe() +
                                  ", but got " + element.describe());
      scalars[index + 1].data[0] = element.data[perRow ? i : i % features];
    }
    if (failed(inner.run()))
      return failure();
    result.data[i] = inner.get(block.getTerminator()->getOperand(0)).data[0];
  }
  return success();
}

static LogicalResult evaluateLinear(LinearOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  const Tensor &weight = frame.get(op.getWeight());
  const Tensor *bias = op.getBias() ? &frame.get(op.getBias()) : nullptr;
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getInput()));
  int64_t from = getNumFeatureElements(op.getInput().getType());
  int64_t to = getNumFeatureElements(op.getType());
  ArrayRef<double> rows = input.data, weights = weight.data;
  std::vector<double> roundedRows, roundedWeights;
  if (frame.environment.round) {
    roundedRows = input.data;
    roundedWeights = weight.data;
    frame.environment.round(op, roundedRows, roundedWeights, from);
    rows = roundedRows;
    weights = roundedWeights;
  }
  double *out = result.data.data();
  for (int64_t i = 0, e = input.size() / from; i < e; ++i)
    for (int64_t n = 0; n < to; ++n)
      *out++ = sumOfProducts(&weights[n * from], &rows[i * from], from) +
               (bias ? bias->data[n] : 0);
  return op.getEpilogue().empty() ? success()
                                  : applyEpilogue(op, frame, result);
}

static LogicalResult evaluateMatmul(MatmulOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  Tensor &result = frame.own(op.getResult(), {});
  int64_t inner = lhs.shape.back(), columns = result.shape.back();
  bool transposed = op.getTransposed();
  for (int64_t i = 0, e = lhs.size() / inner; i < e; ++i)
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += lhs.data[i * inner + k] *
               rhs.data[transposed ? n * inner + k : k * columns + n];
      result.data[i * columns + n] = sum;
    }
  return success();
}

static LogicalResult evaluateDot(DotOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  if (lhs.shape != rhs.shape)
    return frame.fail(op, "expected operands of one shape, but got " +
                              lhs.describe() + " and " + rhs.describe());
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getLhs()));
  int64_t last = lhs.shape.back();
  for (int64_t i = 0, e = result.size(); i < e; ++i)
    result.data[i] =
        sumOfProducts(&lhs.data[i * last], &rhs.data[i * last], last);
  return success();
}

static LogicalResult evaluateOuter(OuterOp op, Frame &frame) {
  const Tensor &lhs = frame.get(op.getLhs()), &rhs = frame.get(op.getRhs());
  ArrayRef<int64_t> axes = getAxes(frame, op.getLhs());
  if (axes != getAxes(frame, op.getRhs()))
    return frame.fail(op, "expected operands on the same axes, but got " +
                              lhs.describe() + " and " + rhs.describe());
  Tensor &result = frame.own(op.getResult(), axes);
  int64_t last = rhs.shape.back();
  // How many elements of the left operand meet one vector of the right.
  int64_t shared = getNumFeatureElements(op.getLhs().getType()) /
                   (getNumFeatureElements(op.getRhs().getType()) / last);
  double *out = result.data.data();
  for (int64_t i = 0, e = lhs.size(); i < e; ++i)
    for (int64_t p = 0; p < last; ++p)
      *out++ = lhs.data[i] * rhs.data[i / shared * last + p];
  return success();
}

/// How many elements one step in feature `number` of a value spans.
static int64_t getFeatureStride(Type type, int64_t number) {
  int64_t stride = 1;
  for (int64_t size : getFeatures(type).drop_front(number + 1))
    stride *= size;
  return stride;
}

static LogicalResult evaluateConcat(ConcatOp op, Frame &frame) {
  ArrayRef<int64_t> axes = getAxes(frame, op.getInputs().front());
  for (Value input : op.getInputs())
    if (getAxes(frame, input) != axes)
      return frame.fail(op, "expected operands on the same axes, but got " +
                                frame.get(op.getInputs().front()).describe() +
                                " and " + frame.get(input).describe());
  Tensor &result = frame.own(op.getResult(), axes);
  int64_t number = op.getFeatureNumber();
  int64_t stride = getFeatureStride(op.getType(), number);
  int64_t to = getFeatures(op.getType())[number] * stride, start = 0;
  for (Value value : op.getInputs()) {
    const Tensor &input = frame.get(value);
    int64_t from = getFeatures(value.getType())[number] * stride;
    for (int64_t i = 0, e = input.size() / from; i < e; ++i)
      std::copy_n(input.data.begin() + i * from, from,
                  result.data.begin() + i * to + start);
    start += from;
  }
  return success();
}

static LogicalResult evaluateSlice(SliceOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getInput()));
  int64_t number = op.getFeature();
  Type type = op.getInput().getType();
  int64_t stride = getFeatureStride(type, number);
  int64_t from = getFeatures(type)[number] * stride;
  int64_t start = op.getStart() * stride, to = op.getStop() * stride - start;
  for (int64_t i = 0, e = input.size() / from; i < e; ++i)
    std::copy_n(input.data.begin() + i * from + start, to,
                result.data.begin() + i * to);
  return success();
}

static LogicalResult evaluateMaxout(MaxoutOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getInput()));
  int64_t pieces = op.getPieces();
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    double best = input.data[i * pieces];
    for (int64_t j = 1; j < pieces; ++j) {
      double piece = input.data[i * pieces + j];
      // A NaN stays once it is the best.
      if (std::isnan(piece) || piece > best)
        best = piece;
    }
    result.data[i] = best;
  }
  return success();
}

/// An operation that makes of every vector of the last feature another one of
/// the same size.
static void
mapVectors(Frame &frame, Value input, Value output,
           function_ref<void(const double *, double *, int64_t)> function) {
  const Tensor &from = frame.get(input);
  Tensor &to = frame.own(output, getAxes(frame, input));
  ArrayRef<int64_t> features = getFeatures(input.getType());
  int64_t size = features.empty() ? 1 : features.back();
  for (int64_t i = 0, e = from.size(); i < e; i += size)
    function(&from.data[i], &to.data[i], size);
}

static LogicalResult evaluateSigmoid(SigmoidOp op, Frame &frame) {
  mapVectors(frame, op.getInput(), op.getResult(),
             [](const double *in, double *out, int64_t size) {
               std::transform(in, in + size, out, sigmoid);
             });
  return success();
}

static LogicalResult evaluateSoftmax(SoftmaxOp op, Frame &frame) {
  mapVectors(frame, op.getInput(), op.getResult(),
             [](const double *in, double *out, int64_t size) {
               double highest = *std::max_element(in, in + size), sum = 0;
               for (int64_t i = 0; i < size; ++i)
                 sum += out[i] = std::exp(in[i] - highest);
               for (int64_t i = 0; i < size; ++i)
                 out[i] /= sum;
             });
  return success();
}

static LogicalResult evaluateHardmax(HardmaxOp op, Frame &frame) {
  mapVectors(frame, op.getInput(), op.getResult(),
             [](const double *in, double *out, int64_t size) {
               bool nan = std::any_of(in, in + size,
                                      [](double x) { return std::isnan(x); });
               std::fill_n(out, size,
                           nan ? std::numeric_limits<double>::quiet_NaN() : 0);
               if (!nan)
                 out[std::max_element(in, in + size) - in] = 1;
             });
  return success();
}

static LogicalResult evaluateRank(RankOp op, Frame &frame) {
  const Tensor &logits = frame.get(op.getLogits());
  Tensor &best = frame.own(op.getNewBest()),
         &tokens = frame.own(op.getNewTokens()),
         &sums = frame.own(op.getSums(), {logits.shape[0]});
  best = frame.get(op.getBest());
  tokens = frame.get(op.getTokens());
  double token = frame.get(op.getFirst()).data[0];
  int64_t rows = logits.shape[0], size = logits.shape[1], ranks = best.shape[1];
  for (int64_t row = 0; row < rows; ++row) {
    const double *own = &logits.data[row * size];
    double highest = std::numeric_limits<float>::lowest(), sum = 0;
    for (int64_t i = 0; i < size; ++i)
      if (own[i] > highest)
        highest = own[i];
    for (int64_t i = 0; i < size; ++i) {
      sum += std::exp(own[i] - highest);
      auto first = best.data.begin() + row * ranks, end = first + ranks,
           place = std::find_if(first, end,
                                [&](double other) { return own[i] > other; });
      if (place == end)
        continue;
      auto ownToken = tokens.data.begin() + (place - best.data.begin());
      auto lastToken = ownToken + (end - place);
      std::rotate(place, end - 1, end);
      std::rotate(ownToken, lastToken - 1, lastToken);
      *place = own[i];
      *ownToken = token + static_cast<double>(i);
    }
    sums.data[2 * row] = highest;
    sums.data[2 * row + 1] = sum;
  }
  return success();
}

static LogicalResult evaluateLayerNorm(LayerNormOp op, Frame &frame) {
  const Tensor &weight = frame.get(op.getWeight());
  const Tensor &bias = frame.get(op.getBias());
  double epsilon = op.getEpsilon().convertToDouble();
  mapVectors(frame, op.getInput(), op.getResult(),
             [&](const double *in, double *out, int64_t size) {
               double mean = 0, variance = 0;
               for (int64_t i = 0; i < size; ++i)
                 mean += in[i];
               mean /= size;
               for (int64_t i = 0; i < size; ++i)
                 variance += (in[i] - mean) * (in[i] - mean);
               variance /= size;
               for (int64_t i = 0; i < size; ++i)
                 out[i] = (in[i] - mean) / std::sqrt(variance + epsilon) *
                              weight.data[i] +
                          bias.data[i];
             });
  return success();
}

static LogicalResult evaluateRmsNorm(RmsNormOp op, Frame &frame) {
  const Tensor &weight = frame.get(op.getWeight());
  double epsilon = op.getEpsilon().convertToDouble();
  mapVectors(frame, op.getInput(), op.getResult(),
             [&](const double *in, double *out, int64_t size) {
               double meanSquare = sumOfProducts(in, in, size) / size;
               for (int64_t i = 0; i < size; ++i)
                 out[i] =
                     in[i] / std::sqrt(meanSquare + epsilon) * weight.data[i];
             });
  return success();
}

static LogicalResult evaluateSinusoid(SinusoidOp op, Frame &frame) {
  const Tensor &position = frame.get(op.getPosition());
  Tensor &result = frame.own(op.getResult(), getAxes(frame, op.getPosition()));
  int64_t size = result.shape.back(), half = size / 2;
  double steps = op.getSteps().convertToDouble();
  bool interleaved = op.getLayout() == Layout::Interleaved;
  for (int64_t i = 0, e = position.size(); i < e; ++i) {
    double *out = &result.data[i * size];
    for (int64_t k = 0; k < half; ++k) {
      double angle = position.data[i] * std::pow(10000.0, -k / steps);
      out[interleaved ? 2 * k : k] = std::sin(angle);
      out[interleaved ? 2 * k + 1 : half + k] = std::cos(angle);
    }
  }
  return success();
}

static LogicalResult evaluateRotary(RotaryOp op, Frame &frame) {
  const Tensor &input = frame.get(op.getInput());
  const Tensor &position = frame.get(op.getPosition());
  ArrayRef<int64_t> axes = getAxes(frame, op.getInput());
  if (axes != getAxes(frame, op.getPosition()))
    return frame.fail(op,
                      "expected a position on the operand's axes, but got " +
                          position.describe() + " for " + input.describe());
  Tensor &result = frame.own(op.getResult(), axes);
  int64_t size = input.shape.back(), half = size / 2;
  int64_t vectors = getNumFeatureElements(op.getType()) / size;
  double base = op.getBase().convertToDouble();
  bool interleaved = op.getLayout() == Layout::Interleaved;
  for (int64_t i = 0, e = input.size() / size; i < e; ++i) {
    const double *in = &input.data[i * size];
    double *out = &result.data[i * size];
    for (int64_t k = 0; k < half; ++k) {
      double angle = position.data[i / vectors] *
                     std::pow(base, -2.0 * k / static_cast<double>(size));
      int64_t first = interleaved ? 2 * k : k;
      int64_t second = interleaved ? 2 * k + 1 : k + half;
      out[first] = in[first] * std::cos(angle) - in[second] * std::sin(angle);
      out[second] = in[first] * std::sin(angle) + in[second] * std::cos(angle);
    }
  }
  return success();
}

void reference::addFeatureKernels(KernelTable &table) {
  table.add<GetParameterOp, evaluateGetParameter>();
  table.add<BroadcastOp, evaluateBroadcast>();
  table.add<EmbedOp, evaluateEmbed>();
  table.add<LookupOp, evaluateLookup>();
  table.add<LinearOp, evaluateLinear>();
  table.add<DotOp, evaluateDot>();
  table.add<OuterOp, evaluateOuter>();
  table.add<MatmulOp, evaluateMatmul>();
  table.add<ConcatOp, evaluateConcat>();
  table.add<SliceOp, evaluateSlice>();
  table.add<MaxoutOp, evaluateMaxout>();
  table.add<SigmoidOp, evaluateSigmoid>();
  table.add<SoftmaxOp, evaluateSoftmax>();
  table.add<HardmaxOp, evaluateHardmax>();
  table.add<RankOp, evaluateRank>();
  table.add<LayerNormOp, evaluateLayerNorm>();
  table.add<RmsNormOp, evaluateRmsNorm>();
  table.add<SinusoidOp, evaluateSinusoid>();
  table.add<RotaryOp, evaluateRotary>();
}
