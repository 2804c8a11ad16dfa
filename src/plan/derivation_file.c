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

/* A number of an event. */
static bool event_in(const fsim_yaml *item, const char *key, int *out, fsim_diag *d)
{
    const fsim_yaml *x = fsim_yaml_get(item, key);
    char *end = NULL;
    const long value = x && x->kind == FSIM_YAML_SCALAR ? strtol(x->text, &end, 10) : -1;
    if (value < 0 || value > FSIM_MOST_EVENTS || !end || *end || end == x->text) {
        fsim_error(d, x ? x->at : item->at, "'%s' is a number from 0 to %d", key, FSIM_MOST_EVENTS);
        return false;
    }
    *out = (int)value;
    return true;
}

static int operator_named(const fsim_graph *g, const fsim_yaml *name, fsim_arena *a, fsim_diag *d)
{
    const char **all = fsim_new(a, const char *, g->sources + 1);
    for (int s = 0; s < g->sources; s++) {
        if (strcmp(g->source[s].name, name->text) == 0)
            return s;
        all[s] = g->source[s].name;
    }
    fsim_error(d, name->at, "'%s' has no operator '%s'%s", g->name, name->text,
               fsim_did_you_mean(a, name->text, all, g->sources));
    return -1;
}

static bool copy_of(const fsim_graph *g, const fsim_yaml *item, fsim_copy_read *out, fsim_arena *a, fsim_diag *d)
{
    static const char *const keys[] = {"event", "operator", "tensor", "from"};
    *out = (fsim_copy_read){.source = -1};
    if (item->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, item->at, "a copy is a mapping {event: 0, operator: NAME, tensor: NAME, from: 1}, not %s",
                   fsim_yaml_kind_name(item));
        return false;
    }
    const fsim_yaml *tensor = fsim_yaml_get(item, "tensor"), *op = fsim_yaml_get(item, "operator");
    fsim_yaml_check_keys(a, d, item, "a copy", keys, 4);
    if (!event_in(item, "event", &out->event, d) || !event_in(item, "from", &out->from, d))
        return false;
    if (!tensor || tensor->kind != FSIM_YAML_SCALAR || (out->event == 0 && (!op || op->kind != FSIM_YAML_SCALAR))) {
        fsim_error(d, item->at, "a copy names its 'tensor', and with event 0 the 'operator' whose derivative reads it");
        return false;
    }
    out->tensor = tensor_named(g, tensor, a, d);
    out->source = out->event == 0 ? operator_named(g, op, a, d) : -1;
    return out->tensor >= 0 && (out->event > 0 || out->source >= 0);
}

/* Adds the file's copies to `how`. False after an error. */
static bool copies_of(const fsim_graph *g, const fsim_yaml *list, fsim_derive *how, fsim_arena *a, fsim_diag *d)
{
    if (list->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(d, list->at, "'copies' is a list, not %s", fsim_yaml_kind_name(list));
        return false;
    }
    fsim_copy_read *read = fsim_new(a, fsim_copy_read, list->count + 1);
    for (int i = 0; i < list->count; i++)
        if (!copy_of(g, list->item[i], &read[i], a, d))
            return false;
    how->read = read;
    how->reads = list->count;
    return true;
}

fsim_graph *fsim_derived_as(const fsim_graph *g, const fsim_yaml *derivation, fsim_arena *a, fsim_diag *d)
{
    static const char *const keys[] = {"forms", "again", "copies", "calls"};
    const int errors = fsim_errors(d);
    if (derivation->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, derivation->at, "'derivation' is a mapping, not %s", fsim_yaml_kind_name(derivation));
        return NULL;
    }
    fsim_yaml_check_keys(a, d, derivation, "a derivation", keys, 4);
    if (g->derived != FSIM_REVERSE || !g->origin) {
        fsim_error(d, derivation->at, "this is a plan of a workload with gradients: say --train");
        return NULL;
    }
    const fsim_yaml *again = fsim_yaml_get(derivation, "again"), *calls = fsim_yaml_get(derivation, "calls"),
                    *copies = fsim_yaml_get(derivation, "copies");
    const signed char *form = forms_of(g, fsim_yaml_get(derivation, "forms"), a, d),
                      *fate = again && form ? fates_of(g, again, a, d) : NULL;
    fsim_derive how = {.form = form, .forms = g->choices, .fate = fate, .fates = fate ? g->own_tensors : 0};
    if (fsim_errors(d) > errors || (copies && !copies_of(g, copies, &how, a, d)))
        return NULL;
    fsim_graph *out = fsim_graph_with_forms(g, form, g->choices, a);
    out = out && (fate || how.reads > 0) ? fsim_graph_with_copies(out, &how, a) : out;
    if (!out)
        fsim_error(d, derivation->at, "'%s' can't be differentiated so", g->name);
    else if (calls && calls->kind == FSIM_YAML_SCALAR && strcmp(calls->text, "true") == 0)
        fsim_sdpa_mark(out, NULL, FSIM_BY_ATEN);
    return out;
}
