/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c: launcher.in with the plan's tables in it. */
#include "report/project.h"

#include "base/memory.h"
#include "report/describe.h"
#include "report/json_stream.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text as a literal of C and C++; a digit that follows an octal escape of three digits is none of it. */
static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ' || c >= 0x7f || c == '?')
            fprintf(out, "\\%03o", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

static void put_number(FILE *out, double x)
{
    char digits[40];
    fputs(fsim_json_digits(digits, x), out);
}

static const char *plan_text(const fsim_project *p, fsim_arena *a)
{
    return fsim_printf(a, "%s: %s%s, %d kernel%s; predicted for %s", p->graph->name,
                       p->borrowed ? "the partition of " : "", p->strategy, p->plan.kernels,
                       p->plan.kernels == 1 ? "" : "s", p->hw->description);
}

static void put_head(FILE *out, const fsim_project *p, fsim_arena *a)
{
    fprintf(out,
            "/* launcher.%s: runs the kernels of a plan one after another and prints what they take beside what was "
            "predicted.\n * %s.\n",
            p->host ? "c" : "cu", fsim_comment_text(plan_text(p, a), a));
    if (p->borrowed)
        fputs(" * The partition is that strategy's; the kernels, and what is predicted of them, are fusesim's own.\n",
              out);
    for (int k = 0; k < p->plan.kernels; k++)
        if (p->program[k].skipped)
            fprintf(out, " * Not generated: %s: %s.\n", p->program[k].name,
                    fsim_comment_text(p->program[k].skipped, a));
    fputs(" * 'make' builds it, './launcher --help' says more. Written by fusesim " FUSESIM_VERSION ". */\n", out);
}

static void put_entries(FILE *out, const fsim_project *p)
{
    for (int k = 0; k < p->plan.kernels; k++)
        for (int i = 0; i < p->program[k].launches && p->source[k]; i++) {
            const fsim_program *q = &p->program[k];
            if (p->host) {
                fprintf(out, "void %s(long long first, long long end, void *const *arguments);\n", q->launch[i].entry);
                continue;
            }
            fprintf(out, "extern \"C\" __global__ void %s(", q->launch[i].entry);
            for (int m = 0; m < q->parameters; m++)
                fprintf(out, "%s%s%s *", m ? (m % 6 ? ", " : ",\n    ") : "", q->parameter[m].written ? "" : "const ",
                        q->parameter[m].type);
            fputs(");\n", out);
        }
}

static bool is_of_bytes(fsim_dtype t) { return t == FSIM_U8 || fsim_dtype_paired(t); }

/* Rule, low, high and inner of a tensor, as validate/reference/inputs.c fills it. */
static void put_rule(FILE *out, const fsim_project *p, int tensor)
{
    const fsim_tensor *t = &p->graph->tensor[tensor];
    const fsim_fill *f = &p->fill[tensor];
    if (p->generated[tensor]) {
        fputs("MADE, 0, 0, 0", out);
        return;
    }
    const double scale = f->scale > 0 ? f->scale : 1;
    const bool index = f->below > 0, whole = index || !fsim_dtype_floating(t->dtype);
    const double low = index                   ? 0
                       : t->dtype == FSIM_BOOL ? 0
                       : whole                 ? (f->positive             ? 1
                                                  : is_of_bytes(t->dtype) ? 0
                                                                          : -8)
                       : f->positive           ? 0.5
                                               : -scale;
    const double high = index                         ? (double)f->below
                        : t->dtype == FSIM_BOOL       ? 2
                        : fsim_dtype_paired(t->dtype) ? 256
                        : whole                       ? (f->positive || t->dtype != FSIM_U8 ? 9 : 16)
                        : f->positive                 ? 1.5
                                                      : scale;
    fputs(index && f->inner > 0 ? "DISTINCT, " : whole ? "WHOLE, " : "REAL, ", out);
    put_number(out, low);
    fputs(", ", out);
    put_number(out, high);
    fprintf(out, ", %lld", index ? (long long)f->inner : 0);
}

/* A write in place has the memory of the tensor that it overwrites. */
static bool has_own_memory(const fsim_project *p, int tensor)
{
    const int over = p->graph->tensor[tensor].over;
    return over < 0 || !p->used[over];
}

/* Numbers of tensors in the launcher's table; scratch memory follows them. */
static int *put_tensors(FILE *out, const fsim_project *p, int *tensors, fsim_arena *a)
{
    static const char *const types[FSIM_DTYPE_COUNT] = {"F64",    "F32",    "F16",  "BF16",   "F8E4M3",
                                                        "F8E5M2", "F8E8M0", "I64",  "I32",    "I16",
                                                        "I8",     "U8",     "BOOL", "F4E2M1", "I4"};
    int *number = fsim_new(a, int, p->graph->tensors + 1);
    fputs("static const tensor tensors[] = {\n", out);
    for (int i = 0; i < p->graph->tensors; i++) {
        const fsim_tensor *t = &p->graph->tensor[i];
        if (!p->used[i])
            continue;
        if (!has_own_memory(p, i)) {
            number[i] = number[t->over];
            continue;
        }
        number[i] = (*tensors)++;
        fputs("    {", out);
        put_string(out, t->name);
        fprintf(out, ", \"%s\", %s, %s, %lld, %lld, ", fsim_tensor_shape_text(a, t),
                t->role == FSIM_INPUT    ? "INPUT"
                : t->role == FSIM_WEIGHT ? "WEIGHT"
                : t->output              ? "OUTPUT"
                                         : "INTERMEDIATE",
                types[t->dtype], (long long)t->elems, (long long)t->bytes);
        put_rule(out, p, i);
        fputs("},\n", out);
    }
    for (int k = 0; k < p->plan.kernels; k++)
        for (int i = 0; i < p->program[k].parameters; i++)
            if (p->program[k].parameter[i].tensor < 0) {
                (*tensors)++;
                fprintf(out, "    {\"%s\", \"\", SCRATCH, U8, %lld, %lld, MADE, 0, 0, 0},\n",
                        p->program[k].parameter[i].name, (long long)p->program[k].parameter[i].bytes,
                        (long long)p->program[k].parameter[i].bytes);
            }
    fputs("    {\"\", \"\", SCRATCH, U8, 0, 0, MADE, 0, 0, 0}, /* the end */\n};\n", out);
    return number;
}

static int put_launches(FILE *out, const fsim_project *p)
{
    int launches = 0;
    fputs("static const launch launches[] = {\n", out);
    for (int k = 0; k < p->plan.kernels; k++)
        for (int i = 0; i < p->program[k].launches && p->source[k]; i++, launches++) {
            const fsim_launch *l = &p->program[k].launch[i];
            if (p->host)
                fprintf(out, "    {\"%s\", %s, %lld},\n", l->entry, l->entry, (long long)l->grid);
            else
                fprintf(out, "    {\"%s\", (const void *)%s, %lld, %d, %d},\n", l->entry, l->entry, (long long)l->grid,
                        l->block, l->shared_bytes);
        }
    fprintf(out, "    {\"\", NULL, 0%s}, /* the end */\n};\n", p->host ? "" : ", 0, 0");
    return launches;
}

/* Places in tensors[] of every kernel's arguments. */
static void put_arguments(FILE *out, const fsim_project *p, const int *number)
{
    int scratch = 0;
    for (int i = 0; i < p->graph->tensors; i++)
        scratch += p->used[i] && has_own_memory(p, i);
    fputs("static const int arguments[] = {\n", out);
    for (int k = 0; k < p->plan.kernels; k++) {
        fputs("    ", out);
        for (int i = 0; i < p->program[k].parameters; i++) {
            const int tensor = p->program[k].parameter[i].tensor;
            fprintf(out, "%d,%s", tensor < 0 ? scratch++ : number[tensor], i % 24 == 23 ? "\n    " : " ");
        }
        fprintf(out, "/* %s */\n", p->program[k].name);
    }
    fputs("    0, /* the end */\n};\n", out);
}

static void put_kernels(FILE *out, const fsim_project *p, fsim_arena *a)
{
    int launch = 0, argument = 0;
    fputs("static const kernel kernels[] = {\n", out);
    for (int k = 0; k < p->plan.kernels; k++) {
        const fsim_program *q = &p->program[k];
        const fsim_kernel *x = &p->plan.kernel[k];
        fprintf(out, "    {\"%s\", ", q->name);
        put_string(out, fsim_operators_text(p, k, a));
        fputs(", ", out);
        if (q->skipped)
            put_string(out, q->skipped);
        else
            fputs("NULL", out);
        fprintf(out, ",\n     %d, %d, %d, %d, ", launch, q->launches, argument, q->parameters);
        put_number(out, x->time_s);
        fprintf(out, ", %lld},\n", (long long)(x->dram_read_bytes + x->dram_write_bytes));
        launch += p->source[k] ? q->launches : 0;
        argument += q->parameters;
    }
    fputs("    {\"\", \"\", \"\", 0, 0, 0, 0, 0, 0}, /* the end */\n};\n", out);
}

static void put_tables(FILE *out, const fsim_project *p, fsim_arena *a)
{
    int tensors = 0, most = 0;
    fputs("\n", out);
    const int *number = put_tensors(out, p, &tensors, a);
    const int launches = put_launches(out, p);
    put_arguments(out, p, number);
    put_kernels(out, p, a);
    for (int k = 0; k < p->plan.kernels; k++)
        most = p->program[k].parameters > most ? p->program[k].parameters : most;
    const double threads = p->host && p->hw->host ? fsim_hw_get(p->hw, FSIM_HW_SMS) : 1;
    fprintf(
        out,
        "enum { TENSORS = %d, LAUNCHES = %d, KERNELS = %d, ARGUMENTS = %d }; /* the last: the most of a kernel */\n",
        tensors, launches, p->plan.kernels, most);
    fprintf(out, "enum { THREADS = %d, WARM = %d }; /* as in the prediction */\n",
            threads >= 1 && threads <= 1024 ? (int)threads : 1, p->warm);
    fputs("static const char TITLE[] = ", out);
    put_string(out, plan_text(p, a));
    fputs(";\n", out);
}

const char *fsim_launcher_of(const fsim_project *p, fsim_arena *a)
{
    bool wanted = true;
    fsim_memory text;
    FILE *out = fsim_memory_begin(&text);
    for (const char *line = fsim_launcher_text; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *word = fsim_strndup(a, line, length);
        line += length + (line[length] == '\n');
        if (*word != '@') {
            if (wanted)
                fprintf(out, "%s\n", word);
        } else if (strcmp(word, "@insert head") == 0) {
            put_head(out, p, a);
        } else if (strcmp(word, "@insert entries") == 0) {
            put_entries(out, p);
        } else if (strcmp(word, "@insert tables") == 0) {
            put_tables(out, p, a);
        } else {
            wanted = strcmp(word, "@both") == 0 || strcmp(word, p->host ? "@host" : "@cuda") == 0;
        }
    }
    return fsim_memory_end(&text, a, NULL);
}
