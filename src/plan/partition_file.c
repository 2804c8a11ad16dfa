/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON file is read as YAML, which includes JSON, so that errors have positions. */
#include "plan/partition_file.h"

#include "base/names.h"
#include "fusion/sets.h"
#include "input/yaml.h"
#include "plan/derivation_file.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include "plan/search/search.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const fsim_graph *g;
    fsim_arena *a;
    fsim_diag *d;
    fsim_names node, source; /* by name */
    bool *in_parts; /* per operator of the workload: the file names one of its primitives other than the last */
    int *last;      /* per primitive: the last group that named it */
} reader;

/* Groups. */

static const char *const spelling[] = {"plan", "groups", "kernels"};

static fsim_maker maker_named(const fsim_yaml *strategy)
{
    for (int s = 0; strategy && strategy->kind == FSIM_YAML_SCALAR && s < FSIM_STRATEGY_COUNT; s++)
        if (strcmp(strategy->text, fsim_strategy_names[s]) == 0)
            return fsim_maker_of((fsim_strategy)s);
    return FSIM_BY_FUSESIM;
}

/* The GPU that a plan of --json names; "" where it names none. */
static const char *gpu_of(const fsim_yaml *plan)
{
    const fsim_yaml *hw = plan->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(plan, "hardware") : NULL;
    const fsim_yaml *name = hw && hw->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(hw, "name") : NULL;
    return name && name->kind == FSIM_YAML_SCALAR ? name->text : "";
}

/* The plan to read from a list of plans: the only one, or the one for the given GPU. NULL after an error. */
static const fsim_yaml *plan_in(const reader *r, const fsim_yaml *plans, const char *gpu)
{
    const fsim_yaml *found = plans->count == 1 ? plans->item[0] : NULL;
    const char *names = "";
    int matches = 0;
    for (int i = 0; i < plans->count && plans->count > 1; i++) {
        const char *name = gpu_of(plans->item[i]);
        names = fsim_printf(r->a, "%s%s%s", names, i ? ", " : "", *name ? name : "(no name)");
        if (gpu && strcmp(gpu, name) == 0) {
            found = plans->item[i];
            matches++;
        }
    }
    if (plans->count == 0)
        fsim_error(r->d, plans->at, "this file holds no plan: 'plans' is empty");
    else if (!found || matches > 1)
        fsim_error(r->d, plans->at,
                   "this file holds %d plans, for %s: say --hw with one of these GPUs, to take its plan%s%s%s",
                   plans->count, names, gpu ? " (not '" : "", gpu ? gpu : "", gpu ? "')" : "");
    return !found || matches > 1 ? NULL : found;
}

/* The plan to read from a document of --json; other documents are returned unchanged. NULL after an error. */
static const fsim_yaml *chosen_plan(const reader *r, const fsim_yaml *root, const char *gpu)
{
    enum { NEWEST_SCHEMA = 2 };
    const bool list_of_plans = root->kind == FSIM_YAML_SEQUENCE && root->count > 0 &&
                               root->item[0]->kind == FSIM_YAML_MAPPING && fsim_yaml_get(root->item[0], "plan");
    const fsim_yaml *schema = root->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(root, "schema") : NULL;
    const fsim_yaml *plans = root->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(root, "plans") : NULL;
    if (schema && (schema->kind != FSIM_YAML_SCALAR || strtol(schema->text, NULL, 10) > NEWEST_SCHEMA)) {
        fsim_error(r->d, schema->at, "this file has schema %s; this release reads schemas 1 and %d",
                   schema->kind == FSIM_YAML_SCALAR ? schema->text : fsim_yaml_kind_name(schema), NEWEST_SCHEMA);
        return NULL;
    }
    if (plans && plans->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->d, plans->at, "'plans' is a list of plans, not %s", fsim_yaml_kind_name(plans));
        return NULL;
    }
    return plans ? plan_in(r, plans, gpu) : list_of_plans ? plan_in(r, root, gpu) : root;
}

/* The list of groups, at whatever level of the document it is, and beside it how the workload was differentiated. NULL
 * after an error. */
static const fsim_yaml *groups_of(const reader *r, const fsim_yaml *at, const char *gpu, fsim_maker *maker,
                                  const fsim_yaml **derivation)
{
    at = chosen_plan(r, at, gpu);
    for (int depth = 0; at && depth < 3 && at->kind == FSIM_YAML_MAPPING; depth++) {
        const fsim_yaml *next = NULL;
        *maker = maker_named(fsim_yaml_get(at, "strategy"));
        *derivation = fsim_yaml_get(at, "derivation");
        for (int i = 0; i < 3 && !next; i++)
            next = fsim_yaml_get(at, spelling[i]);
        if (!next)
            fsim_error(r->d, at->at,
                       "this is no plan: wanted 'plans', 'plan', 'kernels' or 'groups', or a list of lists of "
                       "primitives");
        at = next;
    }
    if (at && at->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->d, at->at, "a plan is a list of kernels, not %s", fsim_yaml_kind_name(at));
        return NULL;
    }
    return at;
}

/* The names of one group. NULL after an error. */
static const fsim_yaml *names_of(const reader *r, const fsim_yaml *group, int number)
{
    const fsim_yaml *names = group->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(group, "operators") : group;
    if (!names)
        fsim_error(r->d, group->at, "kernel %d has no 'operators'", number);
    else if (names->kind != FSIM_YAML_SEQUENCE)
        fsim_error(r->d, names->at, "group %d is %s: wanted a list of primitives", number, fsim_yaml_kind_name(names));
    else if (names->count == 0)
        fsim_error(r->d, names->at, "group %d is empty", number);
    return names && names->kind == FSIM_YAML_SEQUENCE && names->count > 0 ? names : NULL;
}

static void index_names(reader *r)
{
    const fsim_graph *g = r->g;
    for (int s = 0; s < g->sources; s++)
        fsim_names_set(r->a, &r->source, g->source[s].name, s);
    for (int n = 0; n < g->nodes; n++)
        for (int k = g->node[n].results; k-- > 0;)
            fsim_names_set(r->a, &r->node, g->tensor[g->node[n].result[k]].name, n);
    for (int n = 0; n < g->nodes; n++)
        fsim_names_set(r->a, &r->node, g->node[n].name, n);
}

static const fsim_source *source_named(const reader *r, const char *name)
{
    const int s = fsim_names_get(&r->source, name);
    return s >= 0 ? &r->g->source[s] : NULL;
}

static void note_parts(reader *r, const fsim_yaml *names)
{
    for (int i = 0; i < names->count; i++) {
        const int n = names->item[i]->kind == FSIM_YAML_SCALAR ? fsim_names_get(&r->node, names->item[i]->text) : -1;
        if (n >= 0 && !source_named(r, names->item[i]->text))
            r->in_parts[r->g->node[n].source] = true;
    }
}

static void unknown_name(const reader *r, const fsim_yaml *name)
{
    const fsim_graph *g = r->g;
    const char **all = fsim_new(r->a, const char *, g->nodes + g->sources + 1);
    if (name->kind != FSIM_YAML_SCALAR) {
        fsim_error(r->d, name->at, "%s where the name of a primitive is wanted", fsim_yaml_kind_name(name));
        return;
    }
    for (int n = 0; n < g->nodes; n++)
        all[n] = g->node[n].name;
    for (int s = 0; s < g->sources; s++)
        all[g->nodes + s] = g->source[s].name;
    fsim_error(r->d, name->at, "'%s' has no primitive or operator '%s'%s", g->name, name->text,
               fsim_did_you_mean(r->a, name->text, all, g->nodes + g->sources));
}

/* Adds node[first, first + count) to part, which is group `number`. */
static void add(reader *r, fsim_part *part, const fsim_yaml *name, int number, int first, int count)
{
    for (int n = first; n < first + count; n++) {
        if (r->last[n] == number)
            fsim_error(r->d, name->at, "'%s' is twice in group %d", r->g->node[n].name, number);
        else
            part->node[part->count++] = n;
        r->last[n] = number;
    }
}

static fsim_part read_group(reader *r, const fsim_yaml *names, int number)
{
    const fsim_graph *g = r->g;
    int most = 0;
    for (int i = 0; i < names->count; i++) {
        const fsim_source *s = names->item[i]->kind == FSIM_YAML_SCALAR ? source_named(r, names->item[i]->text) : NULL;
        most += s ? s->nodes + 1 : 1;
    }
    fsim_part part = {0, fsim_new(r->a, int, most), fsim_new(r->a, bool, most)};
    for (int i = 0; i < names->count; i++) {
        const fsim_yaml *name = names->item[i];
        const char *text = name->kind == FSIM_YAML_SCALAR ? name->text : "";
        const fsim_source *s = source_named(r, text);
        const int n = fsim_names_get(&r->node, text);
        if (s && !r->in_parts[s - g->source])
            add(r, &part, name, number, s->first, s->nodes); /* a view has no primitives: nothing to add */
        else if (n >= 0)
            add(r, &part, name, number, n, 1);
        else
            unknown_name(r, name);
    }
    if (part.count > 0)
        qsort(part.node, (size_t)part.count, sizeof *part.node, fsim_by_int);
    return part;
}

/* Does the file say that the plan has calls that the workload names? */
static bool has_calls(const fsim_graph *g, const fsim_yaml *derivation)
{
    const fsim_yaml *calls = derivation && derivation->kind == FSIM_YAML_MAPPING && g->servings > 0
                                 ? fsim_yaml_get(derivation, "calls")
                                 : NULL;
    return calls && calls->kind == FSIM_YAML_SCALAR && strcmp(calls->text, "true") == 0;
}

bool fsim_user_plan_read(const fsim_graph *g, fsim_arena *a, fsim_diag *d, const fsim_user_plan_file *file,
                         fsim_user_plan *out)
{
    const int errors = fsim_errors(d);
    reader r = {.g = g, .a = a, .d = d};
    const fsim_yaml *root = fsim_yaml_parse_json(a, d, file->path, file->text, file->bytes), *list, *derivation = NULL;
    fsim_maker maker = FSIM_BY_FUSESIM;
    list = root ? groups_of(&r, root, file->gpu, &maker, &derivation) : NULL;
    const bool calls = list && has_calls(g, derivation), otherwise = derivation && !(calls && derivation->count == 1);
    fsim_graph *derived = list && otherwise ? fsim_derived_as(g, derivation, a, d) : NULL;
    if (!list || (otherwise && !derived))
        return false;
    r.g = derived ? derived : g;
    r.in_parts = fsim_new(a, bool, r.g->sources + 1);
    r.last = fsim_new(a, int, r.g->nodes + 1);
    index_names(&r);
    const fsim_yaml **names = fsim_new(a, const fsim_yaml *, list->count + 1);
    *out = (fsim_user_plan){derived,
                            {0, fsim_new(a, fsim_part, list->count + 1)},
                            calls,
                            maker,
                            {.file = file->path},
                            fsim_new(a, fsim_loc, list->count + 1)};
    for (int i = 0; i < list->count; i++)
        if ((names[i] = names_of(&r, list->item[i], i + 1)))
            note_parts(&r, names[i]);
    for (int i = 0; i < list->count; i++) {
        const fsim_part part = names[i] ? read_group(&r, names[i], i + 1) : (fsim_part){0};
        out->at[out->partition.parts] = list->item[i]->at;
        if (part.count > 0)
            out->partition.part[out->partition.parts++] = part;
        else if (names[i] && fsim_errors(d) == errors)
            fsim_warning(d, names[i]->at, "group %d holds views only: no kernel", i + 1);
    }
    return fsim_errors(d) == errors;
}

/* Legality. */

typedef struct {
    fsim_problem *p;
    const fsim_graph *g;
    const fsim_user_plan *plan;
    fsim_diag *d;
    fsim_arena *a;
    int *holders, *first; /* per primitive: how many groups contain it; the first of those, or -1 */
    bool *waits;          /* per group: an error was reported for it that also keeps other groups from starting */
} checker;

static bool contains(const fsim_part *part, int n)
{
    return bsearch(&n, part->node, (size_t)part->count, sizeof n, fsim_by_int) != NULL;
}

/* "group 3 (a + b + 2 more)" */
static const char *group_text(const checker *c, int i)
{
    enum { SHOWN = 3 };
    const fsim_part *part = &c->plan->partition.part[i];
    const char *list = "";
    for (int k = 0; k < part->count && k < SHOWN; k++)
        list = fsim_printf(c->a, "%s%s%s", list, k ? " + " : "", c->g->node[part->node[k]].name);
    return part->count > SHOWN ? fsim_printf(c->a, "group %d (%s + %d more)", i + 1, list, part->count - SHOWN)
                               : fsim_printf(c->a, "group %d (%s)", i + 1, list);
}

/* May a primitive be in no group? A permutation that is only a change of strides may, where nobody reads it or every
 * reader's group contains it: eager plans leave those out. */
static bool may_be_missing(const checker *c, int n)
{
    const fsim_node *node = &c->g->node[n];
    return fsim_ops[node->op].class == FSIM_PERMUTE && c->g->source[node->source].nodes == 1 &&
           c->g->tensor[node->result[0]].readers == 0;
}

static void check_cover(checker *c)
{
    const fsim_partition *all = &c->plan->partition;
    for (int n = 0; n < c->g->nodes; n++)
        c->first[n] = -1;
    for (int i = 0; i < all->parts; i++)
        for (int k = 0; k < all->part[i].count; k++) {
            const int n = all->part[i].node[k];
            c->first[n] = c->holders[n]++ ? c->first[n] : i;
        }
    for (int i = 0; i < all->parts; i++)
        for (int k = 0; k < all->part[i].count; k++) {
            const int n = all->part[i].node[k];
            const fsim_op_row *op = &fsim_ops[c->g->node[n].op];
            if (c->first[n] == i)
                continue;
            if (!fsim_classes[op->class].clones)
                fsim_error(c->d, c->plan->at[i], "'%s' is in groups %d and %d: %s is not computed twice",
                           c->g->node[n].name, c->first[n] + 1, i + 1, op->name);
            else if (!c->p->recompute)
                fsim_error(c->d, c->plan->at[i], "'%s' is in groups %d and %d, and --recompute is off",
                           c->g->node[n].name, c->first[n] + 1, i + 1);
        }
    enum { NAMED = 8 };
    const char *missing = "";
    int count = 0;
    for (int n = 0; n < c->g->nodes; n++)
        if (c->holders[n] == 0 && !may_be_missing(c, n) && ++count <= NAMED)
            missing = fsim_printf(c->a, "%s%s'%s'", missing, count > 1 ? ", " : "", c->g->node[n].name);
    if (count > NAMED)
        missing = fsim_printf(c->a, "%s and %d more", missing, count - NAMED);
    if (count > 0)
        fsim_error(c->d, c->plan->file, "%s %s in no group", missing, count > 1 ? "are" : "is");
}

/* Must its group store primitive n? If several groups contain it, one of them does; the launch order decides which.
 * A group that does not read it itself can only be that one. */
static bool is_stored(const checker *c, const fsim_part *part, int n)
{
    const fsim_node *node = &c->g->node[n];
    bool stored = node->effect, read = false;
    for (int r = 0; r < node->results; r++) {
        const fsim_tensor *t = &c->g->tensor[node->result[r]];
        stored = stored || t->output || t->materialize;
        for (int k = 0; k < t->readers; k++) {
            const bool inside = contains(part, t->reader[k]);
            read = read || inside;
            stored = stored || !inside;
        }
    }
    return stored && (c->holders[n] == 1 || !read);
}

/* Is what only this group computes on one side of the barrier? */
static bool on_one_side(const checker *c, const fsim_part *part, fsim_refusal *why)
{
    int *own = fsim_new(c->a, int, part->count + 1), count = 0;
    for (int k = 0; k < part->count; k++)
        if (c->holders[part->node[k]] == 1)
            own[count++] = part->node[k];
    return fsim_on_one_side(c->g, own, count, why);
}

static bool is_kernel(const checker *c, const fsim_part *part, fsim_refusal *why)
{
    bool *stored = fsim_new(c->a, bool, part->count), again = false;
    for (int k = 0; k < part->count; k++) {
        stored[k] = is_stored(c, part, part->node[k]);
        again = again || c->holders[part->node[k]] > 1;
    }
    if (!fsim_user_allows(c->p, part->node, part->count, why) || !on_one_side(c, part, why) ||
        !fsim_connected(c->g, part->node, part->count, c->a, why) ||
        (!again && !fsim_convex(c->g, part->node, part->count, c->a, why)))
        return false;
    fsim_candidate *candidate = fsim_candidate_of(c->p, part->node, part->count, stored);
    *why = candidate->why;
    if (!candidate->legal)
        return false;
    *why = (fsim_refusal){.rule = FSIM_RULE_SHARED,
                          .a = part->node[0],
                          .b = -1,
                          .through = -1,
                          .limit = (double)c->p->limits.shared_per_block,
                          .unit = FSIM_IN_SHARED_BYTES};
    return fsim_kernel_for(c->p, candidate, fsim_new(c->a, bool, candidate->group->reads + 1),
                           fsim_new(c->a, bool, candidate->group->writes + 1)) != NULL;
}

static void check_groups(checker *c)
{
    for (int i = 0; i < c->plan->partition.parts; i++) {
        fsim_refusal why = {0};
        const fsim_part *part = &c->plan->partition.part[i];
        if (is_kernel(c, part, &why))
            continue;
        c->waits[i] = why.rule == FSIM_RULE_CONVEXITY;
        const char *text = fsim_refusal_text(c->g, &why, c->a), *name = c->g->node[why.a].name;
        const bool named = why.b < 0 || strstr(text, fsim_printf(c->a, "'%s'", name));
        const char *pair = named ? ""
                                 : fsim_printf(c->a, "'%s' with '%s'%s ", name, c->g->node[why.b].name,
                                               why.unit == FSIM_IN_BARRIER ? ":" : "");
        fsim_error(c->d, c->plan->at[i], "%s is no kernel: %s%s (rule %s)", group_text(c, i), pair, text,
                   fsim_rule_names[why.rule]);
    }
}

/* A primitive outside group i that group i reads and that has not run yet, or -1. */
static int waits_for(const checker *c, int i, const bool *ran)
{
    const fsim_part *part = &c->plan->partition.part[i];
    for (int k = 0; k < part->count; k++)
        for (int arg = 0; arg < c->g->node[part->node[k]].args; arg++) {
            const int from = c->g->tensor[c->g->node[part->node[k]].arg[arg].tensor].producer;
            if (from >= 0 && !ran[from] && c->holders[from] > 0 && !contains(part, from))
                return from;
        }
    return -1;
}

/* Runs groups as far as possible. If some are left, reports one circle of groups that wait for each other. */
static void check_cycles(checker *c)
{
    const fsim_partition *all = &c->plan->partition;
    bool *ran = fsim_new(c->a, bool, c->g->nodes + 1), *done = fsim_new(c->a, bool, all->parts + 1), more = true,
         blamed = false;
    while (more) {
        more = false;
        for (int i = 0; i < all->parts; i++) {
            if (done[i] || waits_for(c, i, ran) >= 0)
                continue;
            done[i] = more = true;
            for (int k = 0; k < all->part[i].count; k++)
                ran[all->part[i].node[k]] = true;
        }
    }
    int at = 0, *round = fsim_new(c->a, int, all->parts + 1), steps = 0, start = 0;
    while (at < all->parts && done[at])
        at++;
    if (at == all->parts)
        return;
    int *seen = fsim_new(c->a, int, all->parts + 1); /* per group: 1 + its position in the walk */
    for (; !seen[at]; at = c->first[waits_for(c, at, ran)]) {
        round[steps++] = at;
        seen[at] = steps;
    }
    const char *text = "";
    for (start = seen[at] - 1; start < steps; start++) {
        text = fsim_printf(c->a, "%s%s%s needs '%s'", text, *text ? ", " : "", group_text(c, round[start]),
                           c->g->node[waits_for(c, round[start], ran)].name);
        blamed = blamed || c->waits[round[start]];
    }
    if (!blamed)
        fsim_error(c->d, c->plan->at[at], "groups wait for each other: %s (rule %s)", text,
                   fsim_rule_names[FSIM_RULE_CYCLE]);
}

bool fsim_user_plan_price(fsim_problem *p, const fsim_user_plan *plan, fsim_diag *d, fsim_arena *a, fsim_plan *out)
{
    const fsim_graph *g = p->graph;
    const int errors = fsim_errors(d);
    checker c = {p,
                 g,
                 plan,
                 d,
                 a,
                 fsim_new(a, int, g->nodes + 1),
                 fsim_new(a, int, g->nodes + 1),
                 fsim_new(a, bool, plan->partition.parts + 1)};
    fsim_refusal why = {0};
    check_cover(&c);
    check_groups(&c);
    check_cycles(&c);
    if (fsim_errors(d) > errors)
        return false;
    if (!fsim_price(p, &plan->partition, a, out, &why)) {
        fsim_error(d, plan->file, "this is no plan of '%s': '%s'%s: %s", g->name, g->node[why.a].name,
                   why.b >= 0 ? fsim_printf(a, " with '%s'", g->node[why.b].name) : "", fsim_refusal_text(g, &why, a));
        return false;
    }
    out->strategy = fsim_strategy_names[FSIM_STRATEGY_FILE];
    return true;
}
