/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/generate.h"

#include "base/jobs.h"

#include "emit/emit.h"
#include "kernel/layout.h"
#include <ctype.h>
#include <string.h>

/* The beginning of a long name; a number keeps kernels and parameters distinct. */
static const char *identifier(fsim_arena *a, const char *prefix, const char *name)
{
    enum { MOST = 160 };
    char *out = fsim_printf(a, "%s%.*s", prefix, MOST, name);
    for (char *p = out; *p; p++)
        *p = isalnum((unsigned char)*p) ? *p : '_';
    return out;
}

static void add_parameter(fsim_emitter *e, int tensor, bool written)
{
    fsim_program *p = e->program;
    for (int i = 0; i < p->parameters; i++)
        if (p->parameter[i].tensor == tensor) {
            p->parameter[i].written = p->parameter[i].written || written;
            return;
        }
    const fsim_tensor *t = &e->g->tensor[tensor];
    const char *name = identifier(e->a, "t_", t->name);
    for (int i = 0; i < p->parameters; i++)
        if (strcmp(p->parameter[i].name, name) == 0)
            name = fsim_printf(e->a, "%s_%d", name, p->parameters);
    p->parameter[p->parameters++] = (fsim_parameter){tensor, t->bytes, written, name, fsim_storage_names[t->dtype]};
}

/* Does it need indices of more than 31 bits? */
static bool is_wide(const fsim_emitter *e)
{
    const int64_t most = ((int64_t)1 << 31) - (1 << 20);
    bool wide = false;
    for (int i = 0; i < e->group->members; i++) {
        const fsim_node *n = &e->g->node[e->group->member[i].node];
        wide = wide || n->points > most || (n->gemm.k == 0 && (double)n->points * (double)n->reduced > (double)most);
        for (int k = 0; k < n->args; k++)
            wide = wide || e->g->tensor[n->arg[k].tensor].elems > most;
    }
    return wide;
}

static const char *why_skipped(const fsim_emitter *e)
{
    const fsim_group *o = e->group;
    if (o->template == FSIM_COMMUNICATION_KERNEL)
        return "communication needs other devices";
    if (o->template == FSIM_TRANSFER_KERNEL)
        return "a transfer is no kernel";
    if (o->template == FSIM_SERVING_KERNEL)
        return "a call of a serving stack's library is its own";
    if (o->template == FSIM_OPAQUE_KERNEL && fsim_ops[e->g->node[o->anchor].op].class != FSIM_SCATTER)
        return fsim_printf(e->a, "%s is opaque: nothing says how it is computed",
                           fsim_ops[e->g->node[o->anchor].op].name);
    return NULL;
}

static void emit_chained(fsim_emitter *e)
{
    if (!fsim_emit_flash(e))
        fsim_emit_chain(e);
}

static void emit_contraction(fsim_emitter *e)
{
    if (e->group->whole_row > 0) {
        if (!fsim_emit_tile_rows(e))
            fsim_emit_rows(e);
    } else if (!fsim_emit_tile(e)) {
        fsim_layout l = {.g = e->g, .hw = e->hw, .group = e->group};
        e->program->schedule.tile_m = 0;
        fsim_schedule_of(&l, &e->program->schedule);
        fsim_emit_pointwise(e);
        e->program->registers = e->program->schedule.registers;
    }
}

/* why_skipped says why. */
static void emit_nothing(fsim_emitter *e) { (void)e; }

static void (*const emit_of[FSIM_TEMPLATE_COUNT])(fsim_emitter *) = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = emit,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
};

static void describe(fsim_emitter *e, fsim_text *t)
{
    fsim_text_put(e->a, t, "/* %s: %s of", e->program->name, fsim_template_names[e->kernel->template]);
    for (int i = 0; i < e->group->members; i++)
        fsim_text_put(e->a, t, "%s %s", i ? "," : "", e->g->node[e->group->member[i].node].name);
    fsim_text_put(e->a, t, " */\n");
}

static void make_program(const fsim_graph *g, const fsim_hw *hw, const fsim_kernel *k, int id, fsim_arena *a,
                         fsim_program *p)
{
    const fsim_group *o = k->group;
    fsim_emitter e = {.g = g, .hw = hw, .kernel = k, .group = o, .a = a, .program = p, .array = -1};
    const char *last = g->node[o->member[o->members - 1].node].name;
    p->name = identifier(a, fsim_printf(a, "k%d_", id), last);
    e.computed = fsim_new(a, fsim_computed, o->members + 1);
    e.stored = fsim_new(a, bool, o->members + 1);
    memset(e.stored, true, (size_t)o->members);
    int arguments = 4 + o->writes;
    for (int i = 0; i < o->members; i++)
        arguments += g->node[o->member[i].node].args;
    p->parameter = fsim_new(a, fsim_parameter, arguments);
    p->launch = fsim_new(a, fsim_launch, 4);
    for (int i = 0; i < o->members; i++) /* not o->read: what folding saves the kernel is read here */
        for (int m = 0; m < g->node[o->member[i].node].args; m++) {
            const int tensor = g->node[o->member[i].node].arg[m].tensor;
            if (fsim_maker_in(&e, tensor) < 0)
                add_parameter(&e, tensor, false);
        }
    for (int i = 0; i < o->writes; i++)
        add_parameter(&e, o->write[i].tensor, true);
    if ((p->skipped = why_skipped(&e)))
        return;
    p->schedule = k->schedule;
    emit_of[e.group->template](&e);
    if (p->launches == 0) {
        p->skipped = p->skipped ? p->skipped : "no text could be made of its index maps";
        return;
    }
    fsim_text whole = {0};
    describe(&e, &whole);
    fsim_text_put(a, &whole, "%s#include \"fusesim_dialect.h\"\n%s", is_wide(&e) ? "#define FS_WIDE\n" : "", e.out.at);
    p->source = whole.at;
}

/* A name that a comment can hold. */
static const char *plain_name(const char *name, fsim_arena *a)
{
    if (!name || (!strstr(name, "*/") && !strstr(name, "/*") && !strpbrk(name, "\n\\")))
        return name;
    char *out = fsim_strdup(a, name);
    for (char *p = out; *p; p++)
        *p = *p == '*' || *p == '\n' || *p == '\\' ? '_' : *p;
    return out;
}

/* The graph with names that comments of the text can hold. */
static const fsim_graph *with_plain_names(const fsim_graph *g, fsim_arena *a)
{
    fsim_graph *out = fsim_new(a, fsim_graph, 1);
    *out = *g;
    out->tensor = fsim_new(a, fsim_tensor, g->tensors + 1);
    out->node = fsim_new(a, fsim_node, g->nodes + 1);
    for (int t = 0; t < g->tensors; t++) {
        out->tensor[t] = g->tensor[t];
        out->tensor[t].name = plain_name(g->tensor[t].name, a);
    }
    for (int n = 0; n < g->nodes; n++) {
        out->node[n] = g->node[n];
        out->node[n].name = plain_name(g->node[n].name, a);
    }
    return out;
}

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_plan *plan;
    fsim_program *out;
    fsim_arena **a; /* one a thread */
} programs;

static void make_one(void *to, int i, int worker)
{
    const programs *w = to;
    make_program(w->g, w->hw, &w->plan->kernel[i], i, w->a[worker], &w->out[i]);
}

fsim_program *fsim_programs_of(const fsim_graph *graph, const fsim_hw *hw, const fsim_plan *plan, int jobs,
                               fsim_arena *a)
{
    programs w = {with_plain_names(graph, a), hw, plan, fsim_new(a, fsim_program, plan->kernels + 1),
                  fsim_arena_children(a, jobs)};
    fsim_in_parallel(jobs, plan->kernels, make_one, &w);
    return w.out;
}
