//===- search.cpp - greedy, beam and forced decoding ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/search.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace attn {

namespace {

/// The search of one sentence. It is fed the rows of its live hypotheses and
/// knows nothing of other sentences.
class SentenceSearch {
public:
  /// A hypothesis that is still growing.
  struct Live {
    int32_t node = -1;  ///< Its last token, -1 before the first.
    int32_t parent = 0; ///< Its beam in the step before.
    double total = 0;
  };

  SentenceSearch(const SearchSentence &sentence, const SearchTarget &target,
                 const SearchOptions &options, const LogitsFilter *filter,
                 int64_t memoryPositions)
      : sentence(sentence), target(target), options(options), filter(filter),
        memoryPositions(memoryPositions), live(1) {
    if (limit() == 0)
      endLive();
  }

  const std::vector<Live> &liveHypotheses() const { return live; }
  int32_t lastToken(const Live &hypothesis) const {
    return hypothesis.node < 0 ? target.start : nodes[hypothesis.node].token;
  }
  int64_t emittedTokens() const { return emitted; }

  /// Takes the step's results of the live hypotheses, which are the rows from
  /// `firstRow` on.
  void advance(const StepResult &step, int64_t firstRow);

  SearchResult finish();

private:
  /// A token of a hypothesis; the tokens before it follow the parents.
  struct Node {
    int32_t parent;
    int32_t token;
    double logprob;
    int32_t weights; ///< In `alignments`.
  };

  int64_t limit() const {
    return sentence.forced ? static_cast<int64_t>(sentence.forced->size())
                           : sentence.maxLength;
  }
  void fail(std::string message) {
    error = std::move(message);
    live.clear();
  }
  int32_t addNode(const Continuation &next, int32_t weights);
  void keep(int32_t node, double total, int64_t length, bool finished);
  void endLive();
  bool canStop() const;
  std::vector<float> averageHeads(const StepResult &step, int64_t row) const;

  const SearchSentence &sentence;
  const SearchTarget &target;
  const SearchOptions &options;
  const LogitsFilter *filter;
  int64_t memoryPositions;

  int64_t emitted = 0; ///< Tokens of each live hypothesis.
  std::vector<Live> live;
  std::vector<Node> nodes;
  std::vector<std::vector<float>> alignments;
  std::vector<float> filtered;
  std::string error;

  /// A hypothesis that grows no more.
  struct Kept {
    int32_t node;
    double total;
    double score;
    bool finished;
  };
  std::vector<Kept> kept; ///< The best `beam`, in order.
};

int32_t SentenceSearch::addNode(const Continuation &next, int32_t weights) {
  nodes.push_back({live[next.beam].node, next.token, next.logprob, weights});
  return static_cast<int32_t>(nodes.size() - 1);
}

void SentenceSearch::keep(int32_t node, double total, int64_t length,
                          bool finished) {
  Kept entry{node, total, options.scoring.score(total, length), finished};
  // Behind its equals: the earlier wins.
  auto place = std::upper_bound(
      kept.begin(), kept.end(), entry,
      [](const Kept &a, const Kept &b) { return a.score > b.score; });
  kept.insert(place, entry);
  if (kept.size() > options.beam)
    kept.pop_back();
}

/// The live hypotheses end as they are.
void SentenceSearch::endLive() {
  for (const Live &hypothesis : live)
    keep(hypothesis.node, hypothesis.total, emitted, false);
  live.clear();
}

bool SentenceSearch::canStop() const {
  if (kept.size() < options.beam)
    return false;
  double worst = kept.back().score;
  return std::all_of(live.begin(), live.end(), [&](const Live &hypothesis) {
    return options.scoring.bound(hypothesis.total, sentence.maxLength) <= worst;
  });
}

std::vector<float> SentenceSearch::averageHeads(const StepResult &step,
                                                int64_t row) const {
  std::vector<float> result(static_cast<size_t>(memoryPositions));
  const float *weights = step.weights + row * step.memoryPositions * step.heads;
  for (int64_t position = 0; position < memoryPositions; ++position) {
    const float *heads = weights + position * step.heads;
    float sum = heads[0];
    for (int64_t head = 1; head < step.heads; ++head)
      sum += heads[head];
    result[position] =
        step.heads == 1 ? sum : sum / static_cast<float>(step.heads);
  }
  return result;
}

void SentenceSearch::advance(const StepResult &step, int64_t firstRow) {
  bool forced = sentence.forced.has_value();
  // Greedy decoding takes the best and nothing else, an end token included.
  size_t wanted = options.beam == 1 ? 1 : 2 * options.beam;
  BestContinuations best(wanted);
  std::vector<Continuation> next;
  for (size_t beam = 0; beam < live.size(); ++beam) {
    const float *logits =
        step.logits +
        (firstRow + static_cast<int64_t>(beam)) * target.vocabularySize;
    if (filter && !forced) {
      filtered.assign(logits, logits + target.vocabularySize);
      filter->apply(emitted, filtered.data(), target.vocabularySize);
      logits = filtered.data();
    }
    double logSum = logSumExp(logits, target.vocabularySize);
    if (std::isnan(logSum))
      return fail("expected finite logits, but got a NaN or an infinity as the "
                  "model's output for token " +
                  std::to_string(emitted + 1));
    if (forced) {
      int32_t token = (*sentence.forced)[emitted];
      double logprob = static_cast<double>(logits[token]) - logSum;
      // A row without any possible token says -inf of each.
      if (std::isnan(logprob))
        logprob = logSum;
      next.push_back({live[beam].total + logprob, logprob, 0, token});
      continue;
    }
    if (!best.offer(static_cast<int32_t>(beam), live[beam].total, logits,
                    target.vocabularySize, logSum))
      keep(live[beam].node, live[beam].total, emitted, false);
  }
  if (!forced)
    next = best.take();

  // Weights are kept of rows that are continued.
  std::vector<int32_t> rowWeights(live.size(), -1);
  auto weightsOf = [&](int32_t beam) {
    if (options.wantAlignment && step.weights && rowWeights[beam] < 0) {
      rowWeights[beam] = static_cast<int32_t>(alignments.size());
      alignments.push_back(averageHeads(step, firstRow + beam));
    }
    return rowWeights[beam];
  };
  std::vector<Live> continued;
  int64_t length = emitted + 1;
  for (size_t rank = 0; rank < next.size(); ++rank) {
    const Continuation &candidate = next[rank];
    if (candidate.token == target.end) {
      if (rank < options.beam)
        keep(addNode(candidate, weightsOf(candidate.beam)), candidate.total,
             length, true);
      continue;
    }
    if (continued.size() < options.beam)
      continued.push_back({addNode(candidate, weightsOf(candidate.beam)),
                           candidate.beam, candidate.total});
  }
  live = std::move(continued);
  emitted = length;

  // Greedy decoding ended with its end token above: nothing was continued.
  if (emitted >= limit())
    endLive();
  else if (!forced && options.beam > 1 && canStop())
    live.clear();
}

SearchResult SentenceSearch::finish() {
  SearchResult result;
  result.error = std::move(error);
  if (!result.error.empty())
    return result;
  for (const Kept &entry : kept) {
    if (result.hypotheses.size() == options.nbest)
      break;
    std::vector<int32_t> path;
    for (int32_t node = entry.node; node >= 0; node = nodes[node].parent)
      path.push_back(node);
    std::reverse(path.begin(), path.end());
    Hypothesis &hypothesis = result.hypotheses.emplace_back();
    hypothesis.logprob = entry.total;
    hypothesis.score = entry.score;
    hypothesis.finished = entry.finished;
    if (options.wantAlignment)
      hypothesis.memoryPositions = memoryPositions;
    for (int32_t node : path) {
      hypothesis.tokens.push_back(nodes[node].token);
      hypothesis.wordLogprobs.push_back(nodes[node].logprob);
      if (nodes[node].weights >= 0) {
        const std::vector<float> &row = alignments[nodes[node].weights];
        hypothesis.alignment.insert(hypothesis.alignment.end(), row.begin(),
                                    row.end());
      }
    }
  }
  return result;
}

} // namespace

bool search(Backend &backend, const SearchTarget &target,
            const std::vector<SearchSentence> &sentences,
            const SearchOptions &options, std::vector<SearchResult> &results,
            std::string &error) {
  results.clear();
  if (sentences.empty())
    return true;
  std::vector<TokenIds> sources;
  sources.reserve(sentences.size());
  for (const SearchSentence &sentence : sentences)
    sources.push_back(sentence.source);
  std::unique_ptr<Decoding> decoding = backend.encode(sources, error);
  if (!decoding)
    return false;

  MinimumLength minimumLength(options.minLength, target.end);
  const LogitsFilter *filter = options.minLength > 0 ? &minimumLength : nullptr;
  // Forced decoding has one hypothesis, whatever the beam.
  SearchOptions single = options;
  single.beam = single.nbest = 1;
  std::vector<SentenceSearch> searches;
  searches.reserve(sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i)
    searches.emplace_back(sentences[i], target,
                          sentences[i].forced ? single : options, filter,
                          decoding->memoryLength(static_cast<int64_t>(i)));

  // Rows of the step before, by sentence: parents refer to them.
  std::vector<int64_t> firstRows(sentences.size());
  std::vector<int32_t> tokens, positions, owners, parents;
  for (bool first = true;; first = false) {
    tokens.clear();
    positions.clear();
    owners.clear();
    parents.clear();
    for (size_t i = 0; i < searches.size(); ++i) {
      int64_t before = firstRows[i];
      firstRows[i] = static_cast<int64_t>(tokens.size());
      for (const auto &hypothesis : searches[i].liveHypotheses()) {
        tokens.push_back(searches[i].lastToken(hypothesis));
        positions.push_back(static_cast<int32_t>(searches[i].emittedTokens()));
        owners.push_back(static_cast<int32_t>(i));
        parents.push_back(first ? static_cast<int32_t>(i)
                                : static_cast<int32_t>(before) +
                                      hypothesis.parent);
      }
    }
    if (tokens.empty())
      break;
    StepRequest request;
    request.rows = static_cast<int64_t>(tokens.size());
    request.tokens = tokens.data();
    request.positions = positions.data();
    request.sentences = owners.data();
    request.parents = parents.data();
    StepResult step;
    if (!decoding->step(request, step, error))
      return false;
    for (size_t i = 0; i < searches.size(); ++i)
      if (!searches[i].liveHypotheses().empty())
        searches[i].advance(step, firstRows[i]);
  }
  for (SentenceSearch &one : searches)
    results.push_back(one.finish());
  return true;
}

} // namespace attn
