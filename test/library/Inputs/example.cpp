#include "g2p.h"
#include <attn/attn.hpp>
#include <iostream>

int main() {
  try {
    attn::Model model(attn_model_g2p());

    // Decoding: sentences of words, options by name.
    attn::DecodeOptions options;
    options.beam = 5;
    options.nbest = 2;
    options.normalization = ATTN_NORMALIZE_LENGTH;
    attn::Results results =
        model.decode({{"k", "n", "i", "t"}, {"g", "o"}}, options);
    for (attn::Result result : results)
      for (attn::Hypothesis hypothesis : result)
        std::cout << hypothesis.text() << '\t' << hypothesis.score() << '\n';

    // Steps: a search of one's own, here the greedy one.
    attn::Decoding decoding = model.encode({{"g", "o"}});
    attn::Step step = decoding.first();
    for (std::int32_t best = 0;; step = decoding.next({best})) {
      attn::View<float> logits = step.logits(0);
      best = 0;
      for (std::size_t i = 1; i < logits.size(); ++i)
        if (logits[i] > logits[static_cast<std::size_t>(best)])
          best = static_cast<std::int32_t>(i);
      if (best == model.targetVocabulary().end())
        break;
      std::cout << model.targetVocabulary()[static_cast<std::size_t>(best)]
                << ' ';
    }
    std::cout << '\n';
  } catch (const attn::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
