// Models that emit features and positions: decoding in a buffer as on the heap,
// and step by step as at once, to the bit.

#include "pointer.h"
#include "tacotron.h"

#include <algorithm>
#include <attn/attn.hpp>
#include <cmath>
#include <iostream>

using Frames = std::vector<float>;

static bool same(const attn_hypothesis &a, const attn_hypothesis &b,
                 std::size_t size) {
  bool equal = a.emitted == b.emitted && a.finished == b.finished &&
               a.stalled == b.stalled;
  for (std::size_t i = 0; equal && i < a.emitted * size; ++i)
    equal = a.frames[i] == b.frames[i];
  for (std::size_t i = 0; equal && i < a.emitted; ++i)
    equal = a.stop_probabilities[i] == b.stop_probabilities[i];
  return equal;
}

static void speak() {
  const attn_api *api = attn_model_tacotron();
  attn::Model model(api);
  std::size_t size = model.info().frame_size;
  std::vector<attn::Words> words = {
      {"e", "f", "g", "h"}, {"a"}, {"n", "m", "l", "k", "j", "i"}};
  attn::DecodeOptions options;
  options.stop_threshold = 0.625;
  options.want_alignment = 1;
  attn::Results results = model.decode(words, options);

  // A sentence of each with its own answer forced, which it then predicts.
  std::vector<const float *> given;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < words.size(); ++i) {
    given.push_back(results[i].best().raw().frames);
    lengths.push_back(results[i].best().raw().emitted);
  }
  attn_sentences forced = {sizeof(forced), words.size(), lengths.data(),
                           nullptr,        nullptr,      given.data()};
  attn::DecodeOptions forcing;
  forcing.forced = &forced;
  attn::Results again = model.decode(words, forcing);
  bool good = true;
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t t = 0; t < lengths[i] * size; ++t)
      good &= again[i].best().raw().frames[t] == given[i][t];
  std::cout << "forced: " << (good ? "the same" : "different") << '\n';

  // In a buffer of just so many bytes.
  attn_limits limits = attn_default_limits();
  limits.sentences = words.size();
  limits.source_length = 6;
  attn_error error = ATTN_ERROR_INIT;
  attn_model *plain = api->open(nullptr, &error);
  options.buffer_size = api->memory_plan(plain, &options, &limits, &error);
  std::vector<char> buffer(options.buffer_size);
  options.buffer = buffer.data();
  attn::Results bounded = model.decode(words, options);
  good = options.buffer_size > 0;
  for (std::size_t i = 0; i < words.size(); ++i)
    good &= same(bounded[i].best().raw(), results[i].best().raw(), size);
  std::cout << "buffer: " << (good ? "the same" : "different") << '\n';
  api->close(plain);
  api->clear_error(&error);

  // Step by step, all sentences until the longest has ended.
  attn::Decoding decoding = model.encode(words);
  attn::Step step = decoding.first();
  good = true;
  std::size_t longest = 0;
  for (std::size_t length : lengths)
    longest = std::max(longest, length);
  for (std::size_t t = 0; t < longest; ++t) {
    Frames next;
    for (std::size_t row = 0; row < words.size(); ++row) {
      attn::View<float> frame = step.frame(row, size);
      next.insert(next.end(), frame.begin(), frame.end());
      for (std::size_t i = 0; t < lengths[row] && i < size; ++i)
        good &= frame[i] == given[row][t * size + i];
      double p = 1 / (1 + std::exp(-static_cast<double>(step.stop(row))));
      if (t < lengths[row])
        good &= std::abs(p - results[row].best().raw().stop_probabilities[t]) <
                1e-12;
    }
    step = decoding.next(next, words.size());
  }
  std::cout << "steps: " << (good ? "the same" : "different") << '\n';
}

static void point() {
  attn::Model model(attn_model_pointer());
  std::vector<attn::Words> words = {
      {"d", "a", "b"}, {"e"}, {"n", "m", "l", "k"}};
  attn::Results results = model.decode(words);
  attn::Decoding decoding = model.encode(words);
  attn::Step step = decoding.first();
  bool good = true;
  for (std::size_t t = 0;; ++t) {
    bool any = false;
    attn::Ids chosen;
    for (std::size_t row = 0; row < words.size(); ++row) {
      const attn_hypothesis &best = results[row].best().raw();
      attn::View<float> logits = step.logits(row);
      // Its own positions, its end token's among them.
      good &= logits.size() == words[row].size() + 1;
      if (t >= best.emitted) {
        chosen.push_back(0);
        continue;
      }
      any = true;
      chosen.push_back(best.ids[t]);
      good &= step.logprobs(row)[static_cast<std::size_t>(best.ids[t])] ==
              best.word_logprobs[t];
    }
    if (!any)
      break;
    step = decoding.next(chosen);
  }
  std::cout << "positions: " << (good ? "the same" : "different") << ": "
            << results[0].best().text() << '\n';
}

int main() {
  try {
    speak();
    point();
  } catch (const attn::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
