/* SPDX-License-Identifier: Apache-2.0 */
/* handles.h: the structs behind the opaque types of fusesim.h, and how its functions run.
 *
 * Every public function that allocates is one fsim_attempt with its own arena, a child of the session's. If it
 * fails, that arena is freed and the session is unchanged. */
#ifndef FUSESIM_API_HANDLES_H
#define FUSESIM_API_HANDLES_H

#include "fusesim.h"
#include "hw/load.h"
#include "plan/price/interval.h"
#include "plan/price/memory.h"
#include "predict.h"
#include "report/versus.h"
#include <locale.h>

struct fsim_session {
    fsim_arena *arena; /* parent of all others */
    locale_t numbers;  /* "C": numbers in files and results have a decimal point, whatever the caller's locale */
    fsim_hw_folders hw_folders;
    const char *workload_folder;
    fsim_arena *messages; /* memory of the diagnostics; NULL: there are none */
    fsim_diagnostic *diagnostic;
    int diagnostics;
};

struct fsim_workload {
    fsim_arena *arena;
    fsim_session *session;
    fsim_graph *graph;
};

struct fsim_hardware {
    fsim_arena *arena;
    fsim_session *session;
    fsim_hw *hw;
};

/* The texts of fsim_plans_kernel, created on first use; name is NULL before. */
typedef struct {
    const char *name, *operators;
} fsim_kernel_texts;

struct fsim_plans {
    fsim_arena *arena;
    fsim_session *session;
    fsim_prediction prediction;
    fsim_strategy strategy[FSIM_PLAN_COUNT]; /* the strategies that have a plan */
    int strategies;
    fsim_contest against_eager[FSIM_PLAN_COUNT];
    fsim_memory_use memory[FSIM_PLAN_COUNT];  /* per strategy, in that order */
    fsim_interval likely[FSIM_PLAN_COUNT];    /* of its seconds, in that order */
    fsim_kernel_texts *text[FSIM_PLAN_COUNT]; /* per strategy, in that order: the texts of its kernels */
    const char **refusal_text;                /* of each refusal, made when it is first asked for; NULL before */
    const char *json;
    size_t json_bytes;
};

/* One call of a public function. */
typedef struct fsim_call fsim_call;
struct fsim_call {
    fsim_session *session;
    /* Creates the result in `arena` and returns it; NULL after an error in `diag`. */
    void *(*work)(fsim_call *call, const void *arguments);
    const void *arguments;
    fsim_arena *arena;
    fsim_diag *diag;
    void *result;
    fsim_status status;
};

/* Runs work with a new arena as one call of the session. *result is NULL where it fails. */
fsim_status fsim_call_run(fsim_session *session, void *(*work)(fsim_call *call, const void *arguments),
                          const void *arguments, void **result);

/* The call of a session (NULL: none) whose arguments are no good, which `why` says in the session's diagnostics. */
fsim_status fsim_call_refuse(fsim_session *session, const char *why);

/* The folder of the shipped data: share/fusesim of the prefix that the library (or the program that contains it) is
 * in, else where it was installed. In a. */
const char *fsim_data_folder(fsim_arena *a);

/* fsim_attempt with the session's locale. */
bool fsim_session_attempt(const fsim_session *session, void (*work)(void *what), void *what);

/* Copies as much of `from` as the caller's struct has room for, by its `size`. bytes: size of the struct in this
 * version. */
void fsim_fill_struct(void *to, const void *from, size_t bytes);
/* Copies the caller's struct; fields that its version does not have become zero. NULL: all zero. bytes: size of *to. */
void fsim_take(void *to, const void *from, size_t bytes);

#endif
