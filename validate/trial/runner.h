/* SPDX-License-Identifier: Apache-2.0 */
/* runner.h: where programs run: the host's threads, or a GPU. */
#ifndef FUSESIM_VALIDATE_TRIAL_RUNNER_H
#define FUSESIM_VALIDATE_TRIAL_RUNNER_H

#include "validate/cpu/cpu.h"
#include "validate/cuda/cuda.h"
#include "validate/trial/trial.h"

/* One device. Its functions return false with *fault set; after that it is of no more use. */
typedef struct fsim_runner {
    const char *name;   /* cpu, cuda */
    const char *device; /* "AMD EPYC, 2 threads" */
    void *self;
    int jobs; /* compilers at once */
    /* Compiles programs, each of them `wrong[i]` where it does not (NULL else). */
    bool (*compile)(struct fsim_runner *r, const fsim_program *p, int count, const char **wrong, fsim_fault *fault);
    /* Runs program i of those compiled last on arguments in the host's memory: inputs are brought to the device, what
     * it writes is brought back. */
    bool (*run)(struct fsim_runner *r, int i, void *const *argument, fsim_fault *fault);
    /* Runs and measures the plans of t, whose shapes may be large, and compares the outputs of all. Fills measured,
     * failed, differs. What fails for itself alone is no fault. */
    bool (*measure)(struct fsim_runner *r, fsim_trial *t, const fsim_trial_how *how, fsim_fault *fault);
    void (*close)(struct fsim_runner *r);
    fsim_arena *a;
} fsim_runner;

/* threads 0: one a CPU. NULL with *fault set where there is no compiler. */
fsim_runner *fsim_runner_on_host(int threads, int jobs, fsim_arena *a, fsim_fault *fault);
/* In the runner's arena. NULL with *fault set where there is no GPU, driver or compiler for it. */
fsim_runner *fsim_runner_on_gpu(const fsim_gpu_options *options, int jobs, fsim_arena *a, fsim_fault *fault);
const fsim_gpu_facts *fsim_runner_gpu(const fsim_runner *r); /* NULL on a host */
fsim_sensors fsim_runner_sensors(const fsim_runner *r);      /* of a GPU, the worst while plans were measured */
const char *
fsim_runner_lost(const fsim_runner *r); /* why nothing more can be run on it: the program should end by _exit; NULL */
/* hw with what differs on this machine measured in its place; hw itself on a GPU. */
const fsim_hw *fsim_runner_hw(fsim_runner *r, const fsim_hw *hw, fsim_fault *fault);

/* Every kernel of every plan from the reference's inputs, compared: on t's shapes where the interpreter can take them,
 * else on shorter ones (yaml: the workload's document, NULL: none). Sets scale, check, checked, wrong. most_s: roughly,
 * of interpreting. */
bool fsim_trial_check(fsim_trial *t, fsim_runner *r, const struct fsim_yaml *yaml, const fsim_binding *set, int sets,
                      double most_s, fsim_fault *fault);

/* Memory for every tensor that some program of t touches; of -1, scratch. */
typedef struct {
    bool *used;    /* per tensor */
    int64_t bytes; /* of tensors */
    int programs;
} fsim_touched;
fsim_touched fsim_trial_touches(const fsim_trial *t, fsim_arena *a);
/* Is a tensor as one plan makes it (y) what plan `from` made (x)? NULL, or how it differs: in root mean square by more
 * than rounding in its dtype and the order of sums explain; in some element by ten times that, of its own size or the
 * tensor's, or by being a finite number in one of them only. None may; where primitives of g jump (comparisons, orders,
 * integers made of floats), one in a thousand. In a. */
const char *fsim_apart_by(const fsim_graph *g, int tensor, const void *x, const void *y, const char *from,
                          fsim_arena *a);

#endif
