//===- Backend.cpp - decode with the reference evaluator ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "reference/Backend.h"
#include "dialect/Axes.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::reference;

namespace {

/// What was observed, and its values.
using Observed = std::vector<std::pair<ObserveOp, Tensor>>;

/// A sentence and its live hypotheses.
struct Sentence {
  Encoded encoded;
  Observed observed, observedByStep;
  SmallVector<Tensor> states; ///< One row per hypothesis.
  Histories histories;
};

class ReferenceDecoding final : public ::attn::Decoding {
public:
  ReferenceDecoding(ModelOp model, const Parameters &parameters,
                    std::vector<Sentence> sentences)
      : decoder(model.getDecoder()), parameters(parameters),
        sentences(std::move(sentences)) {
    for (size_t i = 0; i < this->sentences.size(); ++i)
      places.push_back({static_cast<int64_t>(i), 0});
  }

  bool step(const ::attn::StepRequest &request, ::attn::StepResult &result,
            std::string &error) override;
  int64_t memoryLength(int64_t sentence) const override;
  void observe(bool ofStep, int64_t number,
               const ::attn::ObserveFunction &show) const override;

private:
  /// Where the states of a row are.
  struct Place {
    int64_t sentence;
    int64_t row; ///< Among the rows of the sentence.
  };

  /// The positions of a sentence on a memory axis.
  int64_t lengthOf(int64_t sentence, uint64_t axis) const {
    return static_cast<int64_t>(
        sentences[sentence].encoded.lengths[axis].data[0]);
  }
  /// Advances the rows from `begin` to `end`, which are of one sentence.
  bool stepSentence(const ::attn::StepRequest &request, int64_t begin,
                    int64_t end, std::string &error);

  DecoderOp decoder;
  const Parameters &parameters;
  std::vector<Sentence> sentences;
  /// Of the rows of the step before; at first of the sentences.
  std::vector<Place> places, nextPlaces;
  std::vector<float> logits, weights, stops;
  int64_t columns = 0, memoryPositions = 0, heads = 1;
};

int64_t ReferenceDecoding::memoryLength(int64_t sentence) const {
  DecoderOp op = decoder; // Accessors of operations are not const.
  std::optional<uint64_t> axis = op.getPredict().getAlignAxis();
  return axis ? lengthOf(sentence, *axis) : 0;
}

void ReferenceDecoding::observe(bool ofStep, int64_t number,
                                const ::attn::ObserveFunction &show) const {
  // After a step `places` has its rows.
  const Sentence &sentence =
      sentences[ofStep ? places[number].sentence : number];
  int64_t row = ofStep ? places[number].row : 0;
  for (const auto &[op, tensor] :
       ofStep ? sentence.observedByStep : sentence.observed) {
    std::string name = ObserveOp(op).getPath().str();
    std::vector<size_t> shape(tensor.shape.begin() + 1, tensor.shape.end());
    int64_t size = tensor.size() / tensor.shape[0];
    ArrayRef<double> values = ArrayRef(tensor.data).slice(row * size, size);
    std::vector<float> floats;
    std::vector<int32_t> integers;
    if (tensor.width)
      integers.assign(values.begin(), values.end());
    else
      floats.assign(values.begin(), values.end());
    const void *data = floats.data();
    if (tensor.width)
      data = integers.data();
    show({name.c_str(), tensor.width != 0, shape, data});
  }
}

bool ReferenceDecoding::stepSentence(const ::attn::StepRequest &request,
                                     int64_t begin, int64_t end,
                                     std::string &error) {
  int64_t rows = end - begin;
  Sentence &sentence = sentences[request.sentences[begin]];
  SmallVector<int64_t> parents;
  for (int64_t row = begin; row < end; ++row) {
    int64_t parent = request.parents[row];
    if (parent < 0 || parent >= static_cast<int64_t>(places.size()) ||
        places[parent].sentence != request.sentences[row]) {
      error = "expected parents that are rows of the same sentence";
      return false;
    }
    parents.push_back(places[parent].row);
    nextPlaces.push_back({request.sentences[row], row - begin});
  }
  for (Tensor &state : sentence.states)
    state = gatherRows(state, parents);
  sentence.histories.reorder(parents);

  auto slice = [&](const int32_t *numbers) {
    return Tensor::integers({rows}, ArrayRef(numbers + begin, rows));
  };
  Environment environment;
  environment.parameters = &parameters;
  environment.histories = &sentence.histories;
  sentence.observedByStep.clear();
  environment.observe = [&](ObserveOp op, const Tensor &tensor) {
    sentence.observedByStep.emplace_back(op, tensor);
  };
  // The evaluation knows one sentence only.
  Tensor own = Tensor::integers({rows}, std::vector<int32_t>(rows));
  Tensor before;
  if (decoder.emitsFeatures()) {
    before = Tensor::zeros(decoder.getToken().getType(), {rows});
    if (request.frames)
      before.data.assign(request.frames + begin * columns,
                         request.frames + end * columns);
  } else {
    before = slice(request.tokens);
  }
  FailureOr<Step> step =
      reference::step(decoder, before, slice(request.positions), own,
                      sentence.encoded, sentence.states, environment);
  if (failed(step)) {
    error = std::move(environment.error);
    return false;
  }
  sentence.states = std::move(step->states);
  int64_t numColumns = step->logits.size() / rows;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(step->logits.data.begin() + row * numColumns, numColumns,
                logits.begin() + (begin + row) * columns);
  if (step->stop)
    stops.insert(stops.end(), step->stop->data.begin(), step->stop->data.end());
  if (step->weights) {
    int64_t perRow = step->weights->size() / rows;
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(step->weights->data.begin() + row * perRow, perRow,
                  weights.begin() + (begin + row) * memoryPositions * heads);
  }
  return true;
}

bool ReferenceDecoding::step(const ::attn::StepRequest &request,
                             ::attn::StepResult &result, std::string &error) {
  nextPlaces.clear();
  columns = getNumFeatureElements(decoder.getPredict().getLogits().getType());
  if (std::optional<uint64_t> axis = decoder.getTargetAxis())
    for (int64_t i = 0, e = static_cast<int64_t>(sentences.size()); i < e; ++i)
      columns = std::max(columns, lengthOf(i, *axis));
  logits.assign(request.rows * columns, 0.0f);
  stops.clear();
  memoryPositions = 0;
  for (int64_t i = 0, e = static_cast<int64_t>(sentences.size()); i < e; ++i)
    memoryPositions = std::max(memoryPositions, memoryLength(i));
  Value alignment = decoder.getPredict().getWeights();
  heads = alignment ? getNumFeatureElements(alignment.getType()) : 1;
  weights.assign(alignment ? request.rows * memoryPositions * heads : 0, 0.0f);

  for (int64_t begin = 0, end; begin < request.rows; begin = end) {
    end = begin + 1;
    while (end < request.rows &&
           request.sentences[end] == request.sentences[begin])
      ++end;
    if (!stepSentence(request, begin, end, error))
      return false;
  }
  places.swap(nextPlaces);
  bool emitsFeatures = decoder.emitsFeatures();
  (emitsFeatures ? result.frames : result.logits) = logits.data();
  result.stop = emitsFeatures ? stops.data() : nullptr;
  result.columns = columns;
  result.weights = alignment ? weights.data() : nullptr;
  result.memoryPositions = memoryPositions;
  result.heads = heads;
  return true;
}

} // namespace

::attn::DecodingPtr
ReferenceBackend::encode(std::span<const ::attn::SourceSpan> sentences, int64_t,
                         int64_t, ::attn::Arena &, std::string &error) {
  std::vector<Sentence> encoded(sentences.size());
  for (auto [source, sentence] : llvm::zip(sentences, encoded)) {
    if (EncoderOp encoder = model.getEncoder()) {
      SmallVector<Tensor> inputs, lengths(encoder.getNumInputAxes());
      for (auto [index, input] : llvm::enumerate(source)) {
        int64_t length = static_cast<int64_t>(input.length);
        lengths[encoder.getInputAxes()[index]] =
            Tensor::integers({1}, static_cast<int32_t>(length));
        Tensor &tensor = inputs.emplace_back();
        tensor.reset(encoder.getBody().getArgument(index).getType(),
                     {1, length});
        if (input.features)
          tensor.data.assign(input.features, input.features + tensor.size());
        else
          tensor.data.assign(input.ids, input.ids + length);
      }
      Environment environment;
      environment.parameters = &parameters;
      environment.observe =
          [&observed = sentence.observed](ObserveOp op, const Tensor &tensor) {
            observed.emplace_back(op, tensor);
          };
      FailureOr<Encoded> values =
          reference::encode(encoder, inputs, lengths, environment);
      if (failed(values)) {
        error = std::move(environment.error);
        return nullptr;
      }
      sentence.encoded = std::move(*values);
    }
    sentence.states = getFirstStates(model.getDecoder(), sentence.encoded, 1);
  }
  return std::make_unique<ReferenceDecoding>(model, parameters,
                                             std::move(encoded));
}
