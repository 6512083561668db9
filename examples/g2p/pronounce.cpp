// Pronounces a word with the compiled model: see README.md for how to build it.
#include "g2p.h"
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char **argv) {
  std::string word = argc > 1 ? argv[1] : "attention";
  std::vector<std::string> letters;
  for (char letter : word)
    letters.emplace_back(1, letter);
  std::vector<const char *> tokens;
  for (const std::string &letter : letters)
    tokens.push_back(letter.c_str());
  const char *const *sentence = tokens.data();
  size_t length = tokens.size();
  attn_sentences sentences = {sizeof sentences, 1, &length, &sentence, nullptr};

  const attn_api *api = attn_model_g2p();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(nullptr, &error);
  attn_results *results =
      model ? api->decode(model, &sentences, nullptr, &error) : nullptr;
  const attn_hypothesis *best =
      results ? api->hypothesis(results, 0, 0) : nullptr;
  for (size_t i = 0; best && i < best->length; ++i)
    std::cout << best->tokens[i] << (i + 1 < best->length ? ' ' : '\n');
  if (!best)
    std::cerr << (results ? api->result(results, 0)->message : error.message)
              << '\n';

  api->free_results(results);
  api->close(model);
  api->clear_error(&error);
  return best ? 0 : 1;
}
