/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of primitives that are longer than the 256 bits of a set, and short ones: who leads to whom, who has a tensor
 * in common with whom, who may be copied, what may stand beside a set, which path is heavy; each worked out a second
 * time from the graph, by closure and by loops over all places. cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fuse.h"
#include "graph/graph.h"
#include "plan/search/frontier.h"
#include "plan/search/places.h"
#include "plan/search/states.h"
#include "predict.h"
#define state seed /* states.h has a type of that name */
#include "random.h"
#undef state
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
static const bool usual = false;
enum { SHORT_ONES = 20, LONG = 560 };
#else
enum { SHORT_ONES = 120, LONG = 700 };
static const bool usual = true;
#endif

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
    fsim_spent spent;
    fsim_budget budget;
    fsim_frontier *f;
    fsim_places *l;
    int count;
    bool *path;    /* [count][count]: does the second one depend on the first one? */
    bool *touches; /* [count][tensors] */
    bool *common;  /* [count][count]: two that have a tensor in common */
} list;

static bool leads(const list *x, int i, int k) { return x->path[i * x->count + k]; }
static bool touches(const list *x, int i, int t) { return x->touches[i * x->g->tensors + t]; }
static bool have_in_common(const list *x, int i, int k) { return x->common[i * x->count + k]; }
static const fsim_node *node_at(const list *x, int i) { return &x->g->node[i]; }

/* n primitives over values of [64, 64] and rows of them, most of which read what was made just before; some read
 * what was made long ago, and some products read one tensor. */
static const char *random_list(fsim_arena *a, int n, int far)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg"}, *const binary[] = {"add", "mul", "sub"};
    const char *text = "name: long\ntensors: {x0: {shape: [64, 64], dtype: f32}, x1: {shape: [64, 64], dtype: f32}}\n"
                       "operators:\n";
    const char **full = fsim_new(a, const char *, n + 2), *row = NULL;
    int values = 2;
    full[0] = "x0";
    full[1] = "x1";
    for (int i = 0; i < n; i++) {
        const int back = draw((uint32_t)far) ? values - 1 - (int)draw(values < 8 ? (uint32_t)values : 8)
                                             : (int)draw((uint32_t)values),
                  other = draw(4) ? values - 1 : (int)draw((uint32_t)values);
        const char *out = fsim_printf(a, "t%d", i);
        const uint32_t what = draw(16);
        if (what < 6)
            text = fsim_printf(a, "%s  - {op: %s, in: [%s, %s], out: %s}\n", text, binary[draw(3)], full[back],
                               full[other], out);
        else if (what == 6)
            text =
                fsim_printf(a, "%s  - {op: matmul, in: [%s, x1], out: %s}\n", text, draw(2) ? "x0" : full[back], out);
        else if (what == 7)
            text =
                fsim_printf(a, "%s  - {op: sum, in: %s, out: %s, dims: [1], keepdim: true}\n", text, full[back], out);
        else if (what == 8 && row)
            text = fsim_printf(a, "%s  - {op: mul, in: [%s, %s], out: %s}\n", text, full[back], row, out);
        else
            text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[draw(4)], full[back], out);
        if (what == 7)
            row = out;
        else
            full[values++] = out;
    }
    return text;
}

static void open_list(list *x, const char *text, fsim_scope scope)
{
    fsim_diag *d = fsim_diag_new(x->a);
    const fsim_hw *hw = fsim_hw_read(x->a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH, .search_steps = 60000000};
    x->g = fsim_graph_parse(x->a, d, "list.yaml", text, strlen(text), NULL);
    if (!x->g)
        fsim_diag_print(d, stderr, false);
    assert_true(hw && x->g);
    x->count = x->g->nodes;
    x->p = fsim_problem_of(x->g, hw, &o, x->a);
    x->budget = fsim_budget_of(&x->p, &x->spent);
    int *node = fsim_new(x->a, int, x->count + 1);
    for (int n = 0; n < x->count; n++)
        node[n] = n;
    x->f = fsim_frontier_ready(&x->p, node, x->count, scope, &x->budget, x->a);
    x->l = &x->f->l;
    x->path = fsim_new(x->a, bool, x->count * x->count + 1);
    x->common = fsim_new(x->a, bool, x->count * x->count + 1);
    x->touches = fsim_new(x->a, bool, x->count * x->g->tensors + 1);
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < node_at(x, i)->args; k++) {
            const int from = x->g->tensor[node_at(x, i)->arg[k].tensor].producer;
            for (int u = 0; u <= from; u++)
                if (u == from || leads(x, u, from))
                    x->path[u * x->count + i] = true;
        }
}

/* May it be computed again? All that reads its result is at most 64 primitives behind it; and a second copy is worth
 * something: it is an output, has two readers, or one that may be copied. */
static bool copies(const list *x, int i)
{
    const fsim_node *n = node_at(x, i);
    const fsim_tensor *t = &x->g->tensor[n->result[0]];
    int readers = 0;
    for (int r = 0; r < t->readers; r++)
        readers += r == 0 || t->reader[r] != t->reader[r - 1];
    if (fsim_ops[n->op].class != FSIM_ELEMENTWISE || readers == 0 || t->reader[t->readers - 1] - i > 64)
        return false;
    return t->output || readers > 1 || copies(x, t->reader[0]);
}

/* What place i accesses, itself and through what may be copied into its kernel, which is at most 64 places before i. */
static void note_touched(list *x, int i, int of)
{
    bool *mine = x->touches + of * x->g->tensors;
    if (i == of)
        mine[node_at(x, i)->result[0]] = true;
    for (int k = 0; k < node_at(x, i)->args; k++) {
        const int t = node_at(x, i)->arg[k].tensor, from = x->g->tensor[t].producer;
        if (mine[t])
            continue;
        mine[t] = true;
        if (from >= 0 && from >= of - 64 && copies(x, from))
            note_touched(x, from, of);
    }
}

static int last_reader(const list *x, int t)
{
    int last = -1;
    for (int r = 0; r < x->g->tensor[t].readers; r++) {
        const int i = x->g->tensor[t].reader[r];
        int at = i;
        if (copies(x, i)) { /* its copies are where its result is read, or copied; no further than 64 behind it */
            const int there = last_reader(x, node_at(x, i)->result[0]);
            at = there > i + 64 ? i + 64 : there > i ? there : i;
        }
        last = at > last ? at : last;
    }
    return last;
}

typedef struct {
    int paths, told, apart, bits;
} tally;

static void check_links(list *x, tally *sums)
{
    const fsim_places *l = x->l;
    for (int i = 0; i < x->count; i++) {
        assert_int_equal(l->clonable[i], copies(x, i));
        note_touched(x, i, i);
    }
    for (int t = 0; t < x->g->tensors; t++) {
        assert_int_equal(l->last_use[t], last_reader(x, t));
        for (int i = 0; i < x->count; i++)
            for (int k = 0; touches(x, i, t) && k < x->count; k++)
                x->common[i * x->count + k] = x->common[i * x->count + k] || touches(x, k, t);
    }
    for (int i = 0; i < x->count; i++) {
        for (int k = i + 1; k < x->count; k++) {
            const int by = k - i;
            if (by <= 256) {
                assert_int_equal(fsim_bit(&l->after[i], by - 1), leads(x, i, k));
                assert_int_equal(fsim_bit(&l->before[k], 256 - by), leads(x, i, k));
                assert_int_equal(fsim_leads_to(l, i, k), leads(x, i, k));
                sums->bits++;
                continue;
            }
            /* a direct read, or by a place from which the bits of both reach */
            bool sure = false;
            for (int r = 0; r < node_at(x, k)->args; r++)
                sure = sure || x->g->tensor[node_at(x, k)->arg[r].tensor].producer == i;
            for (int u = k - 256 > i + 1 ? k - 256 : i + 1; u <= i + 256 && u < k && !sure; u++)
                sure = by <= 512 && leads(x, i, u) && leads(x, u, k);
            const bool told = fsim_leads_to(l, i, k);
            assert_true(!told || leads(x, i, k));
            assert_true(!sure || told);
            assert_true(by > 512 || told == sure);
            sums->paths += leads(x, i, k);
            sums->told += told;
        }
    }
}

static void check_neighbours(list *x)
{
    const fsim_places *l = x->l;
    bool *near = fsim_new(x->a, bool, x->count), *touched = fsim_new(x->a, bool, x->g->tensors);
    for (int i = 0; i < x->count; i++) {
        bool far = false;
        int last = 0, many = 0, listed = 0;
        memset(near, 0, (size_t)x->count);
        memset(touched, 0, (size_t)x->g->tensors);
        for (int k = l->near_first[i]; k < l->near_first[i + 1]; k++, listed++)
            near[l->near[k]] = true;
        for (int k = l->touched_first[i]; k < l->touched_first[i + 1]; k++)
            touched[l->touched[k]] = true;
        for (int t = 0; t < x->g->tensors; t++)
            assert_int_equal(touched[t], touches(x, i, t));
        for (int k = 0; k < x->count; k++) {
            const bool common = k != i && have_in_common(x, i, k);
            const bool within = abs(k - i) < 256;
            far = far || (common && !within);
            last = common && within ? k : last;
            many += common && within;
            assert_int_equal(near[k], common && within);
        }
        assert_int_equal(l->far[i], far);
        assert_int_equal(listed, many); /* each once */
        if (many > 0)
            assert_int_equal(l->last_near[i], last);
    }
    for (int t = 0; t < x->g->tensors; t++) {
        int k = l->touching_first[t];
        for (int i = 0; i < x->count; i++)
            if (touches(x, i, t))
                assert_true(k < l->touching_first[t + 1] && l->touching[k++] == i);
        assert_int_equal(k, l->touching_first[t + 1]);
    }
}

/* Two places and all on paths between them: no kernel, nor part of one. */
static bool are_separated(list *x, int low, int high, bool *path)
{
    int *node = fsim_new(x->a, int, x->count), count = 0;
    fsim_group group;
    fsim_refusal why = {0};
    for (int i = low; i <= high; i++)
        if ((i == low || leads(x, low, i)) && (i == high || leads(x, i, high)))
            node[count++] = i;
    *path = leads(x, low, high);
    return *path && !fsim_group_of(&x->p.limits, &(fsim_selection){.node = node, .count = count}, x->a, &group, &why) &&
           why.final;
}

static void check_separated(list *x, tally *sums)
{
    for (int turn = 0; turn < 400; turn++) {
        const int low = (int)draw((uint32_t)x->count - 1),
                  high = low + 1 + (int)draw((uint32_t)(x->count - low - 1 < 300 ? x->count - low - 1 : 300));
        bool path, expected;
        const fsim_mark mark = fsim_save(x->a);
        assert_int_equal(fsim_separated(x->l, low, high, &path), are_separated(x, low, high, &expected));
        assert_int_equal(path, expected);
        fsim_rewind(x->a, mark);
        sums->apart += path;
    }
}

typedef struct {
    int sets, beside, meets, any, heavy, copied, exact, joinable, could, shares, independent, sharers, families;
} company_tally;

/* A set of a root, as places. */
typedef struct {
    int root, place[FSIM_BITS], count;
    fsim_own_set *set;
} members;

static members members_of(int root, fsim_own_set *s)
{
    members m = {.root = root, .set = s};
    FSIM_EACH_BIT(i, s->own)
    m.place[m.count++] = root - FSIM_BACK + i;
    return m;
}

static bool leads_nearby(const list *x, int i, int k) { return i < k && k - i <= FSIM_BITS && leads(x, i, k); }

/* May another part of a kernel with the set own q? No member needs it; it needs copies of members alone, and not of
 * all. What is more than 256 places apart is taken to be independent. */
static bool stands_beside(const list *x, const members *m, int q)
{
    int needed = 0;
    for (int i = 0; i < m->count; i++) {
        const bool below = leads_nearby(x, m->place[i], q), fixed = !x->l->clonable[m->place[i]];
        if (m->place[i] == q || leads_nearby(x, q, m->place[i]) || (fixed && below))
            return false;
        needed += below;
    }
    for (int i = 0; i < m->count && needed < m->count; i++)
        if (!x->l->clonable[m->place[i]] && fsim_never_together(x->l, m->place[i], q))
            return false;
    return needed < m->count;
}

/* May a larger kernel have the set as a part? Something stands beside it that has a tensor in common with a member;
 * too far away for the bits, something later that does not need some member, or something before that none needs. */
static bool is_beside(const list *x, const members *m)
{
    for (int i = 0; i < m->count; i++)
        for (int q = 0; q < x->count; q++)
            if (abs(q - m->place[i]) < FSIM_BITS && have_in_common(x, m->place[i], q) && stands_beside(x, m, q))
                return true;
    for (int i = 0; i < m->count; i++)
        for (int t = 0; t < x->g->tensors; t++) {
            int before = 0;
            if (!touches(x, m->place[i], t))
                continue;
            for (int k = 0; k < m->count; k++) {
                bool free = false;
                for (int q = 0; q < x->count; q++) {
                    if (touches(x, q, t) && q >= m->place[i] + FSIM_BITS && !fsim_leads_to(x->l, m->place[k], q))
                        return true;
                    free = free ||
                           (touches(x, q, t) && q <= m->place[i] - FSIM_BITS && !fsim_leads_to(x->l, q, m->place[k]));
                }
                before += free;
            }
            if (before == m->count)
                return true;
        }
    return false;
}

/* How many members a place far behind the set needs, as paths that are known say: all where all members that no other
 * one needs lead to it. */
static int needed_far(const list *x, const members *m, int q)
{
    int needed = 0, sinks = 0, led = 0;
    for (int i = 0; i < m->count; i++) {
        bool sink = true;
        for (int k = 0; k < m->count; k++)
            sink = sink && !leads(x, m->place[i], m->place[k]);
        sinks += sink;
        led += sink && fsim_leads_to(x->l, m->place[i], q);
        needed += leads(x, m->place[i], q);
    }
    return led == sinks ? m->count : needed;
}

static bool is_needed_far(const list *x, const members *m, int q)
{
    bool needed = false;
    for (int i = 0; i < m->count; i++) {
        bool sink = true;
        for (int k = 0; k < m->count; k++)
            sink = sink && !leads(x, m->place[i], m->place[k]);
        needed = needed || (sink && fsim_leads_to(x->l, q, m->place[i]));
    }
    return needed;
}

/* What hangs together with the set by tensors in common, and may stand beside it. */
static fsim_company company_of(const list *x, const members *m, bool *reached)
{
    fsim_company out = {0};
    memset(reached, 0, (size_t)x->count);
    for (int i = 0; i < m->count; i++)
        reached[m->place[i]] = true;
    for (bool more = true; more;) {
        more = false;
        for (int q = 0; q < x->count; q++) {
            bool near = false, needs = false;
            const bool later = q >= m->root + FSIM_AHEAD, far = later || q < m->root + m->set->last - FSIM_BITS;
            if (reached[q] || node_at(x, q)->gemm.k)
                continue;
            if (!far && !stands_beside(x, m, q))
                continue;
            if (far && (later ? needed_far(x, m, q) == m->count : is_needed_far(x, m, q)))
                continue;
            for (int k = 0; k < x->count && !near; k++)
                near = reached[k] && have_in_common(x, k, q);
            if (!near)
                continue;
            for (int i = 0; i < m->count; i++)
                needs = needs || (q > m->place[i] && leads(x, m->place[i], q));
            reached[q] = more = true;
            out.any = out.any || x->l->joinable[q];
            out.heavy = out.heavy || x->l->heavy[q];
            out.copies = out.copies || needs;
        }
    }
    return out;
}

static bool has_product(const list *x, const members *m)
{
    bool any = false;
    for (int i = 0; i < m->count; i++)
        any = any || node_at(x, m->place[i])->gemm.k;
    return any;
}

/* Is the set a kernel with some product that stands beside it? */
static bool has_beside(const list *x, const members *m)
{
    int node[FSIM_BITS + 1];
    bool stored[FSIM_BITS + 1];
    for (int q = 0; q < x->count; q++) {
        if (!node_at(x, q)->gemm.k || q >= m->root + FSIM_BITS || q <= m->place[m->count - 1] - FSIM_BITS ||
            !stands_beside(x, m, q))
            continue;
        int count = 0;
        for (int i = 0; i <= m->count; i++) {
            if (count == i && (i == m->count || q < m->place[i])) {
                stored[count] = true;
                node[count++] = q;
            }
            if (i < m->count) {
                stored[count] = fsim_bit(&m->set->must, m->place[i] - m->root + FSIM_BACK);
                node[count++] = m->place[i];
            }
        }
        if (fsim_candidate_of((fsim_problem *)&x->p, node, count, stored)->legal)
            return true;
    }
    return false;
}

static void check_company(list *x, int roots, company_tally *sums)
{
    bool *reached = fsim_new(x->a, bool, x->count);
    for (int turn = 0; turn < roots; turn++) {
        const int root = roots < x->count ? (int)draw((uint32_t)x->count) : turn;
        const fsim_family *family = fsim_family_of(x->l, root);
        for (int i = 0; i < family->sets; i++) {
            const members m = members_of(root, &family->set[i]);
            if (m.place[m.count - 1] >= x->count)
                continue;
            const bool beside = fsim_may_be_beside(x->l, root, m.set);
            assert_int_equal(beside, is_beside(x, &m));
            const fsim_company got = fsim_company_of(x->l, root, m.set), exact = company_of(x, &m, reached);
            assert_true(got.any >= exact.any && got.heavy >= exact.heavy && got.copies >= exact.copies);
            if (x->count <= FSIM_AHEAD)
                assert_true(got.any == exact.any && got.heavy == exact.heavy && got.copies == exact.copies);
            if (!has_product(x, &m)) {
                const bool meets = fsim_may_meet_contraction(x->l, root, m.set);
                assert_true(meets >= has_beside(x, &m));
                sums->meets += meets;
            }
            for (int t = 0; t < x->g->tensors; t++) {
                int sharers = 1;
                for (int q = 0; q < x->count; q++)
                    sharers += touches(x, q, t) && q < root + FSIM_BITS && q > m.place[m.count - 1] - FSIM_BITS &&
                               stands_beside(x, &m, q);
                assert_int_equal(fsim_most_sharers(x->l, root, m.set, t), sharers);
                sums->sharers += sharers > 1;
            }
            sums->sets++;
            sums->beside += beside;
            sums->any += got.any;
            sums->heavy += got.heavy;
            sums->copied += got.copies;
            sums->exact += got.any == exact.any && got.heavy == exact.heavy && got.copies == exact.copies;
        }
    }
}

/* Which places share a tensor with an independent one; which of these a kernel could store beside such a place. No less
 * than is so, and little more. */
static void check_joinable(list *x, company_tally *sums)
{
    for (int i = 0; i < x->count; i++) {
        bool shares = false, joinable = false;
        for (int k = 0; k < x->count; k++) {
            if (i == k || leads(x, i, k) || leads(x, k, i))
                continue;
            const int pair[2] = {i < k ? i : k, i < k ? k : i};
            shares = shares || have_in_common(x, i, k);
            joinable = joinable || fsim_candidate_of(&x->p, pair, 2, (const bool[2]){true, true})->legal;
        }
        assert_true(x->l->shares[i] >= shares);
        if (x->l->any_joinable)
            assert_true(x->l->joinable[i] >= joinable);
        sums->shares += x->l->shares[i];
        sums->independent += shares;
        sums->joinable += x->l->joinable[i];
        sums->could += joinable;
    }
}

/* May a kernel have place i and one too far behind it for the sets of a root? It depends on i, or is a product of the
 * same operand. */
static bool may_have_both(list *x, int i, int k)
{
    bool path;
    const bool siblings =
        node_at(x, i)->gemm.k && node_at(x, k)->gemm.k && node_at(x, i)->arg[0].tensor == node_at(x, k)->arg[0].tensor;
    return (leads_nearby(x, i, k) || siblings) && !fsim_never_together(x->l, i, k) && !are_separated(x, i, k, &path);
}

/* Members of a root's sets that may be in a kernel with something beyond the places that its sets have. */
static void check_far_members(list *x, int ahead)
{
    for (int root = 0; root < x->count; root++) {
        const fsim_family *family = fsim_family_of(x->l, root);
        assert_true(family->complete && x->l->family[root] == family);
        for (int v = 0; v < FSIM_BITS; v++) {
            const int i = root - FSIM_BACK + v;
            bool far = false;
            for (int k = root + ahead; k < x->count && fsim_bit(&family->looked, v); k++)
                far = far || (k > i && k - i < FSIM_BITS && have_in_common(x, i, k) && may_have_both(x, i, k));
            assert_int_equal(fsim_bit(&family->far, v), far);
        }
    }
}

/* A set of bits as a kernel that stores what it must: is it one, as a part of none with which it has inputs alone in
 * common? */
static bool is_part(const list *x, unsigned set)
{
    int node[32], count = 0;
    bool stored[32];
    unsigned reached = set & -set;
    for (unsigned before = 0; before != reached;) {
        before = reached;
        for (int i = 0; i < x->count; i++)
            for (int k = 0; k < x->count; k++) {
                const bool siblings = node_at(x, i)->gemm.k && node_at(x, k)->gemm.k &&
                                      node_at(x, i)->arg[0].tensor == node_at(x, k)->arg[0].tensor;
                if (reached >> i & set >> k & 1 && (leads(x, i, k) || leads(x, k, i) || siblings) &&
                    have_in_common(x, i, k))
                    reached |= 1u << k;
            }
    }
    for (int i = 0; i < x->count; i++) {
        const fsim_tensor *t = &x->g->tensor[node_at(x, i)->result[0]];
        bool inside = false, later = false, above = false, below = false;
        for (int k = 0; k < x->count; k++) {
            above = above || (set >> k & 1 && leads(x, k, i));
            below = below || (set >> k & 1 && leads(x, i, k));
        }
        if (!(set >> i & 1) && above && below)
            return false;
        for (int r = 0; r < t->readers; r++)
            *(set >> t->reader[r] & 1 ? &inside : &later) = true;
        if (!(set >> i & 1))
            continue;
        stored[count] = t->output || !inside || (later && !copies(x, i));
        node[count++] = i;
    }
    return reached == set && fsim_candidate_of((fsim_problem *)&x->p, node, count, stored)->legal;
}

/* Whatever may be a kernel is among the sets, or all that is in it is said to be missing. */
static int check_missing(list *x)
{
    unsigned missing = 0;
    for (int root = 0; root < x->count; root++)
        fsim_family_of(x->l, root);
    fsim_find_missing(x->l);
    for (int i = 0; i < x->count; i++)
        missing |= (unsigned)x->l->missing[i] << i;
    assert_int_equal(x->l->misses, missing != 0);
    for (unsigned set = 1; set < 1u << x->count; set++) {
        if ((set & missing) == set || !is_part(x, set))
            continue;
        int root = 0;
        bool found = false;
        while (!(set >> root & 1))
            root++;
        const fsim_family *family = x->l->family[root];
        for (int i = 0; i < family->sets && !found; i++) {
            unsigned own = 0;
            FSIM_EACH_BIT(b, family->set[i].own)
            own |= 1u << (root - FSIM_BACK + b);
            found = own == set;
        }
        assert_true(found);
    }
    return __builtin_popcount(missing);
}

static double bytes_of(const list *x, int i)
{
    const fsim_node *n = node_at(x, i);
    double sum = (double)x->g->tensor[n->result[0]].written_bytes;
    for (int k = 0; k < n->args; k++)
        sum += 4 * (double)n->arg[k].distinct;
    return sum;
}

/* The heavy path: each place but the last leads to the next one, and no path moves more. */
static void check_heavy(const list *x)
{
    double *most = fsim_new(x->a, double, x->count), best = 0, sum = 0;
    int before = -1;
    for (int i = 0; i < x->count; i++) {
        for (int k = 0; k < node_at(x, i)->args; k++) {
            const int from = x->g->tensor[node_at(x, i)->arg[k].tensor].producer;
            most[i] = from >= 0 && most[from] > most[i] ? most[from] : most[i];
        }
        most[i] += bytes_of(x, i);
        best = most[i] > best ? most[i] : best;
    }
    for (int i = 0; i < x->count; i++) {
        if (!x->l->heavy[i])
            continue;
        bool reads = before < 0;
        for (int k = 0; k < node_at(x, i)->args; k++)
            reads = reads || x->g->tensor[node_at(x, i)->arg[k].tensor].producer == before;
        assert_true(reads);
        sum += bytes_of(x, i);
        before = i;
    }
    assert_true(sum == best);
}

/* A block again and again, each on what the one before it made, with something of its own here and there: equal
 * surroundings share their sets. */
static const char *repeated_list(fsim_arena *a, int blocks, int n)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg"};
    int what[16], from[16];
    const char *text = "name: again\ntensors: {x0: {shape: [64, 64], dtype: f32}, w: {shape: [64, 64], dtype: f32}}\n"
                       "operators:\n";
    for (int i = 0; i < n; i++) {
        what[i] = draw(3) ? 5 + (int)draw(3) : (int)draw(5);
        from[i] = (int)draw((uint32_t)i + 1);
    }
    for (int b = 0; b < blocks; b++) {
        const char *name[17] = {fsim_printf(a, "x%d", b)};
        const int odd = draw(8) ? -1 : (int)draw((uint32_t)n);
        for (int i = 0; i < n; i++) {
            const char *out = i == n - 1 ? fsim_printf(a, "x%d", b + 1) : fsim_printf(a, "t%d_%d", b, i);
            const int op = i == odd ? (int)draw(8) : what[i];
            if (op < 3 && i < n - 1)
                text = fsim_printf(a, "%s  - {op: add, in: [%s, %s], out: %s}\n", text, name[i], name[from[i]], out);
            else if (op == 3)
                text = fsim_printf(a, "%s  - {op: matmul, in: [%s, w], out: %s}\n", text, name[from[i]], out);
            else if (i == n - 1)
                text = fsim_printf(a, "%s  - {op: cumsum, in: %s, out: %s, dim: 1}\n", text, name[i], out);
            else if (op == 4)
                text = fsim_printf(a, "%s  - {op: sub, in: [%s, %s], out: %s}\n", text, name[i], draw(16) ? "w" : "x0",
                                   out);
            else
                text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[op - 4],
                                   name[i - (op == 5 && i > 0)], out);
            name[i + 1] = out;
        }
    }
    return text;
}

static bool are_same(const fsim_family *x, const fsim_family *y)
{
    bool same = x->sets == y->sets && x->complete == y->complete && x->many == y->many && x->back == y->back;
    for (int i = 0; i < x->sets && same; i++) {
        const fsim_own_set *s = &x->set[i], *t = &y->set[i];
        same = fsim_bits_equal(&s->own, &t->own) && fsim_bits_equal(&s->must, &t->must) &&
               fsim_bits_equal(&s->may, &t->may) && fsim_bits_equal(&s->needs, &t->needs) &&
               fsim_bits_equal(&s->far, &t->far) && s->connected == t->connected && s->joinable == t->joinable &&
               s->joinable_product == t->joinable_product && s->points == t->points && s->whole == t->whole &&
               s->last == t->last && s->waits == t->waits && s->needs_more == t->needs_more;
    }
    return same;
}

/* A root's sets are those that are found for it alone, whatever was found for others before. */
static void sets_of_equal_surroundings(void **unused)
{
    (void)unused;
    int families = 0, roots = 0;
    for (int turn = 1; turn <= SHORT_ONES; turn++) {
        list x = {.a = fsim_arena_new()}, y = {.a = x.a};
        seed = (uint64_t)turn;
        const fsim_one_side few = {.most = 30, .ahead = turn % 3 == 2 ? 4 : 0};
        const fsim_scope scope = {turn % 3 == 0 ? FSIM_BEST_ONLY : turn % 3 == 1 ? FSIM_PARTED : FSIM_LINKED, &few};
        const char *text = repeated_list(x.a, 7, 2 + (int)draw(3));
        open_list(&x, text, scope);
        open_list(&y, text, scope);
        for (int root = 0; root < x.count; root++) {
            memset(y.l->slot, 0, (size_t)y.l->slots * sizeof *y.l->slot);
            const fsim_family *shared = fsim_family_of(x.l, root), *own = fsim_family_of(y.l, root);
            if (!are_same(shared, own))
                fail_msg("turn %d, root %d: %d sets as root %d has, %d alone\n%s", turn, root, shared->sets,
                         shared->root, own->sets, text);
            families += shared->root == root;
            roots++;
        }
        fsim_arena_free(x.a);
    }
    printf("%d roots, %d families\n", roots, families);
    assert_true(!usual || families <= 1247);
}

static void short_lists(void **unused)
{
    (void)unused;
    tally sums = {0};
    company_tally company = {0};
    for (int turn = 1; turn <= SHORT_ONES; turn++) {
        list x = {.a = fsim_arena_new()};
        seed = (uint64_t)turn;
        const fsim_one_side few = {.most = 30};
        open_list(&x, random_list(x.a, 3 + (int)draw(16), 3), (fsim_scope){turn % 2 ? FSIM_LINKED : FSIM_PARTED, &few});
        check_links(&x, &sums);
        check_neighbours(&x);
        check_joinable(&x, &company);
        check_heavy(&x);
        if (turn % 2)
            check_company(&x, x.count, &company);
        fsim_arena_free(x.a);
    }
    printf("%d sets, %d may be parts, %d beside a product; company %d, heavy %d, copies %d\n", company.sets,
           company.beside, company.meets, company.any, company.heavy, company.copied);
    printf("%d share, %d of them with an independent one; %d may be stored beside one, %d could\n", company.shares,
           company.independent, company.joinable, company.could);
    assert_int_equal(company.shares, company.independent);
    assert_true(!usual || (company.meets <= 853 && company.joinable <= 1161 && company.sets == 3639));
}

/* Lists whose sets have few places, or of which few are tried. */
static void sets_that_are_cut_off(void **unused)
{
    (void)unused;
    int missing = 0, places = 0;
    tally sums = {0};
    for (int turn = 1; turn <= SHORT_ONES; turn++) {
        list x = {.a = fsim_arena_new()};
        seed = (uint64_t)turn;
        const fsim_one_side few = {.ahead = turn % 3 == 1 ? 0 : 2 + turn % 5, .most = turn % 3 == 2 ? 0 : 2 + turn % 7};
        open_list(&x, random_list(x.a, 4 + (int)draw(7), 3), (fsim_scope){FSIM_LINKED, &few});
        check_links(&x, &sums);
        if (few.ahead > 0)
            check_far_members(&x, few.ahead);
        missing += check_missing(&x);
        places += x.count;
        fsim_arena_free(x.a);
    }
    printf("%d of %d places may be in kernels that are not known\n", missing, places);
    assert_true(missing > 0 && (!usual || missing <= 537));
}

static void long_lists(void **unused)
{
    (void)unused;
    tally sums = {0};
    company_tally company = {0};
    list x = {.a = fsim_arena_new()};
    const fsim_one_side few = {.most = 4};
    seed = 1;
    open_list(&x, random_list(x.a, LONG, 40), (fsim_scope){FSIM_LINKED, &few});
    check_links(&x, &sums);
    check_neighbours(&x);
    check_separated(&x, &sums);
    check_heavy(&x);
    check_company(&x, 20, &company);
    fsim_arena_free(x.a);
    printf("%d pairs near; %d of %d long paths known; %d separated\n", sums.bits, sums.told, sums.paths, sums.apart);
    printf("%d sets, %d may be parts; company %d, heavy %d, copies %d, %d exactly\n", company.sets, company.beside,
           company.any, company.heavy, company.copied, company.exact);
    assert_true(sums.told > 0 && sums.apart > 0 && company.exact > 0);
    assert_true(!usual || (sums.told >= 23128 && company.exact >= 39));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sets_of_equal_surroundings), cmocka_unit_test(short_lists),
                                       cmocka_unit_test(sets_that_are_cut_off), cmocka_unit_test(long_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
