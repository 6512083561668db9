/* Measures how much memory decoding a sentence takes, in relation to the
   weights, from before the library is loaded.

   usage: peak_memory LIMIT WEIGHTS inside|file LIBRARY FUNCTION TOKEN...

   Fails if more than LIMIT times the bytes of the file WEIGHTS are taken. The
   weights are those inside of the library, or the file. */

#include "attn/attn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The largest resident set so far, in bytes. */
static double peak(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long kilobytes = 0;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1)
      break;
  if (file)
    fclose(file);
  return (double)kilobytes * 1024;
}

int main(int argc, char **argv) {
  struct stat weights;
  if (argc < 7 || stat(argv[2], &weights) != 0) {
    fprintf(stderr, "usage: peak_memory LIMIT WEIGHTS inside|file LIBRARY "
                    "FUNCTION TOKEN...\n");
    return 2;
  }
  double before = peak();
  void *library = dlopen(argv[4], RTLD_NOW);
  const attn_api *(*function)(void) = NULL;
  if (library)
    *(void **)&function = dlsym(library, argv[5]);
  if (!function) {
    fprintf(stderr, "error: expected a function, but got: %s\n", dlerror());
    return 1;
  }
  const attn_api *api = function();
  attn_error error = ATTN_ERROR_INIT;
  attn_open_options options = attn_default_open_options();
  if (strcmp(argv[3], "file") == 0)
    options.weights_path = argv[2];
  attn_model *model = api->open(&options, &error);
  size_t length = (size_t)(argc - 6);
  const char *const *tokens = (const char *const *)argv + 6;
  attn_sentences sentences = {sizeof sentences, 1,    &length,
                              &tokens,          NULL, NULL};
  attn_results *results =
      model ? api->decode(model, &sentences, NULL, &error) : NULL;
  if (!results) {
    fprintf(stderr, "error: %s\n", error.message);
    return 1;
  }
  double taken = peak() - before, ratio = taken / (double)weights.st_size;
  printf("%.2f MB, %.2f times the weights\n", taken / 1e6, ratio);
  api->free_results(results);
  api->close(model);
  if (ratio > atof(argv[1])) {
    fprintf(stderr, "error: expected at most %s times the weights\n", argv[1]);
    return 1;
  }
  return 0;
}
