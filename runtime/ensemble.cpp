//===- ensemble.cpp - several models as one -------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ensemble.h"
#include "runtime/model.h"
#include "runtime/text.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace attn {

/// Whether tokens have the same numbers in both; if not, a message.
static bool checkVocabulary(const Vocabulary &mine,
                            const attn_vocabulary &other, const char *what,
                            std::string &error) {
  auto fail = [&](const std::string &expected, const std::string &found) {
    error = "expected " + expected + " in the " + what +
            " vocabularies of an ensemble, but got " + found;
    return false;
  };
  size_t size = static_cast<size_t>(mine.size());
  if (other.size != size)
    return fail(std::to_string(size) + " tokens", std::to_string(other.size));
  for (size_t i = 0; i < size; ++i)
    if (mine.tokens()[i] != other.tokens[i])
      return fail(quote(mine.tokens()[i]) + " as token " + std::to_string(i),
                  quote(other.tokens[i]));
  if (mine.marks().end != other.end)
    return fail("the same end token", std::to_string(mine.marks().end) +
                                          " and " + std::to_string(other.end));
  return true;
}

bool checkMember(const Model &model, const attn_member &member,
                 std::string &error) {
  constexpr size_t needed = offsetof(attn_api, input) + sizeof(attn_api::input);
  if (!member.api || !member.model) {
    error = "expected a table and a model, but got null";
    return false;
  }
  const attn_api &api = *member.api;
  if (api.version != ATTN_API_VERSION || api.struct_size < needed) {
    error =
        "expected a library with version " + std::to_string(ATTN_API_VERSION) +
        " of the interface, but got version " + std::to_string(api.version) +
        ", whose table has " + std::to_string(api.struct_size) + " bytes";
    return false;
  }
  if (!(member.weight > 0) || std::isinf(member.weight)) {
    error = "expected a weight greater than 0, but got " +
            formatNumber(member.weight);
    return false;
  }
  const attn_model_info &info = *api.info(member.model);
  auto vocabulary = [&](int32_t number) -> const attn_vocabulary & {
    return *api.vocabulary(member.model, static_cast<size_t>(number));
  };
  if (info.has_encoder && !model.hasEncoder()) {
    error = "expected a model without an encoder, like " +
            quote(model.description().model) + ", but got " + quote(info.name);
    return false;
  }
  if (!model.emits(Target::Kind::Tokens) || info.target != ATTN_TARGET_TOKENS) {
    error = "expected models that emit tokens in an ensemble, but got others";
    return false;
  }
  if (!checkVocabulary(model.description().targetVocabulary(),
                       vocabulary(info.target_vocabulary), "target", error))
    return false;
  const std::vector<Input> &inputs = model.description().inputs;
  for (size_t i = 0; info.has_encoder && i < inputs.size(); ++i) {
    const attn_input *input = api.input(member.model, i);
    const Vocabulary *own = model.inputVocabulary(i);
    if (!input || info.input_count != inputs.size() ||
        !own != (input->vocabulary < 0) ||
        (!own && static_cast<int64_t>(input->width) != inputs[i].width())) {
      error = "expected the inputs of " + quote(model.description().model) +
              ", but got those of " + quote(info.name);
      return false;
    }
    if (own &&
        !checkVocabulary(*own, vocabulary(input->vocabulary), "source", error))
      return false;
  }
  return true;
}

namespace {

class EnsembleDecoding final : public Decoding {
public:
  EnsembleDecoding(std::span<const attn_member> members, size_t vocabularySize)
      : members(members), vocabularySize(vocabularySize) {}
  ~EnsembleDecoding() override {
    for (size_t i = 0; i < others.size(); ++i)
      members[i].api->free_decoding(others[i].decoding);
  }

  bool begin(DecodingPtr decoding, std::span<const SourceSpan> sentences,
             const std::vector<Input> &inputs, size_t rows, std::string &error);
  bool step(const StepRequest &request, StepResult &result,
            std::string &error) override;
  int64_t memoryLength(int64_t sentence) const override {
    return own->memoryLength(sentence);
  }

private:
  /// Takes over what a member has failed with; false.
  bool fail(size_t member, attn_error &from, std::string &error) const {
    error = "member " + std::to_string(member + 1) +
            " of the ensemble: " + (from.message ? from.message : "");
    members[member].api->clear_error(&from);
    return false;
  }

  std::span<const attn_member> members;
  size_t vocabularySize;
  DecodingPtr own;
  struct Other {
    attn_decoding *decoding = nullptr;
    const float *logits = nullptr; ///< Of the last step.
  };
  std::vector<Other> others; ///< Of each member.
  bool started = false;
  std::vector<float> logits; ///< [rows, vocabulary]
};

bool EnsembleDecoding::begin(DecodingPtr decoding,
                             std::span<const SourceSpan> sentences,
                             const std::vector<Input> &inputs, size_t rows,
                             std::string &error) {
  own = std::move(decoding);
  others.resize(members.size());
  const size_t count = sentences.size();
  std::vector<size_t> none(count), lengths;
  std::vector<const int32_t *> ids;
  std::vector<const float *> features;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (SourceSpan sentence : sentences) {
      // Each member adds its own end token.
      lengths.push_back(sentence[i].length - (inputs[i].end ? 1 : 0));
      ids.push_back(sentence[i].ids);
      features.push_back(sentence[i].features);
    }
  const attn_sentences nothing = {sizeof(nothing), count,   none.data(),
                                  nullptr,         nullptr, nullptr};
  std::vector<attn_sentences> some(inputs.size(), nothing);
  for (size_t i = 0; i < inputs.size(); ++i) {
    some[i].lengths = lengths.data() + i * count;
    if (inputs[i].isTokens())
      some[i].ids = ids.data() + i * count;
    else
      some[i].features = features.data() + i * count;
  }
  attn_encode_options options = attn_default_encode_options();
  options.rows = rows;
  for (size_t i = 0; i < members.size(); ++i) {
    const attn_api &api = *members[i].api;
    // A model that only generates says the same whatever the source.
    bool reads = api.info(members[i].model)->has_encoder;

    attn_error problem = ATTN_ERROR_INIT;
    others[i].decoding = api.encode(
        members[i].model, reads ? some.data() : &nothing, &options, &problem);
    if (!others[i].decoding)
      return fail(i, problem, error);
  }
  return true;
}

bool EnsembleDecoding::step(const StepRequest &request, StepResult &result,
                            std::string &error) {
  StepRequest whole = request;
  whole.best = 0;
  if (!own->step(whole, result, error))
    return false;
  size_t rows = static_cast<size_t>(request.rows);
  attn_step_request asked = {sizeof(asked), rows, request.parents,
                             started ? request.tokens : nullptr, nullptr};
  started = true;
  double total = 1;
  for (size_t i = 0; i < members.size(); ++i) {
    attn_error problem = ATTN_ERROR_INIT;
    const attn_step_result *answer =
        members[i].api->step(others[i].decoding, &asked, &problem);
    if (!answer)
      return fail(i, problem, error);
    others[i].logits = answer->logits;
    total += members[i].weight;
  }
  // The search normalises: what each model's logits are more than its
  // log-probabilities then cancels out. So a model with itself is the model.
  logits.resize(rows * vocabularySize);
  for (size_t j = 0; j < logits.size(); ++j) {
    double sum = static_cast<double>(result.logits[j]);
    for (size_t i = 0; i < members.size(); ++i)
      sum += members[i].weight * static_cast<double>(others[i].logits[j]);
    logits[j] = static_cast<float>(sum / total);
  }
  result.logits = logits.data();
  return true;
}

} // namespace

DecodingPtr EnsembleBackend::encode(std::span<const SourceSpan> sentences,
                                    int64_t rows, int64_t steps, Arena &memory,
                                    std::string &error) {
  DecodingPtr own =
      model.decoder().encode(sentences, rows, steps, memory, error);
  if (!own)
    return nullptr;
  auto decoding = std::make_unique<EnsembleDecoding>(
      members,
      static_cast<size_t>(model.description().targetVocabulary().size()));
  if (!decoding->begin(std::move(own), sentences, model.description().inputs,
                       static_cast<size_t>(rows), error))
    return nullptr;
  return decoding;
}

} // namespace attn
