/* SPDX-License-Identifier: Apache-2.0 */
#include "report/project.h"

#include "base/jobs.h"
#include "base/memory.h"
#include "emit/generate.h"
#include "report/describe.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, LONGEST_LINE = 160, LONGEST_NAME = 36 };

const char *fsim_comment_text(const char *text, fsim_arena *a)
{
    char *out = fsim_strdup(a, text);
    for (char *p = out; *p; p++)
        if ((p[0] == '*' && p[1] == '/') || (p[0] == '/' && p[1] == '*') || *p == '\n' || *p == '\\')
            *p = ' ';
    return out;
}

const char *fsim_operators_text(const fsim_project *p, int k, fsim_arena *a)
{
    const fsim_group *o = p->plan.kernel[k].group;
    fsim_memory text;
    FILE *out = fsim_memory_begin(&text);
    for (int i = 0; i < o->members; i++)
        fprintf(out, "%s%s%s", i ? ", " : "", p->graph->node[o->member[i].node].name,
                o->member[i].clone ? " (recomputed)" : "");
    return fsim_memory_end(&text, a, NULL);
}

const char *const fsim_target_words[2] = {"cuda", "c"};
const char *const fsim_role_names[FSIM_ROLES] = {[FSIM_ROLE_INPUT] = "input",
                                                 [FSIM_ROLE_WEIGHT] = "weight",
                                                 [FSIM_ROLE_OUTPUT] = "output",
                                                 [FSIM_ROLE_INTERMEDIATE] = "intermediate",
                                                 [FSIM_ROLE_SCRATCH] = "scratch"};

const char *fsim_project_role(const fsim_project *p, const fsim_parameter *x)
{
    if (x->tensor < 0)
        return fsim_role_names[FSIM_ROLE_SCRATCH];
    const fsim_tensor *t = &p->graph->tensor[x->tensor];
    return fsim_role_names[t->role == FSIM_INPUT    ? FSIM_ROLE_INPUT
                           : t->role == FSIM_WEIGHT ? FSIM_ROLE_WEIGHT
                           : t->output              ? FSIM_ROLE_OUTPUT
                                                    : FSIM_ROLE_INTERMEDIATE];
}

/* Sources. */

/* Words of text behind a title, in lines of a comment. */
static void put_words(FILE *out, const char *title, const char *text)
{
    int column = fprintf(out, " * %-12s", title);
    for (bool first = true; *text; first = false) {
        const int word = (int)strcspn(text, " ");
        if (!first && column + 1 + word > WIDTH)
            column = fprintf(out, "\n * %-12s", "") - 1;
        else if (!first)
            column += fprintf(out, " ");
        column += fprintf(out, "%.*s", word, text);
        text += word;
        text += strspn(text, " ");
    }
    putc('\n', out);
}

/* What the kernel is, what is predicted of it, and how it is launched. */
static void put_header(FILE *out, const fsim_project *p, int k, fsim_arena *a)
{
    const fsim_kernel *x = &p->plan.kernel[k];
    const fsim_program *q = &p->program[k];
    fprintf(out, "/* %s: kernel %d of %d of %s\n", q->name, k, p->plan.kernels, fsim_comment_text(p->graph->name, a));
    put_words(out, "template", fsim_template_names[x->template]);
    put_words(out, "operators", fsim_comment_text(fsim_operators_text(p, k, a), a));
    put_words(out, "predicted",
              fsim_printf(a, "%s on %s without the launch; DRAM: %s read, %s written", fsim_seconds_text(a, x->time_s),
                          fsim_comment_text(p->hw->description, a), fsim_bytes_text(a, (double)x->dram_read_bytes),
                          fsim_bytes_text(a, (double)x->dram_write_bytes)));
    for (int i = 0; i < q->launches; i++) {
        const fsim_launch *l = &q->launch[i];
        put_words(out, i ? "then" : "launch",
                  p->host ? fsim_printf(a, "%s(0, %lld, arguments): the blocks of the grid, in any order", l->entry,
                                        (long long)l->grid)
                          : fsim_printf(a, "%s<<<%lld, %d, %d>>>: blocks, threads, bytes of dynamic shared memory",
                                        l->entry, (long long)l->grid, l->block, l->shared_bytes));
    }
    for (int i = 0; i < q->parameters; i++) {
        const fsim_parameter *m = &q->parameter[i];
        const fsim_tensor *t = m->tensor < 0 ? NULL : &p->graph->tensor[m->tensor];
        put_words(
            out, i ? "" : "arguments",
            fsim_comment_text(fsim_printf(a, "%d %s: %s %s, %s%s", i, m->name, t ? fsim_dtype_names[t->dtype] : m->type,
                                          t ? fsim_tensor_shape_text(a, t) : fsim_bytes_text(a, (double)m->bytes),
                                          fsim_project_role(p, m),
                                          t && strncmp(m->name, "t_", 2) == 0 && strcmp(m->name + 2, t->name) == 0 ? ""
                                          : t ? fsim_printf(a, " '%s'", t->name)
                                              : ""),
                              a));
    }
    fputs(" * Written by fusesim " FUSESIM_VERSION ". */\n", out);
}

/* Where a line that is too long can be cut: behind it stands a blank that is in no string. 0: nowhere. */
static size_t cut_of(const char *line, size_t bytes, size_t from)
{
    size_t cut = 0;
    bool quoted = false;
    for (size_t i = 0; i < bytes && (i <= LONGEST_LINE || cut == 0); i++) {
        quoted = quoted != (line[i] == '"' && (i == 0 || line[i - 1] != '\\'));
        if (line[i] == ' ' && i > from && !quoted)
            cut = i;
    }
    return cut;
}

/* Text in lines of a length that people read. A macro's arguments may stand on several lines; preprocessor lines may
 * not. */
static void put_wrapped(FILE *out, const char *text)
{
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        const size_t next = bytes + (text[bytes] == '\n'), indent = strspn(text, " ");
        const char *line = text;
        bool first = true;
        while (bytes > LONGEST_LINE && text[indent] != '#') {
            const size_t cut = cut_of(line, bytes, first ? indent + 20 : 20);
            if (cut == 0)
                break;
            fprintf(out, "%.*s\n%*s", (int)cut, line, (int)indent + 8, "");
            line += cut + 1;
            bytes -= cut + 1;
            first = false;
        }
        fprintf(out, "%.*s\n", (int)bytes, line);
        text += next;
    }
}

static const char *source_of(const fsim_project *p, int k, fsim_arena *a)
{
    const char *text = p->program[k].source;
    if (strncmp(text, "/*", 2) == 0) { /* the generator's own word on what it is */
        text = strstr(text, "*/") + 2;
        text += *text == '\n';
    }
    fsim_memory whole;
    FILE *out = fsim_memory_begin(&whole);
    put_header(out, p, k, a);
    put_wrapped(out, text);
    return fsim_memory_end(&whole, a, NULL);
}

/* The Makefile. */

static void put_list(FILE *out, const fsim_project *p, const char *name)
{
    fprintf(out, "%s =", name);
    for (int k = 0; k < p->plan.kernels; k++)
        if (p->source[k])
            fprintf(out, " \\\n    %s", p->source[k]);
    fputs("\n", out);
}

static const char *makefile_of(const fsim_project *p, fsim_arena *a)
{
    enum { OTHERWISE = 90 }; /* where nvcc does not compile for the GPU's own architecture (hw/architecture.def) */
    fsim_memory text;
    FILE *out = fsim_memory_begin(&text);
    fprintf(out, "# Written by fusesim " FUSESIM_VERSION
                 ".\n#   make       the launcher\n#   make run   and run it: RUN='--runs 50'\n");
    if (p->host) {
        fputs("# No -ffast-math: it takes away the additions by which the kernels' exponentials round.\n"
              "CFLAGS ?= -O3 -march=native -fno-math-errno -fno-trapping-math -fopenmp-simd\n",
              out);
        put_list(out, p, "KERNELS");
        fputs("OBJECTS = $(KERNELS:.c=.o) launcher.o\n\n"
              "launcher: $(OBJECTS)\n\t$(CC) -pthread $(LDFLAGS) -o $@ $(OBJECTS) -lm\n"
              "$(KERNELS:.c=.o): fusesim_dialect.h\n"
              "%.o: %.c\n\t$(CC) -std=gnu11 -pthread $(CFLAGS) -c -o $@ $<\n",
              out);
    } else {
        fprintf(out,
                "#   make cubin each kernel by itself, as the device runs it: registers and spills with NVCCFLAGS='-O3 "
                "-Xptxas -v'\n"
                "ARCH ?= sm_%d%s\nNVCC ?= nvcc\nNVCCFLAGS ?= -O3\n",
                p->hw->arch->generated ? p->hw->sm : OTHERWISE, p->hw->arch->wgmma ? "a" : "");
        put_list(out, p, "KERNELS");
        fputs("OBJECTS = $(KERNELS:.cu=.o) launcher.o\n\n"
              "launcher: $(OBJECTS)\n\t$(NVCC) -arch=$(ARCH) $(LDFLAGS) -o $@ $(OBJECTS)\n"
              "cubin: $(KERNELS:.cu=.cubin)\n"
              "$(OBJECTS) $(KERNELS:.cu=.cubin): fusesim_dialect.h\n"
              "%.o: %.cu\n\t$(NVCC) -arch=$(ARCH) $(NVCCFLAGS) -c -o $@ $<\n"
              "%.cubin: %.cu\n\t$(NVCC) -arch=$(ARCH) $(NVCCFLAGS) -cubin -o $@ $<\n",
              out);
    }
    fprintf(out,
            "run: launcher\n\t./launcher $(RUN)\n"
            "clean:\n\trm -f launcher $(OBJECTS)%s\n.PHONY: run clean%s\n",
            p->host ? "" : " $(KERNELS:.cu=.cubin)", p->host ? "" : " cubin");
    return fsim_memory_end(&text, a, NULL);
}

static void find_tensors(fsim_project *p, fsim_arena *a)
{
    p->used = fsim_new(a, bool, p->graph->tensors + 1);
    p->generated = fsim_new(a, bool, p->graph->tensors + 1);
    for (int k = 0; k < p->plan.kernels; k++)
        for (int i = 0; i < p->program[k].parameters; i++) {
            const fsim_parameter *x = &p->program[k].parameter[i];
            if (x->tensor < 0)
                continue;
            p->used[x->tensor] = true;
            p->generated[x->tensor] = p->generated[x->tensor] || (x->written && !p->program[k].skipped);
        }
}

typedef struct {
    const fsim_project *p;
    const char **text; /* per kernel */
    fsim_arena **a;    /* one a thread */
} sources;

static void make_source(void *to, int k, int worker)
{
    const sources *w = to;
    w->text[k] = w->p->source[k] ? source_of(w->p, k, w->a[worker]) : NULL;
}

void fsim_project_finish(fsim_project *p, fsim_arena *a)
{
    const char *end = p->host ? "c" : "cu";
    const int kernels = p->plan.kernels;
    p->program = fsim_programs_of(p->graph, p->hw, &p->plan, p->jobs, a);
    p->fill = fsim_new(a, fsim_fill, p->graph->tensors + 1);
    fsim_fills_of(p->graph, p->fill);
    find_tensors(p, a);
    p->source = fsim_new(a, const char *, kernels + 1);
    p->file = fsim_new(a, fsim_project_file, kernels + 4);
    for (int k = 0; k < kernels; k++)
        if (p->program[k].skipped)
            p->skipped++;
        else
            p->source[k] = fsim_printf(a, "%.*s.%s", (int)LONGEST_NAME, p->program[k].name, end);
    sources w = {p, fsim_new(a, const char *, kernels + 1), fsim_arena_children(a, p->jobs)};
    fsim_in_parallel(p->jobs, kernels, make_source, &w);
    p->file[p->files++] = (fsim_project_file){"fusesim_dialect.h", fsim_dialect_text};
    for (int k = 0; k < kernels; k++)
        if (p->source[k])
            p->file[p->files++] = (fsim_project_file){p->source[k], w.text[k]};
    p->file[p->files++] = (fsim_project_file){fsim_printf(a, "launcher.%s", end), fsim_launcher_of(p, a)};
    p->file[p->files++] = (fsim_project_file){"Makefile", makefile_of(p, a)};
    p->file[p->files++] = (fsim_project_file){"manifest.json", ""};
    fsim_memory text;
    fsim_json_manifest(fsim_memory_begin(&text), p);
    p->file[p->files - 1].text = fsim_memory_end(&text, a, NULL);
}

/* The report. */

static const char *launch_text(const fsim_project *p, int k, fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < p->program[k].launches; i++) {
        const fsim_launch *l = &p->program[k].launch[i];
        text = fsim_printf(a, "%s%s%lld x %d", text, i ? ", " : "", (long long)l->grid, l->block);
    }
    return text;
}

void fsim_report_project(const fsim_page *page, const fsim_project *p, const char *folder, const fsim_words *removed)
{
    static const fsim_column column[] = {{.title = "file", .left = true, .shrinks = true},
                                         {.title = "template", .left = true, .drop = 1},
                                         {.title = "computes", .left = true, .shrinks = true},
                                         {.title = "launch", .left = true, .legend = "blocks x threads"},
                                         {.title = "time", .legend = "of the kernel alone, without its launch"},
                                         {.title = "DRAM"}};
    fsim_arena *a = fsim_arena_new();
    fsim_table table = fsim_table_new(a, column, sizeof column / sizeof *column);
    bool library = false;
    for (int k = 0; k < p->plan.kernels; k++) {
        const fsim_kernel *x = &p->plan.kernel[k];
        if (!p->source[k])
            continue;
        library = library || x->template == FSIM_LIBRARY_CONTRACTION;
        const char **cell = fsim_table_row(&table, FSIM_PLAIN);
        cell[0] = p->source[k];
        cell[1] = fsim_template_names[x->template];
        cell[2] = fsim_kernel_label(p->graph, x, a);
        cell[3] = launch_text(p, k, a);
        cell[4] = fsim_seconds_text(a, x->time_s);
        cell[5] = fsim_bytes_text(a, (double)(x->dram_read_bytes + x->dram_write_bytes));
    }
    const int written = p->plan.kernels - p->skipped;
    fsim_paragraph(page, FSIM_STRONG, 0, 2,
                   fsim_printf(a, "%s: %d kernel%s of %s for %s, as %s in %s", p->graph->name, written,
                               written == 1 ? "" : "s", p->strategy, p->hw->description, p->host ? "C" : "CUDA",
                               folder));
    if (p->borrowed)
        fsim_paragraph(
            page, FSIM_PLAIN, 0, 0,
            fsim_printf(
                a, "Only the partition is that of %s: the kernels, and what is predicted of them, are fusesim's own.",
                p->strategy));
    fputs("\n", page->out);
    fsim_table_print(page, &table, 2);
    fsim_table_legend(page, &table, 2);
    fputs("\n", page->out);
    if (p->skipped > 0)
        fsim_paragraph(page, FSIM_STRONG, 0, 0, "not generated; what they would write is filled as inputs are");
    for (int k = 0; k < p->plan.kernels; k++)
        if (p->program[k].skipped)
            fsim_paragraph(page, FSIM_PLAIN, 2, 4, fsim_printf(a, "%s: %s", p->program[k].name, p->program[k].skipped));
    if (p->skipped > 0)
        fputs("\n", page->out);
    if (library)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       "library: predicted at the rate of the vendor's library, which is not called: these kernels are "
                       "generated too.");
    const char *gone = "";
    for (int i = 0; i < removed->count; i++)
        gone = fsim_printf(a, "%s%s %s", gone, i ? "," : "", removed->at[i]);
    if (removed->count > 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0, fsim_printf(a, "Removed, as this plan has no such kernel:%s.", gone));
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   fsim_printf(a,
                               "Beside them: fusesim_dialect.h, launcher.%s, Makefile, manifest.json. 'make -C %s run' "
                               "compiles and runs them, each kernel's time beside its prediction.",
                               p->host ? "c" : "cu", folder));
    fsim_arena_free(a);
}
