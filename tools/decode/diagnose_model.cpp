//===- diagnose_model.cpp - diagnose what a model says --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/decode/diagnose_model.h"

#include <algorithm>
#include <cmath>
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

using Words = std::vector<std::string>;

/// Says tokens of the first of some sentences, which are encoded together.
/// False and a message on failure.
bool say(const attn_api &api, const attn_model *model,
         const std::vector<Words> &sentences,
         const std::vector<int32_t> &tokens, Said &said, std::string &message) {
  std::vector<std::vector<const char *>> texts;
  std::vector<size_t> lengths;
  for (const Words &words : sentences) {
    std::vector<const char *> &own = texts.emplace_back();
    for (const std::string &word : words)
      own.push_back(word.c_str());
    lengths.push_back(words.size());
  }
  std::vector<const char *const *> starts;
  for (const std::vector<const char *> &own : texts)
    starts.push_back(own.data());
  attn_sentences batch = {sizeof(batch), sentences.size(), lengths.data(),
                          starts.data(), nullptr,          nullptr};
  attn_error error = ATTN_ERROR_INIT;
  auto fail = [&] {
    message = error.message;
    api.clear_error(&error);
    return false;
  };
  std::unique_ptr<attn_decoding, void (*)(attn_decoding *)> decoding(
      api.encode(model, &batch, nullptr, &error), api.free_decoding);
  if (!decoding)
    return fail();
  const int32_t first = 0;
  for (size_t t = 0; t < tokens.size(); ++t) {
    attn_step_request request = {sizeof(request), 1, t ? nullptr : &first,
                                 t ? &tokens[t - 1] : nullptr};
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
                      const Words &words, const std::vector<int32_t> &tokens,
                      bool finished, Diagnosis &diagnosis,
                      std::vector<float> &weights, std::string &error) {
  Said alone;
  if (!say(api, model, {words}, tokens, alone, error))
    return false;
  diagnosis = diagnose(alone.weights, alone.positions, tokens, finished);

  // Twice as long: its memory is longer, however sequences are shortened.
  std::string refused;
  Words twice = words;
  twice.insert(twice.end(), words.begin(), words.end());
  Said padded;
  if (say(api, model, {words, twice}, tokens, padded, refused)) {
    Diagnosis::Padding &padding = diagnosis.padding.emplace();
    padding.weight = padded.paddingWeight;
    for (size_t i = 0; i < alone.logits.size(); ++i)
      // Equal infinities have no difference.
      if (padded.logits[i] != alone.logits[i])
        padding.effect = worse(
            padding.effect,
            std::abs(static_cast<double>(padded.logits[i] - alone.logits[i])));
  }

  // Where positions are words, and another order is one.
  size_t ends = api.info(model)->source_has_end ? 1 : 0;
  Words reversed(words.rbegin(), words.rend());
  Said turned;
  if (alone.positions == words.size() + ends && reversed != words &&
      say(api, model, {reversed}, tokens, turned, refused))
    diagnosis.order = compareOrder(alone.weights, turned.weights,
                                   alone.positions, words.size());
  weights = std::move(alone.weights);
  return true;
}

} // namespace attn::tool
