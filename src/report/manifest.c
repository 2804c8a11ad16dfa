/* SPDX-License-Identifier: Apache-2.0 */
#include "report/project.h"

#include "report/json_stream.h"

static void put_count(FILE *out, const char *before, const char *key, fsim_sum count)
{
    char digits[FSIM_SUM_DIGITS];
    fprintf(out, "%s\"%s\": %s", before, key, fsim_sum_digits(digits, count));
}

static void put_bindings(FILE *out, const fsim_graph *g)
{
    fputs(",\n \"bindings\": {", out);
    for (int i = 0; i < g->symbols; i++) {
        const fsim_symbol *s = &g->symbol[i];
        if (s->dtype == FSIM_DTYPE_NONE)
            put_count(out, i ? ", " : "", s->name, s->value);
        else
            fsim_json_text(out, i ? ", " : "", s->name, fsim_dtype_names[s->dtype]);
    }
    fputs("}", out);
}

static void put_shape(FILE *out, const fsim_shape *s)
{
    fputs(", \"shape\": [", out);
    for (int d = 0; d < s->rank; d++)
        fprintf(out, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
    fputs("]", out);
}

static void put_launches(FILE *out, const fsim_program *p)
{
    fputs(",\n   \"launches\": [", out);
    for (int i = 0; i < p->launches; i++) {
        const fsim_launch *l = &p->launch[i];
        fsim_json_text(out, i ? ",\n    {" : "\n    {", "entry", l->entry);
        put_count(out, ", ", "grid", l->grid);
        put_count(out, ", ", "block", l->block);
        put_count(out, ", ", "shared_bytes", l->shared_bytes);
        fputs("}", out);
    }
    fputs("]", out);
}

static void put_arguments(FILE *out, const fsim_project *p, const fsim_program *q)
{
    fputs(",\n   \"arguments\": [", out);
    for (int i = 0; i < q->parameters; i++) {
        const fsim_parameter *x = &q->parameter[i];
        const fsim_tensor *t = x->tensor < 0 ? NULL : &p->graph->tensor[x->tensor];
        fsim_json_text(out, i ? ",\n    {" : "\n    {", "tensor", t ? t->name : NULL);
        fsim_json_text(out, ", ", "name", x->name);
        fsim_json_text(out, ", ", "type", x->type);
        fsim_json_text(out, ", ", "dtype", t ? fsim_dtype_names[t->dtype] : NULL);
        if (t)
            put_shape(out, &(fsim_shape[]){fsim_tensor_shape(t)}[0]);
        else
            fputs(", \"shape\": null", out);
        put_count(out, ", ", "bytes", x->bytes);
        fsim_json_text(out, ", ", "role", fsim_project_role(p, x));
        fsim_json_bool(out, ", ", "written", x->written);
        fputs("}", out);
    }
    fputs("]", out);
}

static void put_kernel(FILE *out, const fsim_project *p, int k)
{
    const fsim_kernel *x = &p->plan.kernel[k];
    const fsim_program *q = &p->program[k];
    fsim_json_text(out, k ? ",\n  {" : "\n  {", "name", q->name);
    fsim_json_text(out, ", ", "file", p->source[k]);
    fsim_json_text(out, ", ", "template", fsim_template_names[x->template]);
    fputs(",\n   \"operators\": [", out);
    for (int i = 0; i < x->group->members; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, p->graph->node[x->group->member[i].node].name);
    }
    fputs("]", out);
    fsim_json_text(out, ",\n   ", "skipped", q->skipped);
    put_launches(out, q);
    put_arguments(out, p, q);
    fsim_json_number(out, ",\n   ", "predicted_s", x->time_s);
    put_count(out, ", ", "dram_read_bytes", x->dram_read_bytes);
    put_count(out, ", ", "dram_write_bytes", x->dram_write_bytes);
    put_count(out, ", ", "registers_per_thread", x->registers);
    fsim_json_number(out, ", ", "occupancy", x->occupancy);
    put_count(out, ", ", "sm", q->sm);
    fputs("}", out);
}

void fsim_json_manifest(FILE *out, const fsim_project *p)
{
    fsim_json_text(out, "{\"schema\": 1, ", "fusesim", FUSESIM_VERSION);
    fsim_json_text(out, ",\n \"workload\": {", "name", p->graph->name);
    fsim_json_text(out, ", ", "path", p->graph->path);
    fputs("}", out);
    put_bindings(out, p->graph);
    put_count(out, ",\n ", "scale_shapes", p->scale);
    fsim_json_text(out, ",\n \"hardware\": {", "name", p->hw->name);
    fsim_json_text(out, ", ", "path", p->hw->path);
    fsim_json_text(out, ", ", "architecture", p->hw->architecture);
    fsim_json_text(out, "},\n ", "strategy", p->strategy);
    fsim_json_bool(out, ", ", "partition_only", p->borrowed);
    fsim_json_text(out, ",\n ", "target", fsim_target_words[p->host]);
    fsim_json_text(out, ", ", "launch", fsim_regime_names[p->regime]);
    fsim_json_text(out, ", ", "l2", fsim_l2_words[p->warm]);
    fsim_json_text(out, ", ", "numerics", fsim_numerics_words[p->strict]);
    fsim_json_number(out, ",\n ", "predicted_s", p->time_s);
    put_count(out, ", ", "dram_read_bytes", p->plan.dram_read_bytes);
    put_count(out, ", ", "dram_write_bytes", p->plan.dram_write_bytes);
    fputs(",\n \"files\": [", out);
    for (int i = 0; i < p->files; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, p->file[i].name);
    }
    fputs("],\n \"kernels\": [", out);
    for (int k = 0; k < p->plan.kernels; k++)
        put_kernel(out, p, k);
    fputs("]}\n", out);
}
