/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/harness.h"

#include "cost/product.h"
#include "evidence/constants.h"
#include "vendor/library.h"

/* Public GEMM benchmarks that do not say what L2 holds: in CUDA graphs they keep their weights out of L2; otherwise
 * they measure one call with events around it. */
fsim_harness fsim_harness_of(const fsim_measured *row)
{
    if (row->launch == FSIM_REGIME_EAGER)
        return FSIM_HARNESS_RESTS;
    if (row->l2 != FSIM_L2_UNKNOWN)
        return FSIM_HARNESS_NONE;
    return row->launch == FSIM_REGIME_GRAPH    ? FSIM_HARNESS_ROTATES
           : row->launch == FSIM_REGIME_STREAM ? FSIM_HARNESS_CALLS
                                               : FSIM_HARNESS_NONE;
}

static bool contracts(const fsim_group *o)
{
    return o->template == FSIM_TILED_CONTRACTION || o->template == FSIM_LIBRARY_CONTRACTION;
}

/* Is it a matrix product that the framework runs with the library? */
static bool is_library_product(const fsim_software *s, const fsim_group *o)
{
    return contracts(o) && !s->graph->node[o->anchor].gemm.convolution && fsim_library_can(s->graph, s->hw, o);
}

/* What L2 holds for a benchmark that rotates so many copies of its weights that L2 can't hold them: the activations,
 * unless they fill it. k: the kernel, for its bytes. */
static fsim_residency rotated(const fsim_software *s, const fsim_residency *l2, const fsim_kernel *k, fsim_arena *a)
{
    const double capacity = fsim_hw_get(s->hw, FSIM_HW_L2_CAPACITY), from = fsim_hw_get(s->hw, FSIM_HW_GEMM_RESIDENT);
    double *read = fsim_new(a, double, k->inputs + 1), *write = fsim_new(a, double, k->outputs + 1), rest = 0;
    for (int i = 0; i < k->inputs; i++)
        rest += s->graph->tensor[k->input[i].tensor].role == FSIM_WEIGHT ? 0 : (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        rest += (double)k->output[i].bytes;
    const double missed = fmin(1, fmax(0, (rest / capacity - from) / rotated_rest_ramp));
    for (int i = 0; i < k->inputs; i++) {
        const double bytes = fmax(1, (double)k->input[i].bytes),
                     resident = fmin(ROTATED_COPIES, ceil(capacity / bytes)) * bytes / capacity;
        const bool weight = s->graph->tensor[k->input[i].tensor].role == FSIM_WEIGHT;
        read[i] = weight ? fmin(1, fmax(0, (resident - from) / rotated_weight_ramp)) : missed;
    }
    for (int i = 0; i < k->outputs; i++)
        write[i] = missed;
    fsim_residency out = l2 ? *l2 : (fsim_residency){0};
    out.read_share = read;
    out.write_share = write;
    return out;
}

/* The host's time for one call of the library, beyond that of any operator. */
static double call_s(const fsim_software *s, const fsim_group *o)
{
    return fmax(0, fsim_hw_get(s->hw, FSIM_HW_GEMM_CALL) - fsim_hw_get(s->hw, FSIM_HW_CALL_STREAM)) +
           (o->members > 1 ? fsim_hw_get(s->hw, FSIM_HW_GEMM_BIAS_CALL) : 0);
}

/* The clock of a device with a low power limit falls within milliseconds of hard work, so a kernel that starts on a
 * rested device is faster. Only for the one contraction of a workload: after another the device has not rested. Not
 * estimated from related GPUs, because a file's efficiency is that of rested devices only if its runs were measured
 * so. */
static double saved_by_rest(const fsim_software *s, double seconds)
{
    const double span = fsim_hw_get(s->hw, FSIM_HW_GEMM_BURST_SPAN);
    int contractions = 0;
    for (int n = 0; n < s->graph->nodes; n++)
        contractions += s->graph->node[n].gemm.k > 0;
    const bool applies = contractions == 1 && fsim_hw_origin(s->hw, FSIM_HW_GEMM_BURST) == FSIM_FROM_FITTED;
    return applies ? seconds * fsim_hw_get(s->hw, FSIM_HW_GEMM_BURST) * span / (seconds + span) : 0;
}

static void adjust(fsim_harness harness, const fsim_software *s, fsim_kernel *k)
{
    const bool tensor = fsim_tensor_key(s->hw, s->graph->node[k->group->anchor].gemm.arithmetic) != FSIM_HW_COUNT;
    if (harness == FSIM_HARNESS_CALLS)
        fsim_add_seconds(k, FSIM_LATENCY, call_s(s, k->group));
    if (harness == FSIM_HARNESS_RESTS && !tensor)
        fsim_add_seconds(k, FSIM_COMPUTE,
                         -fmin(k->time[FSIM_COMPUTE], saved_by_rest(s, k->time_s - k->time[FSIM_LAUNCH])));
}

/* What the host does for a row kernel of ATen's that is the whole workload, beyond a plain operator's. */
static void add_row_call(const fsim_software *s, fsim_kernel *k)
{
    static const fsim_hw_key calls[] = {
        [FSIM_ATEN_SOFTMAX] = FSIM_HW_SOFTMAX_CALLS,
        [FSIM_ATEN_LAYER_NORM] = FSIM_HW_LAYER_NORM_CALLS,
    };
    const fsim_aten_call call = fsim_aten_call_of(s->graph, k->group);
    if (call == FSIM_ATEN_OTHER || !fsim_is_eager(s->maker) || k->group->members < s->graph->nodes)
        return;
    const double plain = fsim_hw_get(s->hw, FSIM_HW_LAUNCH_STREAM) + fsim_hw_get(s->hw, FSIM_HW_CALL_STREAM),
                 ticks = rint((fsim_hw_get(s->hw, calls[call]) - 1) * plain / FSIM_TICK_S);
    k->time_s += fmax(0, ticks) * FSIM_TICK_S;
    k->time[FSIM_LAUNCH] += fmax(0, ticks) * FSIM_TICK_S;
}

/* The library's product where copies of its weights rotate, which nothing of ours is compared with: of `own` it takes
 * the tensors alone. time_s 0: it is no such product, or there is none. */
static fsim_kernel rotated_product(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                   const fsim_kernel *own, fsim_arena *a)
{
    if (!own || own->time_s <= 0 || group->writes > 1 || !is_library_product(s, group))
        return (fsim_kernel){0};
    const fsim_residency resident = rotated(s, l2, own, a);
    const fsim_kernel k = fsim_framework_launch(s, group, &resident, own, a);
    return k.template == FSIM_LIBRARY_CONTRACTION && k.input != own->input ? k : (fsim_kernel){0};
}

fsim_kernel fsim_kernel_measured(fsim_harness harness, const fsim_software *s, const fsim_group *group,
                                 const fsim_residency *l2, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_kernel *priced = own;
    own = l2 && l2->replays ? NULL : own; /* priced with other bytes from DRAM */
    if (group->template == FSIM_SERVING_KERNEL || harness == FSIM_HARNESS_NONE || s->maker == FSIM_BY_FUSESIM ||
        s->hw->host)
        return fsim_framework_kernel(s, group, l2, own, a);
    const fsim_kernel alone =
        harness == FSIM_HARNESS_ROTATES ? rotated_product(s, group, l2, priced, a) : (fsim_kernel){0};
    if (alone.time_s > 0)
        return alone;
    const fsim_kernel best = own ? *own : fsim_kernel_of(s->graph, s->hw, s->regime, group, l2, a);
    const bool product = is_library_product(s, group);
    const fsim_residency resident =
        product && harness == FSIM_HARNESS_ROTATES ? rotated(s, l2, &best, a) : (l2 ? *l2 : (fsim_residency){0});
    /* where fusesim calls the library too, and finds the same in L2, the framework's call is that one */
    const bool same = product && harness != FSIM_HARNESS_ROTATES && best.template == FSIM_LIBRARY_CONTRACTION &&
                      group->members == 1 && !group->strict;
    fsim_kernel k = same ? best : fsim_framework_launch(s, group, &resident, &best, a);
    if (product && k.time_s > 0 && best.time_s > 0)
        adjust(harness, s, &k);
    else if (harness == FSIM_HARNESS_CALLS && k.time_s > 0 && !contracts(group) &&
             group->template != FSIM_CHAINED_CONTRACTION)
        add_row_call(s, &k);
    /* `best` was priced with another L2 or another clock: not comparable */
    const bool comparable = harness == FSIM_HARNESS_CALLS || !contracts(group);
    return k.time_s >= best.time_s || !comparable ? k : best;
}
