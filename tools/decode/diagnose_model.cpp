//===- diagnose_model.cpp - diagnose what a model says --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/diagnose_model.h"
#include "tools/decode/sentences.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>

namespace attn::tool {

namespace {

/// What a model makes of given tokens.
struct Said {
  size_t positions = 0;       ///< of the sentence's memory.
  std::vector<float> weights; ///< [tokens, positions] Averaged over heads.
  std::vector<float> logits;  ///< [tokens, vocabulary]
  double paddingWeight = 0;   ///< The largest; NaN if there is one.
};

/// The larger number; NaN if one is.
double worse(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

/// Says tokens of the first of some lines, which are encoded together. False
/// and a message on failure.
bool say(const attn_api &api, const attn_model *model,
         const std::vector<const attn_input *> &inputs,
         std::initializer_list<const SourceLine *> lines,
         const std::vector<int32_t> &tokens, Said &said, std::string &message) {
  Sources batch(inputs);
  for (const SourceLine *line : lines)
    batch.add(line);
  attn_error error = ATTN_ERROR_INIT;
  auto fail = [&] {
    message = error.message;
    api.clear_error(&error);
    return false;
  };
  std::unique_ptr<attn_decoding, void (*)(attn_decoding *)> decoding(
      api.encode(model, batch.view(), nullptr, &error), api.free_decoding);
  if (!decoding)
    return fail();
  const int32_t first = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    attn_step_request request = {sizeof(request), 1, t ? nullptr : &first,
                                 t ? &tokens[t - 1] : nullptr, nullptr};
    const attn_step_result *step = api.step(decoding.get(), &request, &error);
    if (!step)
      return fail();
    said.positions = step->memory_lengths[0];
    said.logits.insert(said.logits.end(), step->logits,
                       step->logits + step->vocabulary_size);
    const float *weight = step->weights;
    for (size_t s = 0; s < step->memory_positions; ++s) {
      float sum = 0;
      for (size_t head = 0; head < step->heads; ++head, ++weight) {
        sum += *weight;
        if (s >= said.positions)
          said.paddingWeight =
              worse(said.paddingWeight, std::abs(static_cast<double>(*weight)));
      }
      if (s < said.positions)
        said.weights.push_back(sum / static_cast<float>(step->heads));
    }
  }
  return true;
}

} // namespace

bool diagnoseSentence(const attn_api &api, const attn_model *model,
                      const std::vector<const attn_input *> &inputs,
                      const SourceLine &line,
                      const std::vector<int32_t> &tokens, bool finished,
                      Diagnosis &diagnosis, std::vector<float> &weights,
                      std::string &error) {
  Said alone;
  if (!say(api, model, inputs, {&line}, tokens, alone, error))
    return false;
  diagnosis = diagnose(alone.weights, alone.positions, tokens, finished);

  // Twice as long: its memory is longer, however sequences are shortened.
  std::string refused;
  SourceLine twice = line;
  for (SourceInput &input : twice.inputs)
    input.append(input);
  Said padded;
  if (say(api, model, inputs, {&line, &twice}, tokens, padded, refused)) {
    Diagnosis::Padding &padding = diagnosis.padding.emplace();
    padding.weight = padded.paddingWeight;
    for (size_t i = 0; i < alone.logits.size(); ++i)
      // Equal infinities have no difference.
      if (padded.logits[i] != alone.logits[i])
        padding.effect = worse(
            padding.effect,
            std::abs(static_cast<double>(padded.logits[i] - alone.logits[i])));
  }

  // Where positions are those of an input, and another order is one.
  const int32_t aligned = api.info(model)->aligned_input;
  const size_t place = static_cast<size_t>(std::max(aligned, 0));
  size_t own = line.inputs[place].length();
  size_t ends = inputs[place]->has_end ? 1 : 0;
  SourceLine reversed = line;
  for (SourceInput &input : reversed.inputs)
    input.reverse();
  Said turned;
  if (alone.positions == own + ends && reversed.inputs != line.inputs &&
      say(api, model, inputs, {&reversed}, tokens, turned, refused))
    diagnosis.order =
        compareOrder(alone.weights, turned.weights, alone.positions, own);
  weights = std::move(alone.weights);
  return true;
}

} // namespace attn::tool
