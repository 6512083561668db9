// What a model says its weights are kept as.
#include "attn/attn.h"
#include <stdio.h>

const attn_api *attn_model_g2p(void);

int main(void) {
  const attn_api *api = attn_model_g2p();
  attn_model *model = api->open(NULL, NULL);
  if (!model)
    return 1;
  puts(api->info(model)->precision);
  api->close(model);
  return 0;
}
