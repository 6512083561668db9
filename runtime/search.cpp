//===- search.cpp - greedy, beam, sampled and forced decoding -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/search.h"
#include "runtime/frames.h"
#include "runtime/heads.h"

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

/// How much of everything a search or a batch has at most.
struct Capacity {
  size_t most;      ///< Live hypotheses, and kept ones.
  size_t wanted;    ///< Continuations that are looked for.
  size_t memory;    ///< Memory positions.
  size_t emitted;   ///< Tokens of a hypothesis.
  size_t nodes;     ///< Tokens of all hypotheses.
  size_t alignment; ///< Numbers of all their alignments.
  size_t coverage;  ///< Sums of the live ones.
  size_t logits;    ///< That constraints change.
  size_t picked;    ///< Logits of a shortlist.
  size_t samples;   ///< Tokens that can be drawn.

  Capacity(const SearchOptions &options, const SearchLimits &limits);
};

bool needsAverage(const SearchOptions &options) {
  return options.scoring.coverage > 0 || options.wantAttended ||
         (options.wantAlignment && options.alignmentHead == averageOfHeads);
}

/// Searches of a sentence.
size_t searchCount(const SearchOptions &options, bool forced) {
  return options.alternatives && !forced ? options.nbest : 1;
}

/// Rows that each of them has at most.
size_t searchWidth(const SearchOptions &options, bool forced) {
  if (forced)
    return 1;
  return options.sampling.enabled ? options.nbest : options.beam;
}

/// Continuations that are looked for at most.
size_t wantedContinuations(const SearchOptions &options, bool forced) {
  size_t width = searchWidth(options, forced);
  bool samples = options.sampling.enabled && !forced;
  return std::max(width == 1 || samples ? width : 2 * width,
                  searchCount(options, forced));
}

Capacity::Capacity(const SearchOptions &options, const SearchLimits &limits) {
  bool samples = options.sampling.enabled && !limits.forced;
  most = searchWidth(options, limits.forced);
  wanted = wantedContinuations(options, limits.forced);
  memory = static_cast<size_t>(limits.memoryPositions);
  emitted = static_cast<size_t>(limits.emitted);
  nodes = multiplySizes({emitted, wanted});
  alignment =
      options.wantAlignment
          ? multiplySizes({emitted, most, memory,
                           keptHeads(options.alignmentHead, limits.heads)})
          : 0;
  coverage = options.scoring.coverage > 0 ? multiplySizes({most, memory}) : 0;
  // Whatever the constraints: a plan does not depend on them.
  logits = static_cast<size_t>(limits.vocabularySize);
  picked = options.shortlists ? logits : 0;
  this->samples = samples ? static_cast<size_t>(limits.vocabularySize) : 0;
}

/// What one step of one sentence needs and the next one does not.
struct Scratch {
  explicit Scratch(std::pmr::memory_resource *memory)
      : logits(memory), picked(memory), history(memory), best(memory),
        bestLogits(memory), bestTokens(memory), sampler(memory), next(memory),
        rows(memory), weights(memory), coverage(memory), live(memory) {}

  void reserve(const Capacity &capacity, bool weighs) {
    logits.reserve(capacity.logits);
    picked.reserve(capacity.picked);
    history.reserve(capacity.emitted);
    best.reserve(capacity.wanted);
    bestLogits.reserve(capacity.wanted);
    bestTokens.reserve(capacity.wanted);
    sampler.reserve(capacity.samples);
    next.reserve(capacity.wanted);
    rows.reserve(capacity.most);
    weights.reserve(weighs ? multiplySizes({capacity.most, capacity.memory})
                           : 0);
    coverage.reserve(capacity.coverage);
    live.reserve(capacity.most);
  }
  /// The bytes of these.
  static void count(const Capacity &capacity, bool weighs, Layout &layout);

  /// What is known of a row that is continued, or nothing yet.
  struct Row {
    bool known = false;
    int32_t alignment = -1;
    int32_t attended = -1;
  };

  std::pmr::vector<float> logits; ///< [choices] As constraints leave them.
  std::pmr::vector<float> picked; ///< [choices] Those of a shortlist.
  TokenIds history;               ///< Tokens, or nodes, of one hypothesis.
  BestContinuations best;
  /// Of one hypothesis.
  std::pmr::vector<float> bestLogits;
  TokenIds bestTokens;
  Sampler sampler;
  std::pmr::vector<Continuation> next;
  std::pmr::vector<Row> rows;        ///< By beam.
  std::pmr::vector<float> weights;   ///< [beam, memory] Averaged over heads.
  std::pmr::vector<double> coverage; ///< [beam, memory] Of the next step.
  std::pmr::vector<Live> live;       ///< Of the next step.
};

void Scratch::count(const Capacity &capacity, bool weighs, Layout &layout) {
  layout.take<float>(capacity.logits);
  layout.take<float>(capacity.picked);
  layout.take<int32_t>(capacity.emitted);
  layout.take<Continuation>(capacity.wanted);
  layout.take<float>(capacity.wanted);
  layout.take<int32_t>(capacity.wanted);
  layout.take<int32_t>(capacity.samples);
  layout.take<int32_t>(capacity.samples);
  layout.take<double>(capacity.samples);
  layout.take<Continuation>(capacity.wanted);
  layout.take<Row>(capacity.most);
  layout.take<float>(weighs ? multiplySizes({capacity.most, capacity.memory})
                            : 0);
  layout.take<double>(capacity.coverage);
  layout.take<Live>(capacity.most);
}

/// The search of one sentence, or of one of its alternatives. It is fed the
/// rows of its live hypotheses and knows nothing of other sentences.
class SentenceSearch {
public:
  /// Of several searches of a sentence, number 0 goes through the prefix; the
  /// others begin where it ends.
  SentenceSearch(const SearchSentence &sentence, int32_t owner, int32_t number,
                 const SearchTarget &target, const SearchOptions &options,
                 Scratch &scratch, int64_t memoryPositions,
                 std::pmr::memory_resource *memory, const Capacity *capacity)
      : sentence(sentence), owner(owner), number(number),
        target(sentence.target ? *sentence.target : target), options(options),
        scratch(scratch),
        forced(sentence.forced ? *sentence.forced : sentence.prefix),
        limit(sentence.forced ? static_cast<int64_t>(sentence.forced->size())
                              : sentence.maxLength),
        memoryPositions(memoryPositions), shortlist(sentence.shortlist),
        choices(shortlist.empty() ? this->target.vocabularySize
                                  : static_cast<int64_t>(shortlist.size())),
        columns(memory), beamWidth(sentence.forced ? 1 : options.beam),
        samples(options.sampling.enabled && !sentence.forced),
        branches(options.alternatives && !sentence.forced),
        most(searchWidth(options, sentence.forced.has_value())), live(memory),
        coverage(memory), nodes(memory), alignments(memory), kept(memory) {
    if (capacity)
      reserve(*capacity);
    if (number > 0)
      return;
    live.emplace_back();
    if (options.scoring.coverage > 0)
      coverage.resize(static_cast<size_t>(memoryPositions));
    if (limit == 0)
      endLive();
  }

  /// The bytes of what `reserve` makes room for.
  static void count(const Capacity &capacity, Layout &layout);

  const std::pmr::vector<Live> &liveHypotheses() const { return live; }
  int32_t lastToken(const Live &hypothesis) const {
    return hypothesis.node < 0 ? target.start : nodes[hypothesis.node].token;
  }
  int64_t emittedTokens() const { return emitted; }
  /// The sentence, by its place in the batch.
  int32_t ownerSentence() const { return owner; }

  /// Whether the next step needs all of its logits, and not only the best.
  bool needsLogits() const {
    return !live.empty() &&
           (!hasOwnColumns() || emitted < static_cast<int64_t>(forced.size()) ||
            isLast() || options.constraints.act(emitted));
  }

  /// Says of which tokens steps will have logits; empty: of all.
  void setColumns(Shortlist tokens);
  /// Whether steps have logits of the tokens that may follow, and no others.
  bool hasOwnColumns() const { return shortlist.empty() || isColumns; }

  /// Takes the step's results of the live hypotheses, which are the rows from
  /// `firstRow` on. Whether all searches of the sentence, of which this is the
  /// first, go on from the row.
  bool advance(const StepResult &step, int64_t firstRow,
               std::span<SentenceSearch> group);

  /// Adds to a result, in its own memory.
  void finish(SearchResult &result);

private:
  void reserve(const Capacity &capacity) {
    live.reserve(capacity.most);
    coverage.reserve(capacity.coverage);
    nodes.reserve(capacity.nodes);
    alignments.reserve(capacity.alignment);
    kept.reserve(capacity.most + 1);
  }

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
  /// Whether this step is the first that is not forced.
  bool isFork() const { return emitted == static_cast<int64_t>(forced.size()); }
  /// Whether the next token has to be the end token.
  bool isLast() const {
    return emitted >= static_cast<int64_t>(forced.size()) &&
           options.endAtMaximum && target.end >= 0 && emitted + 1 == limit;
  }
  /// Continues hypotheses, for `width` places.
  void take(const StepResult &step, int64_t firstRow,
            std::span<const Continuation> next, size_t width);
  /// Begins with the one hypothesis of another search.
  void beginWith(const SentenceSearch &other) {
    live = other.live;
    coverage = other.coverage;
    nodes = other.nodes;
    alignments = other.alignments;
    alignmentRows = other.alignmentRows;
    heads = other.heads;
    emitted = other.emitted;
  }
  /// Fills `scratch.next`, in order, for `width` places. False after an error.
  bool findContinuations(const StepResult &step, int64_t firstRow,
                         size_t width);
  /// The logits as the constraints leave them, null where they are no numbers.
  const float *constrain(const Live &hypothesis, const float *logits);
  void drawSamples(size_t beam, const float *logits, double logSum);
  /// The logits of the tokens that may follow, of those that a step has.
  const float *pick(const float *logits);
  /// The token that stands at a place among those that may follow.
  int32_t tokenAt(int32_t place) const {
    return shortlist.empty() || place < 0 ? place : shortlist[place];
  }

  const Scratch::Row &row(const StepResult &step, int64_t firstRow,
                          int32_t beam);
  int32_t addNode(const Continuation &next, const Scratch::Row &row);
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
  int32_t owner, number;
  const SearchTarget &target;
  const SearchOptions &options;
  Scratch &scratch;
  const TokenIds &forced; ///< Tokens that are not searched for.
  int64_t limit;          ///< Tokens that a hypothesis emits at most.
  int64_t memoryPositions;
  Shortlist shortlist;
  int64_t choices;  ///< Tokens that may follow.
  TokenIds columns; ///< Where a step has their logits, if not at their ids.
  bool isColumns = false; ///< Whether a step has no other logits.
  size_t beamWidth;
  bool samples;  ///< Instead of searching.
  bool branches; ///< Into alternatives.
  size_t most;   ///< Hypotheses that are kept at most.

  int64_t emitted = 0; ///< Tokens of each live hypothesis.
  std::pmr::vector<Live> live;
  std::pmr::vector<double> coverage; ///< [beam, memory] Sums of weights.
  std::pmr::vector<Node> nodes;
  std::pmr::vector<float> alignments; ///< [rows, memory, heads]
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
  std::pmr::vector<Kept> kept; ///< The best `most`, in order.
  size_t ended = 0;            ///< Hypotheses that were ever kept.
  bool topEnded = false; ///< Whether the best continuation ever was an end.
};

void SentenceSearch::count(const Capacity &capacity, Layout &layout) {
  layout.take<SentenceSearch>(1);
  layout.take<Live>(capacity.most);
  layout.take<double>(capacity.coverage);
  layout.take<Node>(capacity.nodes);
  layout.take<float>(capacity.alignment);
  layout.take<Kept>(capacity.most + 1);
}

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
    return topEnded && ended >= (branches ? 1 : options.nbest);
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
  if (needsAverage(options)) {
    average = scratch.weights.data() + beam * memoryPositions;
    averageHeads(weights, memoryPositions, step.heads, average);
  }
  if (options.wantAttended) {
    int64_t words = std::min(sentence.words, memoryPositions);
    for (int64_t position = 0; position < words; ++position)
      if (row.attended < 0 || average[position] > average[row.attended])
        row.attended = static_cast<int32_t>(position);
  }
  if (options.wantAlignment) {
    row.alignment = static_cast<int32_t>(alignmentRows++);
    heads = static_cast<int64_t>(keptHeads(options.alignmentHead, step.heads));
    keepHeads(weights, average, memoryPositions, step.heads,
              options.alignmentHead, alignments);
  }
  return row;
}

const float *SentenceSearch::constrain(const Live &hypothesis,
                                       const float *logits) {
  const Constraints &constraints = options.constraints;
  TokenIds &history = scratch.history;
  if (constraints.needHistory()) {
    history.resize(static_cast<size_t>(emitted));
    int32_t node = hypothesis.node;
    for (size_t i = history.size(); i-- > 0; node = nodes[node].parent)
      history[i] = nodes[node].token;
  }
  scratch.logits.resize(static_cast<size_t>(choices));
  bool numbers = constraints.apply(history.data(), emitted, target.end, logits,
                                   scratch.logits.data(), choices, shortlist);
  return numbers ? scratch.logits.data() : nullptr;
}

const float *SentenceSearch::pick(const float *logits) {
  if (hasOwnColumns())
    return logits;
  scratch.picked.clear();
  for (int32_t column : columns.empty() ? shortlist : Shortlist(columns))
    scratch.picked.push_back(logits[column]);
  return scratch.picked.data();
}

void SentenceSearch::setColumns(Shortlist tokens) {
  isColumns = tokens.size() == shortlist.size();
  columns.clear();
  for (size_t i = 0; i < tokens.size() && !isColumns; ++i)
    if (findInShortlist(shortlist, tokens[i]) >= 0)
      columns.push_back(static_cast<int32_t>(i));
}

/// Draws a token for a sample, or in the first free step for all of them.
void SentenceSearch::drawSamples(size_t beam, const float *logits,
                                 double logSum) {
  bool fork = isFork();
  size_t count = fork ? options.nbest : 1;
  bool any = scratch.sampler.prepare(options.sampling, logits, choices);
  for (size_t i = 0; i < count; ++i) {
    if (fork)
      live[beam].sample = static_cast<int32_t>(i);
    if (!any) {
      keepLive(beam);
      continue;
    }
    int32_t place = scratch.sampler.draw(
        uniformNumber(options.sampling.seed, sentence.number,
                      static_cast<uint32_t>(live[beam].sample),
                      static_cast<uint32_t>(emitted)));
    double logprob = static_cast<double>(logits[place]) - logSum;
    scratch.next.push_back({live[beam].total + logprob, logprob,
                            static_cast<int32_t>(beam), tokenAt(place)});
  }
}

bool SentenceSearch::findContinuations(const StepResult &step, int64_t firstRow,
                                       size_t width) {
  bool isForced = emitted < static_cast<int64_t>(forced.size());
  bool mustEnd = isLast();
  bool searches = !isForced && !mustEnd && !samples;
  // Greedy decoding takes the best and nothing else, an end token included.
  size_t wanted = branches && isFork()               ? options.nbest
                  : beamWidth == 1                   ? 1
                  : options.refill == Refill::Always ? 2 * beamWidth
                                                     : width;
  int64_t asked = searchBest(options, /*forced=*/false);
  int64_t chunks = chunkCount(choices);
  // There is room for those of all tokens.
  int64_t mostChunks = chunkCount(target.vocabularySize);
  scratch.next.clear();
  scratch.best.reset(wanted);
  for (size_t beam = 0; beam < live.size(); ++beam) {
    int64_t place = firstRow + static_cast<int64_t>(beam);
    const float *logits = nullptr;
    double logSum = std::numeric_limits<double>::quiet_NaN();
    if (step.logits) {
      logits = step.logits +
               place * (step.columns ? step.columns : target.vocabularySize);
      logits = pick(logits);
      if (!isForced && options.constraints.act(emitted))
        logits = constrain(live[beam], logits);
      if (logits)
        logSum = logSumExp(logits, choices);
    } else {
      const float *maxima = step.chunks + place * 2 * mostChunks;
      logSum = logSumExp(maxima, maxima + mostChunks, chunks);
    }
    if (std::isnan(logSum)) {
      fail("expected finite logits, but got a NaN or an infinity as the "
           "model's output for token " +
           std::to_string(emitted + 1));
      return false;
    }
    if (isForced || mustEnd) {
      int32_t token = isForced ? forced[emitted] : target.end;
      double logprob =
          static_cast<double>(logits[findInShortlist(shortlist, token)]) -
          logSum;
      // A row without any possible token says -inf of each.
      if (std::isnan(logprob))
        logprob = logSum;
      if (mustEnd && std::isinf(logprob))
        keepLive(beam);
      else
        scratch.next.push_back({live[beam].total + logprob, logprob,
                                static_cast<int32_t>(beam), token});
      continue;
    }
    if (samples) {
      drawSamples(beam, logits, logSum);
      continue;
    }
    const float *best;
    const int32_t *tokens;
    int64_t count = static_cast<int64_t>(wanted);
    if (logits) {
      scratch.bestLogits.resize(wanted);
      scratch.bestTokens.resize(wanted);
      findBest(logits, choices, count, scratch.bestLogits.data(),
               scratch.bestTokens.data());
      best = scratch.bestLogits.data();
      tokens = scratch.bestTokens.data();
    } else {
      best = step.best + place * asked;
      tokens = step.bestTokens + place * asked;
    }
    if (!shortlist.empty()) {
      scratch.bestTokens.resize(wanted);
      std::transform(tokens, tokens + wanted, scratch.bestTokens.begin(),
                     [&](int32_t place) { return tokenAt(place); });
      tokens = scratch.bestTokens.data();
    }
    if (!scratch.best.offer(static_cast<int32_t>(beam), live[beam].total, best,
                            tokens, count, logSum))
      keepLive(beam);
  }
  if (searches)
    scratch.next = scratch.best.sorted();
  return true;
}

bool SentenceSearch::advance(const StepResult &step, int64_t firstRow,
                             std::span<SentenceSearch> group) {
  size_t width = most;
  if (options.refill == Refill::Never && !samples)
    width -= std::min(ended, most);
  if (!findContinuations(step, firstRow, width))
    return false;
  std::span<const Continuation> next = scratch.next;
  if (!branches || !isFork()) {
    take(step, firstRow, next, width);
    return false;
  }
  for (size_t i = 1; i < next.size(); ++i)
    group[i].beginWith(*this);
  for (size_t i = 0; i < next.size(); ++i)
    group[i].take(step, firstRow, next.subspan(i, 1), width);
  if (next.empty())
    take(step, firstRow, next, width);
  return true;
}

void SentenceSearch::take(const StepResult &step, int64_t firstRow,
                          std::span<const Continuation> next, size_t width) {
  bool isForced = emitted < static_cast<int64_t>(forced.size());
  bool fork = samples && isFork();
  size_t memory = static_cast<size_t>(memoryPositions);
  bool covers = options.scoring.coverage > 0;
  scratch.rows.assign(live.size(), Scratch::Row());
  if (needsAverage(options))
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
    // A stop ends the hypothesis like the maximum length.
    bool stops =
        options.listener &&
        !options.listener->emitted(
            {sentence.place, static_cast<size_t>(branches ? number : sample),
             static_cast<size_t>(emitted), candidate.token,
             nodes[node].attended, candidate.logprob,
             ends || emitted + 1 == limit, ends});
    if (ends || stops) {
      keep(node, candidate.total, emitted + 1, ends, beam, weights, sample);
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
  else if (!isForced && !samples && beamWidth > 1 && canStop())
    live.clear();
  else if (!live.empty() && target.limit && emitted >= target.limit->length)
    fail("expected hypotheses of " + target.limit->describe("tokens") +
         ", but got a longer one");
}

void SentenceSearch::finish(SearchResult &result) {
  if (!error.empty()) {
    result.error = std::move(error);
    return;
  }
  size_t rowSize = static_cast<size_t>(memoryPositions * heads);
  size_t count = std::min(
      kept.size(), sentence.forced || branches ? size_t(1) : options.nbest);
  std::pmr::memory_resource *memory =
      result.hypotheses.get_allocator().resource();
  if (number == 0)
    result.hypotheses.reserve(branches ? options.nbest : count);
  TokenIds &path = scratch.history;
  for (size_t rank = 0; rank < count; ++rank) {
    const Kept &entry = kept[rank];
    path.clear();
    for (int32_t node = entry.node; node >= 0; node = nodes[node].parent)
      path.push_back(node);
    std::reverse(path.begin(), path.end());
    Hypothesis &hypothesis = result.hypotheses.emplace_back(memory);
    hypothesis.logprob = entry.total;
    hypothesis.score = entry.score;
    hypothesis.finished = entry.finished;
    if (options.wantAlignment) {
      hypothesis.memoryPositions = memoryPositions;
      hypothesis.heads = heads;
    }
    hypothesis.tokens.reserve(path.size());
    hypothesis.wordLogprobs.reserve(path.size());
    if (options.wantAttended)
      hypothesis.attended.reserve(path.size());
    if (alignmentRows)
      hypothesis.alignment.reserve(path.size() * rowSize);
    for (int32_t node : path) {
      hypothesis.tokens.push_back(nodes[node].token);
      hypothesis.wordLogprobs.push_back(nodes[node].logprob);
      if (options.wantAttended)
        hypothesis.attended.push_back(nodes[node].attended);
      if (nodes[node].alignment >= 0) {
        const float *row = alignments.data() +
                           static_cast<size_t>(nodes[node].alignment) * rowSize;
        hypothesis.alignment.insert(hypothesis.alignment.end(), row,
                                    row + rowSize);
      }
    }
  }
}

/// What a batch has besides its sentences' searches.
struct Batch {
  explicit Batch(std::pmr::memory_resource *memory)
      : scratch(memory), sources(memory), searches(memory), firstRows(memory),
        tokens(memory), positions(memory), owners(memory), parents(memory) {}

  void reserve(size_t sentences, size_t searchCount, size_t rows) {
    sources.reserve(sentences);
    searches.reserve(searchCount);
    firstRows.reserve(searchCount);
    for (auto *numbers : {&tokens, &positions, &owners, &parents})
      numbers->reserve(rows);
  }
  static void count(size_t sentences, size_t searchCount, size_t rows,
                    Layout &layout) {
    layout.take<SourceSpan>(sentences);
    // The searches themselves are counted with what each of them has.
    layout.take<int64_t>(searchCount);
    for (int i = 0; i < 4; ++i)
      layout.take<int32_t>(rows);
  }

  Scratch scratch;
  std::pmr::vector<SourceSpan> sources;
  std::pmr::vector<SentenceSearch> searches; ///< In the order of sentences.
  /// Rows of the step before, by search: parents refer to them.
  std::pmr::vector<int64_t> firstRows;
  std::pmr::vector<int32_t> tokens, positions, owners, parents;
};

/// Computes whole targets at once, some sentences at a time, and feeds them to
/// the searches position by position, as steps would.
SearchOutcome forceAll(Decoding &decoding, const SearchTarget &target,
                       std::span<SentenceSearch> searches,
                       std::span<const SearchSentence *const> sentences,
                       Interrupt *interrupt, std::string &error) {
  // Logits of as many positions as 64 MiB hold; those of one sentence always.
  const int64_t mostPositions = (int64_t(1) << 24) / target.vocabularySize;
  std::vector<int32_t> tokens, lengths, owners;
  for (size_t first = 0; first < sentences.size();) {
    if (interrupt && interrupt->raised())
      return SearchOutcome::Interrupted;
    ForceRequest request;
    for (size_t i = first; i < sentences.size(); ++i) {
      int64_t positions =
          std::max(request.positions,
                   static_cast<int64_t>(sentences[i]->forced->size()));
      if (request.rows && positions * (request.rows + 1) > mostPositions)
        break;
      request.positions = positions;
      ++request.rows;
    }
    size_t rows = static_cast<size_t>(request.rows);
    tokens.assign(rows * static_cast<size_t>(request.positions), 0);
    lengths.clear();
    owners.clear();
    for (size_t row = 0; row < rows; ++row) {
      const TokenIds &forced = *sentences[first + row]->forced;
      lengths.push_back(static_cast<int32_t>(forced.size()));
      owners.push_back(static_cast<int32_t>(first + row));
      if (forced.empty())
        continue;
      auto to = tokens.begin() + static_cast<int64_t>(row) * request.positions;
      *to++ = target.start;
      std::copy(forced.begin(), forced.end() - 1, to);
    }
    request.tokens = tokens.data();
    request.lengths = lengths.data();
    request.sentences = owners.data();
    StepResult result;
    if (request.positions && !decoding.force(request, result, error))
      return SearchOutcome::Failed;
    for (size_t row = 0; row < rows; ++row)
      for (int32_t position = 0;
           position < lengths[row] &&
           !searches[first + row].liveHypotheses().empty();
           ++position)
        searches[first + row].advance(
            result, static_cast<int64_t>(row) * request.positions + position,
            {});
    first += rows;
  }
  return SearchOutcome::Done;
}

} // namespace

size_t searchRows(const SearchOptions &options, bool forced) {
  return searchCount(options, forced) * searchWidth(options, forced);
}

int64_t searchBest(const SearchOptions &options, bool forced) {
  return forced || options.sampling.enabled
             ? 0
             : static_cast<int64_t>(wantedContinuations(options, forced));
}

size_t searchBytes(const SearchOptions &options, const SearchLimits &limits,
                   size_t sentences) {
  if (limits.frameSize > 0)
    return frameBytes(options, limits, sentences);
  Capacity capacity(options, limits);
  Layout one, batch;
  SentenceSearch::count(capacity, one);
  Scratch::count(capacity, needsAverage(options), batch);
  size_t searches =
      multiplySizes({searchCount(options, limits.forced), sentences});
  Batch::count(sentences, searches, multiplySizes({capacity.most, searches}),
               batch);
  batch.takeBytes(multiplySizes({one.bytes(), searches}));
  return batch.bytes();
}

size_t hypothesesBytes(const SearchOptions &options,
                       const SearchLimits &limits) {
  if (limits.frameSize > 0)
    return frameHypothesisBytes(options, limits);
  Capacity capacity(options, limits);
  size_t count = limits.forced ? 1 : options.nbest;
  Layout one, all;
  one.take<int32_t>(capacity.emitted);
  one.take<double>(capacity.emitted);
  if (options.wantAttended)
    one.take<int32_t>(capacity.emitted);
  if (options.wantAlignment)
    one.take<float>(
        multiplySizes({capacity.emitted, capacity.memory,
                       keptHeads(options.alignmentHead, limits.heads)}));
  all.take<Hypothesis>(count);
  all.takeBytes(multiplySizes({one.bytes(), count}));
  return all.bytes();
}

SearchOutcome search(Backend &backend, const SearchTarget &target,
                     std::span<const SearchSentence *const> sentences,
                     const SearchOptions &options, Arena &memory,
                     Interrupt *interrupt, std::span<SearchResult> results,
                     std::string &error, const Workers *workers) {
  if (sentences.empty())
    return SearchOutcome::Done;
  if (target.frameSize > 0)
    return generateFrames(backend, target, sentences, options, memory,
                          interrupt, results, error);
  // What grows is better off where it can be given back.
  bool bounded = memory.isBounded();
  std::pmr::memory_resource *resource =
      bounded ? &memory : std::pmr::new_delete_resource();
  Batch batch(resource);
  size_t rows = sentences.size(), searchesOfAll = 0;
  for (const SearchSentence *sentence : sentences)
    searchesOfAll += searchCount(options, sentence->forced.has_value());
  if (bounded) {
    rows = 0;
    for (const SearchSentence *sentence : sentences)
      rows += searchRows(options, sentence->forced.has_value());
  }
  batch.reserve(sentences.size(), searchesOfAll, rows);
  for (const SearchSentence *sentence : sentences)
    batch.sources.push_back(sentence->source);
  if (interrupt && interrupt->raised())
    return SearchOutcome::Interrupted;
  int64_t steps = 0;
  for (const SearchSentence *sentence : sentences)
    steps = std::max(steps, sentence->forced
                                ? static_cast<int64_t>(sentence->forced->size())
                                : sentence->maxLength);
  DecodingPtr decoding = backend.encode(
      batch.sources, static_cast<int64_t>(rows), steps, memory, error);
  if (!decoding)
    return SearchOutcome::Failed;

  std::optional<Capacity> capacity;
  if (bounded) {
    // Sentences lend each other what they have, so all have the same.
    SearchLimits limits;
    limits.vocabularySize = target.vocabularySize;
    limits.heads = target.heads;
    limits.forced = sentences[0]->forced.has_value();
    limits.emitted = steps;
    for (size_t i = 0; i < sentences.size(); ++i) {
      limits.memoryPositions =
          std::max(limits.memoryPositions,
                   decoding->memoryLength(static_cast<int64_t>(i)));
      if (sentences[i]->target)
        limits.vocabularySize = std::max(limits.vocabularySize,
                                         sentences[i]->target->vocabularySize);
    }
    capacity.emplace(options, limits);
    batch.scratch.reserve(*capacity, needsAverage(options));
  }
  std::pmr::vector<SentenceSearch> &searches = batch.searches;
  for (size_t i = 0; i < sentences.size(); ++i)
    for (size_t number = 0;
         number < searchCount(options, sentences[i]->forced.has_value());
         ++number)
      searches.emplace_back(*sentences[i], static_cast<int32_t>(i),
                            static_cast<int32_t>(number), target, options,
                            batch.scratch,
                            decoding->memoryLength(static_cast<int64_t>(i)),
                            resource, capacity ? &*capacity : nullptr);

  if (!bounded && decoding->canForce() &&
      std::all_of(sentences.begin(), sentences.end(),
                  [](const SearchSentence *sentence) {
                    return sentence->forced.has_value();
                  })) {
    SearchOutcome outcome =
        forceAll(*decoding, target, searches, sentences, interrupt, error);
    if (outcome != SearchOutcome::Done)
      return outcome;
  }
  bool anyLive = std::any_of(searches.begin(), searches.end(),
                             [](const SentenceSearch &search) {
                               return !search.liveHypotheses().empty();
                             });
  if (options.shortlists && !bounded && anyLive) {
    std::vector<Shortlist> lists;
    for (const SearchSentence *sentence : sentences)
      lists.push_back(sentence->shortlist);
    Shortlist columns = decoding->useShortlists(lists);
    for (SentenceSearch &search : searches)
      search.setColumns(columns);
  }
  batch.firstRows.resize(searches.size());
  for (bool first = true;; first = false) {
    batch.tokens.clear();
    batch.positions.clear();
    batch.owners.clear();
    batch.parents.clear();
    StepRequest request;
    request.best = searchBest(options, /*forced=*/false);
    request.weights = needsAverage(options) || options.wantAlignment;
    request.workers = workers;
    for (size_t i = 0; i < searches.size(); ++i) {
      int64_t before = batch.firstRows[i];
      batch.firstRows[i] = static_cast<int64_t>(batch.tokens.size());
      if (searches[i].needsLogits())
        request.best = 0;
      for (const Live &hypothesis : searches[i].liveHypotheses()) {
        batch.tokens.push_back(searches[i].lastToken(hypothesis));
        batch.positions.push_back(
            static_cast<int32_t>(searches[i].emittedTokens()));
        batch.owners.push_back(searches[i].ownerSentence());
        batch.parents.push_back(first ? searches[i].ownerSentence()
                                      : static_cast<int32_t>(before) +
                                            hypothesis.parent);
      }
    }
    if (batch.tokens.empty())
      break;
    if (!first && interrupt && interrupt->raised())
      return SearchOutcome::Interrupted;
    request.rows = static_cast<int64_t>(batch.tokens.size());
    request.tokens = batch.tokens.data();
    request.positions = batch.positions.data();
    request.sentences = batch.owners.data();
    request.parents = batch.parents.data();
    StepResult step;
    if (!decoding->step(request, step, error))
      return SearchOutcome::Failed;
    // Backwards: searches that begin in this step had no row in it.
    for (size_t i = searches.size(); i-- > 0;) {
      if (searches[i].liveHypotheses().empty())
        continue;
      int64_t firstRow = batch.firstRows[i];
      if (searches[i].advance(step, firstRow, std::span(searches).subspan(i)))
        for (size_t other = i;
             other < searches.size() &&
             searches[other].ownerSentence() == searches[i].ownerSentence();
             ++other)
          batch.firstRows[other] = firstRow;
    }
  }
  for (SentenceSearch &search : searches)
    search.finish(results[search.ownerSentence()]);
  for (SearchResult &result : results)
    if (!result.error.empty())
      result.hypotheses.clear();
  return SearchOutcome::Done;
}

} // namespace attn
