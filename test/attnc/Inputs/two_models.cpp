// Decodes with two models in one program.
#include "g2p.h"
#include "hard.h"
#include <cstdio>
#include <vector>

static void decode(const attn_api *api, std::vector<const char *> tokens) {
  const char *const *sentence = tokens.data();
  size_t length = tokens.size();
  attn_sentences sentences = {};
  sentences.struct_size = sizeof sentences;
  sentences.count = 1;
  sentences.lengths = &length;
  sentences.tokens = &sentence;
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(nullptr, &error);
  attn_results *results =
      model ? api->decode(model, &sentences, nullptr, &error) : nullptr;
  std::printf("%s:", api->name());
  if (results) {
    const attn_hypothesis *best = api->hypothesis(results, 0, 0);
    for (size_t i = 0; best && i < best->length; ++i)
      std::printf(" %s", best->tokens[i]);
  }
  std::printf("\n");
  api->free_results(results);
  api->close(model);
  api->clear_error(&error);
}

int main() {
  decode(attn_model_g2p(), {"k", "n", "i", "g", "h", "t"});
  decode(attn_model_hard(), {"i", "j", "m", "b"});
  return 0;
}
