/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/chain.h"
#include "kernel/occupancy.h"
#include "vendor/kernels.h"
#include "vendor/serving.h"

#include <math.h>
#include <string.h>

const char *const fsim_maker_words[FSIM_MAKERS] = {"fusesim", "aten", "inductor", "vllm", "sglang", "tensorrt-llm"};

fsim_maker fsim_maker_named(const char *software, fsim_maker otherwise)
{
    static const struct {
        const char *word;
        fsim_maker maker;
    } known[] = {{"trtllm", FSIM_BY_TENSORRT_LLM},
                 {"TensorRT-LLM", FSIM_BY_TENSORRT_LLM},
                 {"sglang", FSIM_BY_SGLANG},
                 {"vllm", FSIM_BY_VLLM}};
    if (software && strncmp(software, "fusesim ", 8) ==
                        0) /* validate --measured: whatever the partition, the kernels are fusesim's */
        return FSIM_BY_FUSESIM;
    for (size_t i = 0; software && otherwise == FSIM_BY_ATEN && i < sizeof known / sizeof *known; i++)
        if (strstr(software, known[i].word))
            return known[i].maker;
    return otherwise;
}

static bool contracts(const fsim_group *o)
{
    return o->template == FSIM_TILED_CONTRACTION || o->template == FSIM_LIBRARY_CONTRACTION;
}

static bool convolves(const fsim_costing *c)
{
    return contracts(c->group) && c->g->node[c->group->anchor].gemm.convolution;
}

/* The library's kernel; time_s is 0 where it has none. */
static fsim_kernel library_kernel(const fsim_costing *c, fsim_arena *a)
{
    if (!contracts(c->group))
        return (fsim_kernel){0};
    fsim_kernel k = convolves(c) ? fsim_cudnn_kernel(c, a) : fsim_cublas_kernel(c, a);
    fsim_add_library_call(c, &k);
    return k;
}

fsim_kernel fsim_kernel_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                           const fsim_residency *l2, fsim_arena *a)
{
    const fsim_costing c = fsim_costing_of(g, hw, regime, group, l2, a);
    if (group->template == FSIM_SERVING_KERNEL)
        return fsim_serving_kernel(&c, FSIM_BY_FUSESIM, a);
    const fsim_kernel library = library_kernel(&c, a);
    if (library.time_s > 0 && !convolves(&c))
        return library;
    const fsim_kernel streamed = fsim_generated_kernel(&c, a),
                      generated = group->template == FSIM_OPAQUE_KERNEL ? fsim_sort_kernel(&c, &streamed) : streamed;
    const fsim_kernel other = library.time_s > 0 ? library : fsim_attention_call(&c, &generated, a);
    return other.time_s > 0 && (generated.time_s <= 0 || other.time_s <= generated.time_s) ? other : generated;
}

/* What a kernel takes at least that has the group's product and reduces rows of as many values beside it: such a
 * product has no tiles. INFINITY where the graph has no such rows. in_l2: of what the group reads. */
static double by_rows_s(const fsim_costing *c, const bool *in_l2)
{
    double bytes = 0;
    bool reduces = false;
    for (int n = 0; n < c->g->nodes && !reduces; n++) {
        const fsim_node *r = &c->g->node[n];
        reduces = fsim_ops[r->op].class == FSIM_REDUCE && r->reduced <= FSIM_TILE_ROW &&
                  r->points * r->reduced == c->g->node[c->group->anchor].points;
    }
    for (int i = 0; i < c->group->reads; i++)
        bytes += in_l2[i] ? 0 : (double)c->group->read[i].bytes;
    return reduces ? fmax(0, fsim_least_launch_s(c->hw, c->regime)) +
                         fmax(fsim_contraction_direct_s(c->g, c->hw, c->group->anchor),
                              fsim_least_dram_seconds(c->hw, bytes, 0, true))
                   : INFINITY;
}

fsim_call_lead fsim_call_lead_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                                 fsim_arena *a)
{
    const size_t most = (size_t)(group->reads + group->writes + 1);
    bool *read = fsim_new(a, bool, most), *kept = fsim_new(a, bool, most), *none = fsim_new(a, bool, most);
    if (!contracts(group))
        return (fsim_call_lead){0};
    const fsim_costing cold =
        fsim_costing_of(g, hw, regime, group, &(fsim_residency){.hit = none, .absorbed = none}, a);
    const fsim_kernel call = convolves(&cold) ? (fsim_kernel){0} : library_kernel(&cold, a);
    if (call.time_s <= 0)
        return (fsim_call_lead){0};
    const double room = fsim_l2_effective(hw);
    const bool fits = fsim_bytes_in_flight(g, group) <= room;
    for (int i = 0; i < group->reads; i++)
        read[i] = fits && (double)g->tensor[group->read[i].tensor].bytes <= room;
    for (int i = 0; i < group->writes; i++)
        kept[i] = fits && (double)g->tensor[group->write[i].tensor].bytes <= room;
    const fsim_costing warm =
        fsim_costing_of(g, hw, regime, group, &(fsim_residency){.hit = read, .absorbed = kept}, a);
    const fsim_kernel generated = fsim_generated_kernel(&warm, a);
    int64_t bytes = call.dram_read_bytes + call.dram_write_bytes;
    for (int i = 0; i < group->reads; i++)
        bytes -= group->read[i].bytes;
    for (int i = 0; i < group->writes; i++)
        bytes -= g->tensor[group->write[i].tensor].written_bytes;
    const double ours_s = generated.time_s > 0 ? generated.time_s : INFINITY;
    return (fsim_call_lead){true, call.time_s, ours_s, by_rows_s(&warm, read), bytes};
}

bool fsim_call_may_lose(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                        fsim_arena *a)
{
    enum { MOST_ACCESSES = 5 };
    const int accesses = group->reads + group->writes;
    bool *hit = fsim_new(a, bool, accesses + 1), *absorbed = fsim_new(a, bool, accesses + 1), loses = false;
    if (accesses > MOST_ACCESSES)
        return true;
    for (int in_l2 = 0; in_l2 < 1 << accesses && !loses; in_l2++) {
        const fsim_mark mark = fsim_save(a);
        bool possible = true;
        for (int i = 0; i < accesses; i++) {
            const int tensor = i < group->reads ? group->read[i].tensor : group->write[i - group->reads].tensor;
            const bool in = in_l2 >> i & 1;
            *(i < group->reads ? &hit[i] : &absorbed[i - group->reads]) = in;
            possible = possible && (!in || (double)g->tensor[tensor].bytes <= fsim_l2_effective(hw));
        }
        if (possible) {
            const fsim_costing c =
                fsim_costing_of(g, hw, regime, group, &(fsim_residency){.hit = hit, .absorbed = absorbed}, a);
            const fsim_kernel call = library_kernel(&c, a), ours = fsim_generated_kernel(&c, a);
            loses = ours.time_s > 0 && ours.time_s < call.time_s;
        }
        fsim_rewind(a, mark);
    }
    return loses;
}

/* A framework's kernel has other blocks than the generated one that it stands for: how many an SM holds of them. */
static fsim_kernel recounted(const fsim_costing *c, fsim_kernel k)
{
    const int blocks = fsim_fit_on_sm(c->hw, &k.schedule);
    if (blocks > 0) {
        k.occupancy = fmin(1, blocks * ceil(k.block / c->warp) * c->warp / fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_SM));
        k.waves = (double)k.grid / (blocks * c->sms);
    }
    return k;
}

static fsim_kernel launched(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_maker torch = fsim_is_eager(maker) ? FSIM_BY_ATEN : maker; /* for all kernels but attention */
    if (c->group->template == FSIM_SERVING_KERNEL)
        return fsim_serving_kernel(c, maker, a);
    if (c->group->template == FSIM_OPAQUE_KERNEL)
        return fsim_is_embedding_backward(c, torch) ? fsim_embedding_backward(c, own) : fsim_sort_kernel(c, own);
    if (c->group->template == FSIM_CHAINED_CONTRACTION)
        return fsim_framework_attention(c, maker, own, a);
    if (contracts(c->group))
        return convolves(c) ? fsim_framework_convolution(c, torch, own, a) : fsim_framework_product(c, own, a);
    return torch == FSIM_BY_ATEN ? recounted(c, fsim_aten_kernel(c, own, a)) : fsim_triton_kernel(c, own, a);
}

fsim_kernel fsim_framework_launch(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a)
{
    if (s->maker == FSIM_BY_FUSESIM || own->time_s <= 0 || s->hw->host ||
        s->hw->arch->plain) /* no library's kernels are known there */
        return *own;
    const fsim_costing c = fsim_costing_of(s->graph, s->hw, s->regime, group, l2, a);
    return launched(&c, s->maker, own, a);
}

fsim_kernel fsim_framework_kernel(const fsim_software *s, const fsim_group *group, const fsim_residency *l2,
                                  const fsim_kernel *own, fsim_arena *a)
{
    fsim_kernel best = own ? *own : fsim_kernel_of(s->graph, s->hw, s->regime, group, l2, a);
    const fsim_kernel framework = fsim_framework_launch(s, group, l2, &best, a);
    best.compiled_extra = framework.compiled_extra;
    if (framework.time_s >= best.time_s || group->template == FSIM_SERVING_KERNEL)
        return framework;
    const fsim_costing c = fsim_costing_of(s->graph, s->hw, s->regime, group, l2, a);
    return fsim_beyond_flash(&c, s->maker) && framework.time_s >= fsim_attention_apart_s(&c) ? framework : best;
}
