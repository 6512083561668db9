// flat WORDS BEAM: decodes words, a hundred in each call, and tells what memory
// that takes: within a buffer, and without one. Linked with
// count_allocations.c.
#include "g2p.h"
#include "words.h"
#include <stdio.h>
#include <string.h>

// count_allocations.c
long allocation_count(void);
long block_count(void);

static const attn_api *api;
static attn_model *model;
static uint64_t hash;

/// Takes bytes of a result into account (FNV-1a).
static void add(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

enum { wordsOfCall = 100 };

static int decodeAll(attn_sentences all, const attn_decode_options *options,
                     size_t from, size_t to) {
  for (size_t i = from; i < to; i += wordsOfCall) {
    attn_sentences some = {sizeof(some), wordsOfCall, all.lengths + i,
                           NULL,         all.ids + i, NULL};
    attn_results *results = api->decode(model, &some, options, NULL);
    if (!results)
      return 0;
    for (size_t w = 0; w < wordsOfCall; ++w)
      for (size_t rank = 0; rank < options->nbest; ++rank) {
        const attn_hypothesis *found = api->hypothesis(results, w, rank);
        if (!found)
          continue;
        add(found->ids, found->length * sizeof(*found->ids));
        add(found->word_logprobs,
            found->emitted * sizeof(*found->word_logprobs));
        add(found->alignment, found->emitted * found->memory_positions *
                                  sizeof(*found->alignment));
        add(&found->score, sizeof(found->score));
      }
    api->free_results(results);
  }
  return 1;
}

/// Decodes on two threads of the caller's, which are one here.
static void inTurn(void *context, size_t count, void (*task)(void *, size_t),
                   void *data) {
  (void)context;
  for (size_t i = 0; i < count; ++i)
    task(data, i);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  size_t count = (size_t)atol(argv[1]);
  api = attn_model_g2p();
  model = api->open(NULL, NULL);
  if (!model)
    return 1;
  attn_sentences words = makeWords(
      api->vocabulary(model, (size_t)api->info(model)->source_vocabulary),
      count, 1);

  attn_decode_options options = attn_default_decode_options();
  options.beam = options.nbest = (size_t)atol(argv[2]);
  options.want_alignment = 1;
  options.threads = 2;
  options.parallel = inTurn;
  attn_limits limits = attn_default_limits();
  limits.sentences = wordsOfCall;
  limits.source_length = longestWord;
  options.buffer_size = api->memory_plan(model, &options, &limits, NULL);
  options.buffer = malloc(options.buffer_size);
  memset(options.buffer, 0xff, options.buffer_size);
  long before = allocation_count();
  if (!decodeAll(words, &options, 0, count))
    return 1;
  long after = allocation_count();
  printf("in a buffer: %ld allocations\n", after - before);
  uint64_t inBuffer = hash;

  free(options.buffer);
  options.buffer = NULL;
  hash = 0;
  size_t first = count < 1000 ? count : 1000;
  if (!decodeAll(words, &options, 0, first))
    return 1;
  before = allocation_count();
  long blocks = block_count();
  if (!decodeAll(words, &options, first, count))
    return 1;
  printf("on the heap: %s allocations, %ld blocks more\n",
         allocation_count() > before ? "some" : "no", block_count() - blocks);
  uint64_t onHeap = hash;
  // One thread, or two that the calls start, and batches of another size.
  options.parallel = NULL;
  options.batch_size = 7;
  for (options.threads = 1; options.threads <= 2; ++options.threads) {
    hash = 0;
    if (!decodeAll(words, &options, 0, count))
      return 1;
    printf("results with threads: %zu: %s\n", options.threads,
           hash == inBuffer && hash == onHeap ? "the same" : "different");
  }
  api->close(model);
  return 0;
}
