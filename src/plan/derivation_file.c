/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/derivation_file.h"

#include "plan/price/sdpa.h"
#include <stdlib.h>
#include <string.h>

const char *const fsim_fate_words[FSIM_UNREAD + 1] = {"held", "passed", "dropped", "dropped_after", "unread"};
enum { FATES = FSIM_UNREAD + 1 };

/* The forms in the file, one for each derivative that has several. NULL after an error. */
static const signed char *forms_of(const fsim_graph *g, const fsim_yaml *list, fsim_arena *a, fsim_diag *d)
{
    signed char *form = fsim_new(a, signed char, g->choices + 1);
    for (int i = 0; i < g->choices; i++)
        form[i] = (signed char)g->choice[i].form;
    if (!list)
        return form;
    if (list->kind != FSIM_YAML_SEQUENCE || list->count != g->choices) {
        fsim_error(d, list->at,
                   "'forms' is a list of %d numbers: one for each derivative of '%s' that has several forms",
                   g->choices, g->name);
        return NULL;
    }
    for (int i = 0; i < list->count; i++) {
        const fsim_yaml *x = list->item[i];
        char *end = NULL;
        const long value = x->kind == FSIM_YAML_SCALAR ? strtol(x->text, &end, 10) : -1;
        if (value < 0 || value >= g->choice[i].forms || !end || *end || end == x->text) {
            fsim_error(d, x->at, "wanted a form from 0 to %d of the derivative of '%s'", g->choice[i].forms - 1,
                       g->node[g->choice[i].node].name);
            return NULL;
        }
        form[i] = (signed char)value;
    }
    return form;
}

static int tensor_named(const fsim_graph *g, const fsim_yaml *name, fsim_arena *a, fsim_diag *d)
{
    const char **all = fsim_new(a, const char *, g->own_tensors + 1);
    for (int t = 0; t < g->own_tensors; t++) {
        if (strcmp(g->tensor[t].name, name->text) == 0)
            return t;
        all[t] = g->tensor[t].name;
    }
    fsim_error(d, name->at, "'%s' has no tensor '%s'%s", g->name, name->text,
               fsim_did_you_mean(a, name->text, all, g->own_tensors));
    return -1;
}

/* What becomes of each tensor of the forward pass. NULL after an error. */
static const signed char *fates_of(const fsim_graph *g, const fsim_yaml *map, fsim_arena *a, fsim_diag *d)
{
    signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
    if (map->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, map->at, "'again' is a mapping of tensors to words, not %s", fsim_yaml_kind_name(map));
        return NULL;
    }
    for (int i = 0; i < map->count; i++) {
        const fsim_yaml *word = map->item[i];
        const int t = tensor_named(g, map->key[i], a, d);
        int which = 0;
        while (which < FATES && (word->kind != FSIM_YAML_SCALAR || strcmp(word->text, fsim_fate_words[which]) != 0))
            which++;
        if (which == FATES)
            fsim_error(d, word->at, "'%s' is held, passed, dropped, dropped_after or unread", map->key[i]->text);
        if (t < 0 || which == FATES)
            return NULL;
        fate[t] = (signed char)which;
    }
    return fate;
}

fsim_graph *fsim_derived_as(const fsim_graph *g, const fsim_yaml *derivation, fsim_arena *a, fsim_diag *d)
{
    static const char *const keys[] = {"forms", "again", "calls"};
    const int errors = fsim_errors(d);
    if (derivation->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, derivation->at, "'derivation' is a mapping, not %s", fsim_yaml_kind_name(derivation));
        return NULL;
    }
    fsim_yaml_check_keys(a, d, derivation, "a derivation", keys, 3);
    if (g->derived != FSIM_REVERSE || !g->origin) {
        fsim_error(d, derivation->at, "this is a plan of a workload with gradients: say --train");
        return NULL;
    }
    const fsim_yaml *again = fsim_yaml_get(derivation, "again"), *calls = fsim_yaml_get(derivation, "calls");
    const signed char *form = forms_of(g, fsim_yaml_get(derivation, "forms"), a, d),
                      *fate = again && form ? fates_of(g, again, a, d) : NULL;
    if (fsim_errors(d) > errors)
        return NULL;
    fsim_graph *out = fsim_graph_with_forms(g, form, g->choices, a);
    out = out && fate ? fsim_graph_with_fates(out, fate, g->own_tensors, a) : out;
    if (!out)
        fsim_error(d, derivation->at, "'%s' can't be differentiated so", g->name);
    else if (calls && calls->kind == FSIM_YAML_SCALAR && strcmp(calls->text, "true") == 0)
        fsim_sdpa_mark(out, NULL, FSIM_BY_ATEN);
    return out;
}
