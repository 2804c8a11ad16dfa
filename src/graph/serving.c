/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c: `calls:` of a workload: which of its operators a serving stack runs as a call of its library. */
#include "graph/reader.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[FSIM_SERVING_KINDS] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) name,
#include "graph/serving.def"
#undef FSIM_SERVING
};

static const char fused[] = "fused"; /* under `kernel:`, a kernel of the stack's own, which no row prices */

static const char *const values_of[FSIM_SERVING_KINDS] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) values,
#include "graph/serving.def"
#undef FSIM_SERVING
};

/* The words of `text` into word[]; their number. */
static int split(fsim_arena *a, const char *text, const char **word)
{
    int count = 0;
    while (*text && count < FSIM_SERVING_VALUES) {
        const size_t length = strcspn(text, " ");
        word[count++] = fsim_strndup(a, text, length);
        text += length + strspn(text + length, " ");
    }
    return count;
}

/* The name under `kernel:`; NULL after an error. */
static const fsim_yaml *kernel_of(fsim_reader *r, const fsim_yaml *y)
{
    const fsim_yaml *kernel = fsim_yaml_get(y, "kernel");
    if (!kernel)
        fsim_error(r->diag, y->at, "an entry of 'calls' has no 'kernel'");
    return kernel && fsim_want_scalar(r, kernel, "'kernel'") ? kernel : NULL;
}

static bool read_kind(fsim_reader *r, const fsim_yaml *kernel, fsim_serving_call *call)
{
    for (int k = 0; k < FSIM_SERVING_KINDS; k++)
        if (strcmp(kernel->text, names[k]) == 0) {
            call->kind = (fsim_serving_kind)k;
            return true;
        }
    const char *all[FSIM_SERVING_KINDS + 1] = {fused};
    memcpy(all + 1, names, sizeof names);
    fsim_error(r->diag, kernel->at, "'calls': no kernel '%s'%s", kernel->text,
               fsim_did_you_mean(r->arena, kernel->text, all, FSIM_SERVING_KINDS + 1));
    return false;
}

static bool read_values(fsim_reader *r, const fsim_yaml *y, fsim_serving_call *call)
{
    static const char *const common[] = {"kernel", "operators", "dtype", "stored", "when"};
    enum { COMMON = sizeof common / sizeof *common };
    const char *key[COMMON + FSIM_SERVING_VALUES + FSIM_SERVING_OPTIONS];
    memcpy(key, common, sizeof common);
    const int count = split(r->arena, values_of[call->kind], key + COMMON),
              options = fsim_serving_option_names(names[call->kind], key + COMMON + count);
    bool ok = true;
    double length = 0;
    fsim_yaml_check_keys(r->arena, r->diag, y, "an entry of 'calls'", key, COMMON + count + options);
    for (int i = 0; i < count; i++) {
        const fsim_yaml *value = fsim_yaml_get(y, key[COMMON + i]);
        int64_t number = 0;
        if (!value) {
            fsim_error(r->diag, y->at, "call '%s' has no '%s': it wants %s", names[call->kind], key[COMMON + i],
                       values_of[call->kind]);
            return false;
        }
        ok = fsim_read_int(r, value, key[COMMON + i], &number) && ok;
        if (ok && (number < 0 || number > FSIM_MAX_DIM)) {
            fsim_error(r->diag, value->at, "'%s' is %lld; wants 0 to %lld", key[COMMON + i], (long long)number,
                       (long long)FSIM_MAX_DIM);
            ok = false;
        }
        call->value[i] = (double)number;
        length = strcmp(key[COMMON + i], "s") == 0 ? call->value[i] : length;
    }
    return ok && (options == 0 || fsim_read_serving_options(r, y, call->value[0], length, call));
}

static bool read_dtypes(fsim_reader *r, const fsim_yaml *y, fsim_serving_call *call)
{
    const fsim_yaml *dtype = fsim_yaml_get(y, "dtype"), *stored = fsim_yaml_get(y, "stored");
    call->dtype = FSIM_BF16;
    if (dtype && !fsim_read_dtype(r, dtype, &call->dtype))
        return false;
    call->stored = call->dtype;
    return !stored || fsim_read_dtype(r, stored, &call->stored);
}

/* An all-reduce between fewer than two GPUs is an error. */
static bool has_ranks(fsim_reader *r, const fsim_yaml *y, const fsim_serving_call *call)
{
    enum { RANKS = 2 };
    if (call->kind != FSIM_SERVING_ALL_REDUCE_NORM || call->value[RANKS] >= 2)
        return true;
    fsim_error(r->diag, y->at, "'ranks' is %.0f; an all-reduce is between 2 GPUs or more", call->value[RANKS]);
    return false;
}

/* Have serving stacks kernels for it? They compute in 16 bits and fewer. */
static bool is_served(const fsim_serving_call *call) { return fsim_dtype_bytes(call->dtype) <= 2; }

/* The operator that an entry names, or the one of a primitive; -1: it is not there (its `when` is 0); -2: after an
 * error. */
static int named(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn, const fsim_names *source)
{
    const char *text = y->kind == FSIM_YAML_SCALAR ? y->text : "";
    const fsim_yaml it = {.kind = FSIM_YAML_SCALAR,
                          .text = turn ? fsim_turn_name(r->arena, r->diag, y->at, text, turn) : text,
                          .at = y->at};
    if (fsim_names_get(&r->absent, it.text) >= 0)
        return -1;
    const int s = fsim_names_get(source, it.text), n = s >= 0 ? -1 : fsim_read_primitive(r, &it, "operators");
    return s >= 0 ? s : n < 0 ? -2 : r->graph->node[n].source;
}

static bool all_operators(fsim_reader *r, fsim_node_set *of)
{
    const fsim_graph *g = r->graph;
    of->node = fsim_new(r->arena, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        if (g->node[n].phase == FSIM_FORWARD)
            of->node[of->count++] = n;
    return true;
}

static int by_number(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* All primitives of the operators that y names, in order; without y, all that there are. */
static bool read_operators(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn, const fsim_names *source,
                           fsim_node_set *of)
{
    const fsim_graph *g = r->graph;
    int room = 0;
    if (!y && !turn)
        return all_operators(r, of);
    if (!y || y->kind != FSIM_YAML_SEQUENCE || y->count == 0) {
        fsim_error(r->diag, y ? y->at : of->at, "'operators' wants a list of names");
        return false;
    }
    for (int i = 0; i < y->count; i++) {
        const int s = named(r, y->item[i], turn, source);
        if (s < -1)
            return false;
        for (int k = 0; s >= 0 && k < g->source[s].nodes; k++)
            *FSIM_PUSH(r->arena, of->node, of->count, room) = g->source[s].first + k;
    }
    if (of->count > 0)
        qsort(of->node, (size_t)of->count, sizeof *of->node, by_number);
    int kept = 0;
    for (int i = 0; i < of->count; i++)
        if (i == 0 || of->node[i] != of->node[kept - 1])
            of->node[kept++] = of->node[i];
    of->count = kept;
    return true;
}

/* true where there is no `when`. */
static bool read_when(fsim_reader *r, const fsim_yaml *y, bool *applies)
{
    const fsim_yaml *when = fsim_yaml_get(y, "when");
    *applies = true;
    return !when || fsim_read_flag(r, when, "'when'", applies);
}

/* An entry of these operators as one kernel. */
static void read_fused(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn, const fsim_names *source)
{
    static const char *const keys[] = {"kernel", "operators", "when"};
    fsim_graph *g = r->graph;
    fsim_node_set *of = &g->hand_fused[g->hand_fusions];
    of->at = y->at;
    fsim_yaml_check_keys(r->arena, r->diag, y, "an entry of 'calls'", keys, sizeof keys / sizeof *keys);
    if (read_operators(r, fsim_yaml_get(y, "operators"), turn, source, of) && of->count > 0)
        g->hand_fusions++;
    else
        *of = (fsim_node_set){0};
}

static void read_call(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn, const fsim_names *source)
{
    fsim_graph *g = r->graph;
    fsim_serving_call *call = &g->serving[g->servings];
    const fsim_yaml *kernel = NULL;
    bool applies = false;
    call->of.at = y->at;
    if (!fsim_want_mapping(r, y, "an entry of 'calls'") || !read_when(r, y, &applies) || !(kernel = kernel_of(r, y)))
        return;
    if (strcmp(kernel->text, fused) == 0 && applies)
        read_fused(r, y, turn, source);
    else if (strcmp(kernel->text, fused) != 0 && read_kind(r, kernel, call) && read_values(r, y, call) &&
             read_dtypes(r, y, call) && applies && has_ranks(r, y, call) && is_served(call) &&
             read_operators(r, fsim_yaml_get(y, "operators"), turn, source, &call->of) && call->of.count > 0)
        g->servings++;
    else
        *call = (fsim_serving_call){0};
}

static bool is_list(fsim_reader *r, const fsim_yaml *y)
{
    if (y && y->kind != FSIM_YAML_SEQUENCE)
        fsim_error(r->diag, y->at, "'calls' is %s; wants a list of calls", fsim_yaml_kind_name(y));
    return y && y->kind == FSIM_YAML_SEQUENCE;
}

void fsim_add_calls(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn)
{
    for (int i = 0; is_list(r, y) && i < y->count; i++)
        *FSIM_PUSH(r->arena, r->call, r->calls, r->call_room) = (fsim_pending_call){y->item[i], *turn};
}

void fsim_read_calls(fsim_reader *r, const fsim_yaml *y)
{
    fsim_graph *g = r->graph;
    const int errors = fsim_errors(r->diag), given = is_list(r, y) ? y->count : 0;
    g->serving = fsim_new(r->arena, fsim_serving_call, given + r->calls + 1);
    g->hand_fused = fsim_new(r->arena, fsim_node_set, given + r->calls + 1);
    fsim_names source = {0};
    for (int s = 0; s < g->sources && given + r->calls > 0; s++)
        fsim_names_set(r->arena, &source, g->source[s].name, s);
    for (int i = 0; i < given; i++)
        read_call(r, y->item[i], NULL, &source);
    for (int i = 0; i < r->calls && fsim_errors(r->diag) == errors; i++)
        read_call(r, r->call[i].yaml, &r->call[i].block_turn, &source);
    if (g->derived != FSIM_NOT_DERIVED) /* stacks that serve do not train */
        g->servings = g->hand_fusions = 0;
}
