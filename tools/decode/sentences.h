//===- sentences.h - lines as the C interface takes them ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_DECODE_SENTENCES_H
#define ATTN_TOOLS_DECODE_SENTENCES_H

#include "attn/attn.h"
#include "tools/decode/source_line.h"

#include <algorithm>
#include <string>
#include <vector>

namespace attn::tool {

/// Sentences of tokens, or of features. Refers to what they are made of.
class Sentences {
public:
  void add(const std::vector<std::string> &tokens) {
    std::vector<const char *> &words = all.emplace_back();
    for (const std::string &token : tokens)
      words.push_back(token.c_str());
    lengths.push_back(tokens.size());
  }
  void addFeatures(const SourceInput &input) {
    features.push_back(input.features.data());
    lengths.push_back(input.positions);
  }
  attn_sentences view() {
    tokens.clear();
    for (const std::vector<const char *> &words : all)
      tokens.push_back(words.data());
    return {sizeof(attn_sentences),
            lengths.size(),
            lengths.data(),
            all.empty() ? nullptr : tokens.data(),
            nullptr,
            features.empty() ? nullptr : features.data()};
  }

private:
  std::vector<std::vector<const char *>> all;
  std::vector<size_t> lengths;
  std::vector<const char *const *> tokens;
  std::vector<const float *> features;
};

/// The same for each input of a model. Refers to the lines.
class Sources {
public:
  explicit Sources(const std::vector<const attn_input *> &inputs)
      : inputs(inputs), sentences(std::max<size_t>(inputs.size(), 1)) {}

  /// Null: a sentence that is empty.
  void add(const SourceLine *line) {
    static const SourceInput none;
    for (size_t i = 0; i < sentences.size(); ++i) {
      // A model without an encoder takes nothing.
      const SourceInput &input =
          line && !inputs.empty() ? line->inputs[i] : none;
      if (!inputs.empty() && inputs[i]->vocabulary < 0)
        sentences[i].addFeatures(input);
      else
        sentences[i].add(input.tokens);
    }
  }
  /// One for each input.
  const attn_sentences *view() {
    views.clear();
    for (Sentences &input : sentences)
      views.push_back(input.view());
    return views.data();
  }

private:
  const std::vector<const attn_input *> &inputs;
  std::vector<Sentences> sentences;
  std::vector<attn_sentences> views;
};

} // namespace attn::tool

#endif // ATTN_TOOLS_DECODE_SENTENCES_H
