//===- frames.h - decoding of features --------------------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `search` is for tokens: a model that emits vectors of features
// ("frames") has one hypothesis for each sentence, which grows until the model
// stops it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_FRAMES_H
#define ATTN_RUNTIME_FRAMES_H

#include "runtime/search.h"

namespace attn {

/// As `search`, for a target of features. Of the options, `stopThreshold`,
/// `stallLimit`, the minimum length and what an alignment has are used.
SearchOutcome generateFrames(Backend &backend, const SearchTarget &target,
                             std::span<const SearchSentence *const> sentences,
                             const SearchOptions &options, Arena &memory,
                             Interrupt *interrupt,
                             std::span<SearchResult> results,
                             std::string &error);

/// As `searchBytes` and `hypothesesBytes`.
size_t frameBytes(const SearchOptions &options, const SearchLimits &limits,
                  size_t sentences);
size_t frameHypothesisBytes(const SearchOptions &options,
                            const SearchLimits &limits);

} // namespace attn

#endif // ATTN_RUNTIME_FRAMES_H
