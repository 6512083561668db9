//===- search.cpp - greedy, beam, sampled and forced decoding -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace attn {

namespace {

/// A hypothesis that is still growing.
struct Live {
  int32_t node = -1;  ///< Its last token, -1 before the first.
  int32_t parent = 0; ///< Its beam in the step before.
  int32_t sample = 0;
  double total = 0;
};

/// What one step of one sentence needs and the next one does not.
struct Scratch {
  /// What is known of a row that is continued, or nothing yet.
  struct Row {
    bool known = false;
    int32_t alignment = -1;
    int32_t attended = -1;
  };

  std::vector<float> logits;    ///< [vocabulary] As constraints leave them.
  std::vector<int32_t> history; ///< Tokens of one hypothesis.
  BestContinuations best;
  Sampler sampler;
  std::vector<Continuation> next;
  std::vector<Row> rows;        ///< By beam.
  std::vector<float> weights;   ///< [beam, memory] Averaged over heads.
  std::vector<double> coverage; ///< [beam, memory] Of the next step.
  std::vector<Live> live;       ///< Of the next step.
};

/// The search of one sentence. It is fed the rows of its live hypotheses and
/// knows nothing of other sentences.
class SentenceSearch {
public:
  SentenceSearch(const SearchSentence &sentence, const SearchTarget &target,
                 const SearchOptions &options, Scratch &scratch,
                 int64_t memoryPositions)
      : sentence(sentence), target(target), options(options), scratch(scratch),
        forced(sentence.forced ? *sentence.forced : sentence.prefix),
        limit(sentence.forced ? static_cast<int64_t>(sentence.forced->size())
                              : sentence.maxLength),
        memoryPositions(memoryPositions),
        most(options.sampling.enabled ? options.nbest : options.beam), live(1) {
    if (options.scoring.coverage > 0)
      coverage.resize(static_cast<size_t>(memoryPositions));
    if (limit == 0)
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
    int32_t alignment; ///< A row of `alignments`.
    int32_t attended;
  };

  void fail(std::string message) {
    error = std::move(message);
    live.clear();
  }
  /// Fills `scratch.next`, in order, for `width` places. False after an error.
  bool findContinuations(const StepResult &step, int64_t firstRow,
                         size_t width);
  /// The logits as the constraints leave them, null where they are no numbers.
  const float *constrain(const Live &hypothesis, const float *logits);
  void drawSamples(size_t beam, const float *logits, double logSum);

  const Scratch::Row &row(const StepResult &step, int64_t firstRow,
                          int32_t beam);
  void averageHeads(const float *weights, int64_t heads, float *result) const;
  int32_t addNode(const Continuation &next, const Scratch::Row &row);
  bool needWeights() const {
    return options.scoring.coverage > 0 || options.wantAttended ||
           (options.wantAlignment && options.alignmentHead == averageOfHeads);
  }

  /// Keeps a hypothesis whose coverage is that of beam `beam`, and `last`.
  void keep(int32_t node, double total, int64_t length, bool finished,
            size_t beam, const float *last, int32_t sample);
  /// A live hypothesis ends as it is.
  void keepLive(size_t beam) {
    keep(live[beam].node, live[beam].total, emitted, false, beam, nullptr,
         live[beam].sample);
  }
  void endLive() {
    for (size_t beam = 0; beam < live.size(); ++beam)
      keepLive(beam);
    live.clear();
  }
  bool canStop() const;

  const SearchSentence &sentence;
  const SearchTarget &target;
  const SearchOptions &options;
  Scratch &scratch;
  const TokenIds &forced; ///< Tokens that are not searched for.
  int64_t limit;          ///< Tokens that a hypothesis emits at most.
  int64_t memoryPositions;
  size_t most; ///< Hypotheses that are kept at most.

  int64_t emitted = 0; ///< Tokens of each live hypothesis.
  std::vector<Live> live;
  std::vector<double> coverage; ///< [beam, memory] Sums of weights.
  std::vector<Node> nodes;
  std::vector<float> alignments; ///< [rows, memory, heads]
  int64_t alignmentRows = 0;
  int64_t heads = 1; ///< Of an alignment.
  std::string error;

  /// A hypothesis that grows no more.
  struct Kept {
    int32_t node;
    int32_t sample;
    double total;
    double score;
    bool finished;
  };
  std::vector<Kept> kept; ///< The best `most`, in order.
  size_t ended = 0;       ///< Hypotheses that were ever kept.
  bool topEnded = false;  ///< Whether the best continuation ever was an end.
};

int32_t SentenceSearch::addNode(const Continuation &next,
                                const Scratch::Row &row) {
  nodes.push_back({live[next.beam].node, next.token, next.logprob,
                   row.alignment, row.attended});
  return static_cast<int32_t>(nodes.size() - 1);
}

void SentenceSearch::keep(int32_t node, double total, int64_t length,
                          bool finished, size_t beam, const float *last,
                          int32_t sample) {
  Kept entry{node, sample, total, options.scoring.score(total, length),
             finished};
  if (options.scoring.coverage > 0)
    entry.score += options.scoring.coveragePenalty(
        coverage.data() + beam * static_cast<size_t>(memoryPositions), last,
        memoryPositions);
  ++ended;
  // Behind its equals: the earlier wins.
  bool samples = options.sampling.enabled;
  auto place = std::upper_bound(
      kept.begin(), kept.end(), entry, [&](const Kept &a, const Kept &b) {
        return samples ? a.sample < b.sample : a.score > b.score;
      });
  kept.insert(place, entry);
  if (kept.size() > most)
    kept.pop_back();
}

bool SentenceSearch::canStop() const {
  if (options.stop == StopRule::Count)
    return static_cast<double>(ended) >=
           std::max(
               1.0,
               std::floor(static_cast<double>(most) * options.patience + 0.5));
  if (options.stop == StopRule::Top)
    return topEnded && ended >= options.nbest;
  if (kept.size() < most)
    return false;
  double worst = kept.back().score;
  if (options.stop == StopRule::Estimate)
    return scratch.next.empty() ||
           options.scoring.score(scratch.next[0].total, emitted) <= worst;
  return std::all_of(live.begin(), live.end(), [&](const Live &hypothesis) {
    return options.scoring.bound(hypothesis.total, limit) <= worst;
  });
}

void SentenceSearch::averageHeads(const float *weights, int64_t count,
                                  float *result) const {
  for (int64_t position = 0; position < memoryPositions; ++position) {
    const float *one = weights + position * count;
    float sum = one[0];
    for (int64_t head = 1; head < count; ++head)
      sum += one[head];
    result[position] = count == 1 ? sum : sum / static_cast<float>(count);
  }
}

/// What is kept of a row that is continued.
const Scratch::Row &SentenceSearch::row(const StepResult &step,
                                        int64_t firstRow, int32_t beam) {
  Scratch::Row &row = scratch.rows[beam];
  if (row.known || !step.weights)
    return row;
  row.known = true;
  const float *weights =
      step.weights + (firstRow + beam) * step.memoryPositions * step.heads;
  float *average = nullptr;
  if (needWeights()) {
    average = scratch.weights.data() + beam * memoryPositions;
    averageHeads(weights, step.heads, average);
  }
  if (options.wantAttended) {
    int64_t words = std::min(sentence.words, memoryPositions);
    for (int64_t position = 0; position < words; ++position)
      if (row.attended < 0 || average[position] > average[row.attended])
        row.attended = static_cast<int32_t>(position);
  }
  if (options.wantAlignment) {
    row.alignment = static_cast<int32_t>(alignmentRows++);
    int32_t head = options.alignmentHead;
    heads = head == allHeads ? step.heads : 1;
    if (head == averageOfHeads)
      alignments.insert(alignments.end(), average, average + memoryPositions);
    else if (head == allHeads)
      alignments.insert(alignments.end(), weights,
                        weights + memoryPositions * heads);
    else
      for (int64_t position = 0; position < memoryPositions; ++position)
        alignments.push_back(weights[position * step.heads + head]);
  }
  return row;
}

const float *SentenceSearch::constrain(const Live &hypothesis,
                                       const float *logits) {
  const Constraints &constraints = options.constraints;
  std::vector<int32_t> &history = scratch.history;
  if (constraints.needHistory()) {
    history.resize(static_cast<size_t>(emitted));
    int32_t node = hypothesis.node;
    for (size_t i = history.size(); i-- > 0; node = nodes[node].parent)
      history[i] = nodes[node].token;
  }
  scratch.logits.resize(static_cast<size_t>(target.vocabularySize));
  bool numbers =
      constraints.apply(history.data(), emitted, target.end, logits,
                        scratch.logits.data(), target.vocabularySize);
  return numbers ? scratch.logits.data() : nullptr;
}

/// Draws a token for a sample, or in the first free step for all of them.
void SentenceSearch::drawSamples(size_t beam, const float *logits,
                                 double logSum) {
  bool fork = emitted == static_cast<int64_t>(forced.size());
  size_t count = fork ? options.nbest : 1;
  bool any =
      scratch.sampler.prepare(options.sampling, logits, target.vocabularySize);
  for (size_t i = 0; i < count; ++i) {
    if (fork)
      live[beam].sample = static_cast<int32_t>(i);
    if (!any) {
      keepLive(beam);
      continue;
    }
    int32_t token = scratch.sampler.draw(
        uniformNumber(options.sampling.seed, sentence.number,
                      static_cast<uint32_t>(live[beam].sample),
                      static_cast<uint32_t>(emitted)));
    double logprob = static_cast<double>(logits[token]) - logSum;
    scratch.next.push_back({live[beam].total + logprob, logprob,
                            static_cast<int32_t>(beam), token});
  }
}

bool SentenceSearch::findContinuations(const StepResult &step, int64_t firstRow,
                                       size_t width) {
  bool isForced = emitted < static_cast<int64_t>(forced.size());
  bool mustEnd = !isForced && options.endAtMaximum && target.end >= 0 &&
                 emitted + 1 == limit;
  bool searches = !isForced && !mustEnd && !options.sampling.enabled;
  // Greedy decoding takes the best and nothing else, an end token included.
  size_t wanted = options.beam == 1                  ? 1
                  : options.refill == Refill::Always ? 2 * options.beam
                                                     : width;
  scratch.next.clear();
  scratch.best.reset(wanted);
  for (size_t beam = 0; beam < live.size(); ++beam) {
    const float *logits =
        step.logits +
        (firstRow + static_cast<int64_t>(beam)) * target.vocabularySize;
    double logSum = std::numeric_limits<double>::quiet_NaN();
    if (!isForced && options.constraints.any())
      logits = constrain(live[beam], logits);
    if (logits)
      logSum = logSumExp(logits, target.vocabularySize);
    if (std::isnan(logSum)) {
      fail("expected finite logits, but got a NaN or an infinity as the "
           "model's output for token " +
           std::to_string(emitted + 1));
      return false;
    }
    if (isForced || mustEnd) {
      int32_t token = isForced ? forced[emitted] : target.end;
      double logprob = static_cast<double>(logits[token]) - logSum;
      // A row without any possible token says -inf of each.
      if (std::isnan(logprob))
        logprob = logSum;
      if (mustEnd && std::isinf(logprob))
        keepLive(beam);
      else
        scratch.next.push_back({live[beam].total + logprob, logprob,
                                static_cast<int32_t>(beam), token});
    } else if (options.sampling.enabled) {
      drawSamples(beam, logits, logSum);
    } else if (!scratch.best.offer(static_cast<int32_t>(beam), live[beam].total,
                                   logits, target.vocabularySize, logSum)) {
      keepLive(beam);
    }
  }
  if (searches)
    scratch.next = scratch.best.sorted();
  return true;
}

void SentenceSearch::advance(const StepResult &step, int64_t firstRow) {
  bool samples = options.sampling.enabled;
  bool isForced = emitted < static_cast<int64_t>(forced.size());
  bool fork = samples && emitted == static_cast<int64_t>(forced.size());
  size_t width = most;
  if (options.refill == Refill::Never && !samples)
    width -= std::min(ended, most);
  if (!findContinuations(step, firstRow, width))
    return;

  const std::vector<Continuation> &next = scratch.next;
  size_t memory = static_cast<size_t>(memoryPositions);
  bool covers = options.scoring.coverage > 0;
  scratch.rows.assign(live.size(), Scratch::Row());
  if (needWeights())
    scratch.weights.assign(live.size() * memory, 0.0f);
  if (covers)
    scratch.coverage.resize(std::min(width, next.size()) * memory);
  scratch.live.clear();
  for (size_t rank = 0; rank < next.size(); ++rank) {
    const Continuation &candidate = next[rank];
    bool ends = candidate.token == target.end;
    if (ends ? rank >= width : scratch.live.size() >= width)
      continue;
    size_t beam = static_cast<size_t>(candidate.beam);
    int32_t sample = fork ? static_cast<int32_t>(rank) : live[beam].sample;
    int32_t node = addNode(candidate, row(step, firstRow, candidate.beam));
    const float *weights =
        covers ? scratch.weights.data() + beam * memory : nullptr;
    if (ends) {
      keep(node, candidate.total, emitted + 1, true, beam, weights, sample);
      continue;
    }
    if (covers)
      for (size_t i = 0; i < memory; ++i)
        scratch.coverage[scratch.live.size() * memory + i] =
            coverage[beam * memory + i] + static_cast<double>(weights[i]);
    scratch.live.push_back({node, candidate.beam, sample, candidate.total});
  }
  std::swap(live, scratch.live);
  if (covers)
    std::swap(coverage, scratch.coverage);
  ++emitted;
  topEnded |= !isForced && !next.empty() && next[0].token == target.end;

  // Greedy decoding ended with its end token above: nothing was continued.
  if (emitted >= limit)
    endLive();
  else if (!isForced && !samples && options.beam > 1 && canStop())
    live.clear();
}

SearchResult SentenceSearch::finish() {
  SearchResult result;
  result.error = std::move(error);
  if (!result.error.empty())
    return result;
  size_t rowSize = static_cast<size_t>(memoryPositions * heads);
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
    if (options.wantAlignment) {
      hypothesis.memoryPositions = memoryPositions;
      hypothesis.heads = heads;
    }
    for (int32_t node : path) {
      hypothesis.tokens.push_back(nodes[node].token);
      hypothesis.wordLogprobs.push_back(nodes[node].logprob);
      if (options.wantAttended)
        hypothesis.attended.push_back(nodes[node].attended);
      if (nodes[node].alignment >= 0) {
        auto row = alignments.begin() +
                   static_cast<long>(
                       static_cast<size_t>(nodes[node].alignment) * rowSize);
        hypothesis.alignment.insert(hypothesis.alignment.end(), row,
                                    row + static_cast<long>(rowSize));
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

  // Forced decoding has one hypothesis, whatever the beam.
  SearchOptions single = options;
  single.beam = single.nbest = 1;
  single.sampling.enabled = false;
  Scratch scratch;
  std::vector<SentenceSearch> searches;
  searches.reserve(sentences.size());
  for (size_t i = 0; i < sentences.size(); ++i)
    searches.emplace_back(sentences[i], target,
                          sentences[i].forced ? single : options, scratch,
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
