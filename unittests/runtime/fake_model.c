//===- fake_model.c - generated code, written by hand ---------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small model whose next token depends on the source, on the token before and
// on everything emitted so far, so that states in a wrong order, wrong lengths
// and padding that matters all change its results. It is compiled without
// weights: parameter `table` [7, 7] comes from a file.
//
//===----------------------------------------------------------------------===//

#include "runtime/compiled_model.h"
#include "runtime/library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { vocabularySize = 7 };

/// Generated code may rely on it.
static void checkAlignment(void *const *buffers, int count) {
  for (int i = 0; i < count; ++i)
    if ((uintptr_t)buffers[i] % 64)
      abort();
}

static void prepare(const int64_t *extents, void *const *buffers,
                    void *workspace, void *executor) {
  (void)extents;
  (void)workspace;
  (void)executor;
  checkAlignment(buffers + 1, 1);
  const float *table = buffers[0];
  float *twice = buffers[1];
  for (int i = 0; i < vocabularySize * vocabularySize; ++i)
    twice[i] = 2 * table[i];
}

static void encode(const int64_t *extents, void *const *buffers,
                   void *workspace, void *executor) {
  (void)workspace;
  (void)executor;
  checkAlignment(buffers, 5);
  int64_t sentences = extents[ATTN_EXTENT_SENTENCES];
  int64_t longest = extents[ATTN_EXTENT_AXIS];
  const int32_t *input = buffers[0], *lengths = buffers[1];
  float *memory = buffers[2];
  int32_t *memoryLengths = buffers[3], *state = buffers[4];
  for (int64_t s = 0; s < sentences; ++s) {
    memoryLengths[s] = lengths[s];
    state[s] = 1;
    for (int64_t j = 0; j < longest; ++j) {
      int32_t token = input[s * longest + j];
      int inside = j < lengths[s];
      memory[s * longest + j] = inside ? (float)token : NAN;
      if (inside)
        state[s] = (state[s] * 31 + token) % 65521;
    }
  }
}

static int64_t noWorkspace(const int64_t *extents) {
  (void)extents;
  return 0;
}

/// A float for each row: enough to see that there is one, and that it is
/// aligned.
static int64_t stepWorkspace(const int64_t *extents) {
  return extents[ATTN_EXTENT_ROWS] * (int64_t)sizeof(float);
}

/// The rows from `first` on, up to `end`.
static void stepRows(const int64_t *extents, void *const *buffers,
                     int64_t first, int64_t end) {
  int64_t longest = extents[ATTN_EXTENT_AXIS];
  const float *table = buffers[0], *memory = buffers[1];
  const int32_t *memoryLengths = buffers[2], *tokens = buffers[3],
                *positions = buffers[4], *sentences = buffers[5],
                *states = buffers[6];
  float *logits = buffers[7];
  int32_t *nextStates = buffers[8];
  float *weights = buffers[9];
  for (int64_t r = first; r < end; ++r) {
    int32_t s = sentences[r], length = memoryLengths[s];
    int32_t at = positions[r] < length ? positions[r] : length - 1;
    nextStates[r] = (states[r] * 31 + tokens[r]) % 65521;
    for (int32_t v = 0; v < vocabularySize; ++v)
      logits[r * vocabularySize + v] =
          table[tokens[r] * vocabularySize + v] +
          (float)(nextStates[r] * (v + 3) % 97) / 40.0f +
          (memory[s * longest + at] == (float)v ? 4.0f : 0.0f);
    for (int64_t j = 0; j < longest; ++j)
      weights[r * longest + j] = j >= length   ? NAN
                                 : length == 1 ? 1.0f
                                 : j == at     ? 0.75f
                                               : 0.25f / (float)(length - 1);
    // Sentences with "E" break down at their second token.
    if (length > 1 && memory[s * longest] == 6.0f && positions[r] == 1)
      logits[r * vocabularySize] = NAN;
  }
}

static void step(const int64_t *extents, void *const *buffers, void *workspace,
                 void *executor) {
  checkAlignment(buffers, 10);
  checkAlignment(&workspace, 1);
  int64_t rows = extents[ATTN_EXTENT_ROWS],
          shares = extents[ATTN_EXTENT_SHARES];
  if (shares == 1) {
    memset(workspace, 0xff, (size_t)stepWorkspace(extents));
    stepRows(extents, buffers, 0, rows);
    return;
  }
  struct attn_team_member *member = executor;
  int64_t share;
  while ((share = member->next_share(member)) < shares)
    stepRows(extents, buffers, rows * share / shares,
             rows * (share + 1) / shares);
}

static const char description[] =
    "{\"model\": \"fake\", \"precision\": \"bf16\","
    " \"vocabularies\": ["
    "  {\"name\": \"source\", \"tokens\": [\"<pad>\", \"</s>\", \"<unk>\","
    "   \"a\", \"b\", \"c\", \"E\"], \"padding\": 0, \"end\": 1, \"unknown\": "
    "2},"
    "  {\"name\": \"target\", \"tokens\": [\"<s>\", \"</s>\", \"<unk>\","
    "   \"A\", \"B\", \"\\u0e01\", \"D\"], \"start\": 0, \"end\": 1}],"
    " \"axes\": [{\"name\": \"x\", \"input\": 0}],"
    " \"inputs\": [{\"name\": \"x\", \"kind\": \"tokens\", \"vocabulary\": 0,"
    "  \"end\": true, \"axis\": 0}],"
    " \"target\": {\"vocabulary\": 1, \"start\": 0},"
    " \"alignment\": {\"axis\": 0, \"heads\": 1},"
    " \"parameters\": [{\"name\": \"table\", \"type\": \"f32\","
    "  \"shape\": [7, 7]}],"
    " \"programs\": {"
    "  \"prepare\": ["
    "   {\"role\": \"parameter\", \"index\": 0, \"type\": \"f32\","
    "    \"dims\": [7, 7]},"
    "   {\"role\": \"prepared\", \"index\": 0, \"type\": \"f32\","
    "    \"dims\": [49]}],"
    "  \"encode\": ["
    "   {\"role\": \"input\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"sentences\", \"axis0\"]},"
    "   {\"role\": \"length\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"sentences\"]},"
    "   {\"role\": \"memory\", \"index\": 0, \"type\": \"f32\","
    "    \"dims\": [\"sentences\", \"axis0\"]},"
    "   {\"role\": \"memory_length\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"sentences\"]},"
    "   {\"role\": \"initial_state\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"sentences\"]}],"
    "  \"step\": ["
    "   {\"role\": \"prepared\", \"index\": 0, \"type\": \"f32\","
    "    \"dims\": [49]},"
    "   {\"role\": \"memory\", \"index\": 0, \"type\": \"f32\","
    "    \"dims\": [\"sentences\", \"axis0\"]},"
    "   {\"role\": \"memory_length\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"sentences\"]},"
    "   {\"role\": \"token\", \"type\": \"i32\", \"dims\": [\"rows\"]},"
    "   {\"role\": \"position\", \"type\": \"i32\", \"dims\": [\"rows\"]},"
    "   {\"role\": \"sentence\", \"type\": \"i32\", \"dims\": [\"rows\"]},"
    "   {\"role\": \"state\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"rows\"]},"
    "   {\"role\": \"logits\", \"type\": \"f32\", \"dims\": [\"rows\", 7]},"
    "   {\"role\": \"next_state\", \"index\": 0, \"type\": \"i32\","
    "    \"dims\": [\"rows\"]},"
    "   {\"role\": \"weights\", \"type\": \"f32\","
    "    \"dims\": [\"rows\", \"axis0\"]}]}}";

__attribute__((visibility("hidden")))
const struct attn_compiled_model attn_compiled = {ATTN_COMPILED_MODEL_VERSION,
                                                  0,
                                                  0,
                                                  description,
                                                  sizeof(description) - 1,
                                                  NULL,
                                                  0,
                                                  {prepare, noWorkspace},
                                                  {encode, noWorkspace},
                                                  {step, stepWorkspace}};

/// What the compiler emits for a model of this name.
__attribute__((visibility("default"))) const attn_api *attn_model_fake(void) {
  return attn_runtime_api();
}
