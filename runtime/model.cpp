//===- model.cpp - an opened model that decodes sentences -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/model.h"
#include "runtime/text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn {

std::unique_ptr<Model> Model::create(Description description,
                                     std::unique_ptr<Backend> backend,
                                     Failure &failure) {
  std::string error;
  if (!checkDescription(description, error)) {
    failure = {ATTN_ERROR_MODEL, "description: " + error};
    return nullptr;
  }
  if (description.inputs.size() > 1 ||
      (!description.inputs.empty() && description.inputs[0].kind != "tokens")) {
    failure = {ATTN_ERROR_UNSUPPORTED,
               "expected a model whose only input is tokens, but got " +
                   quote(description.model) + " with " +
                   (description.inputs.size() > 1
                        ? std::to_string(description.inputs.size()) + " inputs"
                        : description.inputs[0].kind)};
    return nullptr;
  }
  std::unique_ptr<Model> model(new Model);
  model->about = std::move(description);
  model->backend = std::move(backend);
  return model;
}

const Vocabulary *Model::sourceVocabulary() const {
  if (about.inputs.empty())
    return nullptr;
  return &about.vocabularies[static_cast<size_t>(about.inputs[0].vocabulary)];
}

bool Model::alignsWords() const {
  return about.alignment && !about.inputs.empty() &&
         about.alignment->axis == about.inputs[0].axis;
}

/// Whether ids are of a vocabulary; if not, a message.
static bool checkIds(const TokenIds &ids, const Vocabulary &vocabulary,
                     std::string &error) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocabulary.size()) {
      error = "expected token ids of vocabulary " + quote(vocabulary.name()) +
              ", 0 to " + std::to_string(vocabulary.size() - 1) + ", but got " +
              std::to_string(ids[i]) + " as token " + std::to_string(i + 1);
      return false;
    }
  return true;
}

/// Makes of a sentence what the search takes. False where there is nothing to
/// search for: then the result is complete.
bool Model::prepare(const SourceSentence &sentence,
                    const DecodeOptions &options, SearchSentence &prepared,
                    DecodeResult &result) const {
  // Positions are int32, and vectors of tokens are made of this length.
  constexpr double longest = 1 << 30;

  auto fail = [&](const std::string &message) {
    result.failure = {ATTN_ERROR_INPUT, message};
    return false;
  };
  if (sentence.failure.failed()) {
    result.failure = sentence.failure;
    return false;
  }
  std::string error;
  prepared.source = sentence.source;
  if (const Vocabulary *vocabulary = sourceVocabulary()) {
    if (!checkIds(sentence.source, *vocabulary, error))
      return fail(error);
    if (sentence.source.empty()) {
      // R20: no model is run.
      result.hypotheses.emplace_back().finished = true;
      return false;
    }
    if (about.inputs[0].end)
      prepared.source.push_back(vocabulary->marks().end);
  } else if (!sentence.source.empty()) {
    return fail("expected an empty sentence for " + quote(about.model) +
                ", which has no encoder, but got " +
                std::to_string(sentence.source.size()) + " tokens");
  }

  prepared.words = static_cast<int64_t>(sentence.source.size());
  if (sentence.forced)
    return prepareForced(*sentence.forced, prepared, error) || fail(error);
  double length = std::floor(options.maxLengthFactor *
                             static_cast<double>(sentence.source.size())) +
                  static_cast<double>(options.maxLengthOffset);
  if (!(length <= longest)) {
    result.failure = {ATTN_ERROR_OPTION,
                      "expected a maximum length of at most " +
                          formatNumber(longest) + ", but got " +
                          formatNumber(length)};
    return false;
  }
  prepared.maxLength = static_cast<int64_t>(length);

  const Vocabulary &target = about.targetVocabulary();
  if (!checkIds(sentence.prefix, target, error))
    return fail("prefix: " + error);
  auto end = std::find(sentence.prefix.begin(), sentence.prefix.end(),
                       target.marks().end);
  // It ends the hypothesis; what follows it is never emitted.
  prepared.prefix.assign(sentence.prefix.begin(),
                         end == sentence.prefix.end() ? end : end + 1);
  if (static_cast<int64_t>(prepared.prefix.size()) > prepared.maxLength)
    return fail("expected a prefix of at most " +
                std::to_string(prepared.maxLength) +
                " tokens, the maximum length, but got " +
                std::to_string(prepared.prefix.size()));
  return true;
}

/// The same for a target that is forced.
bool Model::prepareForced(const TokenIds &forced, SearchSentence &prepared,
                          std::string &error) const {
  const Vocabulary &target = about.targetVocabulary();
  int32_t end = target.marks().end;
  if (!checkIds(forced, target, error))
    return false;
  auto place = std::find(forced.begin(), forced.end(), end);
  if (place != forced.end()) {
    error = "expected a forced target without its end token, but got " +
            quote(target.tokens()[static_cast<size_t>(end)]) + " as token " +
            std::to_string(place - forced.begin() + 1);
    return false;
  }
  prepared.forced = forced;
  if (end >= 0)
    prepared.forced->push_back(end);
  return true;
}

std::vector<DecodeResult>
Model::decode(const std::vector<SourceSentence> &sentences,
              const DecodeOptions &options) const {
  FloatingPointScope floatingPoint;
  const Vocabulary &vocabulary = about.targetVocabulary();
  SearchTarget target{vocabulary.size(), about.target.start,
                      vocabulary.marks().end};
  std::vector<DecodeResult> results(sentences.size());

  std::vector<SearchSentence> batch;
  std::vector<size_t> places;
  auto run = [&](const std::vector<SearchSentence> &some,
                 const size_t *somePlaces) {
    std::vector<SearchResult> found;
    std::string error;
    bool done = search(*backend, target, some, options.search, found, error);
    if (!done && some.size() > 1)
      return false;
    for (size_t i = 0; i < some.size(); ++i) {
      DecodeResult &result = results[somePlaces[i]];
      if (!done)
        result.failure = {ATTN_ERROR_INPUT, error};
      else if (!found[i].error.empty())
        result.failure = {ATTN_ERROR_NUMERIC, std::move(found[i].error)};
      else
        result.hypotheses = std::move(found[i].hypotheses);
    }
    return true;
  };
  auto flush = [&] {
    // A backend fails as a whole. One by one, only those fail that must.
    if (!batch.empty() && !run(batch, places.data()))
      for (size_t i = 0; i < batch.size(); ++i)
        run({batch[i]}, &places[i]);
    batch.clear();
    places.clear();
  };
  // Sentences of similar length waste little on padding, and the long ones
  // come first.
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto length = [&](size_t i) {
    const SourceSentence &sentence = sentences[i];
    return std::pair(sentence.source.size(), sentence.forced
                                                 ? sentence.forced->size()
                                                 : sentence.prefix.size());
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto x = length(a), y = length(b);
    return x != y ? x > y : a < b;
  });
  for (size_t i : order) {
    SearchSentence prepared;
    prepared.number = sentences[i].number.value_or(i);
    if (!prepare(sentences[i], options, prepared, results[i]))
      continue;
    batch.push_back(std::move(prepared));
    places.push_back(i);
    if (batch.size() == options.batchSize)
      flush();
  }
  flush();
  return results;
}

} // namespace attn
