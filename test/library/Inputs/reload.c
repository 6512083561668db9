// reload LIBRARY TIMES: loads a library, opens its model, decodes a word,
// closes and unloads it, and tells what stays behind. Linked with
// count_allocations.c.
#include <attn/attn.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long block_count(void); // count_allocations.c

static double once(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 0;
  const attn_api *(*function)(void);
  *(void **)&function = dlsym(library, "attn_model_g2p");
  const attn_api *api = function();
  attn_error error = ATTN_ERROR_INIT;
  attn_model *model = api->open(NULL, &error);
  double score = 0;
  if (model) {
    int32_t id = 5;
    const int32_t *words[] = {&id, &id};
    size_t lengths[] = {1, 1};
    attn_sentences sentences = {
        sizeof(sentences), 2, lengths, NULL, words, NULL};
    attn_decode_options options = attn_default_decode_options();
    options.threads = 2;
    attn_results *results = api->decode(model, &sentences, &options, &error);
    if (results)
      score = api->hypothesis(results, 0, 0)->score;
    api->free_results(results);
    // Exceptions inside have to leave nothing either.
    options.beam = 0;
    api->free_results(api->decode(model, &sentences, &options, &error));
    options.beam = 65536;
    options.buffer = &id;
    options.max_length_factor = 1e8;
    api->free_results(api->decode(model, &sentences, &options, &error));
  }
  api->clear_error(&error);
  api->close(model);
  dlclose(library);
  return score;
}

static size_t countLines(const char *path) {
  FILE *file = fopen(path, "r");
  size_t lines = 0;
  for (int c; file && (c = fgetc(file)) != EOF;)
    lines += c == '\n';
  if (file)
    fclose(file);
  return lines;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  int times = atoi(argv[2]);
  double score = 0;
  for (int i = 0; i < 10; ++i)
    score = once(argv[1]);
  long blocks = block_count();
  size_t maps = countLines("/proc/self/maps");
  int same = 1;
  for (int i = 0; i < times; ++i)
    same &= once(argv[1]) == score;
  printf("%ld blocks, %zd mappings\n", block_count() - blocks,
         countLines("/proc/self/maps") - maps);
  printf("%s\n", same && score < 0 ? "the same scores" : "other scores");
  return 0;
}
