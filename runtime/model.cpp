//===- model.cpp - an opened model that decodes sentences -----------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/model.h"
#include "runtime/text.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
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
  std::unique_ptr<Model> model(new Model);
  model->about = std::make_shared<const Description>(std::move(description));
  model->backend = std::move(backend);
  return model;
}

bool Model::addsEnd() const {
  return std::any_of(about->inputs.begin(), about->inputs.end(),
                     [](const Input &input) { return input.end; });
}

std::optional<size_t> Model::wordsOn(int32_t axis) const {
  for (size_t i = 0; i < about->inputs.size(); ++i)
    if (about->inputs[i].isTokens() && about->inputs[i].axis == axis)
      return i;
  return std::nullopt;
}

/// Whether ids are of a vocabulary; if not, a message.
static bool checkIds(TokenSpan ids, const Vocabulary &vocabulary,
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

/// Whether a sequence is as short as its positions have to be; if not, a
/// message.
static bool checkLength(size_t length, const std::optional<LengthLimit> &limit,
                        const char *what, const char *elements, bool hasEnd,
                        std::string &error) {
  if (!limit || static_cast<int64_t>(length) <= limit->length)
    return true;
  error =
      std::string("expected a ") + what + " of " +
      limit->describe(hasEnd ? "tokens, its end token included" : elements) +
      ", but got " + std::to_string(length);
  return false;
}

bool Model::finishSource(std::span<InputSource> source,
                         std::string &error) const {
  const std::vector<Input> &inputs = about->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Vocabulary *vocabulary = inputVocabulary(i);
    if (vocabulary &&
        !checkIds({source[i].ids, source[i].length}, *vocabulary, error))
      return false;
    if (inputs[i].end)
      source[i].ids[source[i].length++] = vocabulary->marks().end;
    if (!checkLength(source[i].length, inputs[i].limit, "source",
                     vocabulary ? "tokens" : "positions", inputs[i].end, error))
      return false;
    size_t over = about->inputOver(inputs[i]);
    size_t wanted = source[over].length, end = inputs[i].end ? 1 : 0;
    if (source[i].length == wanted)
      continue;
    error = "expected " + std::to_string(wanted - std::min(end, wanted)) +
            " positions of input " + quote(inputs[i].name) +
            ", which lies over " + quote(inputs[over].name) +
            (inputs[over].end ? " and its end token" : "") + ", but got " +
            std::to_string(source[i].length - end);
    return false;
  }
  return true;
}

/// In order, and each once.
static void makeShortlist(TokenIds &tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

bool Model::finishShortlist(TokenIds &tokens, std::string &error) const {
  const Vocabulary &vocabulary = about->targetVocabulary();
  if (tokens.empty()) {
    error = "expected at least one token, but got none";
    return false;
  }
  if (!checkIds(tokens, vocabulary, error))
    return false;
  if (vocabulary.marks().end >= 0)
    tokens.push_back(vocabulary.marks().end);
  makeShortlist(tokens);
  return true;
}

SearchTarget Model::searchTarget() const {
  SearchTarget target;
  if (about->target.limit)
    target.limit = &*about->target.limit;
  if (about->alignment)
    target.heads = about->alignment->heads;
  if (emits(Target::Kind::Tokens)) {
    const Vocabulary &vocabulary = about->targetVocabulary();
    target.vocabularySize = vocabulary.size();
    target.start = about->target.start;
    target.end = vocabulary.marks().end;
  }
  target.frameSize = about->target.width();
  return target;
}

bool Model::checkTarget(TokenSpan ids, const SearchTarget &target,
                        std::string &error) const {
  if (emits(Target::Kind::Tokens))
    return checkIds(ids, about->targetVocabulary(), error);
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= target.vocabularySize) {
      error = "expected positions of 0 to " +
              std::to_string(target.vocabularySize - 1) + ", but got " +
              std::to_string(ids[i]) + " as position " + std::to_string(i + 1);
      return false;
    }
  return true;
}

/// The tokens that a hypothesis emits at most; empty and a message where that
/// is too much.
static std::optional<int64_t> findMaximumLength(const DecodeOptions &options,
                                                size_t source,
                                                std::string &error) {
  // Positions are int32, and vectors of tokens are made of this length.
  constexpr double longest = 1 << 30;
  double length =
      std::floor(options.maxLengthFactor * static_cast<double>(source)) +
      static_cast<double>(options.maxLengthOffset);
  if (length <= longest)
    return static_cast<int64_t>(length);
  error = "expected a maximum length of at most " + formatNumber(longest) +
          ", but got " + formatNumber(length);
  return std::nullopt;
}

/// Makes of a sentence what the search takes. False where there is nothing to
/// search for: then the result is complete.
bool Model::prepare(SourceSentence &sentence, const DecodeOptions &options,
                    InputSource *source, SearchSentence &prepared,
                    DecodeResult &result) const {
  auto fail = [&](const std::string &message) {
    result.failure = {ATTN_ERROR_INPUT, message};
    return false;
  };
  if (sentence.failure.failed()) {
    result.failure = std::move(sentence.failure);
    return false;
  }
  std::string error;
  bool empty =
      std::all_of(sentence.source.begin(), sentence.source.end(),
                  [](const InputSource &source) { return source.length == 0; });
  if (hasEncoder() && empty) {
    // R20: no model is run.
    result.hypotheses.emplace_back(result.hypotheses.get_allocator().resource())
        .finished = true;
    return false;
  }
  if (sentence.source.size() != about->inputs.size())
    return fail("expected " + std::to_string(about->inputs.size()) +
                " inputs, but got " + std::to_string(sentence.source.size()));
  std::copy(sentence.source.begin(), sentence.source.end(), source);
  prepared.source = {source, about->inputs.size()};
  if (!finishSource({source, about->inputs.size()}, error))
    return fail(error);
  auto given = [&](size_t input) {
    return prepared.source[input].length - (about->inputs[input].end ? 1 : 0);
  };
  if (std::optional<size_t> input = alignedInput())
    prepared.words = static_cast<int64_t>(given(*input));
  // Without an encoder, what is continued takes the source's place.
  size_t length = hasEncoder() ? given(0) : sentence.prefix.size();
  SearchTarget target = searchTarget();
  prepared.shortlist = sentence.shortlist;
  if (emits(Target::Kind::Positions)) {
    target.vocabularySize = targetPositions(prepared.source);
    if (about->positionsEnd())
      target.end = static_cast<int32_t>(target.vocabularySize) - 1;
    prepared.target = target;
  }
  if (sentence.forced && target.frameSize > 0) {
    prepared.forced.emplace();
    prepared.forcedFrames = sentence.forcedFrames.features;
    prepared.forcedFrameCount =
        static_cast<int64_t>(sentence.forcedFrames.length);
    return true;
  }
  if (sentence.forced)
    return prepareForced(std::move(*sentence.forced), target, prepared,
                         error) ||
           fail(error);
  std::optional<int64_t> maximum = findMaximumLength(options, length, error);
  if (!maximum) {
    result.failure = {ATTN_ERROR_OPTION, error};
    return false;
  }
  prepared.maxLength = *maximum;

  if (!checkTarget(sentence.prefix, target, error))
    return fail("prefix: " + error);
  prepared.prefix = std::move(sentence.prefix);
  auto isListed = [&](int32_t token) {
    return findInShortlist(sentence.shortlist, token) >= 0;
  };
  if (!std::all_of(prepared.prefix.begin(), prepared.prefix.end(), isListed)) {
    TokenIds &own = sentence.ownShortlist;
    if (own.empty()) {
      own.reserve(sentence.shortlist.size() + prepared.prefix.size());
      own.assign(sentence.shortlist.begin(), sentence.shortlist.end());
    }
    own.insert(own.end(), prepared.prefix.begin(), prepared.prefix.end());
    makeShortlist(own);
    prepared.shortlist = own;
  }
  auto end =
      std::find(prepared.prefix.begin(), prepared.prefix.end(), target.end);
  // It ends the hypothesis; what follows it is never emitted.
  if (end != prepared.prefix.end())
    prepared.prefix.erase(end + 1, prepared.prefix.end());
  if (!checkLength(prepared.prefix.size(), about->target.limit, "prefix",
                   "tokens",
                   /*hasEnd=*/false, error))
    return fail(error);
  if (static_cast<int64_t>(prepared.prefix.size()) > prepared.maxLength)
    return fail("expected a prefix of at most " +
                std::to_string(prepared.maxLength) +
                " tokens, the maximum length, but got " +
                std::to_string(prepared.prefix.size()));
  return true;
}

/// The same for a target that is forced.
bool Model::prepareForced(TokenIds forced, const SearchTarget &target,
                          SearchSentence &prepared, std::string &error) const {
  int32_t end = target.end;
  if (!checkTarget(forced, target, error))
    return false;
  auto place = std::find(forced.begin(), forced.end(), end);
  if (place != forced.end()) {
    error =
        "expected a forced target without its end token, but got " +
        (emits(Target::Kind::Tokens)
             ? quote(
                   about->targetVocabulary().tokens()[static_cast<size_t>(end)])
             : std::to_string(end)) +
        " as token " + std::to_string(place - forced.begin() + 1);
    return false;
  }
  for (size_t i = 0; i < forced.size(); ++i)
    if (findInShortlist(prepared.shortlist, forced[i]) < 0) {
      error = "expected a forced target of tokens of the shortlist, but got " +
              quote(about->targetVocabulary()
                        .tokens()[static_cast<size_t>(forced[i])]) +
              " as token " + std::to_string(i + 1);
      return false;
    }
  prepared.forced.emplace(std::move(forced));
  if (end >= 0)
    prepared.forced->push_back(end);
  return checkLength(prepared.forced->size(), about->target.limit, "target",
                     "tokens", end >= 0, error);
}

bool Model::plan(const DecodeOptions &options, const CallLimits &limits,
                 bool withMemory, CallPlan &plan, Failure &failure) const {
  // As many batches as threads, if there are that many sentences. All of this
  // grows with the limits, so that less of them needs no more.
  size_t threads = std::clamp<size_t>(options.workers.count, 1, Workers::most);
  size_t each = limits.sentences / threads + (limits.sentences % threads != 0);
  plan.batch = std::max<size_t>(std::min(options.batchSize, each), 1);
  plan.workers = std::max<size_t>(std::min(threads, limits.sentences), 1);
  if (!withMemory)
    return true;

  if (limits.sentences > INT32_MAX || limits.sourceLength >= INT32_MAX ||
      limits.targetLength >= INT32_MAX) {
    failure = {ATTN_ERROR_OPTION,
               "expected limits of less than 2147483647 sentences and tokens"};
    return false;
  }
  int64_t source =
      static_cast<int64_t>(limits.sourceLength) + (addsEnd() ? 1 : 0);
  SearchTarget target = searchTarget();
  SearchLimits search;
  search.vocabularySize =
      emits(Target::Kind::Positions)
          ? axisLength(about->axes, about->target.axis, source)
          : target.vocabularySize;
  search.heads = target.heads;
  search.frameSize = target.frameSize;
  search.forced = limits.forced;
  if (about->alignment)
    search.memoryPositions =
        axisLength(about->axes, about->alignment->axis, source);
  if (limits.forced) {
    search.emitted =
        static_cast<int64_t>(limits.targetLength) + (target.end >= 0 ? 1 : 0);
  } else {
    std::string error;
    std::optional<int64_t> maximum = findMaximumLength(
        options, hasEncoder() ? limits.sourceLength : limits.targetLength,
        error);
    if (!maximum) {
      failure = {ATTN_ERROR_OPTION, error};
      return false;
    }
    search.emitted = *maximum;
  }
  size_t rows = searchRows(options.search, limits.forced);
  if (__builtin_mul_overflow(rows, plan.batch, &rows) || rows > INT32_MAX) {
    failure = {ATTN_ERROR_OPTION,
               "expected less than 2147483648 hypotheses in a batch"};
    return false;
  }
  std::optional<size_t> decoding = backend->memoryBytes(
      {static_cast<int64_t>(plan.batch), source, static_cast<int64_t>(rows),
       search.emitted, searchBest(options.search, limits.forced)});
  if (!decoding) {
    failure = {ATTN_ERROR_UNSUPPORTED,
               "expected a compiled model on the CPU to work in a buffer"};
    return false;
  }

  Layout work;
  work.take<const SearchSentence *>(plan.batch);
  work.take<SearchResult>(plan.batch);
  work.takeBytes(searchBytes(options.search, search, plan.batch));
  work.takeBytes(*decoding);
  plan.workBytes = work.bytes();
  Layout call;
  call.take<SearchSentence>(limits.sentences);
  call.take<InputSource>(
      multiplySizes({limits.sentences, about->inputs.size()}));
  call.take<size_t>(limits.sentences);
  call.take<Arena>(plan.workers);
  plan.callBytes = call.bytes();
  plan.emitted = static_cast<size_t>(search.emitted);
  plan.sentenceBytes = hypothesesBytes(options.search, search);
  return true;
}

namespace {

/// The batches of a call, which workers take as they get to them.
class Batches final : public Workers::Tasks {
public:
  Batches(Backend &backend, const SearchTarget &target,
          const DecodeOptions &options, size_t batch,
          std::span<const SearchSentence> sentences,
          std::span<const size_t> order, Arena *arenas, SharedMemory &memory,
          std::span<DecodeResult> results, const Workers &workers)
      : backend(backend), target(target), options(options), batch(batch),
        sentences(sentences), order(order), arenas(arenas), memory(memory),
        results(results), workers(workers) {}

  size_t count() const {
    return order.size() / batch + (order.size() % batch != 0);
  }
  void run(size_t worker) override;
  /// False if the call was interrupted; throws what a worker failed with.
  bool finish() {
    if (exception)
      std::rethrow_exception(exception);
    return !interrupted;
  }

private:
  SearchOutcome run(std::span<const size_t> places, Arena &arena);
  void runAll(std::span<const size_t> places, Arena &arena);
  void keep(SearchResult &found, DecodeResult &result) {
    if (found.error.empty())
      result.hypotheses = std::move(found.hypotheses);
    else
      result.failure = {ATTN_ERROR_NUMERIC, std::move(found.error)};
  }

  Backend &backend;
  const SearchTarget &target;
  const DecodeOptions &options;
  size_t batch;
  std::span<const SearchSentence> sentences;
  std::span<const size_t> order;
  Arena *arenas;
  SharedMemory &memory;
  std::span<DecodeResult> results;
  const Workers &workers;

  std::atomic<size_t> next = 0;
  std::atomic<bool> stopped = false, interrupted = false;
  std::mutex failing;
  std::exception_ptr exception;
};

void Batches::run(size_t worker) {
  FloatingPointScope floatingPoint;
  try {
    for (size_t i; !stopped && (i = next++) < count();) {
      size_t from = i * batch;
      runAll(order.subspan(from, std::min(batch, order.size() - from)),
             arenas[worker]);
      arenas[worker].release();
    }
  } catch (...) {
    stopped = true;
    std::lock_guard<std::mutex> lock(failing);
    if (!exception)
      exception = std::current_exception();
  }
}

/// Decodes some sentences together.
SearchOutcome Batches::run(std::span<const size_t> places, Arena &arena) {
  std::pmr::vector<const SearchSentence *> some(&arena);
  std::pmr::vector<SearchResult> found(&arena);
  some.reserve(places.size());
  found.reserve(places.size());
  for (size_t place : places) {
    some.push_back(&sentences[place]);
    found.emplace_back(&memory);
  }
  std::string error;
  SearchOutcome outcome = search(backend, target, some, options.search, arena,
                                 options.interrupt, found, error,
                                 // Where there are more batches, these are
                                 // what is shared.
                                 count() == 1 ? &workers : nullptr);
  for (size_t i = 0; i < places.size(); ++i) {
    if (outcome == SearchOutcome::Done)
      keep(found[i], results[places[i]]);
    else if (outcome == SearchOutcome::Failed && places.size() == 1)
      results[places[i]].failure = {ATTN_ERROR_INPUT, error};
  }
  return outcome;
}

void Batches::runAll(std::span<const size_t> places, Arena &arena) {
  SearchOutcome outcome = run(places, arena);
  // A backend fails as a whole. One by one, only those fail that must.
  if (outcome == SearchOutcome::Failed && places.size() > 1)
    for (size_t i = 0;
         i < places.size() && outcome != SearchOutcome::Interrupted; ++i) {
      arena.release();
      outcome = run(places.subspan(i, 1), arena);
    }
  if (outcome == SearchOutcome::Interrupted)
    interrupted = stopped = true;
}

/// Arenas for workers, in the memory of a call.
class WorkerArenas {
public:
  WorkerArenas(const CallPlan &plan, const CallMemory &memory)
      : arenas(Layout(memory.call).take<Arena>(plan.workers)) {
    for (; count < plan.workers; ++count)
      if (memory.work)
        new (arenas + count)
            Arena(memory.work + count * plan.workBytes, plan.workBytes);
      else
        new (arenas + count) Arena();
  }
  ~WorkerArenas() {
    while (count)
      arenas[--count].~Arena();
  }
  WorkerArenas(const WorkerArenas &) = delete;

  Arena *get() const { return arenas; }

private:
  Arena *arenas;
  size_t count = 0;
};

} // namespace

bool Model::decode(std::span<SourceSentence> sentences,
                   const DecodeOptions &options, const CallPlan &plan,
                   const CallMemory &memory,
                   std::span<DecodeResult> results) const {
  FloatingPointScope floatingPoint;
  std::pmr::vector<SearchSentence> prepared(&memory.call);
  std::pmr::vector<size_t> order(&memory.call);
  prepared.reserve(sentences.size());
  order.reserve(sentences.size());
  InputSource *sources = Layout(memory.call)
                             .take<InputSource>(multiplySizes(
                                 {sentences.size(), about->inputs.size()}));
  for (size_t i = 0; i < sentences.size(); ++i) {
    SearchSentence &sentence =
        prepared.emplace_back(SearchSentence{{},
                                             0,
                                             std::nullopt,
                                             TokenIds(&memory.call),
                                             0,
                                             sentences[i].number.value_or(i),
                                             i});
    if (prepare(sentences[i], options, sources + i * about->inputs.size(),
                sentence, results[i]))
      order.push_back(i);
  }
  // Sentences of similar length waste little on padding, and the long ones
  // come first.
  auto length = [&](size_t i) {
    const SearchSentence &sentence = prepared[i];
    size_t positions = 0;
    for (const InputSource &source : sentence.source)
      positions += source.length;
    return std::pair(positions, sentence.forced ? sentence.forced->size()
                                                : sentence.prefix.size());
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto x = length(a), y = length(b);
    return x != y ? x > y : a < b;
  });

  SearchTarget target = searchTarget();
  Workers workers = options.workers;
  WorkerArenas arenas(plan, memory);
  Batches batches(options.backend ? *options.backend : *backend, target,
                  options, plan.batch, prepared, order, arenas.get(),
                  memory.results, results, workers);
  // Where there is one batch, its steps are shared; not in a buffer, which has
  // no room for that.
  bool shares = batches.count() > 1 || !memory.work;
  if (shares && workers.count > 1 && !workers.parallel &&
      pool.acquire(workers.count - 1))
    workers.pool = &pool;
  std::unique_ptr<Pool, void (*)(Pool *)> acquired(
      workers.pool, [](Pool *pool) { pool->release(); });
  if (!order.empty())
    workers.run(std::min(plan.workers, batches.count()), batches);
  return batches.finish();
}

std::vector<DecodeResult> Model::decode(std::vector<SourceSentence> sentences,
                                        const DecodeOptions &options) const {
  std::vector<DecodeResult> results(sentences.size());
  CallLimits limits;
  limits.sentences = sentences.size();
  CallPlan divided;
  Failure failure;
  plan(options, limits, /*withMemory=*/false, divided, failure);
  Arena call;
  SharedMemory heap(*std::pmr::new_delete_resource());
  std::vector<DecodeResult> found;
  for (size_t i = 0; i < sentences.size(); ++i)
    found.emplace_back(&heap);
  decode(sentences, options, divided, {call, heap}, found);
  // What is returned has nothing of the memory that ends here.
  for (size_t i = 0; i < sentences.size(); ++i)
    results[i] = found[i];
  return results;
}

} // namespace attn
