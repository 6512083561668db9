//===- search.h - greedy, beam, sampled and forced decoding ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// R15, R16 and R18 to R20 of the semantics over any Backend.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SEARCH_H
#define ATTN_RUNTIME_SEARCH_H

#include "runtime/backend.h"
#include "runtime/constraints.h"
#include "runtime/description.h"
#include "runtime/distribution.h"
#include "runtime/heads.h"
#include "runtime/sampling.h"
#include "runtime/scoring.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// When a beam search ends before nothing lives. "Finished" are hypotheses that
/// grow no more.
enum class StopRule {
  /// As many as the beam is wide are finished, and no live hypothesis can beat
  /// the worst of them (R16).
  Bound,
  /// `patience` times the width of the beam are finished, rounded.
  Count,
  /// The best continuation of some step was an end token, and `nbest` are
  /// finished.
  Top,
  /// As many as the beam is wide are finished, and the best continuation of
  /// this step, scored at its own length, does not beat the worst of them.
  Estimate
};

/// What becomes of the places of continuations that end.
enum class Refill {
  Always, ///< The next best live on in them (R16).
  Next,   ///< They are empty for a step.
  Never   ///< They stay empty: the beam shrinks.
};

/// A token that a hypothesis emits.
struct EmittedToken {
  size_t sentence = 0;   ///< See SearchSentence::place.
  size_t hypothesis = 0; ///< The sample or the alternative, else 0.
  size_t position = 0;   ///< In the hypothesis.
  int32_t token = 0;
  int32_t attended = -1; ///< As in Hypothesis; where that is wanted.
  double logprob = 0;
  bool last = false; ///< The end token, or the last of the maximum length.
  bool ends = false; ///< The end token.
};

/// Is told what is emitted, while it is. Several threads may tell it of
/// different sentences at once.
class TokenListener {
public:
  virtual ~TokenListener() = default;
  /// False: the hypothesis ends with this token, as it is.
  virtual bool emitted(const EmittedToken &token) = 0;
};

struct SearchOptions {
  SearchOptions() = default;
  explicit SearchOptions(std::pmr::memory_resource *memory)
      : constraints(memory) {}

  size_t beam = 1;
  /// Hypotheses to return, or samples.
  size_t nbest = 1;
  Scoring scoring;
  Constraints constraints;
  /// Instead of a search: `beam` is not used then.
  Sampling sampling;
  /// The `nbest` most likely tokens behind the prefix each begin a hypothesis,
  /// which a search of its own continues. Not with sampling.
  bool alternatives = false;
  /// Whether sentences have shortlists.
  bool shortlists = false;
  StopRule stop = StopRule::Bound;
  double patience = 1; ///< Greater than 0.
  Refill refill = Refill::Always;
  /// Whether the last token that the maximum length permits is the end token,
  /// whatever its probability.
  bool endAtMaximum = false;
  bool wantAlignment = false;
  /// The number of a head, or averageOfHeads or allHeads.
  int32_t alignmentHead = averageOfHeads;
  /// Whether to tell the most attended source word of each token.
  bool wantAttended = false;
  /// Features are the last ones where the probability of that is greater.
  double stopThreshold = 0.5;
  /// Features end, too, where the largest weight of the alignment has stood
  /// still for so many steps; 0: they do not.
  int64_t stallLimit = 0;
  /// May be null. Only where nothing is emitted that may be dropped again: with
  /// a beam of 1.
  TokenListener *listener = nullptr;
};

/// What a model emits: tokens of a vocabulary, or positions of a memory, which
/// are tokens to the search.
struct SearchTarget {
  int64_t vocabularySize = 0;
  int32_t start = -1; ///< What precedes the first token; -1: a zero vector.
  int32_t end = -1;   ///< -1: nothing ends a hypothesis but its length.
  int64_t heads = 1;  ///< Of the alignment.
  /// Of hypotheses, beyond which their positions have no meaning; or null.
  const LengthLimit *limit = nullptr;
  /// Numbers of the features that are emitted instead; 0: tokens are.
  int64_t frameSize = 0;
};

struct SearchSentence {
  /// As the encoder takes it, see SourceSpan.
  SourceSpan source;
  /// Tokens that a hypothesis emits at most, its end token included.
  int64_t maxLength = 0;
  /// Forced decoding: the tokens to emit, an end token included.
  std::optional<TokenIds> forced;
  /// Tokens to emit before the search begins, at most `maxLength`. An end token
  /// is the last of them. Not with `forced`.
  TokenIds prefix;
  /// Memory positions, from the first on, that are words of the source.
  int64_t words = 0;
  /// By which random numbers are drawn.
  uint64_t number = 0;
  /// Among the sentences of the call; a listener is told it.
  size_t place = 0;
  /// The sentence's own target, where it has one: positions of its memory are
  /// as many as it has, and the end is one of them.
  std::optional<SearchTarget> target{};
  /// Forced features, [count, features], if `forced` has a value (no tokens
  /// then). They are the caller's, who keeps them while they are needed.
  const float *forcedFrames = nullptr;
  int64_t forcedFrameCount = 0;
  /// Where the options say that there is one. It has the end token and what is
  /// forced or a prefix, and belongs to the caller.
  Shortlist shortlist{};
};

struct Hypothesis {
  explicit Hypothesis(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : tokens(memory), wordLogprobs(memory), alignment(memory),
        attended(memory), frames(memory), stops(memory) {}

  TokenIds tokens; ///< What was emitted, an end token included.
  std::pmr::vector<double> wordLogprobs;
  double logprob = 0; ///< Their sum, S.
  double score = 0;
  bool finished = false; ///< Whether the end token was emitted.
  int64_t memoryPositions = 0;
  int64_t heads = 1;
  /// [tokens, memory positions, heads], or empty.
  std::pmr::vector<float> alignment;
  /// [tokens] The word of the source with the largest weight (averaged over
  /// heads, the first of equals), -1 if there is none; or empty.
  TokenIds attended;
  /// [emitted, features], instead of tokens; and the probability, at each, that
  /// it is the last.
  std::pmr::vector<float> frames;
  std::pmr::vector<double> stops;
  bool stalled = false; ///< Whether it ended because the alignment stood still.
};

struct SearchResult {
  explicit SearchResult(
      std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : hypotheses(memory) {}

  std::string error; ///< Empty, or why there are no hypotheses.
  /// The best first; samples in the order of their numbers, alternatives by the
  /// probability of the token that they begin with. All they have is in the
  /// memory of this vector.
  std::pmr::vector<Hypothesis> hypotheses;
};

/// Tells whether to give up.
class Interrupt {
public:
  virtual ~Interrupt() = default;
  virtual bool raised() = 0;
};

enum class SearchOutcome {
  Done,
  Failed, ///< The backend failed, for whichever sentence it did.
  Interrupted
};

/// Decodes a batch of sentences; a result does not depend on the others. The
/// results are those of the sentences, in order; there is a message if it
/// failed. `workers`, who may be null, share the work of steps. `interrupt`,
/// which may be null, is asked before every step. A bounded `memory` has as
/// many bytes as `searchBytes` and the backend's `memoryBytes` say.
SearchOutcome search(Backend &backend, const SearchTarget &target,
                     std::span<const SearchSentence *const> sentences,
                     const SearchOptions &options, Arena &memory,
                     Interrupt *interrupt, std::span<SearchResult> results,
                     std::string &error, const Workers *workers = nullptr);

/// The most that the search of a sentence has to do with.
struct SearchLimits {
  int64_t vocabularySize = 0;
  int64_t emitted = 0; ///< Tokens of a hypothesis, its end token included.
  int64_t memoryPositions = 0;
  int64_t heads = 1;     ///< of the model's alignment.
  int64_t frameSize = 0; ///< See SearchTarget.
  bool forced = false;
};

/// Rows of a step that a sentence has at most.
size_t searchRows(const SearchOptions &options, bool forced);

/// How many of a row's best logits the search asks for, see StepRequest; 0: it
/// needs all logits.
int64_t searchBest(const SearchOptions &options, bool forced);

/// What the search of so many sentences takes of an arena. This and the next
/// throw std::bad_alloc where it is more than can be.
size_t searchBytes(const SearchOptions &options, const SearchLimits &limits,
                   size_t sentences);

/// What the hypotheses of one sentence take of an arena.
size_t hypothesesBytes(const SearchOptions &options,
                       const SearchLimits &limits);

} // namespace attn

#endif // ATTN_RUNTIME_SEARCH_H
