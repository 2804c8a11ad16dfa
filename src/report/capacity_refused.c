/* SPDX-License-Identifier: Apache-2.0 */
/* The ways that do not serve a load, and what would. */
#include "report/capacity.h"

#include "base/unit.h"
#include <math.h>

static const char *bytes(fsim_arena *a, double b)
{
    enum { ROOM = 48 };
    return fsim_show_bytes(fsim_new(a, char, ROOM), ROOM, b);
}

/* Why an option is out, with the memory that it lacks. */
static const char *reason_text(const fsim_option *o, fsim_arena *a)
{
    const fsim_deployed_memory *m = &o->memory;
    if (o->fits)
        return o->reason;
    const double rest = m->framework + m->activations + m->collectives;
    if (m->cache <= 0)
        return fsim_printf(a, "does not fit: weights %s and %s of activations and framework, of %s",
                           bytes(a, m->weights), bytes(a, rest), bytes(a, m->capacity));
    return fsim_printf(a, "does not fit: %s are left for keys and values, a request needs %s", bytes(a, m->cache),
                       bytes(a, m->token * (double)(o->on.input + o->on.output)));
}

/* Is the same, with another cache, among the options before it? Weights that do not fit are said once. */
static bool is_repeated(const fsim_capacity *x, int i)
{
    const fsim_option *o = &x->option[i];
    bool known = false;
    for (int k = 0; k < i && o->memory.cache <= 0; k++) {
        const fsim_option *p = &x->option[k];
        known = known || (!p->fits && p->on.hw == o->on.hw && p->on.tp == o->on.tp && p->on.ep == o->on.ep &&
                          p->on.pp == o->on.pp && p->on.weights == o->on.weights);
    }
    return known;
}

void fsim_report_refused(const fsim_page *page, const fsim_capacity *x, bool verbose, fsim_arena *a)
{
    enum { SHOWN = 6 };
    int count = 0;
    for (int i = 0; i < x->options; i++)
        count += x->option[i].reason && !is_repeated(x, i);
    if (count == 0)
        return;
    putc('\n', page->out);
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   fsim_printf(a, "%d way%s not serve the load:", count, count == 1 ? " does" : "s do"));
    for (int i = 0, shown = 0; i < 2 * x->options;
         i++) { /* what fits and misses a goal is nearer than what does not fit */
        const fsim_option *o = &x->option[i % x->options];
        if (o->fits != (i < x->options) || !o->reason || is_repeated(x, i % x->options) || (!verbose && shown == SHOWN))
            continue;
        shown++;
        fsim_paragraph(page, FSIM_FAINT, 2, 4,
                       fsim_printf(a, "%s, %s: %s", o->machine->name, fsim_option_text(o, a), reason_text(o, a)));
    }
    if (!verbose && count > SHOWN)
        fsim_paragraph(page, FSIM_FAINT, 2, 4, fsim_printf(a, "and %d more (--verbose)", count - SHOWN));
}

/* GPUs, a power of 2, over which the weights leave place for a request; 0: no number does. In a. */
static int64_t holders(const fsim_option *o, fsim_arena *a)
{
    enum { MOST = 1 << 16 };
    fsim_deployed on = o->on;
    on.arena = a;
    for (int64_t n = 2 * fsim_deployed_gpus(&on); n < MOST; n *= 2) {
        if (on.ep > 1 || on.model->kv_lora)
            on.ep = n;
        on.tp = on.model->kv_lora ? 1 : n;
        const fsim_deployed_memory m = fsim_deployed_memory_of(&on, on.budget);
        if (!fsim_unshared(on.model, on.tp, on.ep, a) && m.cache >= m.token * (double)(on.input + on.output))
            return n;
    }
    return 0;
}

/* How the GPUs that would hold it can be had. In a. */
static const char *hint(const fsim_option *o, fsim_arena *a)
{
    const long long n = (long long)holders(o, a), node = (long long)o->machine->gpus;
    const char *name = o->machine->name;
    if (n == 0)
        return "No number of GPUs that share each layer would hold it;";
    if (!o->machine->node)
        return fsim_printf(a,
                           "%lld GPUs that share each layer would hold it: --node %lld where a node has so many, "
                           "--system for nodes and the network between them;",
                           n, n);
    if (n <= node)
        return fsim_printf(a, "%lld GPUs of a node that share each layer would hold it (--node %lld);", n, n);
    return isnan(o->on.network) ? fsim_printf(a,
                                              "%lld GPUs that share each layer would hold it, but a node of %s has "
                                              "%lld, and the network between "
                                              "nodes is not known ('network' in its file);",
                                              n, name, node)
                                : fsim_printf(a,
                                              "%lld GPUs that share each layer would hold it, over %lld nodes of %s "
                                              "and the network between them "
                                              "(--node %lld);",
                                              n, (n + node - 1) / node, name, n);
}

/* What would help where nothing serves. */
void fsim_report_unserved(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    const fsim_option *near = NULL;
    for (int i = 0; i < x->options; i++)
        if (!near || (x->option[i].fits && !near->fits) ||
            (!near->fits && !x->option[i].fits && x->option[i].memory.cache > near->memory.cache))
            near = &x->option[i];
    fsim_paragraph(page, FSIM_BAD, 0, 0,
                   x->disaggregated ? "No way to serve it was found with prompts and new tokens on the same GPUs."
                                    : "No way to serve it was found.");
    if (x->options == 0)
        fsim_paragraph(
            page, FSIM_PLAIN, 0, 0,
            "No GPU asked about has units for the weights and caches asked for (--weights, --cache), or none "
            "runs the engine (--engine).");
    if (near && !near->fits)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       fsim_printf(a,
                                   "Nearest: %s, %s: %s. %s GPUs with more memory would, or weights of fewer bits "
                                   "(--weights).",
                                   near->machine->name, fsim_option_text(near, a), reason_text(near, a),
                                   hint(near, a)));
    else if (near)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       "It fits, but no number of GPUs (--gpus) meets the goals; the reasons are below.");
}
