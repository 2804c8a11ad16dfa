/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/user_rules.h"

static bool contains(const int *node, int count, int n)
{
    int low = 0, high = count - 1;
    while (low <= high) {
        const int mid = (low + high) / 2;
        if (node[mid] == n)
            return true;
        if (node[mid] < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return false;
}

static bool is_view(const fsim_node *n) { return fsim_ops[n->op].class == FSIM_PERMUTE; }

bool fsim_calls_agree(const fsim_graph *g, int x, int y)
{
    const fsim_node *one = &g->node[x], *other = &g->node[y];
    return !g->calls || is_view(one) || is_view(other) || (one->call == other->call && one->serving == other->serving);
}

static bool calls_agree(const fsim_graph *g, const int *node, int count, fsim_refusal *why)
{
    int first = -1;
    for (int i = 0; i < count; i++) {
        if (is_view(&g->node[node[i]]))
            continue;
        first = first < 0 ? node[i] : first;
        if (fsim_calls_agree(g, first, node[i]))
            continue;
        const bool inside = g->node[first].call > 0 || g->node[first].serving > 0;
        *why = (fsim_refusal){.rule = FSIM_RULE_USER,
                              .a = inside ? first : node[i],
                              .b = inside ? node[i] : first,
                              .through = -1,
                              .unit = FSIM_IN_LIBRARY_CALL};
        return false;
    }
    return true;
}

bool fsim_user_allows(const fsim_problem *p, const int *node, int count, fsim_refusal *why)
{
    const fsim_graph *g = p->graph;
    if (g->calls && !calls_agree(g, node, count, why))
        return false;
    for (int s = 0; s < g->separates; s++) {
        int first = -1;
        for (int i = 0; i < g->separate[s].count; i++) {
            const int n = g->separate[s].node[i];
            if (!contains(node, count, n) || n == first)
                continue;
            if (first >= 0) {
                *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = first, .b = n, .through = -1};
                return false;
            }
            first = n;
        }
    }
    for (int s = 0; s < g->fuses; s++) {
        int in = -1, out = -1;
        for (int i = 0; i < g->fuse[s].count; i++)
            *(contains(node, count, g->fuse[s].node[i]) ? &in : &out) = g->fuse[s].node[i];
        if (in >= 0 && out >= 0) {
            *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = in, .b = out, .through = -1};
            return false;
        }
    }
    for (int i = 0; i < count;
         i++) /* a tensor that must be stored ends a kernel: none of its readers can be in the same one */
        for (int r = 0; r < g->node[node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[node[i]].result[r]];
            for (int k = 0; t->materialize && k < t->readers; k++)
                if (contains(node, count, t->reader[k])) {
                    *why = (fsim_refusal){.rule = FSIM_RULE_USER, .a = node[i], .b = t->reader[k], .through = -1};
                    return false;
                }
        }
    return true;
}

bool fsim_keeps_rules(const fsim_problem *p, const fsim_partition *part)
{
    fsim_refusal why;
    bool keeps = true;
    for (int i = 0; p->graph->separates + p->graph->fuses > 0 && i < part->parts && keeps; i++)
        keeps = fsim_user_allows(p, part->part[i].node, part->part[i].count, &why);
    return keeps;
}
