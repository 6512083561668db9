/* Decodes a sentence in several floating-point states of the host and compares
   the results bit for bit.

   usage: float_state LIBRARY FUNCTION TOKEN... */

#include "attn/attn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

enum { FlushToZero = 0x8040, TowardsZero = 0x6000, Flags = 0x3f };

static const attn_api *api;
static attn_sentences sentences;

/* What one decoding gave. */
struct Outcome {
  unsigned state; /* To decode in. */
  int kept;       /* Whether it was the same afterwards. */
  attn_model *model;
  attn_results *results;
};

static void *decode(void *argument) {
  struct Outcome *outcome = argument;
  unsigned before = _mm_getcsr();
  _mm_setcsr((before & ~(unsigned)Flags) | outcome->state);
  attn_decode_options options = attn_default_decode_options();
  options.beam = 3;
  options.want_alignment = 1;
  outcome->model = api->open(NULL, NULL);
  if (outcome->model)
    outcome->results = api->decode(outcome->model, &sentences, &options, NULL);
  outcome->kept = (_mm_getcsr() & ~(unsigned)Flags) ==
                  ((before & ~(unsigned)Flags) | outcome->state);
  _mm_setcsr(before);
  if (!outcome->results) {
    fprintf(stderr, "expected results\n");
    exit(1);
  }
  return NULL;
}

static int same(const struct Outcome *a, const struct Outcome *b) {
  const attn_hypothesis *x = api->hypothesis(a->results, 0, 0);
  const attn_hypothesis *y = api->hypothesis(b->results, 0, 0);
  return x && y && x->emitted == y->emitted &&
         x->memory_positions == y->memory_positions &&
         memcmp(&x->score, &y->score, sizeof x->score) == 0 &&
         memcmp(x->word_logprobs, y->word_logprobs,
                x->emitted * sizeof(double)) == 0 &&
         memcmp(x->alignment, y->alignment,
                x->emitted * x->memory_positions * sizeof(float)) == 0;
}

static void report(const char *name, const struct Outcome *outcome,
                   const struct Outcome *plain) {
  printf("%s: %s bits, state %s\n", name,
         same(outcome, plain) ? "same" : "other",
         outcome->kept ? "kept" : "changed");
}

int main(int argc, char **argv) {
  void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const attn_api *(*function)(void) = NULL;
  if (library)
    *(void **)&function = dlsym(library, argv[2]);
  if (!function) {
    fprintf(stderr, "usage: float_state LIBRARY FUNCTION TOKEN...\n");
    return 2;
  }
  api = function();
  size_t length = (size_t)(argc - 3);
  const char *const *tokens = (const char *const *)argv + 3;
  sentences.struct_size = sizeof sentences;
  sentences.count = 1;
  sentences.lengths = &length;
  sentences.tokens = &tokens;

  struct Outcome outcomes[4] = {{0, 0, NULL, NULL},
                                {FlushToZero, 0, NULL, NULL},
                                {TowardsZero, 0, NULL, NULL},
                                {FlushToZero | TowardsZero, 0, NULL, NULL}};
  for (int i = 0; i < 3; ++i)
    decode(&outcomes[i]);
  pthread_t thread;
  if (pthread_create(&thread, NULL, decode, &outcomes[3]))
    return 1;
  pthread_join(thread, NULL);
  report("flush to zero", &outcomes[1], &outcomes[0]);
  report("round towards zero", &outcomes[2], &outcomes[0]);
  report("both, on a thread", &outcomes[3], &outcomes[0]);
  for (int i = 0; i < 4; ++i) {
    api->free_results(outcomes[i].results);
    api->close(outcomes[i].model);
  }
  return 0;
}
