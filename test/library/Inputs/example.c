#include "g2p.h"
#include <stdio.h>
#include <stdlib.h>

static int isTooLate(void *context) {
  (void)context;
  return 0; /* Other than 0 ends the call before its next step. */
}

int main(void) {
  const attn_api *api = attn_model_g2p();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(NULL, &error);
  attn_results *results = NULL;
  int status = 1;

  /* What will be asked for at most, and the memory that it takes. */
  attn_decode_options options = attn_default_decode_options();
  options.beam = 4;
  options.cancelled = isTooLate;
  attn_limits limits = attn_default_limits();
  limits.sentences = 16;
  limits.source_length = 30;
  if (model)
    options.buffer_size = api->memory_plan(model, &options, &limits, &error);
  options.buffer = malloc(options.buffer_size);

  const char *const word[] = {"k", "n", "i", "g", "h", "t"};
  const char *const *words = word;
  size_t length = 6;
  attn_sentences sentences = {.struct_size = sizeof sentences,
                              .count = 1,
                              .lengths = &length,
                              .tokens = &words};
  if (model && options.buffer && options.buffer_size)
    results = api->decode(model, &sentences, &options, &error);
  if (results) {
    const attn_hypothesis *best = api->hypothesis(results, 0, 0);
    for (size_t i = 0; best && i < best->length; ++i)
      printf("%s ", best->tokens[i]);
    printf("\n");
    status = 0;
  } else {
    fprintf(stderr, "%s\n", error.message);
  }

  api->free_results(results); /* Before the buffer is used again. */
  api->close(model);
  api->clear_error(&error);
  free(options.buffer);
  return status;
}
