/**
 * Step times of a serving engine in plain C, for simulators and schedulers.
 *
 *     const char *settings[] = {"software=vllm 0.24", "precision=fp8", "tp=8", NULL};
 *     roofcast_step_model *model = roofcast_step_model_new("llama-3.1-70b", "h100", settings);
 *     if (model == NULL) return fprintf(stderr, "%s\n", roofcast_last_error()), 1;
 *     double us = roofcast_step_us(model, 512, 64, 2048.0);
 *     roofcast_step_model_free(model);
 *
 * Times are interpolated in a table. They differ from the full prediction by at most 0.2 % in the mean, by at most 1.5 % where a step has
 * decodes or prompts alone, and by at most 4 % where it has both: as tested for one prompt that has nothing in the cache, and contexts of
 * up to 16384 tokens. Several prompts, and chunks of prompts with long caches, can differ by tens of percent. A first step at new sizes
 * computes points of the table, in up to some milliseconds; later ones take less than 2 microseconds. roofcast_step_model_prepare computes
 * the points ahead.
 * Any number of threads may ask one model for times. Link with the library `roofcast` and a C++ linker.
 */
#ifndef ROOFCAST_H
#define ROOFCAST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model on a GPU, or a group of GPUs, under one engine. */
typedef struct roofcast_step_model roofcast_step_model;

/**
 * Loads `model` and `gpu`: ids, aliases or files, as the command takes them. `settings` are "name=value" texts that end with NULL; NULL
 * itself: none. Names are options of `roofcast predict` with underscores: software, precision, weights, kv, tp, pp, ep, dp, attention_dp,
 * execution, host_time and others. Further ones are the largest step: max_sequences (default 1024), max_tokens (65536) and max_context
 * (the model's, at most 131072).
 * NULL when something is wrong, which roofcast_last_error says.
 */
roofcast_step_model* roofcast_step_model_new(const char* model, const char* gpu, const char* const* settings);

/** Frees what roofcast_step_model_new made. NULL is ignored. */
void roofcast_step_model_free(roofcast_step_model* model);

/**
 * Microseconds of one step that computes `prefill_tokens` tokens of one prompt that has nothing in the cache, and one token of each of
 * `decode_sequences` sequences whose caches hold `context` tokens in the mean, the new one included. Either may be 0.
 * A negative number when a size is outside the model's range, which roofcast_last_error says.
 */
double roofcast_step_us(const roofcast_step_model* model, int64_t prefill_tokens, int64_t decode_sequences, double context);

/**
 * The same for `prefill_sequences` prompts that have `prefill_tokens` tokens together and `prefill_past` tokens in the cache each: chunks
 * of longer prompts.
 */
double roofcast_mixed_step_us(const roofcast_step_model* model, int64_t prefill_sequences, int64_t prefill_tokens, double prefill_past,
                              int64_t decode_sequences, double context);

/** Computes the table ahead for steps of at most one prompt, on all cores: some seconds. 0, or -1 when that fails. */
int roofcast_step_model_prepare(const roofcast_step_model* model);

/** What went wrong last in the calling thread: one line, or "". It stays until the next failure in that thread. */
const char* roofcast_last_error(void);

/** "0.1.0". */
const char* roofcast_version(void);

#ifdef __cplusplus
}
#endif

#endif
