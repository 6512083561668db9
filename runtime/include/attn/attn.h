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
|* There are two levels: `decode` searches and answers with hypotheses;       *|
|* `encode` and `step` answer with logits, for a search of one's own.         *|
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
|* Memory. `decode` allocates what it needs, or works in a buffer of the *|
|* caller's, whose size `memory_plan` tells before.                           *|
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
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this interface; `attn_api::version` must be equal. */
#define ATTN_API_VERSION 1

/* In C++, options structures have their defaults from the start:
 * `attn_decode_options options{.beam = 5}` (C++20). */
#ifdef __cplusplus
#define ATTN_DEFAULT(value) = value
#else
#define ATTN_DEFAULT(value)
#endif

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
  ATTN_ERROR_INTERNAL = 10,
  /** The caller's `cancelled` said so. */
  ATTN_CANCELLED = 11,
  /** A device that does not exist, that was lost, or whose driver is missing.
   */
  ATTN_ERROR_DEVICE = 12
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

/** How much a message of the log matters. */
typedef enum attn_log_level {
  ATTN_LOG_INFO = 0,   /**< What was done: weights read, bytes prepared. */
  ATTN_LOG_WARNING = 1 /**< What may not be meant: tensors that are ignored. */
} attn_log_level;

/**
 * Receives a message, which lives as long as the call. Must not call the
 * library, and must not throw or jump.
 */
typedef void (*attn_log_function)(void *context, attn_log_level level,
                                  const char *message);

/** How to open a model. */
typedef struct attn_open_options {
  /** sizeof(attn_open_options). */
  size_t struct_size ATTN_DEFAULT(sizeof(attn_open_options));
  /**
   * The path of a safetensors file. Required by a library that was compiled
   * without weights; replaces the weights of one that was compiled with some.
   * Null: the weights in the library. The file is read while the model is
   * opened, and not needed afterwards.
   */
  const char *weights_path ATTN_DEFAULT(NULL);
  /** Is told what happens while the model is opened; the library itself prints
   * nothing. Null (the default): nobody is. */
  attn_log_function log ATTN_DEFAULT(NULL);
  /** Handed to `log`. */
  void *log_context ATTN_DEFAULT(NULL);
  /**
   * What runs the model, of the kind that the library was compiled for: "cpu";
   * "vulkan:0", "cuda:0" and further numbers, see `list_devices`; "vulkan" or
   * "cuda", the first of them. Null (the default): the first of that kind. A
   * device of another kind is ATTN_ERROR_OPTION; one that is not there, fails
   * or is lost is ATTN_ERROR_DEVICE; where it has not enough memory, that is
   * ATTN_ERROR_MEMORY. On a device other than the CPU, `buffer` of
   * `attn_decode_options` and `attn_encode_options` cannot be used, and
   * `threads` do not share the work of a step.
   */
  const char *device ATTN_DEFAULT(NULL);
} attn_open_options;

/** Something that can run models. */
typedef struct attn_device {
  size_t struct_size;
  /** As `attn_open_options::device` takes it. */
  const char *name;
  /** What its maker calls it. */
  const char *description;
  /** Bytes. */
  uint64_t memory;
} attn_device;

/** Receives a device, which lives as long as the call. Must not throw or jump.
 */
typedef void (*attn_device_function)(void *context, const attn_device *device);

static inline attn_open_options attn_default_open_options(void) {
  attn_open_options options;
  memset((void *)&options, 0, sizeof(options)); /* padding, too */
  options.struct_size = sizeof(attn_open_options);
  options.weights_path = NULL;
  options.log = NULL;
  options.log_context = NULL;
  options.device = NULL;
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

/** What a model emits. */
typedef enum attn_target {
  ATTN_TARGET_TOKENS = 0, /**< Tokens of a vocabulary. */
  /** Positions of what the encoder made of the source (pointer networks,
   * Vinyals et al. 2015), from 0. To `decode` and `step` they are tokens; every
   * sentence has as many as its memory has positions. Where they are the
   * source's tokens and the source carries an end token, that token's position
   * ends a hypothesis; else only the maximum length does. */
  ATTN_TARGET_POSITIONS = 1,
  /** Vectors of features ("frames"), such as those of a spectrogram. There is
   * no search: a sentence has one hypothesis, and only the minimum and the
   * maximum length, `forced`, `stop_threshold`, `stall` and what concerns
   * alignments may be asked for. */
  ATTN_TARGET_FEATURES = 2
} attn_target;

/** What is known about a model. */
typedef struct attn_model_info {
  size_t struct_size;
  const char *name;
  /** 0 for a model that only generates (a language model). */
  int has_encoder;
  /** Whether hypotheses carry an alignment. */
  int has_alignment;
  /** Whether the model adds an end token to each sentence of the first input,
   * which then is the last memory position of alignments over it (unless the
   * encoder shortens it). */
  int source_has_end;
  /** Vocabularies in all; ask for each with `vocabulary`. */
  size_t vocabulary_count;
  /** The number of the first input's vocabulary, -1 without an encoder and
   * where that input is features. */
  int32_t source_vocabulary;
  /** The number of the target's vocabulary, -1 if it has none. */
  int32_t target_vocabulary;
  /** Trained numbers in all parameters. */
  uint64_t parameter_count;
  /** Heads of the read whose weights are the alignment; 0 without one. */
  size_t alignment_heads;
  /** Inputs of the encoder, 0 without one; ask for each with `input`. */
  size_t input_count;
  /** The number of the input of tokens whose positions are the columns of
   * alignments (its end token's included), -1 where they are no tokens. */
  int32_t aligned_input;
  /** What the model emits. */
  attn_target target;
  /** Numbers of each vector of features that it emits, 0 if it emits none. */
  size_t frame_size;
  /** What the weights of products are kept as: "f32", "bf16" or "int8". */
  const char *precision;
} attn_model_info;

/** One input of a model's encoder: tokens, or features. */
typedef struct attn_input {
  size_t struct_size;
  const char *name;
  /** The number of its vocabulary, -1 for an input of features. */
  int32_t vocabulary;
  /** Whether the model adds an end token to each of its sentences. */
  int has_end;
  /** Dimensions of the features of one position; [] for a number. */
  size_t rank;
  const int64_t *shape; /**< [rank] */
  /** The product of `shape`. */
  size_t width;
  /** The input on whose sequence it lies: its own number, or that of an earlier
   * one, of whose length it has to be (end tokens included in both). */
  size_t over;
} attn_input;

/**
 * What sentences have for one input of a model, or targets: text, numbers or
 * features; of `tokens`, `ids` and `features` two are null. An end token that
 * the model's input carries is added by `decode` and must not stand here.
 *
 * A model with several inputs takes an array of these, one for each input in
 * the order of `input`, with equal `count` and `struct_size`. A model without
 * an encoder takes one, whose `lengths` are 0.
 */
typedef struct attn_sentences {
  /** sizeof(attn_sentences). */
  size_t struct_size;
  size_t count;
  /** [count] Tokens of each sentence, or positions that have features; 0 is
   * allowed. */
  const size_t *lengths;
  /** [count][lengths[i]] Words. A word that is not in the vocabulary becomes
   * the unknown token, or an error where the vocabulary has none. */
  const char *const *const *tokens;
  /** [count][lengths[i]] Token ids. */
  const int32_t *const *ids;
  /** [count] Arrays [lengths[i], width of the input], dense. */
  const float *const *features;
} attn_sentences;

/** By what the sum of log-probabilities S of n emitted tokens is divided. The
 * end token is one of them, the start token is not. */
typedef enum attn_normalization {
  ATTN_NORMALIZE_NONE = 0,   /**< Score S. */
  ATTN_NORMALIZE_LENGTH = 1, /**< Score S / n^alpha. */
  /** Score S / ((5 + n) / 6)^alpha (Wu et al., "Google's neural machine
   * translation system", 2016). */
  ATTN_NORMALIZE_GNMT = 2
} attn_normalization;

/** When the beam search of a sentence stops before its live hypotheses have all
 * come to an end. k is the width of the beam. Does not concern greedy decoding,
 * which stops at its first end token. */
typedef enum attn_stop {
  /** k hypotheses are finished, and no live one can beat the worst of them:
   * not even if it emitted probability 1 up to the maximum length. */
  ATTN_STOP_BOUND = 0,
  /** `patience` * k hypotheses are finished, rounded, at least one (Kasai et
   * al., "A call for clarity in beam search", 2024; patience 1 is usual). */
  ATTN_STOP_COUNT = 1,
  /** The best continuation of some step was an end token, and `nbest`
   * hypotheses are finished. So `nbest` can change the best. */
  ATTN_STOP_TOP = 2,
  /** k hypotheses are finished, and the best continuation of the step, scored
   * as long as it is, does not beat the worst of them. */
  ATTN_STOP_ESTIMATE = 3
} attn_stop;

/** What becomes of the places in the beam of hypotheses that ended. */
typedef enum attn_refill {
  /** The next best continuations live on in them: of the best 2k, an end token
   * among the first k is finished, and the best k others live. */
  ATTN_REFILL_ALWAYS = 0,
  /** They stay empty for a step: the best k continuations, and of them those
   * live that have not ended. */
  ATTN_REFILL_NEXT = 1,
  /** They stay empty: each finished hypothesis makes the beam narrower by one.
   */
  ATTN_REFILL_NEVER = 2
} attn_refill;

/** Which weights an alignment has, instead of the number of a head. */
enum {
  ATTN_HEADS_AVERAGE = -1, /**< The average of all heads. */
  ATTN_HEADS_ALL = -2      /**< All heads, each for itself. */
};

/**
 * The caller's threads: calls `task(data, i)` once for each i from 0 to
 * count - 1, on any threads, at once or one after the other, and returns when
 * all calls have returned. Must not throw or jump.
 */
typedef void (*attn_parallel_function)(void *context, size_t count,
                                       void (*task)(void *data, size_t number),
                                       void *data);

/** Tells whether to give up: 0 or not. Must not throw or jump. */
typedef int (*attn_cancelled_function)(void *context);

/** A token that was just emitted. Lives as long as the call that it is handed
 * to. */
typedef struct attn_token {
  size_t struct_size;
  /** The place of the sentence in the call. */
  size_t sentence;
  /** The number of the sample or of the alternative, which is its place in the
   * result; else 0. */
  size_t hypothesis;
  /** The place of the token in the hypothesis. */
  size_t position;
  int32_t id;
  /** As in attn_hypothesis::tokens; of the end token, too. */
  const char *text;
  double logprob;
  /** 1: the last token of the hypothesis, which is the end token or the last
   * that the maximum length permits. */
  int last;
  /** 1: the end token. */
  int is_end;
} attn_token;

/** Is told each token. Answers 0, or other than 0 to end the hypothesis with
 * this token, as it is. Must not throw or jump. */
typedef int (*attn_token_function)(void *context, const attn_token *token);

struct attn_api;

/** Another model that decodes together with one. */
typedef struct attn_member {
  /** sizeof(attn_member). */
  size_t struct_size ATTN_DEFAULT(sizeof(attn_member));
  /** The table of its library. */
  const struct attn_api *api ATTN_DEFAULT(NULL);
  /** Open, and not closed before the call has returned. */
  const attn_model *model ATTN_DEFAULT(NULL);
  /** How much it counts; the model that is asked to decode counts 1. Greater
   * than 0, default 1. */
  double weight ATTN_DEFAULT(1.0);
} attn_member;

static inline attn_member attn_default_member(void) {
  attn_member member;
  memset((void *)&member, 0, sizeof(member)); /* padding, too */
  member.struct_size = sizeof(attn_member);
  member.api = NULL;
  member.model = NULL;
  member.weight = 1.0;
  return member;
}

/** How to decode. The defaults are those of `attn_default_decode_options`. */
typedef struct attn_decode_options {
  /** sizeof(attn_decode_options). */
  size_t struct_size ATTN_DEFAULT(sizeof(attn_decode_options));
  /** Width of the beam, 1 to 65536. Default 1: greedy decoding. */
  size_t beam ATTN_DEFAULT(1);
  /** Hypotheses to return for each sentence, 1 to `beam` (see also `sampling`
   * and `alternatives`). Default 1. Fewer come back where fewer exist. */
  size_t nbest ATTN_DEFAULT(1);
  /** Default ATTN_NORMALIZE_NONE. */
  attn_normalization normalization ATTN_DEFAULT(ATTN_NORMALIZE_NONE);
  /** Exponent of the normalization, at least 0. Default 1. */
  double alpha ATTN_DEFAULT(1.0);
  /** A hypothesis emits at most
   *   floor(max_length_factor * source tokens) + max_length_offset
   * tokens, its end token included. Source tokens are the tokens or positions
   * of the first input, its end token not counted; without an encoder those of
   * the prefix. Both at least 0. Defaults 2 and 10. */
  double max_length_factor ATTN_DEFAULT(2.0);
  int64_t max_length_offset ATTN_DEFAULT(10);
  /** Tokens a hypothesis has before it may end; the end token is not counted.
   * Default 0. */
  int64_t min_length ATTN_DEFAULT(0);
  /** Sentences that are computed together, at least 1: a matter of speed and
   * memory only, results do not depend on it. Sentences of similar length are
   * put together, so `decode` takes many at once with profit. Default 32. */
  size_t batch_size ATTN_DEFAULT(32);
  /** Whether to keep alignments (0 or 1). An error where the model has none.
   * Default 0. */
  int want_alignment ATTN_DEFAULT(0);
  /** Forced decoding: a target for each sentence, without its end token; as
   * `features` for a model that emits them (teacher forcing: the result has
   * what is predicted after each of them). The result is that target and what
   * the model says about it; beam, nbest, sampling, bans and the length limits
   * are not used. Null (the default): search. */
  const attn_sentences *forced ATTN_DEFAULT(NULL);
  /** Weight b of the coverage penalty of Wu et al., at least 0: a score has
   *   + b * sum over memory positions of log(min(sum over tokens of weight, 1))
   * where positions that were never attended are skipped. The weights are those
   * of the alignment, averaged over heads; an error where the model has none.
   * The source's end token is one of the positions. Default 0. */
  double coverage ATTN_DEFAULT(0.0);
  /** Tokens that hypotheses begin with, for each sentence; may be empty. They
   * have the log-probabilities that the model gives them, and count in scores
   * and lengths like others; bans do not touch them. An end token in a prefix
   * ends the hypothesis (what follows it is not emitted); a prefix longer than
   * the maximum length is an error of its sentence. Not with `forced`. An empty
   * source has its empty result all the same. Null (the default): no prefix. */
  const attn_sentences *prefixes ATTN_DEFAULT(NULL);
  /** Sequences of target tokens that are not emitted; one of a single token
   * bans that token. Each has at least one token, and its words must be in the
   * vocabulary. Bans act on the distribution before it is normalised. Where
   * nothing is left to emit, the hypothesis ends as it is, `finished` 0. Null
   * (the default): no bans. */
  const attn_sentences *banned ATTN_DEFAULT(NULL);
  /** No sequence of so many tokens is emitted twice; acts like a ban. At least
   * 0; 0 (the default): any is. */
  int64_t no_repeat_ngram ATTN_DEFAULT(0);
  /** Before logits are normalised, the logit of each token that the hypothesis
   * has already (a prefix included) is multiplied by this number where it is
   * negative, and else divided by it (Keskar et al., "CTRL", 2019). Greater
   * than 0; 1 (the default) changes nothing, more makes repetitions rarer. */
  double repetition_penalty ATTN_DEFAULT(1.0);
  /** 1: do not search, but draw `nbest` samples; `beam` must be 1 and `nbest`
   * can be up to 65536. Samples come back in the order of their numbers, so
   * `nbest` does not change the first ones. Their log-probabilities are the
   * model's: temperature, top_k and top_p decide what is drawn and nothing
   * else. Default 0. */
  int sampling ATTN_DEFAULT(0);
  /** Logits are divided by it before a token is drawn. Greater than 0, default
   * 1. */
  double temperature ATTN_DEFAULT(1.0);
  /** Draw from the so many most likely tokens, the lower id on ties. 0 (the
   * default): from all. */
  size_t top_k ATTN_DEFAULT(0);
  /** Of those tokens, draw from the fewest most likely ones whose probabilities
   * sum to at least top_p (Holtzman et al., "The curious case of neural text
   * degeneration", 2020). Greater than 0, at most 1; default 1: all. */
  double top_p ATTN_DEFAULT(1.0);
  /** Of the random numbers. A number depends on the seed, the sentence's
   * number, the sample and the place of the token, and on nothing else: the
   * same draws in any batch, order, number of threads, and on any machine.
   * Default 0. */
  uint64_t seed ATTN_DEFAULT(0);
  /** [count] The number of each sentence for its random numbers. Null (the
   * default): its place in the call. */
  const uint64_t *sentence_numbers ATTN_DEFAULT(NULL);
  /** 1: in `tokens` of hypotheses, an unknown token is replaced by the source's
   * word with the largest weight of the alignment, averaged over heads (the
   * first of equals; padding and the source's end token are no words); `ids`
   * keep the unknown token. An error where the target has no unknown token or
   * the model has no alignment with the source's tokens. Default 0. */
  int replace_unknown ATTN_DEFAULT(0);
  /** With want_alignment: the number of a head, from 0, or ATTN_HEADS_AVERAGE
   * (the default) or ATTN_HEADS_ALL. */
  int32_t alignment_head ATTN_DEFAULT(ATTN_HEADS_AVERAGE);
  /** Default ATTN_STOP_BOUND. */
  attn_stop stop ATTN_DEFAULT(ATTN_STOP_BOUND);
  /** See ATTN_STOP_COUNT. Greater than 0, default 1. */
  double patience ATTN_DEFAULT(1.0);
  /** Default ATTN_REFILL_ALWAYS. */
  attn_refill refill ATTN_DEFAULT(ATTN_REFILL_ALWAYS);
  /** 1: the last token that the maximum length permits is the end token, with
   * whatever log-probability it has there. Default 0: hypotheses of the maximum
   * length end as they are. */
  int end_at_maximum ATTN_DEFAULT(0);
  /** Threads that batches are divided among, or the work of each step where
   * there is only one (not in a `buffer`), at least 1; no result depends on
   * them. More than 1: the model starts threads and keeps them until it is
   * closed, unless the call has `parallel`; a call that finds them busy with
   * another one starts its own, and ends them. Starting threads allocates.
   * Default 1: the caller's. */
  size_t threads ATTN_DEFAULT(1);
  /** Runs up to `threads` tasks on threads of the caller's instead of own ones;
   * for one batch, in each step. Null (the default): own threads. */
  attn_parallel_function parallel ATTN_DEFAULT(NULL);
  /** Handed to `parallel`. */
  void *parallel_context ATTN_DEFAULT(NULL);
  /** Is asked before every step, by each thread; where it answers other than 0,
   * the call ends with ATTN_CANCELLED. Null (the default): nobody is. */
  attn_cancelled_function cancelled ATTN_DEFAULT(NULL);
  /** Handed to `cancelled`. */
  void *cancelled_context ATTN_DEFAULT(NULL);
  /** Where the call does all its work and leaves its results, as many bytes as
   * `memory_plan` says. Nothing is allocated then, but for messages of what is
   * wrong and for own threads. The buffer belongs to the results until
   * `free_results`, which has to be called as ever. Null (the default): memory
   * is allocated by need. */
  void *buffer ATTN_DEFAULT(NULL);
  size_t buffer_size ATTN_DEFAULT(0);
  /** 1: the `nbest` most likely tokens behind the prefix (of a result without
   * one: the first tokens) each begin a hypothesis, which is continued by a
   * search of its own: greedily, or with the beam. They come back by the
   * probability of that token, so that `nbest` does not change the first ones,
   * and fewer where fewer tokens are possible. Each is what a prefix longer by
   * its token would yield. beam * nbest is at most 65536. Not with `sampling`;
   * not used with `forced`. Default 0. */
  int alternatives ATTN_DEFAULT(0);
  /** Is told each token while sentences are decoded; `beam` must be 1. The
   * tokens of a hypothesis come in their order, each once; those of different
   * hypotheses come in any order. Samples and alternatives share the tokens of
   * a prefix, which come once, for hypothesis 0. The thread that decodes a
   * sentence tells its tokens: with `threads`, several may at once. A sentence
   * that fails in the end may have told tokens. Null (the default): nobody is
   * told. */
  attn_token_function on_token ATTN_DEFAULT(NULL);
  /** Handed to `on_token`. */
  void *on_token_context ATTN_DEFAULT(NULL);
  /** [ensemble_size] Models that decode together with this one: the
   * log-probability of a token is, before bans and the like,
   *   m(token) - log(sum over all tokens of exp(m)),
   *   m = (log p + sum of weight[i] * log p[i]) / (1 + sum of weight[i]).
   * Target vocabularies must be equal, and so must source vocabularies; a
   * member may be without an encoder (a language model). Alignments are this
   * model's. Members work through their tables, on the heap: an error with
   * `buffer`. Null and 0 (the defaults): this model alone. */
  const attn_member *ensemble ATTN_DEFAULT(NULL);
  size_t ensemble_size ATTN_DEFAULT(0);
  /** Of the tokens that top_k and top_p leave, draw from those whose
   * probability among all tokens, at the temperature, is at least epsilon; the
   * most likely can always be drawn (Hewitt et al., "Truncation sampling as
   * language model desmoothing", 2022). At least 0, less than 1; default 0. */
  double epsilon ATTN_DEFAULT(0.0);
  /** Of a model that emits features: a frame is the last one where the
   * probability of that is greater, and there are `min_length` frames. From 0
   * to 1 (never). Default 0.5. */
  double stop_threshold ATTN_DEFAULT(0.5);
  /** Of a model that emits features: so many frames in a row whose largest
   * weight of the alignment (averaged over heads, the first of equals) stands
   * where that of the frame before did end the hypothesis, too. An error where
   * the model has no alignment. 0 (the default): they do not. */
  int64_t stall ATTN_DEFAULT(0);
  /** Lists of target tokens, one for all sentences or one for each: nothing
   * else is emitted, and log-probabilities are those among the tokens of the
   * list (of an ensemble, too). Where a list is much shorter than the
   * vocabulary, decoding is faster, but not with `buffer`. Order and
   * duplicates do not matter. The end token and the tokens of a sentence's
   * prefix are always in its list; a forced target of other tokens is an error
   * of its sentence. Words must be in the vocabulary, and a list has at least
   * one token: where one of several lists is wrong, that is an error of its
   * sentence. An error where the model emits no tokens. Null (the default): all
   * tokens. */
  const attn_sentences *shortlists ATTN_DEFAULT(NULL);
} attn_decode_options;

/** What calls of `decode` will be given at most, see `memory_plan`. */
typedef struct attn_limits {
  /** sizeof(attn_limits). */
  size_t struct_size ATTN_DEFAULT(sizeof(attn_limits));
  /** Sentences of a call. Default 1. */
  size_t sentences ATTN_DEFAULT(1);
  /** Tokens or positions that a sentence has for any input, the model's end
   * token not counted. Default 0. */
  size_t source_length ATTN_DEFAULT(0);
  /** Tokens of a forced target or a prefix. Default 0. */
  size_t target_length ATTN_DEFAULT(0);
  /** Bytes of a source's word; matters for `replace_unknown` only. Default
   * 0. */
  size_t word_bytes ATTN_DEFAULT(0);
  /** Tokens of a shortlist as it is given, duplicates counted. Default 0. */
  size_t shortlist_length ATTN_DEFAULT(0);
} attn_limits;

static inline attn_limits attn_default_limits(void) {
  attn_limits limits;
  memset((void *)&limits, 0, sizeof(limits)); /* padding, too */
  limits.struct_size = sizeof(attn_limits);
  limits.sentences = 1;
  limits.source_length = 0;
  limits.target_length = 0;
  limits.word_bytes = 0;
  limits.shortlist_length = 0;
  return limits;
}

static inline attn_decode_options attn_default_decode_options(void) {
  attn_decode_options options;
  memset((void *)&options, 0, sizeof(options)); /* padding, too */
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
  options.coverage = 0.0;
  options.prefixes = NULL;
  options.banned = NULL;
  options.no_repeat_ngram = 0;
  options.repetition_penalty = 1.0;
  options.sampling = 0;
  options.temperature = 1.0;
  options.top_k = 0;
  options.top_p = 1.0;
  options.seed = 0;
  options.sentence_numbers = NULL;
  options.replace_unknown = 0;
  options.alignment_head = ATTN_HEADS_AVERAGE;
  options.stop = ATTN_STOP_BOUND;
  options.patience = 1.0;
  options.refill = ATTN_REFILL_ALWAYS;
  options.end_at_maximum = 0;
  options.threads = 1;
  options.parallel = NULL;
  options.parallel_context = NULL;
  options.cancelled = NULL;
  options.cancelled_context = NULL;
  options.buffer = NULL;
  options.buffer_size = 0;
  options.alternatives = 0;
  options.on_token = NULL;
  options.on_token_context = NULL;
  options.ensemble = NULL;
  options.ensemble_size = 0;
  options.epsilon = 0.0;
  options.stop_threshold = 0.5;
  options.stall = 0;
  options.shortlists = NULL;
  return options;
}

/** One translation of one sentence. */
typedef struct attn_hypothesis {
  size_t struct_size;
  /** Tokens, an end token not counted. */
  size_t length;
  /** [length] Token ids, or positions. `ids[length]` is the id of the end where
   * the hypothesis has ended with it. */
  const int32_t *ids;
  /** [length] Their text. Of a position it is the source's word there where
   * positions are the source's tokens, else its number. */
  const char *const *tokens;
  /** Emitted tokens: `length`, and one more where the hypothesis has ended
   * with the end token. */
  size_t emitted;
  /** [emitted] log p of each emitted token. */
  const double *word_logprobs;
  /** The sum of `word_logprobs`. */
  double logprob;
  /** `logprob`, normalised as the options say, and the coverage penalty;
   * hypotheses of a search are ordered by it. */
  double score;
  /** 1: ended with the end token; 0: cut at the maximum length, where nothing
   * was left to emit, or where `on_token` said so. */
  int finished;
  /** Memory positions: the columns of `alignment`; 0 if it was not asked for.*/
  size_t memory_positions;
  /** [emitted, memory_positions, heads] Row t has the weights by which token t
   * was produced. Null if it was not asked for. */
  const float *alignment;
  /** 1, or the model's alignment_heads with ATTN_HEADS_ALL. */
  size_t heads;
  /** [emitted, frame_size] The features that were emitted; null for a model of
   * tokens or positions. `ids`, `tokens` and `word_logprobs` are null for one
   * of features, and `length` is `emitted`. */
  const float *frames;
  /** [emitted] The probability, after each frame, that it is the last. */
  const double *stop_probabilities;
  /** 1: ended because the alignment stood still. */
  int stalled;
} attn_hypothesis;

/** What became of one sentence. */
typedef struct attn_result {
  size_t struct_size;
  /** ATTN_OK, or why this sentence has no hypotheses. */
  attn_status status;
  /** Null when `status` is ATTN_OK. */
  const char *message;
  /** At least 1 when `status` is ATTN_OK, else 0. A sentence that is empty for
   * every input has one empty hypothesis of score 0. */
  size_t hypothesis_count;
} attn_result;

/**
 * Sentences that have been encoded and are being decoded step by step, for
 * those who bring their own search. Used by one thread at a time.
 */
typedef struct attn_decoding attn_decoding;

/** How to encode. The defaults are those of `attn_default_encode_options`. */
typedef struct attn_encode_options {
  /** sizeof(attn_encode_options). */
  size_t struct_size ATTN_DEFAULT(sizeof(attn_encode_options));
  /** The most rows that a step will have. With a buffer, steps cannot have
   * more; without one, it saves taking memory again. 0 (the default): as many
   * as there are sentences. */
  size_t rows ATTN_DEFAULT(0);
  /** Where the decoding does all its work, as many bytes as `encode_memory`
   * says; it allocates nothing then. The caller's, and in use until
   * `free_decoding`. Null (the default): memory is allocated by need. */
  void *buffer ATTN_DEFAULT(NULL);
  size_t buffer_size ATTN_DEFAULT(0);
  /** With a buffer: the most steps that will be made. Not used without one. 0
   * (the default) will do for a model that does not read its own past. */
  size_t steps ATTN_DEFAULT(0);
} attn_encode_options;

static inline attn_encode_options attn_default_encode_options(void) {
  attn_encode_options options;
  memset((void *)&options, 0, sizeof(options)); /* padding, too */
  options.struct_size = sizeof(attn_encode_options);
  options.rows = 0;
  options.buffer = NULL;
  options.buffer_size = 0;
  options.steps = 0;
  return options;
}

/**
 * A step. A row is a hypothesis that is continued by one token. Rows stand in
 * the order of their sentences. What is known of a row (its states, its
 * sentence, the tokens it has) follows from the row it continues.
 */
typedef struct attn_step_request {
  /** sizeof(attn_step_request). */
  size_t struct_size;
  /** At least 1. */
  size_t rows;
  /** [rows] The row of the step before that each row continues; in the first
   * step, the number of the sentence that it begins. Any number of rows may
   * continue the same one, and those that no row continues are dropped. Null:
   * row i continues row i. */
  const int32_t *parents;
  /** [rows] The token that was chosen for each row, in the target's
   * vocabulary, or the position of the row's sentence. Null in the first step,
   * where nothing has been chosen. */
  const int32_t *tokens;
  /** [rows, frame_size] Instead, where features are emitted: those that each
   * row continues with. */
  const float *frames;
} attn_step_request;

/** What a step yields. Valid until the decoding's next step. */
typedef struct attn_step_result {
  size_t struct_size;
  size_t rows;
  /** The size of the target's vocabulary; of a model that emits positions, the
   * most that a sentence has. */
  size_t vocabulary_size;
  /** [rows, vocabulary_size] Logits of the next token, not normalised. What
   * lies beyond a sentence's own positions means nothing. */
  const float *logits;
  /** [rows] The sentence of each row. */
  const int32_t *sentences;
  /** Columns of `weights`: the most memory positions that a sentence has. */
  size_t memory_positions;
  /** Heads of the alignment. */
  size_t heads;
  /** [rows, memory_positions, heads] Weights of the alignment for this token.
   * Beyond a sentence's own positions a read has weight 0, but nothing relies
   * on it. Null where the model has no alignment. */
  const float *weights;
  /** [sentences] The memory positions of each sentence. */
  const size_t *memory_lengths;
  /** [sentences] The logits that each sentence has: vocabulary_size, or as many
   * as it has positions to emit. */
  const size_t *choices;
  /** [rows, frame_size] The features predicted, and [rows] the logit of the
   * probability that they are the last. Null where none are emitted; where
   * they are, `logits` are null and vocabulary_size is 0. */
  const float *frames;
  const float *stop;
} attn_step_result;

/** The value of a name of the spec, for one sentence or one row of a step.
 * Lives as long as the call that it is handed to. */
typedef struct attn_observation {
  size_t struct_size;
  /** The name below the path of its block: `decoder.align.a`. One that is
   * defined again has a number: `decoder.w#2`. */
  const char *name;
  /** Sequence positions, without padding, then features; [] for a number. */
  size_t rank;
  const size_t *shape; /**< [rank] */
  /** One of these is null. Dense. */
  const float *floats;
  const int32_t *integers;
} attn_observation;

/** Must not call the library, and must not throw or jump. */
typedef void (*attn_observe_function)(void *context,
                                      const attn_observation *value);

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
   * Decodes sentences, an array of them for several inputs. Results stand in
   * the order of the sentences and do not depend on each other, on `batch_size`
   * or on threads, bit for bit. `options` may be null: the defaults. Null on
   * failure.
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

  /**
   * The bytes of `attn_decode_options::buffer` with which every call of
   * `decode` within the limits succeeds, with these options or with less of
   * beam, nbest, batch_size, max_length_factor and max_length_offset.
   * `options` may be null: the defaults; `forced`, `prefixes` and `shortlists`
   * in them matter by being null or not, what they hold is not read. `limits`
   * may be null:
   * the defaults. 0 on failure.
   */
  size_t (*memory_plan)(const attn_model *model,
                        const attn_decode_options *options,
                        const attn_limits *limits, attn_error *error);

  /**
   * Encodes sentences, an array of them for several inputs, to decode them step
   * by step. A sentence that is wrong, or empty where the model has an encoder,
   * fails the call. `options` may be null: the defaults. The model must outlive
   * the decoding. Null on failure.
   */
  attn_decoding *(*encode)(const attn_model *model,
                           const attn_sentences *sentences,
                           const attn_encode_options *options,
                           attn_error *error);

  /**
   * The bytes of buffer that `encode` needs for `sentences` sentences of at
   * most `source_length` tokens or positions for any input (0 for a model
   * without an encoder) and at most `steps` steps of at most `rows` rows. 0 on
   * failure.
   */
  size_t (*encode_memory)(const attn_model *model, size_t sentences,
                          size_t source_length, size_t rows, size_t steps,
                          attn_error *error);

  /**
   * Makes a step. Null on failure: after ATTN_ERROR_ARGUMENT and
   * ATTN_ERROR_INPUT nothing has happened and another step may be tried, after
   * others the decoding can only be freed.
   */
  const attn_step_result *(*step)(attn_decoding *decoding,
                                  const attn_step_request *request,
                                  attn_error *error);

  /** Gives a decoding back. Null is allowed. */
  void (*free_decoding)(attn_decoding *decoding);

  /**
   * log(sum(exp(logits))) of one row, by which decoding normalises: a logit
   * minus this is a log-probability. NaN where a logit is NaN or +inf.
   */
  double (*log_sum_exp)(const float *logits, size_t size);

  /**
   * Shows the value of every name of the spec: what the encoder made of it for
   * sentence `number` (`of_step` 0), or the last step for row `number`. A
   * library shows something only if it was compiled with `attnc --observe`;
   * what it computes is the same. Returns how many values there were, 0 after
   * an error too.
   */
  size_t (*observe)(const attn_decoding *decoding, int of_step, size_t number,
                    attn_observe_function show, void *context,
                    attn_error *error);

  /** An input of the encoder, or null if there is none of that number. */
  const attn_input *(*input)(const attn_model *model, size_t number);

  /**
   * Shows the devices that the library can run on, in the order of their
   * numbers: of the kind that it was compiled for. Returns how many there are;
   * 0 and an error where no driver can tell.
   */
  size_t (*list_devices)(attn_device_function show, void *context,
                         attn_error *error);
} attn_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTN_ATTN_H */
