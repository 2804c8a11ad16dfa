/* SPDX-License-Identifier: Apache-2.0 */
/* What a search knows of a list before its first step, on random graphs so small that every set of primitives can be
 * tried: which sets may be kernels, what each stores and waits for, who leads to whom, who has a tensor in common, what
 * every plan computes as a whole (FUSESIM_RANDOM_GRAPHS sets how many graphs). depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elements.h"
#include "fusion/sets.h"
#include "plan/price/user_rules.h"
#include "plan/search/pieces.h"
#include "plan/search/places.h"
#include "plan/search/search.h"
#include "plan/search/shadow.h"
#include "plan/search/space.h"
#include "plan/search/states.h"
#include "predict.h"
#include "priced_check.h"
#define state seed /* states.h has a type of that name */
#include "random_workload.h"
#undef state
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 60 };
#else
enum { GRAPHS = 400 };
#endif
enum { MOST = 8, ENUMERATED = 5 }; /* primitives of a graph; of one whose plans are all tried */

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
    fsim_frontier *f;
    int count;
    /* worked from the graph alone: bit k of each is primitive k */
    unsigned producers[MOST], readers[MOST], above[MOST], below[MOST], near[MOST], must, clonable;
} list;

static bool in(unsigned set, int i) { return set >> i & 1; }

static int lowest(unsigned set)
{
    int i = 0;
    while (!in(set, i))
        i++;
    return i;
}

/* Tensors that i touches: its own, and arguments of what may be computed again for it. */
static uint64_t touched(const list *x, int i)
{
    const fsim_node *n = &x->g->node[i];
    uint64_t all = 0;
    for (int r = 0; r < n->results; r++)
        all |= (uint64_t)1 << n->result[r];
    for (int k = 0; k < n->args; k++) {
        const int from = x->g->tensor[n->arg[k].tensor].producer;
        all |= (uint64_t)1 << n->arg[k].tensor;
        if (from >= 0 && in(x->clonable, from)) {
            uint64_t more = touched(x, from);
            for (int r = 0; r < x->g->node[from].results; r++) /* not what it makes beside, which nobody needs here */
                if (x->g->node[from].result[r] != n->arg[k].tensor)
                    more &= ~((uint64_t)1 << x->g->node[from].result[r]);
            all |= more;
        }
    }
    return all;
}

static void work_out(list *x)
{
    for (int i = 0; i < x->count; i++) {
        const fsim_node *n = &x->g->node[i];
        for (int k = 0; k < n->args; k++)
            if (x->g->tensor[n->arg[k].tensor].producer >= 0)
                x->producers[i] |= 1u << x->g->tensor[n->arg[k].tensor].producer;
        for (int k = 0; k < i; k++)
            if (in(x->producers[i], k)) {
                x->above[i] |= x->above[k] | 1u << k;
                x->readers[k] |= 1u << i;
            }
        bool must = n->effect;
        for (int r = 0; r < n->results; r++)
            must = must || x->g->tensor[n->result[r]].output || x->g->tensor[n->result[r]].materialize;
        x->must |= (unsigned)must << i;
    }
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < i; k++)
            x->below[k] |= (unsigned)in(x->above[i], k) << i;
    /* a copy is worth something where others read the result too, or where its only reader may be copied */
    for (int i = x->count; i-- > 0;) {
        const unsigned r = x->readers[i];
        const bool useful = r && (in(x->must, i) || (r & (r - 1)) || in(x->clonable, lowest(r)));
        x->clonable |= (unsigned)(useful && x->p.recompute && fsim_may_clone(&x->p, i)) << i;
    }
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < x->count; k++)
            x->near[i] |= (unsigned)(i != k && (touched(x, i) & touched(x, k)) != 0) << k;
}

static unsigned of_bits(const fsim_bits *set, int base, int count)
{
    unsigned out = 0;
    for (int i = 0; i < count; i++)
        if (i - base >= 0 && i - base < FSIM_BITS && fsim_bit(set, i - base))
            out |= 1u << i;
    return out;
}

static void check_places(const list *x)
{
    const fsim_places *l = &x->f->l;
    for (int i = 0; i < x->count; i++) {
        unsigned near = 0, producers = 0, readers = 0;
        int last = -1;
        for (int k = l->near_first[i]; k < l->near_first[i + 1]; k++)
            near |= 1u << l->near[k];
        for (int k = l->pred_first[i]; k < l->pred_first[i + 1]; k++)
            producers |= 1u << l->pred[k];
        for (int k = l->succ_first[i]; k < l->succ_first[i + 1]; k++)
            readers |= 1u << l->succ[k];
        for (int k = 0; k < x->count; k++)
            last = in(x->near[i], k) ? k : last;
        assert_int_equal(near, x->near[i]);
        assert_int_equal(l->last_near[i], last < 0 ? 0 : last);
        assert_int_equal(producers, x->producers[i]);
        assert_int_equal(readers, x->readers[i]);
        assert_int_equal(l->must[i], in(x->must, i));
        assert_int_equal(l->clonable[i], in(x->clonable, i));
        assert_int_equal(of_bits(&l->before[i], i - FSIM_BITS, x->count), x->above[i]);
        assert_int_equal(of_bits(&l->after[i], i + 1, x->count), x->below[i]);
        assert_false(l->outside[i] || l->far[i]);
    }
    for (int t = 0; t < x->g->tensors; t++) { /* who reads it last, itself or for a copy */
        int last = -1;
        for (int i = 0; i < x->count; i++)
            for (int k = 0; k < x->g->node[i].args; k++) {
                if (x->g->node[i].arg[k].tensor != t)
                    continue;
                unsigned at = 1u << i, all = at;
                while (at) { /* readers of what may be copied, and theirs */
                    const int here = lowest(at);
                    at &= at - 1;
                    if (in(x->clonable, here)) {
                        at |= x->readers[here] & ~all;
                        all |= x->readers[here];
                    }
                }
                for (int b = 0; b < x->count; b++)
                    last = in(all, b) && b > last ? b : last;
            }
        assert_int_equal(x->f->l.last_use[t], last);
    }
}

/* May these primitives hang together in a kernel: nothing outside lies between them, and each has a tensor in common
 * with others? */
static bool hangs_together(const list *x, unsigned set)
{
    unsigned reached = set & -set;
    for (unsigned before = 0; before != reached;) {
        before = reached;
        for (int i = 0; i < x->count; i++)
            if (in(reached, i))
                reached |= x->near[i] & set;
    }
    for (int i = 0; i < x->count; i++)
        if (!in(set, i) && (x->above[i] & set) && (x->below[i] & set))
            return false;
    return reached == set;
}

typedef struct {
    unsigned must, may, needs;
    bool legal, connected;
    const fsim_group *group;
    int node[MOST], count;
} trial;

/* Why a set is no kernel: a rule, and primitives of it; in words. */
static void check_refusal(const list *x, unsigned set, const fsim_refusal *why)
{
    const fsim_mark mark = fsim_save(x->a);
    assert_true(why->rule > FSIM_RULE_NONE && why->rule < FSIM_RULE_USER);
    assert_true(why->a >= 0 && in(set, why->a) && (why->b == -1 || in(set, why->b)));
    assert_true(strlen(fsim_refusal_text(x->g, why, x->a)) > 10);
    fsim_rewind(x->a, mark);
}

/* The set as a kernel that stores as little as possible: what others read, unless they may compute it again. */
static trial tried(list *x, unsigned set)
{
    trial t = {0};
    bool stored[MOST];
    fsim_refusal why;
    for (int i = 0; i < x->count; i++) {
        if (!in(set, i))
            continue;
        const unsigned inside = x->readers[i] & set, later = x->readers[i] & ~set;
        const bool must = in(x->must, i) || !inside || (later && !in(x->clonable, i));
        t.must |= (unsigned)must << i;
        t.may |= (unsigned)(!must && later) << i;
        t.needs |= x->producers[i] & ~set;
        stored[t.count] = must;
        t.node[t.count++] = i;
    }
    const fsim_candidate *c = fsim_candidate_of(&x->p, t.node, t.count, stored);
    t.connected = t.count == 1 || fsim_connected(x->g, t.node, t.count, x->a, &why);
    t.legal = c->legal && (t.connected || x->p.recompute);
    t.group = c->group;
    if (!c->legal)
        check_refusal(x, set, &c->why);
    return t;
}

typedef struct {
    element_tally elements;
    int sets, apart, told, places, whole, said_whole, pieces, said_pieces, enumerated;
    share_tally floors, worths, bounds; /* as shares of the least plan */
} tally;

/* What a kernel reads is what others make for its members; it writes what it was told to. */
static void check_group(const list *x, unsigned set, const fsim_group *o, const bool *stored, tally *sums)
{
    int writes = 0, reads = 0;
    check_elements(x->g, o, &sums->elements);
    if (o->contractions > 0 || o->across > 0)
        return;
    for (int i = 0; i < o->writes; i++)
        assert_true(in(set, x->g->tensor[o->write[i].tensor].producer));
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        const fsim_tensor *t = &x->g->tensor[r->tensor];
        assert_true(t->producer < 0 || !in(set, t->producer));
        assert_true(r->bytes > 0 && r->bytes <= t->bytes && (!r->whole || r->bytes == t->bytes));
    }
    for (int t = 0; t < x->g->tensors; t++) {
        const int from = x->g->tensor[t].producer;
        bool wanted = false;
        for (int r = 0; r < x->g->tensor[t].readers; r++)
            wanted = wanted || in(set, x->g->tensor[t].reader[r]);
        reads += wanted && (from < 0 || !in(set, from));
        writes += from >= 0 && in(set, from) && stored[from] && x->g->tensor[t].storage == t;
    }
    assert_true(o->reads == reads && o->writes <= writes);
}

static const fsim_own_set *found_in(const fsim_family *f, unsigned set, int root, int count)
{
    for (int i = 0; i < f->sets; i++)
        if (of_bits(&f->set[i].own, root - FSIM_BACK, count) == set)
            return &f->set[i];
    return NULL;
}

/* Per place: does no legal set compute less of it than all, where the set has all its readers, or stores it? */
static void note_parts(const list *x, unsigned set, const trial *t, bool *whole)
{
    for (int m = 0; m < t->group->members; m++) {
        const int i = t->group->member[m].node;
        const fsim_node *n = &x->g->node[i];
        if (in(t->must, i) || (x->readers[i] & ~set) == 0)
            whole[i] = whole[i] && t->group->member[m].evaluations >= n->points * (n->reduced > 1 ? n->reduced : 1);
    }
}

static void check_sets(list *x, tally *sums)
{
    unsigned together[MOST] = {0};
    int sets = 0, kept = 0, piece[MOST];
    bool whole[MOST];
    fsim_refusal why;
    for (int i = 0; i < x->count; i++) {
        whole[i] = true;
        piece[i] = i;
    }
    for (unsigned set = 1; set < 1u << x->count; set++) {
        if (!hangs_together(x, set))
            continue;
        const trial t = tried(x, set);
        const int root = lowest(set);
        const fsim_family *family = fsim_family_of(&x->f->l, root);
        const fsim_own_set *s = found_in(family, set, root, x->count);
        if ((s != NULL) != t.legal)
            fail_msg("set %x of %s: %s, but it is %s", set, x->g->name, s ? "found" : "not found",
                     t.legal ? "a kernel" : "none");
        assert_true(family->complete);
        if (!s)
            continue;
        sets++;
        assert_int_equal(of_bits(&s->must, root - FSIM_BACK, x->count), t.must);
        assert_int_equal(of_bits(&s->may, root - FSIM_BACK, x->count), t.may);
        assert_int_equal(of_bits(&s->needs, root - FSIM_BACK, x->count), t.needs);
        assert_int_equal(s->connected, t.connected);
        assert_false(s->needs_more || s->waits || s->joinable || s->joinable_product);
        assert_int_equal(in(set, root + s->last) ? set >> (root + s->last) : 0, 1);
        const bool plain = !t.group->joint && t.group->across == 0 && t.group->stretch == 0;
        assert_int_equal(s->points, plain ? t.group->points : 0);
        assert_int_equal(s->whole, plain ? t.group->points * t.group->reduced : 0);
        for (int i = 0; i < t.count; i++) {
            together[t.node[i]] |= set;
            const int to = piece[t.node[0]], from = piece[t.node[i]];
            for (int k = 0; k < x->count && t.connected && fsim_user_allows(&x->p, t.node, t.count, &why); k++)
                piece[k] = piece[k] == from ? to : piece[k];
        }
        note_parts(x, set, &t, whole);
        bool stored[MOST];
        for (int i = 0; i < x->count; i++)
            stored[i] = in(t.must, i);
        check_group(x, set, t.group, stored, sums);
    }
    for (int root = 0; root < x->count; root++)
        kept += fsim_family_of(&x->f->l, root)->sets;
    assert_int_equal(kept, sets);
    sums->sets += sets;
    const int *pieces = fsim_pieces(&x->p, x->a);
    const bool *said = fsim_computed_whole(x->f), *owned = fsim_owned_whole(x->f);
    for (int i = 0; i < x->count; i++) {
        assert_true(!owned[i] || (whole[i] && said[i]));
        sums->places++;
        sums->whole += whole[i];
        sums->said_whole += owned[i];
        sums->pieces += piece[i] == i;
        sums->said_pieces += pieces[i] == i;
        for (int k = i + 1; k < x->count; k++) {
            const bool never = fsim_never_together(&x->f->l, i, k);
            assert_true(piece[i] != piece[k] || pieces[i] == pieces[k]);
            assert_false(never && in(together[i], k));
            sums->apart += !in(together[i], k);
            sums->told += never;
        }
    }
}

/* Sets that may be launched once `done` has run, in the order in which they were visited. */
typedef struct {
    unsigned set[1 << MOST];
    int count;
} visited;

static bool visit(void *to, fsim_mask set)
{
    visited *v = to;
    assert_true(v->count < 1 << MOST);
    v->set[v->count++] = (unsigned)set;
    return true;
}

/* Is the set connected by tensors that one makes and another reads, or that two read? */
static bool is_connected(const list *x, unsigned set)
{
    int node[MOST], count = 0;
    fsim_refusal why;
    for (int i = 0; i < x->count; i++)
        if (in(set, i))
            node[count++] = i;
    return count == 1 || fsim_connected(x->g, node, count, x->a, &why);
}

/* May the set be launched, with copies of what has run where these are worth something? All that its members read has
 * run or is in it; no member that runs here for the first time depends, by others outside, on one that does too. */
static bool is_ready(list *x, unsigned set, unsigned done)
{
    unsigned before = 0, after = 0;
    int node[MOST], count = 0;
    bool stored[MOST];
    fsim_refusal why;
    if (!(set & ~done) || (set & done & ~x->clonable) || !is_connected(x, set))
        return false;
    for (int i = 0; i < x->count; i++) {
        if (!in(set, i))
            continue;
        if (x->producers[i] & ~(done | set))
            return false;
        const bool copied = in(x->clonable, i);
        before |= x->above[i];
        after |= copied ? 0 : x->below[i];
        stored[count] = !(x->readers[i] & set) || (!copied && (in(x->must, i) || (x->readers[i] & ~set)));
        node[count++] = i;
    }
    return !(before & after & ~set) && fsim_candidate_of(&x->p, node, count, stored)->legal &&
           fsim_user_allows(&x->p, node, count, &why);
}

/* What has run are the first `ran` primitives; each set is visited once, those without copies first, and each in the
 * order of its lowest members. */
static void check_ready_sets(list *x, fsim_space *w, int ran)
{
    const unsigned done = (1u << ran) - 1;
    visited v = {.count = 0};
    assert_true(fsim_each_ready_set(w, done, visit, &v));
    int expected = 0;
    for (unsigned set = 1; set < 1u << x->count; set++) {
        int met = 0;
        for (int i = 0; i < v.count; i++)
            met += v.set[i] == set;
        assert_int_equal(met, is_ready(x, set, done));
        expected += met;
    }
    assert_int_equal(v.count, expected);
    for (int i = 1; i < v.count; i++) {
        const bool copies = v.set[i] & done, before = v.set[i - 1] & done;
        const unsigned differ = v.set[i] ^ v.set[i - 1], first = differ & -differ;
        assert_true(copies >= before);
        if (copies == before) /* where they first differ, the earlier one has a lower member, or ends */
            assert_true((v.set[i - 1] & first) || (v.set[i - 1] & ~(first - 1)) == 0);
    }
}

static bool take(void *to, const fsim_plan *plan)
{
    fsim_sum *least = to;
    *least = plan->objective < *least ? plan->objective : *least;
    return true;
}

/* What primitives are worth: no plan costs less than all of them, nor less than the work that none can avoid; and the
 * bound of the search is the least plan where L2 holds nothing, else no more. */
static void check_worth(list *x, tally *sums)
{
    fsim_shadow y;
    fsim_sum all = 0, least = FSIM_NEVER;
    bool truncated;
    const fsim_sum floor = fsim_frontier_floor(x->f);
    assert_true(fsim_find_shadow(x->f, &y));
    for (int i = 0; i < x->count; i++)
        all += y.price[i];
    assert_true(all >= y.bound && y.bound > 0);
    for (int root = 0; root < x->count; root++)
        for (int i = 0; i < fsim_family_of(&x->f->l, root)->sets; i++)
            assert_true(y.excess[root][i] >= 0);
    if (x->count > ENUMERATED)
        return;
    assert_true(fsim_enumerate(&x->p, 0, take, &least, &truncated) > 0 && !truncated);
    assert_true(floor > 0 && floor <= least && y.bound <= least);
    assert_true(fsim_frontier_search(x->f) && fsim_frontier_complete(x->f));
    assert_true(fsim_frontier_bound(x->f) <= least);
    sums->enumerated++;
    add_share(&sums->floors, (double)floor, (double)least);
    add_share(&sums->worths, (double)y.bound, (double)least);
    add_share(&sums->bounds, (double)fsim_frontier_bound(x->f), (double)least);
}

static void every_set_that_is_a_kernel_is_found(void **unused)
{
    (void)unused;
    static const fsim_options ways[] = {
        {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH, .search_steps = 60000000},
        {.strategy = FSIM_STRATEGY_OPTIMAL,
         .regime = FSIM_REGIME_GRAPH,
         .search_steps = 60000000,
         .no_recompute = true},
        {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH, .search_steps = 60000000, .strict = true}};
    static const int sides[][2] = {{64, 64}, {2048, 2048}, {4096, 30}, {3, 70000}, {8, 24}, {6, 6}};
    tally sums = {0};
    int graphs = 0;
    const char *asked = getenv("FUSESIM_RANDOM_GRAPHS");
    const int turns = asked ? atoi(asked) : GRAPHS;
    const bool usual = turns == 400;
    has_totals = asked != NULL;
    for (int turn = 1; turn <= turns; turn++) {
        list x = {.a = fsim_arena_new()};
        fsim_spent spent;
        static const int node[MOST] = {0, 1, 2, 3, 4, 5, 6, 7};
        fsim_diag *d = fsim_diag_new(x.a);
        seed = (uint64_t)turn;
        const int *side = sides[turn % 6];
        const char *text = random_workload(x.a, 2 + (int)draw(7), side[0], side[1], 1);
        const int sliced = turn / 4 % 3;
        if (turn % 4 == 0 && !strstr(text, "materialize") && strstr(text, fsim_printf(x.a, "out: t%d}", sliced)))
            text = fsim_printf(x.a, /* two rows of a result, each alone */
                               "%s  - {op: slice, in: t%d, out: s0, dim: 0, start: 0, size: 1}\n  - {op: exp, in: s0, "
                               "out: e0}\n  - {op: slice, in: t%d, out: s1, dim: 0, start: 1, size: 1}\n",
                               text, sliced, sliced);
        const fsim_hw *hw = fsim_hw_read(x.a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        x.g = fsim_graph_parse(x.a, d, fsim_printf(x.a, "turn%d.yaml", turn), text, strlen(text), NULL);
        assert_true(x.g && hw);
        x.count = x.g->nodes;
        if (x.count > 0 && x.count <= MOST && x.g->tensors < 64) {
            x.p = fsim_problem_of(x.g, hw, &ways[turn / 6 % 3], x.a);
            const fsim_budget budget = fsim_budget_of(&x.p, &spent);
            x.f = fsim_frontier_ready(&x.p, node, x.count, (fsim_scope){FSIM_BEST_ONLY, NULL}, &budget, x.a);
            assert_non_null(x.f);
            work_out(&x);
            check_places(&x);
            check_sets(&x, &sums);
            fsim_space w;
            fsim_space_of(&x.p, x.a, &w);
            check_ready_sets(&x, &w, 0);
            check_ready_sets(&x, &w, x.count / 2);
            check_worth(&x, &sums);
            graphs++;
        }
        fsim_arena_free(x.a);
    }
    printf(
        "%d graphs, %d sets; %d pairs apart, %d told at once; %d places computed whole, %d told; %d pieces, %d told\n",
        graphs, sums.sets, sums.apart, sums.told, sums.whole, sums.said_whole, sums.pieces, sums.said_pieces);
    printf("%d tensors read and %d written, element by element\n", sums.elements.read, sums.elements.written);
    assert_true(graphs > turns / 2 && sums.sets > 10 * graphs && sums.told > sums.apart / 2);
    assert_true(sums.whole < sums.places && (!usual || sums.said_whole * 100 > sums.whole * 99));
    assert_true(!usual || sums.said_pieces * 100 > sums.pieces * 94);
    assert_true(!usual || (sums.told >= 875 && sums.said_whole >= 1917 && sums.said_pieces >= 651 &&
                           sums.elements.read >= 8307 && sums.elements.written >= 7776));
    check_share("work", sums.floors, 0.63469, usual);
    check_share("prices", sums.worths, 0.99532, usual);
    check_share("bounds", sums.bounds, 0.99995, usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_that_is_a_kernel_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
