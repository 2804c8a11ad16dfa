/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of kernels, of all sets of primitives of small random graphs: what a kernel moves and computes is what its
 * primitives need, and it is never slower than two kernels that it could be split into, unless it says so.
 * depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/partners.h"
#include "fusion/sets.h"
#include "plan/price/price.h"
#include "predict.h"
#include "random_rows.h"
#include "random_workload.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 20 };
#else
enum { GRAPHS = 300 };
#endif
enum { MOST = 8 };

typedef struct {
    bool legal, penalised, recomputes;
    double time_s, bytes, flops, needed;
} priced;

typedef struct {
    int kernels, splits, penalised, exact, lives;
} tally;

/* Registers for values where most are in use, of a kernel whose maps are all one: what it loads lives from its first
 * reader to its last one, what it computes from there on; halves are floats, 8 bytes are two. 0: it has other maps. */
static int live_by_steps(const fsim_graph *g, unsigned set, const fsim_group *o)
{
    int most = 0;
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].maps != 1 || o->read[i].place)
            return 0;
    for (int i = 0; i < o->members; i++) { /* others may be computed at several places */
        const fsim_class class = fsim_ops[g->node[o->member[i].node].op].class;
        if (class != FSIM_ELEMENTWISE && class != FSIM_REDUCE)
            return 0;
    }
    for (int at = 0; at < g->nodes; at++) {
        int live = 0;
        for (int t = 0; t < g->tensors && (set >> at & 1); t++) {
            const fsim_tensor *x = &g->tensor[t];
            const bool made = x->producer >= 0 && (set >> x->producer & 1);
            int first = made ? x->producer : g->nodes, last = made ? x->producer : -1;
            for (int r = 0; r < x->readers; r++)
                if (set >> x->reader[r] & 1) {
                    first = x->reader[r] < first ? x->reader[r] : first;
                    last = x->reader[r] > last ? x->reader[r] : last;
                }
            live += first <= at && at <= last ? (fsim_dtype_bytes(x->dtype) > 4 ? 2 : 1) : 0;
        }
        most = live > most ? live : most;
    }
    return most;
}

/* On toy an instruction takes 2 ns, 64 warp lanes are issued in 1 ns, a byte of DRAM takes 1 ns: what a kernel without
 * products, that keeps its rows, computes, issues and moves, from its members' evaluations and from its maps. */
static void check_toy(const fsim_graph *g, unsigned set, const fsim_kernel *k)
{
    const fsim_group *o = k->group;
    double instructions = 0, specials = 0, accesses = 0;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        instructions += (double)o->member[i].evaluations * n->instructions;
        specials += (double)o->member[i].evaluations * n->specials;
    }
    const double points = (double)o->points, all = points * (double)o->reduced;
    for (int i = 0; i < o->reads; i++)
        accesses += o->read[i].maps * (o->read[i].full ? all : points);
    for (int i = 0; i < o->writes; i++)
        accesses += o->write[i].full ? all : points;
    const double wanted[] = {instructions * 2, specials * 2, instructions / 64 + 2 * accesses / k->vector / 64,
                             (double)(k->dram_read_bytes + k->dram_write_bytes)},
                 got[] = {k->unit[FSIM_COMPUTE] * 1e9, k->unit[FSIM_SPECIAL] * 1e9, k->unit[FSIM_ISSUE] * 1e9,
                          k->unit[FSIM_DRAM] * 1e9};
    for (int i = 0; i < 4; i++)
        if (!(fabs(got[i] - wanted[i]) <= 1e-6 * wanted[i] + 1e-3))
            fail_msg("%x, %s: unit %d takes %.9g ns, by hand %.9g", set, fsim_template_names[k->template], i, got[i],
                     wanted[i]);
}

/* What a set of primitives needs: elements of each tensor that it reads or that others read of it. */
static void check_kernel(const fsim_graph *g, const fsim_hw *hw, unsigned set, const fsim_kernel *k, priced *out,
                         tally *sums)
{
    const fsim_group *o = k->group;
    double flops = 0, written = 0, read = 0, time = 0;
    int reads = 0, writes = 0;
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        const bool made = x->producer >= 0 && (set >> x->producer & 1);
        bool inside = false, outside = x->output || x->materialize;
        for (int r = 0; r < x->readers; r++)
            *(set >> x->reader[r] & 1 ? &inside : &outside) = true;
        if (x->storage != t)
            continue;
        reads += !made && inside;
        writes += made && (outside || x->readers == 0);
        written += made && (outside || x->readers == 0) ? (double)x->bytes : 0;
    }
    for (int n = 0; n < g->nodes; n++)
        flops += set >> n & 1 ? g->node[n].flops * (double)g->node[n].points * (double)g->node[n].reduced : 0;
    for (int i = 0; i < o->reads; i++) {
        const fsim_tensor *x = &g->tensor[o->read[i].tensor];
        read += (double)k->input[i].bytes;
        assert_true(k->input[i].bytes > 0 && k->input[i].bytes <= x->bytes);
        assert_true(k->input[i].read_bytes >= k->input[i].bytes &&
                    (i == 0 || o->read[i].tensor > o->read[i - 1].tensor));
    }
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        time += k->time[u];
        assert_true(k->unit[u] >= 0 && k->unit[u] <= k->time_s * (1 + 1e-9) && k->time[u] <= k->unit[u] * (1 + 1e-9));
    }
    const int live = live_by_steps(g, set, o);
    if (live > 0 && live != o->live)
        fail_msg("%x: %d live values, by steps %d", set, o->live, live);
    sums->lives += live > 0;
    double widest = 0;
    int more = 0;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        const double points = (double)n->points * (double)n->reduced;
        const bool single = n->op != FSIM_OP_CONCAT && o->contractions == 0;
        widest = points > widest ? points : widest;
        assert_true((set >> o->member[i].node & 1) && (i == 0 || o->member[i].node > o->member[i - 1].node));
        more += (double)o->member[i].evaluations > points;
        if (single && (double)o->member[i].evaluations < points)
            fail_msg("%x: primitive %d is computed %lld times, at %g points", set, o->member[i].node,
                     (long long)o->member[i].evaluations, points);
    }
    if (o->contractions == 0 && o->recomputes != (more > 0))
        fail_msg("%x: %d primitives are computed again", set, more);
    if (live > 0 && o->contractions == 0 && o->across == 0 && !o->recomputes &&
        (double)o->points * (double)o->reduced != widest)
        fail_msg("%x has %lld x %lld points, its primitives at most %g", set, (long long)o->points,
                 (long long)o->reduced, widest);
    if (hw->sm == 50 && live > 0 && k->passes == 1 && o->across == 0 && k->pieces <= 1)
        check_toy(g, set, k);
    const bool once = !o->recomputes && k->passes == 1 && o->contractions == 0;
    if (once ? k->flops != flops : k->flops < flops)
        fail_msg("%.9g FLOP, its primitives %.9g", k->flops, flops);
    assert_true(k->dram_write_bytes >= (o->writes == writes ? (int64_t)written : 0));
    if (o->reads != reads || o->writes > writes)
        fail_msg("%d reads, %d writes; by tensors %d and %d", o->reads, o->writes, reads, writes);
    assert_true(fabs(time - k->time_s) <= 1e-9 * k->time_s);
    *out = (priced){true, k->penalised, o->recomputes, k->time_s, read + (double)k->dram_write_bytes, k->flops, flops};
    sums->kernels++;
    sums->penalised += k->penalised;
    sums->exact += k->flops == flops;
}

static void check_graph(const char *text, const fsim_hw *hw, fsim_arena *a, tally *sums)
{
    static priced of[1 << MOST];
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "fused.yaml", text, strlen(text), NULL);
    const fsim_options options = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM};
    assert_non_null(g);
    if (g->nodes > MOST)
        return;
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    for (unsigned set = 1; set < 1u << g->nodes; set++) {
        int node[MOST], count = 0;
        for (int n = 0; n < g->nodes; n++)
            if (set >> n & 1)
                node[count++] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, count, a);
        of[set] = (priced){0};
        if (k)
            check_kernel(g, hw, set, k, &of[set], sums);
        for (unsigned part = (set - 1) & set; k && part > (set & ~part); part = (part - 1) & set) {
            const priced *x = &of[set], *y = &of[part], *z = &of[set & ~part];
            if (!y->legal || !z->legal)
                continue;
            sums->splits++;
            if (!x->penalised && x->time_s > (y->time_s + z->time_s) * (1 + 1e-12))
                fail_msg("kernel %x takes %.9g s, its parts %x %.9g s and %x %.9g s:\n%s", set, x->time_s, part,
                         y->time_s, set & ~part, z->time_s, text);
            if (x->bytes > (y->bytes + z->bytes) * (1 + 1e-12))
                fail_msg("kernel %x moves %.9g bytes, its parts %x %.9g and %x %.9g:\n%s", set, x->bytes, part,
                         y->bytes, set & ~part, z->bytes, text);
        }
    }
}

static void laws_of_sets(void **unused)
{
    (void)unused;
    static const char *const gpus[] = {"hwmodels/a100-sxm4-40gb", "tests/hw/toy", "hwmodels/h100-sxm5-80gb"};
    fsim_arena *all = fsim_arena_new();
    const fsim_hw *hw[3];
    tally sums = {0};
    for (int i = 0; i < 3; i++)
        hw[i] = fsim_hw_read(all, fsim_diag_new(all), fsim_printf(all, FUSESIM_SOURCE_DIR "/%s.yaml", gpus[i]));
    for (int seed = 1; seed <= GRAPHS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const int n = 3 + (int)draw(5);
        check_graph(seed % 2 ? random_workload(a, n, 64, seed % 4 == 1 ? 64 : 48, 1) : random_rows(a, 2 + n / 3),
                    hw[seed % 3], a, &sums);
        fsim_arena_free(a);
    }
    printf("%d kernels, %d penalised, %d with the primitives' FLOP, %d with live values by steps; %d splits\n",
           sums.kernels, sums.penalised, sums.exact, sums.lives, sums.splits);
    assert_true(sums.kernels > 20 * GRAPHS && sums.kernels > sums.penalised && sums.splits > 100 * GRAPHS / 2);
    fsim_arena_free(all);
}

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }

/* Contractions n and m, m behind n, may be a chain where m depends on n and all that is on a path between them can be
 * in a kernel and is no contraction. */
static bool may_be_chained(const fsim_graph *g, const uint64_t *above, int n, int m)
{
    bool may = (above[m] >> n & 1) && class_of(g, n) == FSIM_CONTRACTION && class_of(g, m) == FSIM_CONTRACTION;
    for (int b = n + 1; b < m && may; b++) {
        const fsim_class class = class_of(g, b);
        const bool between = (above[b] >> n & 1) && (above[m] >> b & 1);
        may = !between || (class != FSIM_CONTRACTION && (class == FSIM_REDUCE || fsim_classes[class].inlines));
    }
    return may;
}

/* Paths of primitives outside of the set: per primitive, which members lead to it so. */
static void leave(const fsim_graph *g, unsigned set, unsigned *outside)
{
    for (int n = 0; n < g->nodes; n++) {
        outside[n] = 0;
        for (int k = 0; k < g->node[n].args; k++) {
            const int from = g->tensor[g->node[n].arg[k].tensor].producer;
            outside[n] |= from < 0 ? 0 : set >> from & 1 ? (set >> n & 1 ? 0 : 1u << from) : outside[from];
        }
    }
}

static bool is_read_by(const fsim_graph *g, int n, int reader)
{
    for (int k = 0; k < g->node[reader].args; k++)
        if (g->tensor[g->node[reader].arg[k].tensor].producer == n)
            return true;
    return false;
}

/* Primitives that touch a tensor in common. */
static bool touch_each_other(const fsim_graph *g, int n, int m)
{
    const fsim_node *x = &g->node[n], *y = &g->node[m];
    bool common = is_read_by(g, n, m) || is_read_by(g, m, n);
    for (int k = 0; k < x->args; k++)
        for (int i = 0; i < y->args; i++)
            common = common || x->arg[k].tensor == y->arg[i].tensor;
    return common;
}

static void check_shape(const fsim_graph *g, unsigned set, const unsigned *above, fsim_arena *a)
{
    int node[MOST], hull[MOST], count = 0, hulled = 0;
    unsigned outside[MOST], around = set, reached = set & -set;
    bool convex = true;
    fsim_refusal why = {.rule = FSIM_RULE_NONE};
    leave(g, set, outside);
    for (int n = 0; n < g->nodes; n++) {
        if (set >> n & 1)
            node[count++] = n;
        convex = convex && (!(set >> n & 1) || outside[n] == 0);
        for (int m = 0; m < g->nodes; m++)
            around |= (above[n] & set) && (set >> m & 1) && (above[m] >> n & 1) ? 1u << n : 0;
    }
    for (int turn = 0; turn < count; turn++)
        for (int n = 0; n < g->nodes; n++)
            for (int m = 0; m < g->nodes && (set >> n & 1); m++)
                reached |= (reached >> m & 1) && touch_each_other(g, n, m) ? 1u << n : 0;
    assert_int_equal(fsim_convex(g, node, count, a, &why), convex);
    if (!convex) { /* a leads out of the set to `through`, which b reads */
        assert_int_equal(why.rule, FSIM_RULE_CONVEXITY);
        assert_true((set >> why.a & 1) && (set >> why.b & 1) && !(set >> why.through & 1));
        assert_true((outside[why.through] >> why.a & 1) && is_read_by(g, why.through, why.b));
    }
    assert_int_equal(fsim_connected(g, node, count, a, &why), reached == set);
    if (reached != set)
        assert_true(why.rule == FSIM_RULE_CONNECTED && why.a == node[0] && (set >> why.b & 1) &&
                    !(reached >> why.b & 1));
    hulled = fsim_hull(g, &(fsim_node_set){.node = node, .count = count}, hull, a);
    for (int n = 0, i = 0; n < g->nodes; n++)
        assert_true((around >> n & 1) == (i < hulled && hull[i] == n) && (i += i < hulled && hull[i] == n) <= hulled);
}

/* Connected, convex, and all that lies between: of every set, by paths. */
static void shapes_of_sets(void **unused)
{
    (void)unused;
    int graphs = 0;
    for (int seed = 1; seed <= GRAPHS / 2; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const char *text = seed % 2 ? random_workload(a, 5 + (int)draw(4), 64, 64, 1) : random_rows(a, 3);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "shapes.yaml", text, strlen(text), NULL);
        unsigned above[MOST] = {0};
        assert_non_null(g);
        for (int n = 0; n < g->nodes && g->nodes <= MOST; n++)
            for (int k = 0; k < g->node[n].args; k++) {
                const int from = g->tensor[g->node[n].arg[k].tensor].producer;
                above[n] |= from >= 0 ? above[from] | 1u << from : 0;
            }
        for (unsigned set = 1; g->nodes <= MOST && set < 1u << g->nodes; set++)
            check_shape(g, set, above, a);
        graphs += g->nodes <= MOST;
        fsim_arena_free(a);
    }
    assert_true(graphs > GRAPHS / 4);
}

static void partners_by_paths(void **unused)
{
    (void)unused;
    int pairs = 0;
    for (int seed = 1; seed <= GRAPHS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        const char *text = random_workload(a, 16 + (int)draw(11), 64, 64, 1);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "partners.yaml", text, strlen(text), NULL);
        assert_true(g && g->nodes <= 64);
        uint64_t above[64] = {0};
        for (int n = 0; n < g->nodes; n++)
            for (int k = 0; k < g->node[n].args; k++) {
                const int from = g->tensor[g->node[n].arg[k].tensor].producer;
                above[n] |= from >= 0 ? above[from] | (uint64_t)1 << from : 0;
            }
        for (int n = 0; n < g->nodes; n++)
            for (int up = 0; up < 2 && class_of(g, n) == FSIM_CONTRACTION; up++) {
                int wanted[64], got[64], count = 0;
                for (int m = up ? n - 1 : n + 1; m >= 0 && m < g->nodes; m += up ? -1 : 1)
                    if (up ? may_be_chained(g, above, m, n) : may_be_chained(g, above, n, m))
                        wanted[count++] = m;
                assert_int_equal(fsim_chain_partners(g, n, up, got, 64), count);
                assert_memory_equal(got, wanted, sizeof *got * (size_t)count);
                assert_int_equal(fsim_chain_partners(g, n, up, got, count), count);
                assert_true(count == 0 || fsim_chain_partners(g, n, up, got, count - 1) == -1);
                pairs += count;
            }
        fsim_arena_free(a);
    }
    printf("%d pairs\n", pairs);
    assert_true(pairs > GRAPHS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(laws_of_sets), cmocka_unit_test(partners_by_paths),
                                       cmocka_unit_test(shapes_of_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
