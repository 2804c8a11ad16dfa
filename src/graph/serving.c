/* SPDX-License-Identifier: Apache-2.0 */
/* serving.c: `calls:` of a workload: which of its operators a serving stack runs as a call of its library. */
#include "graph/reader.h"

#include <string.h>

static const char *const names[FSIM_SERVING_KINDS] = {
#define FSIM_SERVING(id, name, price, factor, residual, values, meaning) name,
#include "graph/serving.def"
#undef FSIM_SERVING
};

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

static bool read_kind(fsim_reader *r, const fsim_yaml *y, fsim_serving_call *call)
{
    const fsim_yaml *kernel = fsim_yaml_get(y, "kernel");
    if (!kernel) {
        fsim_error(r->diag, y->at, "an entry of 'calls' has no 'kernel'");
        return false;
    }
    if (!fsim_want_scalar(r, kernel, "'kernel'"))
        return false;
    for (int k = 0; k < FSIM_SERVING_KINDS; k++)
        if (strcmp(kernel->text, names[k]) == 0) {
            call->kind = (fsim_serving_kind)k;
            return true;
        }
    fsim_error(r->diag, kernel->at, "'calls': no kernel '%s'%s", kernel->text,
               fsim_did_you_mean(r->arena, kernel->text, names, FSIM_SERVING_KINDS));
    return false;
}

static bool read_values(fsim_reader *r, const fsim_yaml *y, fsim_serving_call *call)
{
    static const char *const common[] = {"kernel", "operators", "dtype", "stored", "when"};
    enum { COMMON = sizeof common / sizeof *common };
    const char *key[COMMON + FSIM_SERVING_VALUES];
    memcpy(key, common, sizeof common);
    const int count = split(r->arena, values_of[call->kind], key + COMMON);
    bool ok = true;
    fsim_yaml_check_keys(r->arena, r->diag, y, "an entry of 'calls'", key, COMMON + count);
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
    }
    return ok;
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

/* All primitives of the operators that y names; without y, all that there are. */
static bool read_operators(fsim_reader *r, const fsim_yaml *y, fsim_node_set *of)
{
    const fsim_graph *g = r->graph;
    of->node = fsim_new(r->arena, int, g->nodes + 1);
    if (y && (y->kind != FSIM_YAML_SEQUENCE || y->count == 0)) {
        fsim_error(r->diag, y->at, "'operators' wants a list of names");
        return false;
    }
    bool *in = fsim_new(r->arena, bool, g->nodes + 1);
    for (int n = 0; n < g->nodes && !y; n++)
        in[n] = g->node[n].phase == FSIM_FORWARD;
    for (int i = 0; y && i < y->count; i++) {
        const int n = fsim_read_primitive(r, y->item[i], "operators");
        if (n < 0)
            return false;
        const fsim_source *s = &g->source[g->node[n].source];
        for (int k = s->first; k < s->first + s->nodes; k++)
            in[k] = true;
    }
    for (int n = 0; n < g->nodes; n++)
        if (in[n])
            of->node[of->count++] = n;
    return true;
}

static bool read_when(fsim_reader *r, const fsim_yaml *y, bool *applies)
{
    const fsim_yaml *when = fsim_yaml_get(y, "when");
    return !when || fsim_read_flag(r, when, "'when'", applies);
}

void fsim_read_calls(fsim_reader *r, const fsim_yaml *y)
{
    fsim_graph *g = r->graph;
    if (y && y->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "'calls' is %s; wants a list of calls", fsim_yaml_kind_name(y));
        return;
    }
    g->serving = fsim_new(r->arena, fsim_serving_call, (y ? y->count : 0) + 1);
    for (int i = 0; y && i < y->count; i++) {
        fsim_serving_call *call = &g->serving[g->servings];
        bool applies = true;
        call->of.at = y->item[i]->at;
        if (fsim_want_mapping(r, y->item[i], "an entry of 'calls'") && read_kind(r, y->item[i], call) &&
            read_values(r, y->item[i], call) && read_dtypes(r, y->item[i], call) &&
            read_operators(r, fsim_yaml_get(y->item[i], "operators"), &call->of) &&
            read_when(r, y->item[i], &applies) && applies)
            g->servings++;
    }
    if (g->derived != FSIM_NOT_DERIVED) /* stacks that serve do not train */
        g->servings = 0;
}
