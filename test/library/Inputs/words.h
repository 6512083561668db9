// Random words of a model's source vocabulary: the same in every run.
#ifndef WORDS_H
#define WORDS_H

#include <attn/attn.h>
#include <stdlib.h>

enum { longestWord = 12 };

/// Makes `count` words; they live until the program ends.
static attn_sentences makeWords(const attn_vocabulary *vocabulary, size_t count,
                                unsigned seed) {
  size_t *lengths = (size_t *)malloc(count * sizeof(size_t));
  const int32_t **words = (const int32_t **)malloc(count * sizeof(int32_t *));
  for (size_t i = 0; i < count; ++i) {
    int32_t *word = (int32_t *)malloc(longestWord * sizeof(int32_t));
    seed = seed * 1664525u + 1013904223u;
    lengths[i] = 1 + (seed >> 16) % longestWord;
    for (size_t t = 0; t < lengths[i]; ++t) {
      int32_t id;
      do {
        seed = seed * 1664525u + 1013904223u;
        id = (int32_t)((seed >> 16) % vocabulary->size);
      } while (id == vocabulary->end);
      word[t] = id;
    }
    words[i] = word;
  }
  attn_sentences sentences = {
      sizeof(attn_sentences), count, lengths, NULL, words, NULL};
  return sentences;
}

#endif
