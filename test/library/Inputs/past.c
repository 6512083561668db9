// past: decodes with a model that reads its own past, in a buffer and on the
// heap, and scores what came out, as whole targets and step by step. Linked
// with count_allocations.c.
#include "transformer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// count_allocations.c
long allocation_count(void);

enum { sentences = 4, longestSource = 40, most = 30 };

static const attn_api *api;
static attn_model *model;

/// Whether two calls found the same, to the bit.
static int isSame(const attn_results *a, const attn_results *b, size_t nbest) {
  for (size_t i = 0; i < sentences; ++i)
    for (size_t rank = 0; rank < nbest; ++rank) {
      const attn_hypothesis *x = api->hypothesis(a, i, rank);
      const attn_hypothesis *y = api->hypothesis(b, i, rank);
      if (!x || !y || x->emitted != y->emitted || x->score != y->score ||
          memcmp(x->word_logprobs, y->word_logprobs,
                 x->emitted * sizeof(*x->word_logprobs)) ||
          memcmp(x->alignment, y->alignment,
                 x->emitted * x->memory_positions * sizeof(*x->alignment)))
        return 0;
    }
  return 1;
}

/// Decodes within a buffer that is as large as it has to be.
static attn_results *decodeInBuffer(const attn_sentences *source,
                                    attn_decode_options options,
                                    long *allocations) {
  attn_limits limits = attn_default_limits();
  limits.sentences = sentences;
  limits.source_length = longestSource;
  limits.target_length = most;
  attn_error error = ATTN_ERROR_INIT;
  options.buffer_size = api->memory_plan(model, &options, &limits, &error);
  options.buffer = malloc(options.buffer_size);
  long before = allocation_count();
  attn_results *results = api->decode(model, source, &options, &error);
  *allocations = allocation_count() - before;
  if (!results)
    printf("%s\n", error.message);
  return results;
}

int main(void) {
  api = attn_model_transformer();
  attn_error error = ATTN_ERROR_INIT;
  model = api->open(NULL, &error);
  if (!model) {
    printf("%s\n", error.message);
    return 1;
  }
  // Ids that are no marks, in sentences of different lengths.
  static int32_t ids[sentences][longestSource];
  static const int32_t *rows[sentences];
  static const size_t lengths[sentences] = {3, longestSource, 1, 17};
  const attn_vocabulary *vocabulary = api->vocabulary(model, 0);
  for (size_t i = 0; i < sentences; ++i) {
    rows[i] = ids[i];
    for (size_t t = 0; t < lengths[i]; ++t)
      ids[i][t] = (int32_t)(4 + (7 * i + 3 * t) % (vocabulary->size - 4));
  }
  attn_sentences source = {sizeof(source), sentences, lengths,
                           NULL,           rows,      NULL};
  attn_decode_options options = attn_default_decode_options();
  options.beam = options.nbest = 4;
  options.want_alignment = 1;
  options.max_length_factor = 0;
  options.max_length_offset = most;

  long allocations;
  attn_results *onHeap = api->decode(model, &source, &options, &error);
  attn_results *inBuffer = decodeInBuffer(&source, options, &allocations);
  if (!onHeap || !inBuffer)
    return 1;
  printf("search: %s, %ld allocations in a buffer\n",
         isSame(onHeap, inBuffer, 4) ? "the same" : "different", allocations);

  // Without a buffer whole targets are scored at once, in one step by step.
  static const int32_t *targets[sentences];
  static size_t targetLengths[sentences];
  for (size_t i = 0; i < sentences; ++i) {
    const attn_hypothesis *best = api->hypothesis(onHeap, i, 0);
    targets[i] = best->ids;
    targetLengths[i] = best->length < most - 1 ? best->length : most - 1;
  }
  attn_sentences target = {sizeof(target), sentences, targetLengths,
                           NULL,           targets,   NULL};
  options.beam = options.nbest = 1;
  options.forced = &target;
  attn_results *atOnce = api->decode(model, &source, &options, &error);
  attn_results *stepwise = decodeInBuffer(&source, options, &allocations);
  if (!atOnce || !stepwise)
    return 1;
  printf("forced: %s, %ld allocations in a buffer\n",
         isSame(atOnce, stepwise, 1) ? "the same" : "different", allocations);
  return 0;
}
