/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the report: the workload, the GPU, what was asked for, the dtypes. */
#include "cost/costing.h"
#include "report/text_parts.h"

#include <math.h>
#include <string.h>

const char *fsim_text_limit(fsim_arena *a, const fsim_options *o)
{
    return o->memory_limit > 0 ? fsim_printf(a, ", memory limit %s", fsim_bytes_text(a, (double)o->memory_limit)) : "";
}

/* The dtype of most contractions, which take most of the time; of most primitives where there are none. */
static int main_dtype(const fsim_text_page *r)
{
    const int *count = r->p->arithmetic.primitives;
    int contractions[FSIM_TF32 + 1] = {0}, most = 0;
    for (int n = 0; n < r->g->nodes; n++)
        if (r->g->node[n].gemm.k > 0)
            contractions[r->g->node[n].gemm.arithmetic]++;
    for (int t = 0; t <= FSIM_TF32; t++)
        if (contractions[t] > contractions[most] || (contractions[t] == contractions[most] && count[t] > count[most]))
            most = t;
    return most;
}

/* "Computes in bf16, in f32 in 1 of 7 primitives." "" where all compute in one dtype. */
static const char *dtypes_text(const fsim_text_page *r)
{
    const int *count = r->p->arithmetic.primitives, most = main_dtype(r);
    int kinds = 0;
    for (int t = 0; t <= FSIM_TF32; t++)
        kinds += count[t] > 0;
    const char *text = fsim_printf(r->a, "Computes in %s", fsim_dtype_names[most]);
    for (int t = 0; t <= FSIM_TF32; t++)
        if (t != most && count[t] > 0)
            text = fsim_printf(r->a, "%s, in %s in %d of %s", text, fsim_dtype_names[t], count[t],
                               fsim_text_count(r->a, r->g->nodes, "primitive"));
    return kinds > 1 ? fsim_printf(r->a, "%s.", text) : "";
}

/* Products that ask for tensor units with tf32 where the GPU has none. */
static const char *no_tf32_text(const fsim_prediction *p, const char *who, fsim_arena *a)
{
    const int products = p->arithmetic.tf32_on_fp32;
    return fsim_printf(a, "%s has no tensor unit for tf32: %s in it %s on FP32 units, at %sFLOP/s at most.", who,
                       fsim_text_count(a, products, "product"), products == 1 ? "runs" : "run",
                       fsim_count_text(a, fsim_dense_peak(p->hw, FSIM_TF32)));
}

/* A dtype without a fast unit here. "" where there is none. */
bool fsim_slow_dtype_matters(const fsim_prediction *p)
{
    static const double noticed = 1.1;
    const fsim_arithmetic *x = &p->arithmetic;
    return x->slow == FSIM_DTYPE_NONE || x->eager_s > noticed * x->instead_eager_s;
}

const char *fsim_text_slow_dtype(const fsim_prediction *p, const char *who, fsim_arena *a)
{
    const fsim_arithmetic *x = &p->arithmetic;
    if (x->slow == FSIM_DTYPE_NONE)
        return x->tf32_on_fp32 > 0 ? no_tf32_text(p, who, a) : "";
    const char *slow = fsim_dtype_names[x->slow], *faster = fsim_dtype_names[x->faster];
    return fsim_printf(a,
                       "%s has no tensor unit for %s: its products run at %sFLOP/s at most, those in %s at %sFLOP/s. "
                       "%s %s, eager would take %s instead of %s.",
                       who, slow, fsim_count_text(a, x->slow_flops), faster, fsim_count_text(a, x->faster_flops),
                       fsim_slow_dtype_matters(p) ? "In" : "Here it hardly matters: in", faster,
                       fsim_seconds_text(a, x->instead_eager_s), fsim_seconds_text(a, x->eager_s));
}

const char *fsim_text_unaligned(const fsim_prediction *p, fsim_arena *a)
{
    const fsim_arithmetic *x = &p->arithmetic;
    if (x->unaligned == 0)
        return "";
    const fsim_node *n = &p->graph->node[x->unaligned_node];
    const char *others =
        x->unaligned > 1 ? fsim_printf(a, " and %s", fsim_text_count(a, x->unaligned - 1, "other product")) : "";
    return fsim_printf(a,
                       "'%s'%s %s rows that are no multiple of 16 bytes (%lld elements). They are priced as if they "
                       "were; a library's kernels for such rows may take several times as long: pad the rows.",
                       p->graph->tensor[n->result[0]].name, others, x->unaligned == 1 ? "reads" : "read",
                       (long long)x->unaligned_row);
}

const char *fsim_text_counted(const fsim_prediction *p, fsim_arena *a)
{
    const fsim_options *o = &p->options;
    const char *l2 = fsim_l2_words[o->warm];
    return p->hw->host ? fsim_printf(a, "Counts time on the CPU (--launch %s). L2 %s", fsim_regime_names[o->regime], l2)
                       : fsim_printf(a, "Counts %s: %s (--launch %s). L2 %s", fsim_regime_counts[o->regime],
                                     fsim_regime_says[o->regime], fsim_regime_names[o->regime], l2);
}

/* "444 us instead of 273 us", or "still 273 us" where the two are next to equal */
static const char *instead_text(double there_s, double here_s, fsim_arena *a)
{
    static const double equal = 0.02;
    const char *there = fsim_seconds_text(a, there_s);
    return fabs(there_s / here_s - 1) < equal ? fsim_printf(a, "still %s", there)
                                              : fsim_printf(a, "%s instead of %s", there, fsim_seconds_text(a, here_s));
}

/* "eager takes 444 us instead of 273 us, this plan 212 us instead of 190 us: 2.10x as fast" */
static const char *both_times(const fsim_prediction *p, const fsim_launched *here, const fsim_launched *there,
                              fsim_arena *a)
{
    const char *eager = fsim_printf(a, "eager takes %s", instead_text(there->eager_s, here->eager_s, a));
    if (p->chosen == FSIM_STRATEGY_EAGER)
        return eager;
    const char *times = fsim_printf(a, "%s, this plan %s", eager, instead_text(there->chosen_s, here->chosen_s, a));
    const char *factor = fsim_times_text(a, there->eager_s / there->chosen_s);
    return strcmp(factor, "1.00x") == 0 ? times : fsim_printf(a, "%s: %s as fast", times, factor);
}

const char *fsim_text_host(const fsim_prediction *p, fsim_arena *a)
{
    const fsim_waits waits = fsim_waits_for_host(p);
    const fsim_launched *here = &p->launched[p->options.regime], *eager = &p->launched[FSIM_REGIME_EAGER];
    if ((!waits.eager && !waits.chosen) || p->options.regime == FSIM_REGIME_KERNEL)
        return "";
    return p->options.regime == FSIM_REGIME_EAGER
               ? fsim_printf(a, "The host is the limit: where it is not waited for, %s (--launch stream).",
                             both_times(p, here, &p->launched[FSIM_REGIME_STREAM], a))
               : fsim_printf(a, "Launched from Python the host is the limit: %s (--launch eager).",
                             both_times(p, here, eager, a));
}

void fsim_text_header(const fsim_text_page *r)
{
    const fsim_options *o = &r->p->options;
    fsim_paragraph(&r->page, FSIM_STRONG, 0, 2,
                   fsim_printf(r->a, "%s: %s, %s on %s", r->g->name, fsim_text_count(r->a, r->g->sources, "operator"),
                               fsim_text_count(r->a, r->g->nodes, "primitive"), fsim_text_hardware(r->p->hw)));
    fsim_paragraph(&r->page, FSIM_FAINT, 0, 2,
                   fsim_printf(r->a, "%s, objective %s%s%s%s", fsim_text_counted(r->p, r->a), fsim_objective_name(o),
                               fsim_text_limit(r->a, o), o->strict ? ", strict numerics" : "",
                               o->no_recompute ? ", no recomputation" : ""));
    const char *dtypes = dtypes_text(r), *slow = fsim_text_slow_dtype(r->p, "This GPU", r->a);
    if (*dtypes)
        fsim_paragraph(&r->page, FSIM_FAINT, 0, 2, dtypes);
    if (*slow)
        fsim_paragraph(&r->page, fsim_slow_dtype_matters(r->p) ? FSIM_BAD : FSIM_FAINT, 0, 2, slow);
    const char *unaligned = fsim_text_unaligned(r->p, r->a);
    if (*unaligned)
        fsim_paragraph(&r->page, FSIM_BAD, 0, 2, unaligned);
}
