/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mend.h"

#include "base/names.h"

#include <string.h>

/* A node that is refused hides what reads it, so graphs are made until none is; of no more operators than this in all.
 */
enum { MOST_OPERATORS = 1 << 21 };

/* A node of the file, and the operators of the tree that it became. */
typedef struct {
    const char *place, *from, *why; /* from: the file's operator; why it is a copy from now on; NULL: it is none */
    bool tried, mended;
    int first, last; /* its operators, places in the tree; those of others may stand between */
} node;

typedef struct {
    fsim_arena *a;
    const fsim_mended *x;
    fsim_yaml *ops;
    fsim_names at; /* place -> node */
    node *node;
    int nodes, room;
    int *of;            /* the node of each operator */
    fsim_names outside; /* tensors that another node than their maker reads, or that are results */
} mending;

static const char *text_at(const fsim_yaml *y, int i)
{
    return y->kind == FSIM_YAML_SCALAR ? y->text : y->item[i]->text;
}
static int count_of(const fsim_yaml *y) { return !y ? 0 : y->kind == FSIM_YAML_SCALAR ? 1 : y->count; }
static const fsim_yaml *field(const mending *m, int op, const char *key)
{
    return fsim_yaml_get(m->ops->item[op], key);
}

static int node_at(mending *m, const char *place)
{
    int n = fsim_names_get(&m->at, place);
    if (n < 0) {
        n = m->nodes;
        *FSIM_PUSH(m->a, m->node, m->nodes, m->room) = (node){.place = place};
        fsim_names_set(m->a, &m->at, place, n);
    }
    return n;
}

/* The nodes of the operators as they are now. */
static void look(mending *m)
{
    fsim_names maker = {0};
    const fsim_yaml *outputs = fsim_yaml_get(m->x->yaml, "outputs");
    m->of = fsim_new(m->a, int, m->ops->count + 1);
    m->outside = (fsim_names){0};
    for (int n = 0; n < m->nodes; n++)
        m->node[n].first = -1;
    for (int i = 0; i < m->ops->count; i++) {
        const char *place = m->ops->item[i]->at.file;
        const fsim_yaml *from = field(m, i, "from"), *out = field(m, i, "out");
        m->of[i] = node_at(m, place ? place : "");
        node *n = &m->node[m->of[i]];
        n->first = n->first < 0 ? i : n->first;
        n->last = i;
        n->from = from ? from->text : "?";
        for (int k = 0; k < count_of(out); k++)
            fsim_names_set(m->a, &maker, text_at(out, k), m->of[i]);
    }
    for (int i = 0; i < m->ops->count; i++) {
        const fsim_yaml *in = field(m, i, "in");
        for (int k = 0; k < count_of(in); k++)
            if (fsim_names_get(&maker, text_at(in, k)) != m->of[i])
                fsim_names_set(m->a, &m->outside, text_at(in, k), 1);
    }
    for (int i = 0; i < count_of(outputs); i++)
        fsim_names_set(m->a, &m->outside, text_at(outputs, i), 1);
}

/* Is it refused for the first time? */
static bool refuse(node *n, fsim_arena *a, const char *why)
{
    if (n->tried)
        return false;
    n->tried = true;
    n->why = fsim_strdup(a, why);
    return true;
}

/* The shape that a tensor of the graph has in spite of what the file says; NULL: it is as the file says. */
static const fsim_shape *other_shape(const mending *m, const fsim_graph *g, const fsim_names *made, const char *name)
{
    fsim_draft_result said;
    const int t = fsim_names_get(made, name);
    if (t < 0 || !fsim_draft_says(m->x->draft, name, &said))
        return NULL;
    const fsim_shape *s = &g->tensor[t].shape;
    const bool same =
        s->rank == said.shape.rank && memcmp(s->dim, said.shape.dim, (size_t)s->rank * sizeof *s->dim) == 0;
    return same ? NULL : s;
}

/* Refuses nodes that make other shapes than the file says, of inputs that are as it says. Scratch is not kept. */
static bool compare(mending *m, const fsim_graph *g, fsim_arena *scratch)
{
    fsim_names made = {0}, wrong = {0};
    bool any = false;
    for (int t = 0; t < g->tensors; t++)
        fsim_names_set(scratch, &made, g->tensor[t].name, t);
    for (int i = 0; i < m->ops->count; i++) {
        const fsim_yaml *in = field(m, i, "in"), *out = field(m, i, "out");
        bool follows = false;
        for (int k = 0; k < count_of(in); k++)
            follows = follows || fsim_names_get(&wrong, text_at(in, k)) >= 0;
        for (int k = 0; k < count_of(out); k++) {
            const char *name = text_at(out, k);
            const fsim_shape *other = other_shape(m, g, &made, name);
            if (other || follows)
                fsim_names_set(scratch, &wrong, name, 1);
            if (other && !follows)
                any |= refuse(&m->node[m->of[i]], m->a,
                              fsim_printf(scratch, "its result would be %s", fsim_shape_text(scratch, other)));
        }
    }
    return any;
}

/* Makes the graph. Is a node refused that was not before? */
static bool try_graph(mending *m, const char *path)
{
    fsim_arena *scratch = fsim_arena_new();
    fsim_diag *quiet = fsim_diag_new(scratch);
    fsim_diagnostic *message;
    const fsim_graph *g = fsim_graph_of(scratch, quiet, path, m->x->yaml, &(fsim_bindings){0});
    const int messages = g ? 0 : fsim_diag_list(quiet, scratch, &message);
    bool any = g && m->x->states_shapes && compare(m, g, scratch);
    for (int i = 0; i < messages; i++) {
        const bool placed = message[i].severity == FSIM_ERROR && message[i].file;
        const int n = placed ? fsim_names_get(&m->at, message[i].file) : -1;
        any |= n >= 0 && refuse(&m->node[n], m->a, message[i].message);
    }
    fsim_arena_free(scratch);
    return any;
}

/* The ends of a node: what it reads that it does not make, and its results that others read. */
typedef struct {
    const char **in;
    fsim_draft_result *out;
    int ins, outs, in_room, out_room;
} ends;

/* False where the file does not say what a result is, or nobody reads one. */
static bool find_ends(const mending *m, int n, ends *e)
{
    fsim_names own = {0};
    for (int pass = 0; pass < 2; pass++) /* results, then inputs */
        for (int i = m->node[n].first; i <= m->node[n].last; i++) {
            const fsim_yaml *y = m->of[i] != n ? NULL : field(m, i, pass == 0 ? "out" : "in");
            for (int k = 0; k < count_of(y); k++) {
                const char *name = text_at(y, k);
                fsim_draft_result said;
                if (fsim_names_set(m->a, &own, name, 1) >= 0 || (pass == 0 && fsim_names_get(&m->outside, name) < 0))
                    continue;
                if (pass == 1)
                    *FSIM_PUSH(m->a, e->in, e->ins, e->in_room) = name;
                else if (fsim_draft_says(m->x->draft, name, &said) && said.dtype != FSIM_DTYPE_NONE)
                    *FSIM_PUSH(m->a, e->out, e->outs, e->out_room) = said;
                else
                    return false;
            }
        }
    return e->outs > 0;
}

/* Copies in the place of each refused node's last operator; its other operators go. */
static void replace(mending *m)
{
    fsim_yaml **item = fsim_new(m->a, fsim_yaml *, 1);
    int kept = 0, room = 1;
    for (int i = 0; i < m->ops->count; i++) {
        node *n = &m->node[m->of[i]];
        ends e = {0};
        if (n->first == i && n->why && !n->mended && !find_ends(m, m->of[i], &e))
            n->why = NULL;
        if (!n->why || n->mended) {
            *FSIM_PUSH(m->a, item, kept, room) = m->ops->item[i];
            continue;
        }
        if (i != n->last)
            continue;
        e = (ends){0};
        find_ends(m, m->of[i], &e);
        for (int k = 0; k < e.outs; k++) /* the first reads the inputs */
            *FSIM_PUSH(m->a, item, kept, room) =
                fsim_draft_copied(m->x->draft, m->ops->item[i], k == 0 ? e.ins : 0, e.in, &e.out[k]);
        n->mended = true;
    }
    m->ops->item = item;
    m->ops->count = kept;
}

static void say(const mending *m, fsim_diag *d, const char *path)
{
    fsim_names said = {0};
    for (int n = 0; n < m->nodes; n++) {
        int times = 0;
        for (int k = n; k < m->nodes; k++)
            times += m->node[k].mended && strcmp(m->node[k].from, m->node[n].from) == 0;
        if (!m->node[n].mended || fsim_names_set(m->a, &said, m->node[n].from, 1) >= 0)
            continue;
        fsim_warning(d, (fsim_loc){.file = path}, "operator '%s' does not fit%s: it costs a copy of its inputs",
                     m->node[n].from, times > 1 ? fsim_printf(m->a, " (%d times)", times) : "");
        fsim_note(d, "%s: %s", m->node[n].place, m->node[n].why);
    }
}

void fsim_mend(fsim_arena *a, fsim_diag *d, const char *path, const fsim_mended *x)
{
    mending m = {.a = a, .x = x};
    m.ops = (fsim_yaml *)(uintptr_t)fsim_yaml_get(x->yaml, "operators");
    look(&m);
    for (int64_t all = m.ops->count; all <= MOST_OPERATORS && try_graph(&m, path); all += m.ops->count) {
        replace(&m);
        look(&m);
    }
    say(&m, d, path);
}
