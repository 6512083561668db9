/* Prints what is observed of a sentence, alone and in a batch: the same, and
 * without padding. Then what `observe` says of wrong arguments. */
#include "librnnsearch.h"
#include <stdio.h>
#include <string.h>

enum { most = 64 };

struct values {
  size_t count;
  char text[most][4096];
};

static void keep(void *context, const attn_observation *value) {
  struct values *values = context;
  char *text = values->text[values->count++ % most];
  size_t numbers = 1, length = 0;
  length += snprintf(text, 4096, "%s [", value->name);
  for (size_t i = 0; i < value->rank; ++i) {
    length += snprintf(text + length, 4096 - length, " %zu", value->shape[i]);
    numbers *= value->shape[i];
  }
  length += snprintf(text + length, 4096 - length, " ]");
  for (size_t i = 0; i < numbers && length < 4000; ++i)
    length += snprintf(text + length, 4096 - length, " %a",
                       value->floats ? value->floats[i] : value->integers[i]);
}

/* Observes the last of `count` sentences, encoded and after one step. */
static int run(const attn_api *api, const attn_model *model, size_t count,
               const char *const *const *tokens, const size_t *lengths,
               struct values *values) {
  attn_sentences sentences = {0};
  attn_step_request request = {0};
  attn_error error = ATTN_ERROR_INIT;
  sentences.struct_size = sizeof sentences;
  sentences.count = count;
  sentences.lengths = lengths;
  sentences.tokens = tokens;
  request.struct_size = sizeof request;
  request.rows = count;
  attn_decoding *decoding = api->encode(model, &sentences, NULL, &error);
  if (!decoding)
    return 1;
  if (api->observe(decoding, 1, 0, keep, values, &error) || !error.message)
    return 1;
  printf("%s\n", error.message);
  size_t shown = api->observe(decoding, 0, count - 1, keep, values, &error);
  if (!api->step(decoding, &request, &error))
    return 1;
  shown += api->observe(decoding, 1, count - 1, keep, values, &error);
  if (shown != values->count)
    return 1;
  if (api->observe(decoding, 1, count, keep, values, &error))
    return 1;
  printf("%s\n", error.message);
  if (api->observe(decoding, 0, 0, NULL, NULL, &error))
    return 1;
  printf("%s\n", error.message);
  api->free_decoding(decoding);
  api->clear_error(&error);
  return 0;
}

int main(void) {
  static struct values alone, together;
  const char *first[] = {"i", "j", "m", "b", "k", "f"}, *second[] = {"a", "b"};
  const char *const *tokens[] = {first, second};
  size_t lengths[] = {6, 2};
  const attn_api *api = attn_model_rnnsearch();
  attn_model *model = api->open(NULL, NULL);
  if (!model || run(api, model, 2, tokens, lengths, &together) ||
      run(api, model, 1, tokens + 1, lengths + 1, &alone))
    return 1;
  api->close(model);
  size_t equal = 0;
  for (size_t i = 0; i < alone.count; ++i)
    equal += !strcmp(alone.text[i], together.text[i]);
  printf("%zu of %zu names are the same in a batch\n", equal, together.count);
  for (size_t i = 0; i < alone.count; ++i)
    printf("%.*s\n", (int)(strchr(alone.text[i], ']') - alone.text[i]) + 1,
           alone.text[i]);
  return 0;
}
