// A model of tokens and of features over them, through the C++ interface, and
// in a buffer.
#include "graphormer.h"
#include <attn/attn.hpp>
#include <cmath>
#include <iostream>

extern "C" long allocation_count(void);

static bool isSame(const attn::Result &a, const attn::Result &b) {
  const attn_hypothesis &x = a.best().raw(), &y = b.best().raw();
  return x.emitted == y.emitted && x.score == y.score &&
         std::equal(x.ids, x.ids + x.length, y.ids, y.ids + y.length);
}

int main() {
  try {
    const attn_api *api = attn_model_graphormer();
    attn::Model model(api);
    std::cout << model.info().input_count << " inputs:";
    for (std::size_t i = 0; i < model.info().input_count; ++i)
      std::cout << ' ' << model.input(i).name << " of width "
                << model.input(i).width << " over " << model.input(i).over;
    std::cout << '\n';

    // Chains of nodes.
    std::size_t most = model.input(1).width;
    std::vector<attn::Ids> words;
    std::vector<attn::Features> paths;
    for (std::size_t length : {3, 1, 12, 7, 2}) {
      attn::Ids &own = words.emplace_back();
      attn::Features &rows = paths.emplace_back();
      for (std::size_t i = 0; i < length; ++i) {
        own.push_back(static_cast<std::int32_t>(4 + (i * 5 + length) % 5));
        for (std::size_t j = 0; j < most; ++j)
          rows.push_back(
              std::fabs(static_cast<float>(i) - static_cast<float>(j)));
      }
    }
    attn::DecodeOptions options;
    options.beam = 3;
    attn::Results together = model.decodeInputs({words, paths}, options);
    bool same = true;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::vector<attn::Ids> word = {words[i]};
      std::vector<attn::Features> path = {paths[i]};
      same &= isSame(model.decodeInputs({word, path}, options)[0], together[i]);
    }
    std::cout << "alone: " << (same ? "the same" : "different") << '\n';

    attn::Limits limits;
    limits.sentences = words.size();
    limits.source_length = 12;
    std::vector<char> buffer(model.memoryPlan(limits, options));
    options.buffer = buffer.data();
    options.buffer_size = buffer.size();
    attn::detail::Sentences sentences;
    sentences.add(words);
    sentences.add(paths, &model.input(1));
    attn_error error = ATTN_ERROR_INIT;
    long before = allocation_count();
    attn_results *found =
        api->decode(model.raw(), sentences.view(), &options, &error);
    long after = allocation_count();
    if (!found)
      throw attn::Error(error.status, error.message);
    same = true;
    for (std::size_t i = 0; i < words.size(); ++i)
      same &= api->hypothesis(found, i, 0)->score == together[i].best().score();
    api->free_results(found);
    std::cout << "in a buffer: " << (same ? "the same" : "different") << ", "
              << after - before << " allocations\n";

    // Steps, with what the C++ interface checks before it asks the library.
    attn::Decoding decoding = model.encodeInputs({words, paths});
    std::cout << decoding.first().rows() << " rows\n";
    try {
      model.decodeIds(words);
    } catch (const attn::Error &refused) {
      std::cout << refused.what() << '\n';
    }
    paths[0].pop_back();
    try {
      model.decodeInputs({words, paths});
    } catch (const attn::Error &refused) {
      std::cout << refused.what() << '\n';
    }
    paths[0].resize(2 * most);
    std::cout << model.decodeInputs({words, paths})[0].message() << '\n';
  } catch (const attn::Error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
