//===- model.h - an opened model that decodes sentences -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_MODEL_H
#define ATTN_RUNTIME_MODEL_H

#include "attn/attn.h"
#include "runtime/backend.h"
#include "runtime/description.h"
#include "runtime/search.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A kind of failure and its message.
struct Failure {
  attn_status status = ATTN_OK;
  std::string message;

  bool failed() const { return status != ATTN_OK; }
};

/// A sentence to decode: ids of the source and, for forced decoding, of the
/// target, both without end tokens; or of a prefix of the target, which an end
/// token ends. A sentence that failed already keeps its failure.
struct SourceSentence {
  TokenIds source;
  std::optional<TokenIds> forced;
  TokenIds prefix;
  /// By which random numbers are drawn. Its place among the sentences, if not
  /// given.
  std::optional<uint64_t> number;
  Failure failure;
};

struct DecodeOptions {
  SearchOptions search;
  double maxLengthFactor = 2;
  int64_t maxLengthOffset = 10;
  size_t batchSize = 32;
};

struct DecodeResult {
  Failure failure;
  std::vector<Hypothesis> hypotheses;
};

/// A description and a backend that computes what is described. Thread-safe.
class Model {
public:
  /// Null and a failure where the description asks for what is not supported.
  static std::unique_ptr<Model> create(Description description,
                                       std::unique_ptr<Backend> backend,
                                       Failure &failure);

  const Description &description() const { return about; }
  bool hasEncoder() const { return !about.inputs.empty(); }
  /// Null where the model has no encoder.
  const Vocabulary *sourceVocabulary() const;

  /// Whether the memory positions of the alignment are the source's tokens. An
  /// encoder that shortens sequences has others.
  bool alignsWords() const;

  /// Decodes sentences, `batchSize` of similar length at a time. The result of
  /// a sentence does not depend on the others; results stand in the order of
  /// the sentences.
  std::vector<DecodeResult> decode(const std::vector<SourceSentence> &sentences,
                                   const DecodeOptions &options) const;

private:
  Model() = default;
  bool prepare(const SourceSentence &sentence, const DecodeOptions &options,
               SearchSentence &prepared, DecodeResult &result) const;
  bool prepareForced(const TokenIds &forced, SearchSentence &prepared,
                     std::string &error) const;

  Description about;
  std::unique_ptr<Backend> backend;
};

} // namespace attn

#endif // ATTN_RUNTIME_MODEL_H
