/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/call.h"

#include <stdlib.h>

static bool is_inside(const fsim_serving_call *call, int node)
{
    for (int i = 0; i < call->of.count; i++)
        if (call->of.node[i] == node)
            return true;
    return false;
}

static bool is_read(const fsim_group *o, int tensor)
{
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].tensor == tensor)
            return true;
    return false;
}

/* Elements of a tensor that a call with a window reads: what is only cast, or the like, before its last tokens are
 * taken is not read beyond these. */
static int64_t seen_elems(const fsim_graph *g, const fsim_serving_call *call, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    int64_t seen = 0;
    for (int i = 0; i < t->readers; i++) {
        const fsim_node *n = &g->node[t->reader[i]];
        const fsim_class class = fsim_ops[n->op].class;
        if (!is_inside(call, t->reader[i]))
            continue;
        if (class != FSIM_ELEMENTWISE && class != FSIM_PERMUTE && class != FSIM_CONTRACTION)
            return t->elems;
        for (int k = 0; k < n->args; k++) {
            const bool through = class == FSIM_ELEMENTWISE && n->results == 1 && n->points == t->elems &&
                                 n->arg[k].distinct == t->elems && !g->tensor[n->result[0]].output;
            if (n->arg[k].tensor == tensor)
                seen += through ? seen_elems(g, call, n->result[0]) : n->arg[k].distinct;
        }
    }
    return seen < t->elems ? seen : t->elems;
}

/* Is it a tensor of which permutes of the call take their parts? */
static bool is_taken_apart(const fsim_graph *g, const fsim_serving_call *call, int tensor)
{
    const fsim_tensor *t = &g->tensor[tensor];
    for (int i = 0; i < t->readers; i++)
        if (is_inside(call, t->reader[i]) && fsim_ops[g->node[t->reader[i]].op].class != FSIM_PERMUTE)
            return false;
    return true;
}

static void add_reads(const fsim_graph *g, const fsim_serving_call *call, const fsim_node *n, fsim_group *o,
                      fsim_arena *a)
{
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
        if ((t->producer >= 0 && is_inside(call, t->producer)) || is_read(o, n->arg[k].tensor))
            continue;
        const bool cut = call->option[FSIM_SERVING_WINDOW] > 0 || is_taken_apart(g, call, n->arg[k].tensor);
        const int64_t seen = cut ? seen_elems(g, call, n->arg[k].tensor) : t->elems;
        fsim_access *whole = fsim_new(a, fsim_access, 1);
        fsim_map *map = fsim_new(a, fsim_map, 1);
        *map = fsim_identity(seen);
        *whole = (fsim_access){.tensor = n->arg[k].tensor, .how = FSIM_READ_ONCE, .map = *map, .distinct = seen};
        o->read[o->reads++] = (fsim_read){.tensor = n->arg[k].tensor,
                                          .access = whole,
                                          .map = map,
                                          .maps = 1,
                                          .full = true,
                                          .whole = seen == t->elems,
                                          .bytes = seen == t->elems ? t->bytes : t->bytes / t->elems * seen,
                                          .stages = 1,
                                          .operand = -1};
    }
}

static void add_writes(const fsim_graph *g, const fsim_serving_call *call, const fsim_node *n, fsim_group *o)
{
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &g->tensor[n->result[r]];
        bool needed = t->output || t->materialize || t->readers == 0;
        for (int k = 0; k < t->readers; k++)
            needed = needed || !is_inside(call, t->reader[k]);
        if (needed)
            o->write[o->writes++] = (fsim_write){.tensor = n->result[r], .map = fsim_identity(t->elems), .full = true};
    }
}

static int by_tensor(const void *x, const void *y)
{
    return ((const fsim_read *)x)->tensor - ((const fsim_read *)y)->tensor;
}

fsim_group fsim_group_of_call(const fsim_graph *g, const fsim_serving_call *call, fsim_arena *a)
{
    fsim_group o = {
        .template = FSIM_SERVING_KERNEL, .anchor = -1, .first = -1, .stages = 1, .reduced = 1, .call = call};
    int args = 0, results = 0;
    for (int i = 0; i < call->of.count; i++) {
        args += g->node[call->of.node[i]].args;
        results += g->node[call->of.node[i]].results;
    }
    o.member = fsim_new(a, fsim_member, call->of.count + 1);
    o.read = fsim_new(a, fsim_read, args + 1);
    o.write = fsim_new(a, fsim_write, results + 1);
    for (int i = 0; i < call->of.count; i++) {
        const fsim_node *n = &g->node[call->of.node[i]];
        o.member[o.members++] = (fsim_member){.node = call->of.node[i],
                                              .evaluations = n->points * n->reduced,
                                              .stages = 1,
                                              .full = true,
                                              .operand = -1,
                                              .divergence = 1};
        o.contractions += n->gemm.k > 0;
        o.points = n->points > o.points ? n->points : o.points;
        add_reads(g, call, n, &o, a);
        add_writes(g, call, n, &o);
    }
    qsort(o.read, (size_t)o.reads, sizeof *o.read, by_tensor);
    return o;
}
