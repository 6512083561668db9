/*===- attn.h - the C interface of a compiled attention model -------------===*\
|*                                                                            *|
|* Part of the attn project, under the Apache License v2.0 with LLVM          *|
|* Exceptions.                                                                *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A compiled library exports one function, `attn_model_<name>`, which        *|
|* answers the table `attn_api`. Everything is reached through that table, so *|
|* any number of models can live in one program.                              *|
|*                                                                            *|
|*   const attn_api *api = attn_model_g2p();                                  *|
|*   attn_error error = ATTN_ERROR_INIT;                                      *|
|*   attn_model *model = api->open(NULL, &error);                             *|
|*   ...                                                                      *|
|*   attn_results *results =                                                  *|
|*       api->decode(model, &sentences, NULL, &error);                        *|
|*   const attn_hypothesis *best = api->hypothesis(results, 0, 0);            *|
|*                                                                            *|
|* Ownership. What a function returns through a `const` pointer belongs to    *|
|* the object it was asked of and lives as long as that object. `open` and    *|
|* `decode` return objects that the caller gives back with `close` and        *|
|* `free_results`. Arguments are only read, and not kept after the call.      *|
|* Results do not refer to the model and may outlive it.                      *|
|*                                                                            *|
|* Threads. There is no global state. One open model may be used by any       *|
|* number of threads at once; `close` it when none uses it any more. Results  *|
|* and errors may be read by several threads, but changed by one at a time.   *|
|*                                                                            *|
|* Errors. No function aborts or throws. A function that can fail takes an    *|
|* `attn_error`, which may be null, and returns null on failure. What is      *|
|* wrong with one sentence is reported in that sentence's result; the others  *|
|* are decoded all the same.                                                  *|
|*                                                                            *|
|* Compatibility. Structures begin with their size and grow at their end; the *|
|* table grows at its end. Zero in a field of an options structure does not   *|
|* mean "default": start from `attn_default_open_options` and                 *|
|* `attn_default_decode_options`.                                             *|
|*                                                                            *|
|* Text is UTF-8, terminated by a zero byte. Probabilities are natural        *|
|* logarithms. Arrays of several dimensions are dense and row-major.          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface; `attn_api::version` must be equal. */
#define ATTN_API_VERSION 1

/** What kind of thing went wrong. */
typedef enum attn_status {
  ATTN_OK = 0,
  /** A null pointer, an index out of range, a structure of impossible size. */
  ATTN_ERROR_ARGUMENT = 1,
  /** An option, or a combination of options, outside its range. */
  ATTN_ERROR_OPTION = 2,
  /** A sentence: an unknown word, a token id outside the vocabulary. */
  ATTN_ERROR_INPUT = 3,
  /** A file that cannot be read. */
  ATTN_ERROR_FILE = 4,
  /** Weights that are damaged or do not fit the model. */
  ATTN_ERROR_WEIGHTS = 5,
  /** A library whose parts do not fit each other. */
  ATTN_ERROR_MODEL = 6,
  /** The model computed something that is not a number. */
  ATTN_ERROR_NUMERIC = 7,
  /** Not enough memory. */
  ATTN_ERROR_MEMORY = 8,
  /** The model needs something that this version cannot do. */
  ATTN_ERROR_UNSUPPORTED = 9,
  /** A defect of this library. */
  ATTN_ERROR_INTERNAL = 10
} attn_status;

/**
 * Receives what went wrong. Initialise it with ATTN_ERROR_INIT; it can be
 * reused for any number of calls, each of which drops the message before it.
 * Give the last message back with `clear_error`.
 */
typedef struct attn_error {
  attn_status status;
  /** Null when `status` is ATTN_OK. Several problems stand on a line each. */
  char *message;
} attn_error;

#define ATTN_ERROR_INIT {ATTN_OK, NULL}

/** An open model. */
typedef struct attn_model attn_model;

/** What became of the sentences of one call of `decode`. */
typedef struct attn_results attn_results;

/** How to open a model. */
typedef struct attn_open_options {
  /** sizeof(attn_open_options). */
  size_t struct_size;
  /**
   * The path of a safetensors file. Required by a library that was compiled
   * without weights; replaces the weights of one that was compiled with some.
   * Null: the weights in the library. The file is read in place: it must not
   * be changed while the model is open.
   */
  const char *weights_path;
} attn_open_options;

static inline attn_open_options attn_default_open_options(void) {
  attn_open_options options;
  options.struct_size = sizeof(attn_open_options);
  options.weights_path = NULL;
  return options;
}

/** One vocabulary. Token ids are the places in `tokens`. */
typedef struct attn_vocabulary {
  size_t struct_size;
  const char *name;
  size_t size;
  const char *const *tokens; /**< [size] */
  int32_t start;             /**< Id of the start token, -1 if there is none. */
  int32_t end;               /**< Id of the end token, or -1. */
  int32_t unknown;           /**< Id of the unknown token, or -1. */
  int32_t padding;           /**< Id of the padding token, or -1. */
} attn_vocabulary;

/** What is known about a model. */
typedef struct attn_model_info {
  size_t struct_size;
  const char *name;
  /** 0 for a model that only generates (a language model). */
  int has_encoder;
  /** Whether hypotheses carry an alignment. */
  int has_alignment;
  /** Whether the model adds an end token to each source, which then is the
   * last memory position of alignments (unless the encoder shortens it). */
  int source_has_end;
  /** Vocabularies in all; ask for each with `vocabulary`. */
  size_t vocabulary_count;
  /** The number of the source's vocabulary, -1 without an encoder. */
  int32_t source_vocabulary;
  /** The number of the target's vocabulary. */
  int32_t target_vocabulary;
  /** Trained numbers in all parameters. */
  uint64_t parameter_count;
} attn_model_info;

/**
 * Sentences, as text or as numbers: one of `tokens` and `ids` is null. An end
 * token that the model's source carries is added by `decode` and must not
 * stand here.
 */
typedef struct attn_sentences {
  /** sizeof(attn_sentences). */
  size_t struct_size;
  size_t count;
  /** [count] Tokens of each sentence; 0 is allowed. */
  const size_t *lengths;
  /** [count][lengths[i]] Words. A word that is not in the vocabulary becomes
   * the unknown token, or an error where the vocabulary has none. */
  const char *const *const *tokens;
  /** [count][lengths[i]] Token ids. */
  const int32_t *const *ids;
} attn_sentences;

/** By what the sum of log-probabilities S of n emitted tokens is divided. */
typedef enum attn_normalization {
  ATTN_NORMALIZE_NONE = 0,  /**< Score S. */
  ATTN_NORMALIZE_LENGTH = 1 /**< Score S / n^alpha. */
} attn_normalization;

/** How to decode. The defaults are those of `attn_default_decode_options`. */
typedef struct attn_decode_options {
  /** sizeof(attn_decode_options). */
  size_t struct_size;
  /** Width of the beam, 1 to 65536. Default 1: greedy decoding. */
  size_t beam;
  /** Hypotheses to return for each sentence, 1 to `beam`. Default 1. Fewer
   * come back where fewer exist. */
  size_t nbest;
  /** Default ATTN_NORMALIZE_NONE. */
  attn_normalization normalization;
  /** Exponent of ATTN_NORMALIZE_LENGTH, at least 0. Default 1. */
  double alpha;
  /** A hypothesis emits at most
   *   floor(max_length_factor * source tokens) + max_length_offset
   * tokens, its end token included; the source's end token is not counted.
   * Both at least 0. Defaults 2 and 10. */
  double max_length_factor;
  int64_t max_length_offset;
  /** Tokens a hypothesis has before it may end; the end token is not counted.
   * Default 0. */
  int64_t min_length;
  /** Sentences that are computed together, at least 1: a matter of speed and
   * memory only, results do not depend on it. Default 32. */
  size_t batch_size;
  /** Whether to keep alignments (0 or 1). An error where the model has none.
   * Default 0. */
  int want_alignment;
  /** Forced decoding: a target for each sentence, without its end token. The
   * result is that target and what the model says about it; beam, nbest and
   * the length limits are not used. Null (the default): search. */
  const attn_sentences *forced;
} attn_decode_options;

static inline attn_decode_options attn_default_decode_options(void) {
  attn_decode_options options;
  options.struct_size = sizeof(attn_decode_options);
  options.beam = 1;
  options.nbest = 1;
  options.normalization = ATTN_NORMALIZE_NONE;
  options.alpha = 1.0;
  options.max_length_factor = 2.0;
  options.max_length_offset = 10;
  options.min_length = 0;
  options.batch_size = 32;
  options.want_alignment = 0;
  options.forced = NULL;
  return options;
}

/** One translation of one sentence. */
typedef struct attn_hypothesis {
  size_t struct_size;
  /** Tokens, an end token not counted. */
  size_t length;
  const int32_t *ids;        /**< [length] */
  const char *const *tokens; /**< [length] */
  /** Emitted tokens: `length`, and one more where the hypothesis has ended
   * with the end token. */
  size_t emitted;
  /** [emitted] log p of each emitted token. */
  const double *word_logprobs;
  /** The sum of `word_logprobs`. */
  double logprob;
  /** `logprob`, normalised as the options say; hypotheses are ordered by it. */
  double score;
  /** 1: ended with the end token; 0: cut at the maximum length. */
  int finished;
  /** Memory positions: the columns of `alignment`; 0 if it was not asked for.*/
  size_t memory_positions;
  /** [emitted, memory_positions] Row t has the weights by which token t was
   * produced; several heads are averaged. Null if it was not asked for. */
  const float *alignment;
} attn_hypothesis;

/** What became of one sentence. */
typedef struct attn_result {
  size_t struct_size;
  /** ATTN_OK, or why this sentence has no hypotheses. */
  attn_status status;
  /** Null when `status` is ATTN_OK. */
  const char *message;
  /** At least 1 when `status` is ATTN_OK, else 0. An empty sentence has one
   * empty hypothesis of score 0. */
  size_t hypothesis_count;
} attn_result;

/** The functions of a compiled library. */
typedef struct attn_api {
  /** ATTN_API_VERSION of the library. */
  uint32_t version;
  uint32_t reserved;
  /** sizeof(attn_api) of the library. */
  size_t struct_size;

  /** The name of the model. */
  const char *(*name)(void);

  /** 1 if the library contains weights, 0 if `open` needs a file of them. */
  int (*has_weights)(void);

  /** Opens the model: checks the weights and prepares them. `options` may be
   * null: the defaults. Null on failure. */
  attn_model *(*open)(const attn_open_options *options, attn_error *error);

  /** Closes a model. Null is allowed. */
  void (*close)(attn_model *model);

  /** What is known about the model. Never null. */
  const attn_model_info *(*info)(const attn_model *model);

  /** A vocabulary, or null if there is none of that number. */
  const attn_vocabulary *(*vocabulary)(const attn_model *model, size_t number);

  /**
   * Decodes sentences. Results stand in the order of the sentences and do not
   * depend on each other, on `batch_size` or on threads, bit for bit. `options`
   * may be null: the defaults. Null on failure.
   */
  attn_results *(*decode)(const attn_model *model,
                          const attn_sentences *sentences,
                          const attn_decode_options *options,
                          attn_error *error);

  /** The number of sentences. */
  size_t (*result_count)(const attn_results *results);

  /** The result of a sentence, or null if there is none of that number. */
  const attn_result *(*result)(const attn_results *results, size_t sentence);

  /** A hypothesis of a sentence, 0 the best, or null if there is none. */
  const attn_hypothesis *(*hypothesis)(const attn_results *results,
                                       size_t sentence, size_t rank);

  /** Gives results back. Null is allowed. */
  void (*free_results)(attn_results *results);

  /** Gives the message of an error back and makes it ATTN_OK. */
  void (*clear_error)(attn_error *error);
} attn_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTN_ATTN_H */
