/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/reference/check.h"

#include <stdlib.h>
#include <string.h>

/* "y[3, 17]" */
static const char *element_name(const fsim_graph *g, int tensor, int64_t at, fsim_arena *a)
{
    const fsim_tensor *t = &g->tensor[tensor];
    const char *text = "";
    for (int d = t->shape.rank; d-- > 0; at /= t->shape.dim[d])
        text = fsim_printf(a, "%lld%s%s", (long long)(at % t->shape.dim[d]), *text ? ", " : "", text);
    return fsim_printf(a, "%s[%s]", t->name, text);
}

fsim_check fsim_check_program(const fsim_reference *r, const fsim_program *p, fsim_fetch *fetch, void *from,
                              fsim_arena *a)
{
    fsim_check c = {.ran = true, .tensor = -1, .found = {.at = -1}};
    for (int i = 0; i < p->parameters; i++) {
        const int tensor = p->parameter[i].tensor;
        if (!p->parameter[i].written || tensor < 0 || r->unknown[tensor])
            continue;
        const fsim_comparison found = fsim_reference_compare(r, tensor, fetch(from, i));
        const bool drifts = fsim_comparison_drifts(&found);
        c.elems += found.elems;
        c.compared += found.compared;
        if (found.wrong == 0 && !drifts && !fsim_comparison_tells(&found) && !c.untold)
            c.untold = found.compared == found.elems
                           ? fsim_printf(a, "%s has no finite element", r->graph->tensor[tensor].name)
                           : fsim_printf(a, "%lld of %lld elements of %s can be compared, %lld of them finite",
                                         (long long)found.compared, (long long)found.elems,
                                         r->graph->tensor[tensor].name, (long long)found.finite);
        if (c.tensor >= 0 && found.wrong == 0 && !drifts && found.worst <= c.found.worst)
            continue;
        c.tensor = tensor;
        c.found = found;
        if (found.wrong > 0)
            c.message = fsim_printf(a, "%s is %.9g, wanted %.9g within %.3g; %lld of %lld elements are wrong",
                                    element_name(r->graph, tensor, found.at, a), found.got, found.wanted, found.bound,
                                    (long long)found.wrong, (long long)found.compared);
        else if (drifts)
            c.message = fsim_printf(
                a,
                "%s is off by %.2g of its size, %.1f times what rounding explains, although every element is "
                "within its bound",
                r->graph->tensor[tensor].name, found.off, found.spread / found.usual);
        if (c.message)
            break;
    }
    if (c.message)
        c.untold = NULL;
    return c;
}

/* The allocation for so many bytes: at least 256 more, which no kernel may write. */
static size_t with_margin(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256 + 256; }

static void *filled(int64_t bytes)
{
    const size_t size = with_margin(bytes);
    void *at = aligned_alloc(256, size);
    if (at)
        memset(at, 0xff, size);
    return at;
}

fsim_host_memory *fsim_host_memory_new(const fsim_reference *r, const fsim_program *p, int programs)
{
    const fsim_graph *g = r->graph;
    fsim_host_memory *m = calloc(1, sizeof *m);
    bool enough = m != NULL;
    if (!enough)
        return NULL;
    *m = (fsim_host_memory){.programs = programs, .program = p, .tensors = g->tensors};
    m->tensor = calloc((size_t)g->tensors + 1, sizeof *m->tensor);
    m->argument = calloc((size_t)programs + 1, sizeof *m->argument);
    enough = m->tensor && m->argument;
    for (int k = 0; k < programs && enough; k++) {
        m->argument[k] = calloc((size_t)p[k].parameters + 1, sizeof **m->argument);
        for (int i = 0; i < p[k].parameters && m->argument[k]; i++) {
            const fsim_parameter *x = &p[k].parameter[i];
            void **at = x->tensor < 0 ? &m->argument[k][i] : &m->tensor[x->tensor];
            if (!*at) {
                *at = filled(x->bytes);
                m->bytes += x->bytes;
                enough = enough && *at;
                if (*at && x->tensor >= 0 && g->tensor[x->tensor].role != FSIM_MADE)
                    fsim_reference_store(r, x->tensor, *at);
            }
            m->argument[k][i] = *at;
        }
        enough = enough && m->argument[k];
    }
    for (int n = 0; n < g->nodes && enough;
         n++) /* fill in the results of programs that are not run, for those that read them */
        for (int k = 0; k < g->node[n].results; k++)
            if (m->tensor[g->node[n].result[k]])
                memset(m->tensor[g->node[n].result[k]], 0xff, (size_t)g->tensor[g->node[n].result[k]].bytes);
    if (enough)
        return m;
    fsim_host_memory_free(m);
    return NULL;
}

void fsim_host_memory_free(fsim_host_memory *m)
{
    if (!m)
        return;
    for (int k = 0; k < m->programs && m->argument; k++) {
        for (int i = 0; i < m->program[k].parameters && m->argument[k]; i++)
            if (m->program[k].parameter[i].tensor < 0)
                free(m->argument[k][i]);
        free(m->argument[k]);
    }
    for (int t = 0; t < m->tensors && m->tensor; t++)
        free(m->tensor[t]);
    free(m->argument);
    free(m->tensor);
    free(m);
}

void fsim_host_stand_in(const fsim_host_memory *m, const fsim_reference *r, int program)
{
    const fsim_program *p = &m->program[program];
    for (int i = 0; i < p->parameters; i++)
        if (p->parameter[i].written && p->parameter[i].tensor >= 0)
            fsim_reference_store(r, p->parameter[i].tensor, m->argument[program][i]);
}

void fsim_host_set_out(const fsim_host_memory *m, const fsim_reference *r, int program)
{
    const fsim_program *p = &m->program[program];
    for (int i = 0; i < p->parameters; i++) {
        const int t = p->parameter[i].tensor, over = t < 0 ? -1 : r->graph->tensor[t].over;
        if (p->parameter[i].written && over >= 0)
            fsim_reference_store(r, over, m->argument[program][i]);
    }
}

const char *fsim_host_overrun(const fsim_host_memory *m, int program)
{
    const fsim_program *p = &m->program[program];
    for (int i = 0; i < p->parameters; i++) {
        const unsigned char *at = m->argument[program][i];
        for (size_t k = (size_t)p->parameter[i].bytes; k < with_margin(p->parameter[i].bytes); k++)
            if (p->parameter[i].written && at[k] != 0xff)
                return p->parameter[i].name;
    }
    return NULL;
}

const void *fsim_host_fetch(void *from, int parameter) { return ((void *const *)from)[parameter]; }
