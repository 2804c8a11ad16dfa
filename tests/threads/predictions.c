/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads read the same files and predict for the same graph and GPU at once. Built with ThreadSanitizer, which
 * ends the program with status 66 where both touch memory that one of them writes. What they find is what one alone
 * finds. */
#include "base/file.h"
#include "predict.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const fsim_graph *graph; /* shared */
    const fsim_hw *hw;       /* shared */
    const fsim_options *how; /* shared */
    double time_s[FSIM_STRATEGY_COUNT], apart_s;
    long long states;
    int refusals;
    bool read;
} answer;

static fsim_graph *read_graph(fsim_arena *a, const char *path)
{
    size_t bytes;
    const char *why, *text = fsim_read_file(a, path, &bytes, &why);
    return text ? fsim_graph_parse(a, fsim_diag_new(a), path, text, bytes, NULL) : NULL;
}

static const char workload_path[] = FUSESIM_SOURCE_DIR "/workloads/bert_layer.yaml";
static const char hw_path[] = FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml";

static void *predict(void *of)
{
    answer *x = of;
    fsim_arena *a = fsim_arena_new();
    fsim_graph *own = read_graph(a, workload_path);
    x->read = own && own->nodes == x->graph->nodes && fsim_hw_read(a, fsim_diag_new(a), hw_path);
    const fsim_prediction p = fsim_predict(x->graph, x->hw, x->how, a);
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++)
        x->time_s[s] = p.plan[s].time_s;
    x->states = (long long)p.proof.states;
    x->refusals = p.refusals;
    x->apart_s = fsim_explain(x->graph, x->hw, x->how, 0, 1, a).best_s;
    fsim_arena_free(a);
    return NULL;
}

static bool same(const answer *x, const answer *y)
{
    return x->read && y->read && memcmp(x->time_s, y->time_s, sizeof x->time_s) == 0 && x->states == y->states &&
           x->refusals == y->refusals && x->apart_s == y->apart_s && x->time_s[FSIM_STRATEGY_OPTIMAL] > 0;
}

int main(void)
{
    enum { THREADS = 2 };
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *graph = read_graph(a, workload_path);
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), hw_path);
    const fsim_options how = {.strategy = FSIM_STRATEGY_XLA, .regime = FSIM_REGIME_STREAM, .search_steps = 150000};
    if (!graph || !hw) {
        fprintf(stderr, "the workload or the GPU can't be read\n");
        return EXIT_FAILURE;
    }
    answer alone = {.graph = graph, .hw = hw, .how = &how}, at[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        at[i] = alone;
        if (pthread_create(&thread[i], NULL, predict, &at[i]) != 0)
            return EXIT_FAILURE;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    predict(&alone);
    for (int i = 0; i < THREADS; i++)
        if (!same(&at[i], &alone)) {
            fprintf(stderr, "thread %d of %d found another answer than one alone\n", i + 1, (int)THREADS);
            return EXIT_FAILURE;
        }
    fsim_arena_free(a);
    return EXIT_SUCCESS;
}
