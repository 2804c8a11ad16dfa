/* SPDX-License-Identifier: Apache-2.0 */
/* results.c: what is said of a program's state and results when all of it has run. */
#include "import/torch/import.h"

/* Buffers and constants that nothing writes. */
static void finish_buffers(fsim_torch_import *m)
{
    fsim_names written = {0};
    for (int i = 0; i < m->p->outputs; i++)
        if (m->p->output[i].mutation)
            fsim_names_set(m->a, &written, m->p->output[i].name, 1);
    for (int i = 0; i < m->p->inputs; i++) {
        const fsim_torch_input *in = &m->p->input[i];
        const int t = in->arg.kind == FSIM_TORCH_TENSOR ? fsim_torch_index(m, in->arg.text) : -1;
        const fsim_torch_value *v = t < 0 ? NULL : m->s->value[t];
        if (v && v->tensor && !v->mutated && (in->role == FSIM_TORCH_BUFFER || in->role == FSIM_TORCH_CONSTANT) &&
            (!in->name || fsim_names_get(&written, in->name) < 0))
            fsim_draft_buffer(m->x, v->tensor);
    }
}

/* What is given back, and the state that was written, each once. */
static void finish_outputs(fsim_torch_import *m)
{
    fsim_names said = {0};
    for (int i = 0; i < m->p->inputs; i++) /* what an input is called is no result */
        if (m->p->input[i].arg.kind == FSIM_TORCH_TENSOR) {
            const fsim_torch_value *v = m->s->value[fsim_names_get(&m->s->g->tensor_at, m->p->input[i].arg.text)];
            if (v->tensor && !v->mutated)
                fsim_names_set(m->a, &said, v->tensor, 1);
        }
    for (int i = 0; i < m->p->outputs + m->p->inputs; i++) {
        const fsim_torch_arg *arg = i < m->p->outputs ? &m->p->output[i].arg : &m->p->input[i - m->p->outputs].arg;
        const int t = arg->kind == FSIM_TORCH_TENSOR ? fsim_names_get(&m->s->g->tensor_at, arg->text) : -1;
        const fsim_torch_value *v = t < 0 ? NULL : m->s->value[t];
        if (!v || !v->tensor || fsim_names_set(m->a, &said, v->tensor, 1) >= 0)
            continue;
        fsim_draft_output(m->x, v->tensor);
    }
}

void fsim_torch_finish(fsim_torch_import *m)
{
    finish_buffers(m);
    finish_outputs(m);
}
