/* SPDX-License-Identifier: Apache-2.0 */
/* handles.h: what lies behind the opaque types of fusesim.h, and how its functions run.
 *
 * Every public function that allocates is one fsim_attempt over an arena of its own, a child of the session's: when it
 * fails, that arena goes and the session is as it was. */
#ifndef FUSESIM_API_HANDLES_H
#define FUSESIM_API_HANDLES_H

#include "fusesim.h"
#include "hw/load.h"
#include "predict.h"
#include <locale.h>

struct fsim_session {
    fsim_arena *arena; /* parent of all others */
    locale_t numbers;  /* "C": files and results have a point, whatever the caller's locale */
    fsim_hw_folders hw_folders;
    const char *workload_folder;
    fsim_arena *messages; /* of the diagnostics; NULL: none */
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

/* What fsim_plans_kernel gives, made when it is first asked for; name NULL before. */
typedef struct {
    const char *name, *operators;
} fsim_kernel_texts;

struct fsim_plans {
    fsim_arena *arena;
    fsim_session *session;
    fsim_prediction prediction;
    fsim_strategy strategy[FSIM_PLAN_COUNT]; /* those that have a plan */
    int strategies;
    fsim_kernel_texts *text[FSIM_PLAN_COUNT]; /* of each strategy in that order, one for each kernel */
    const char *json;
    size_t json_bytes;
};

/* One call of a public function. */
typedef struct fsim_call fsim_call;
struct fsim_call {
    fsim_session *session;
    /* Makes the result in `arena` and returns it; NULL after an error in `diag`. */
    void *(*work)(fsim_call *call, const void *arguments);
    const void *arguments;
    fsim_arena *arena;
    fsim_diag *diag;
    void *result;
    fsim_status status;
};

/* Runs work, with a new arena, as the call that the session's diagnostics are about. *result is NULL where it fails. */
fsim_status fsim_call_run(fsim_session *session, void *(*work)(fsim_call *call, const void *arguments),
                          const void *arguments, void **result);

/* Where the shipped data are: share/fusesim of the prefix that the library (or the program with it) lies in, else where
 * they are installed. In a. */
const char *fsim_data_folder(fsim_arena *a);

/* fsim_attempt in the session's locale. */
bool fsim_session_attempt(const fsim_session *session, void (*work)(void *what), void *what);

/* Copies what fits of `from` behind the caller's `size`: bytes of it are known to this version. */
void fsim_fill_struct(void *to, const void *from, size_t bytes);
/* The caller's struct with the fields that it does not know as zero; NULL gives all zero. bytes: of *to. */
void fsim_take(void *to, const void *from, size_t bytes);

#endif
