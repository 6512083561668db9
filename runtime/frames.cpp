//===- frames.cpp - decoding of features ----------------------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/frames.h"
#include "runtime/float_math.h"
#include "runtime/heads.h"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

/// The numbers of a frame, and of a row of the alignment that is kept.
struct Sizes {
  size_t frame, alignment;

  Sizes(const SearchOptions &options, int64_t frameSize, int64_t positions,
        int64_t heads)
      : frame(static_cast<size_t>(frameSize)),
        alignment(options.wantAlignment
                      ? multiplySizes({static_cast<size_t>(positions),
                                       keptHeads(options.alignmentHead, heads)})
                      : 0) {}
};

/// What one sentence has said so far.
struct Speaker {
  Speaker(const SearchSentence &sentence, int64_t positions,
          std::pmr::memory_resource *memory)
      : sentence(&sentence), positions(positions), frames(memory),
        stops(memory), alignment(memory), average(memory) {}

  void reserve(const Sizes &sizes, size_t emitted, bool stalls) {
    frames.reserve(multiplySizes({emitted, sizes.frame}));
    stops.reserve(emitted);
    alignment.reserve(multiplySizes({emitted, sizes.alignment}));
    average.reserve(stalls || sizes.alignment ? static_cast<size_t>(positions)
                                              : 0);
  }
  static void count(const SearchLimits &limits, const Sizes &sizes,
                    size_t emitted, Layout &layout) {
    layout.take<Speaker>(1);
    layout.take<float>(multiplySizes({emitted, sizes.frame}));
    layout.take<double>(emitted);
    layout.take<float>(multiplySizes({emitted, sizes.alignment}));
    layout.take<float>(static_cast<size_t>(limits.memoryPositions));
  }

  int64_t limit() const {
    return sentence->forced ? sentence->forcedFrameCount : sentence->maxLength;
  }
  int64_t emitted() const { return static_cast<int64_t>(stops.size()); }
  bool lives() const {
    return !finished && !stalled && error.empty() && emitted() < limit();
  }

  void take(const StepResult &step, int64_t row, const SearchOptions &options,
            const SearchTarget &target);
  void finish(const SearchOptions &options, const SearchTarget &target,
              SearchResult &result) const;

  const SearchSentence *sentence;
  int64_t positions; ///< Of the memory that the alignment is over.
  int64_t row = 0;   ///< In the step before.
  std::pmr::vector<float> frames;
  std::pmr::vector<double> stops;
  std::pmr::vector<float> alignment;
  std::pmr::vector<float> average;
  int64_t place = -1; ///< Where the largest weight stood.
  int64_t still = 0;  ///< Steps in which it has not moved.
  bool finished = false, stalled = false;
  std::string error;
};

/// exp(x) / (1 + exp(x)), the same on every machine.
double probability(double logit) {
  double e = portableExp(-std::abs(logit));
  return (logit < 0 ? e : 1.0) / (1.0 + e);
}

void Speaker::take(const StepResult &step, int64_t row,
                   const SearchOptions &options, const SearchTarget &target) {
  const float *frame = step.frames + row * step.columns;
  bool finite = !std::isnan(step.stop[row]);
  for (int64_t i = 0; i < step.columns; ++i)
    finite &= std::isfinite(frame[i]);
  if (!finite) {
    error = "expected finite features, but got a NaN or an infinity as the "
            "model's output for frame " +
            std::to_string(emitted() + 1);
    return;
  }
  frames.insert(frames.end(), frame, frame + step.columns);
  stops.push_back(probability(static_cast<double>(step.stop[row])));
  if (step.weights && (options.wantAlignment || options.stallLimit > 0)) {
    const float *weights =
        step.weights + row * step.memoryPositions * step.heads;
    average.resize(static_cast<size_t>(positions));
    averageHeads(weights, positions, step.heads, average.data());
    if (options.wantAlignment)
      keepHeads(weights, average.data(), positions, step.heads,
                options.alignmentHead, alignment);
    int64_t largest =
        std::max_element(average.begin(), average.end()) - average.begin();
    still = largest == place ? still + 1 : 0;
    place = largest;
  }
  if (!sentence->forced) {
    finished = stops.back() > options.stopThreshold &&
               emitted() >= options.constraints.minLength;
    stalled =
        !finished && options.stallLimit > 0 && still >= options.stallLimit;
  }
  if (lives() && target.limit && emitted() >= target.limit->length)
    error = "expected hypotheses of " + target.limit->describe("frames") +
            ", but got a longer one";
}

void Speaker::finish(const SearchOptions &options, const SearchTarget &target,
                     SearchResult &result) const {
  result.error = error;
  if (!error.empty())
    return;
  Hypothesis &hypothesis = result.hypotheses.emplace_back(
      result.hypotheses.get_allocator().resource());
  hypothesis.frames.assign(frames.begin(), frames.end());
  hypothesis.stops.assign(stops.begin(), stops.end());
  hypothesis.finished = finished;
  hypothesis.stalled = stalled;
  if (options.wantAlignment) {
    hypothesis.memoryPositions = positions;
    hypothesis.heads =
        static_cast<int64_t>(keptHeads(options.alignmentHead, target.heads));
    hypothesis.alignment.assign(alignment.begin(), alignment.end());
  }
}

/// What a batch has besides its sentences.
struct Batch {
  explicit Batch(std::pmr::memory_resource *memory)
      : sources(memory), speakers(memory), frames(memory), positions(memory),
        owners(memory), parents(memory) {}

  void reserve(size_t sentences, size_t frameSize) {
    sources.reserve(sentences);
    speakers.reserve(sentences);
    frames.reserve(multiplySizes({sentences, frameSize}));
    for (auto *numbers : {&positions, &owners, &parents})
      numbers->reserve(sentences);
  }
  static void count(size_t sentences, size_t frameSize, Layout &layout) {
    layout.take<SourceSpan>(sentences);
    layout.take<float>(multiplySizes({sentences, frameSize}));
    for (int i = 0; i < 3; ++i)
      layout.take<int32_t>(sentences);
  }

  std::pmr::vector<SourceSpan> sources;
  std::pmr::vector<Speaker> speakers;
  std::pmr::vector<float> frames;
  std::pmr::vector<int32_t> positions, owners, parents;
};

/// Asks for the next frames of those that go on. False if there are none.
bool fillRequest(Batch &batch, size_t frameSize, bool first,
                 StepRequest &request) {
  batch.frames.clear();
  batch.positions.clear();
  batch.owners.clear();
  batch.parents.clear();
  for (size_t i = 0; i < batch.speakers.size(); ++i) {
    Speaker &speaker = batch.speakers[i];
    if (!speaker.lives())
      continue;
    batch.positions.push_back(static_cast<int32_t>(speaker.emitted()));
    batch.owners.push_back(static_cast<int32_t>(i));
    batch.parents.push_back(
        static_cast<int32_t>(first ? static_cast<int64_t>(i) : speaker.row));
    speaker.row = static_cast<int64_t>(batch.owners.size()) - 1;
    if (first) {
      batch.frames.resize(batch.frames.size() + frameSize);
      continue;
    }
    const float *before =
        speaker.sentence->forced
            ? speaker.sentence->forcedFrames +
                  static_cast<size_t>(speaker.emitted() - 1) * frameSize
            : speaker.frames.data() + speaker.frames.size() - frameSize;
    batch.frames.insert(batch.frames.end(), before, before + frameSize);
  }
  request.rows = static_cast<int64_t>(batch.owners.size());
  request.frames = batch.frames.data();
  request.positions = batch.positions.data();
  request.sentences = batch.owners.data();
  request.parents = batch.parents.data();
  return request.rows > 0;
}

} // namespace

size_t frameBytes(const SearchOptions &options, const SearchLimits &limits,
                  size_t sentences) {
  Sizes sizes(options, limits.frameSize, limits.memoryPositions, limits.heads);
  Layout one, batch;
  Speaker::count(limits, sizes, static_cast<size_t>(limits.emitted), one);
  Batch::count(sentences, sizes.frame, batch);
  batch.takeBytes(multiplySizes({one.bytes(), sentences}));
  return batch.bytes();
}

size_t frameHypothesisBytes(const SearchOptions &options,
                            const SearchLimits &limits) {
  Sizes sizes(options, limits.frameSize, limits.memoryPositions, limits.heads);
  size_t emitted = static_cast<size_t>(limits.emitted);
  Layout one;
  one.take<Hypothesis>(1);
  one.take<float>(multiplySizes({emitted, sizes.frame}));
  one.take<double>(emitted);
  one.take<float>(multiplySizes({emitted, sizes.alignment}));
  return one.bytes();
}

SearchOutcome generateFrames(Backend &backend, const SearchTarget &target,
                             std::span<const SearchSentence *const> sentences,
                             const SearchOptions &options, Arena &memory,
                             Interrupt *interrupt,
                             std::span<SearchResult> results,
                             std::string &error) {
  bool bounded = memory.isBounded();
  std::pmr::memory_resource *resource =
      bounded ? &memory : std::pmr::new_delete_resource();
  Batch batch(resource);
  size_t frameSize = static_cast<size_t>(target.frameSize);
  batch.reserve(sentences.size(), frameSize);
  for (const SearchSentence *sentence : sentences)
    batch.sources.push_back(sentence->source);
  if (interrupt && interrupt->raised())
    return SearchOutcome::Interrupted;
  int64_t steps = 0;
  for (const SearchSentence *sentence : sentences)
    steps = std::max(steps, sentence->forced ? sentence->forcedFrameCount
                                             : sentence->maxLength);
  DecodingPtr decoding =
      backend.encode(batch.sources, static_cast<int64_t>(sentences.size()),
                     steps, memory, error);
  if (!decoding)
    return SearchOutcome::Failed;
  for (size_t i = 0; i < sentences.size(); ++i) {
    Speaker &speaker = batch.speakers.emplace_back(
        *sentences[i], decoding->memoryLength(static_cast<int64_t>(i)),
        resource);
    if (bounded)
      speaker.reserve(
          Sizes(options, target.frameSize, speaker.positions, target.heads),
          static_cast<size_t>(speaker.limit()), options.stallLimit > 0);
  }
  StepRequest request;
  for (bool first = true; fillRequest(batch, frameSize, first, request);
       first = false) {
    if (!first && interrupt && interrupt->raised())
      return SearchOutcome::Interrupted;
    StepResult step;
    if (!decoding->step(request, step, error))
      return SearchOutcome::Failed;
    for (int64_t row = 0; row < request.rows; ++row)
      batch.speakers[static_cast<size_t>(batch.owners[row])].take(
          step, row, options, target);
  }
  for (size_t i = 0; i < sentences.size(); ++i)
    batch.speakers[i].finish(options, target, results[i]);
  return SearchOutcome::Done;
}

} // namespace attn
