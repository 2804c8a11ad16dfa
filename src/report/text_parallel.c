/* SPDX-License-Identifier: Apache-2.0 */
/* A step of training on several GPUs of one node, each with a batch of its own. */
#include "report/text_parts.h"

#include "plan/price/parallel.h"

static fsim_parallel on(const fsim_text_page *r, const fsim_plan *plan, int gpus, int zero)
{
    return fsim_parallel_of(plan->graph, plan, r->p->hw, (fsim_replicas){gpus, zero}, r->a);
}

static fsim_parallel asked(const fsim_text_page *r)
{
    return on(r, r->plan, r->p->options.replicas.gpus, r->p->options.replicas.zero);
}

static const char *bytes_text(const fsim_text_page *r, fsim_sum bytes) { return fsim_bytes_text(r->a, (double)bytes); }

static fsim_sum sent_bytes(const fsim_parallel *x)
{
    fsim_sum sum = 0;
    for (int i = 0; i < FSIM_COLLECTIVES; i++)
        sum += x->sent_bytes[i];
    return sum;
}

const char *fsim_text_parallel_verdict(const fsim_text_page *r)
{
    const fsim_replicas how = r->p->options.replicas;
    if (how.gpus == 0)
        return NULL;
    const fsim_parallel x = asked(r);
    return fsim_printf(
        r->a, "On %s%s a step takes %s and %s of memory on each; together they do %.2f times the work of one.",
        fsim_text_count(r->a, how.gpus, "GPU"), how.zero ? fsim_printf(r->a, " with ZeRO %d", how.zero) : "",
        fsim_seconds_text(r->a, x.step_s), bytes_text(r, x.peak_bytes), how.gpus * x.one_step_s / x.step_s);
}

static void put_row(const fsim_text_page *r, fsim_table *t, int gpus, int zero)
{
    const fsim_replicas how = r->p->options.replicas;
    const fsim_plan *eager = &r->p->plan[FSIM_STRATEGY_EAGER];
    const fsim_parallel x = on(r, r->plan, gpus, zero);
    const char **cell = fsim_table_row(t, gpus == how.gpus && zero == how.zero ? FSIM_STRONG : FSIM_PLAIN);
    cell[0] = fsim_printf(r->a, "%d", gpus);
    cell[1] = zero ? fsim_printf(r->a, "%d", zero) : "-";
    cell[2] = fsim_seconds_text(r->a, x.step_s);
    cell[3] = fsim_percent_text(r->a, x.one_step_s / x.step_s);
    cell[4] = fsim_seconds_text(r->a, x.communication_s);
    cell[5] = fsim_seconds_text(r->a, x.exposed_s);
    cell[6] = bytes_text(r, sent_bytes(&x));
    cell[7] = bytes_text(r, x.weight_bytes + x.gradient_bytes + x.state_bytes);
    cell[8] = bytes_text(r, x.peak_bytes);
    cell[9] = eager->kernels > 0 ? fsim_seconds_text(r->a, on(r, eager, gpus, zero).step_s) : NULL;
}

fsim_table fsim_text_parallel(const fsim_text_page *r)
{
    static const fsim_column column[] = {
        {.title = "GPUs"},
        {.title = "ZeRO", .legend = "shares out 1 the optimizer's state, 2 gradients, too, 3 weights, too"},
        {.title = "step"},
        {.title = "efficiency", .legend = "step on one GPU over this"},
        {.title = "comm.", .legend = "time of all collectives of a step", .drop = 2},
        {.title = "exposed", .legend = "of that, while no kernel runs"},
        {.title = "sent", .legend = "by each GPU in a step", .drop = 3},
        {.title = "model", .legend = "weights, gradients and state on each GPU", .drop = 1},
        {.title = "memory", .legend = "the most that each GPU holds at once"},
        {.title = "eager", .legend = "its step", .drop = 4}};
    const int gpus = r->p->options.replicas.gpus;
    bool updates = false;
    for (int n = 0; n < r->g->nodes; n++)
        updates = updates || r->g->node[n].phase == FSIM_OPTIMIZER;
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    put_row(r, &t, 1, 0);
    for (int zero = 0; gpus > 1 && zero < (updates ? FSIM_ZERO_STAGES : 1); zero++)
        put_row(r, &t, gpus, zero);
    return t;
}

const char *fsim_text_exchanges(const fsim_text_page *r)
{
    static const char *const words[FSIM_COLLECTIVES] = {"all-reduce", "reduce-scatter", "all-gather"};
    const fsim_parallel x = asked(r);
    const char *list = "";
    for (int i = 0; i < FSIM_COLLECTIVES; i++)
        if (x.calls[i] > 0)
            list = fsim_printf(r->a, "%s%s%s, %s sent by each GPU", list, *list ? "; " : "",
                               fsim_text_count(r->a, (int)x.calls[i], words[i]), bytes_text(r, x.sent_bytes[i]));
    return fsim_printf(r->a,
                       "%s%s%sEach GPU has a batch as large as the workload's. Not modelled: several nodes, tensor and "
                       "pipeline parallelism, what communication takes of kernels' bandwidth.",
                       *list ? "A step has " : "", list, *list ? ". " : "");
}
