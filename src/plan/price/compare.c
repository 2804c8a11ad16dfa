/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/compare.h"

#include <stdlib.h>
#include <string.h>

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void add(fsim_difference *d, const fsim_kernel *k, int sign)
{
    d->time_s += sign * k->time_s;
    d->dram_bytes += sign * (k->dram_read_bytes + k->dram_write_bytes);
}

static int by_loss(const void *x, const void *y)
{
    const fsim_difference *a = x, *b = y;
    if (a->time_s != b->time_s)
        return a->time_s > b->time_s ? -1 : 1;
    if (a->dram_bytes != b->dram_bytes)
        return a->dram_bytes > b->dram_bytes ? -1 : 1;
    return a->mine[0] - b->mine[0];
}

static bool same_kernel(const fsim_plan *x, int i, const fsim_plan *y, int k)
{
    const fsim_part *a = &x->partition.part[i], *b = &y->partition.part[k];
    return a->count == b->count && memcmp(a->node, b->node, (size_t)a->count * sizeof *a->node) == 0 &&
           x->kernel[i].time_s == y->kernel[k].time_s && x->kernel[i].dram_read_bytes == y->kernel[k].dram_read_bytes &&
           x->kernel[i].dram_write_bytes == y->kernel[k].dram_write_bytes;
}

/* Kernels that both plans have at the same price. Indexed by kernel of `mine`, then by kernel of `other`. */
static bool *common_kernels(const fsim_graph *g, const fsim_plan *mine, const fsim_plan *other, fsim_arena *a)
{
    bool *common = fsim_new(a, bool, mine->kernels + other->kernels + 1);
    int *first = fsim_new(a, int, g->nodes + 1),
        *next = fsim_new(a, int,
                         other->kernels + 1); /* per kernel of `other`: 1 + the next with the same first primitive */
    for (int k = other->kernels; k-- > 0;) {
        next[k] = first[other->partition.part[k].node[0]];
        first[other->partition.part[k].node[0]] = k + 1;
    }
    for (int k = 0; k < mine->kernels; k++)
        for (int i = first[mine->partition.part[k].node[0]]; i > 0 && !common[k]; i = next[i - 1])
            if (!common[mine->kernels + i - 1] && same_kernel(mine, k, other, i - 1))
                common[k] = common[mine->kernels + i - 1] = true;
    return common;
}

int fsim_compare(const fsim_graph *g, const fsim_plan *mine, const fsim_plan *other, fsim_arena *a,
                 fsim_difference **out)
{
    const int kernels = mine->kernels + other->kernels;
    const bool *common = common_kernels(g, mine, other, a);
    int *parent = fsim_new(a, int, kernels + 1), *holder = fsim_new(a, int, g->nodes + 1),
        places = 0; /* holder: 1 + kernel */
    for (int k = 0; k < kernels; k++) {
        const fsim_part *part =
            k < mine->kernels ? &mine->partition.part[k] : &other->partition.part[k - mine->kernels];
        parent[k] = k;
        for (int i = 0; i < part->count && !common[k]; i++)
            if (holder[part->node[i]])
                parent[root_of(parent, k)] = root_of(parent, holder[part->node[i]] - 1);
            else
                holder[part->node[i]] = k + 1;
    }
    fsim_difference *list = fsim_new(a, fsim_difference, kernels + 1);
    int *place = fsim_new(a, int, kernels + 1); /* per root: 1 + its index in the list */
    for (int k = 0; k < kernels; k++) {
        int *at = &place[root_of(parent, k)];
        if (common[k])
            continue;
        *at = *at ? *at : ++places;
        fsim_difference *d = &list[*at - 1];
        k < mine->kernels ? d->mines++ : d->others++;
    }
    for (int i = 0; i < places; i++) {
        list[i].mine = fsim_new(a, int, list[i].mines + 1);
        list[i].other = fsim_new(a, int, list[i].others + 1);
        list[i].mines = list[i].others = 0;
    }
    for (int k = 0; k < kernels; k++) {
        if (common[k])
            continue;
        fsim_difference *d = &list[place[root_of(parent, k)] - 1];
        if (k < mine->kernels)
            d->mine[d->mines++] = k;
        else
            d->other[d->others++] = k - mine->kernels;
        k < mine->kernels ? add(d, &mine->kernel[k], 1) : add(d, &other->kernel[k - mine->kernels], -1);
    }
    if (places > 0)
        qsort(list, (size_t)places, sizeof *list, by_loss);
    *out = list;
    return places;
}
