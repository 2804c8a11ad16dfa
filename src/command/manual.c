/* SPDX-License-Identifier: Apache-2.0 */
/* manual: the manual pages, fusesim(1) from the tables of main.c, those of files from docs/FORMATS.md. */
#include "base/memory.h"
#include "command/help.h"
#include "command/texts.h"
#include "report/mdoc.h"

#include <string.h>

/* The line that begins each page. released: "2025-12-31". */
static void put_title(FILE *out, const char *released, const char *title, int section)
{
    static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
    int year = 1970, month = 1, day = 1;
    if (sscanf(released, "%d-%d-%d", &year, &month, &day) != 3 || month < 1 || month > 12)
        month = 1;
    fprintf(out, ".\\\" Made by fusesim %s: fusesim manual\n.Dd %s %d, %d\n.Dt %s %d\n.Os\n", fsim_version(),
            months[month - 1], day, year, title, section);
}

/* "--hw": ".Fl \-hw". */
static void put_flag(FILE *out, const char *name)
{
    fputs("Fl ", out);
    fsim_mdoc_argument(out, name + 1);
}

/* Macros that show a word for what a user puts there, on a line that has begun. */
static void put_value(FILE *out, const fsim_arg *o, fsim_arena *a)
{
    const char *value = fsim_arg_value_text(a, o);
    if (!*value)
        return;
    fputs(o->argument ? " Ar " : " Cm ", out);
    fsim_mdoc_argument(out, value);
}

/* "plan, sweep": the commands whose --help lists this row. */
static const char *commands_of(const fsim_commands *all, const fsim_arg *o, fsim_arena *a)
{
    const char *text = "";
    int count = 0;
    for (int i = 0; i < all->count; i++)
        if (fsim_command_takes(&all->at[i], o)) {
            text = fsim_printf(a, "%s%s%s", text, *text ? ", " : "", all->at[i].name);
            count++;
        }
    return count == all->count ? "all commands" : text;
}

static void put_commands(FILE *out, const fsim_commands *all, fsim_arena *a)
{
    fputs(".Sh COMMANDS\nWithout the name of a command it is\n.Cm plan .\n.Bl -tag -width Ds\n", out);
    for (int i = 0; i < all->count; i++) {
        const fsim_command *c = &all->at[i];
        for (const char *line = c->usage, *end; *line; line = *end ? end + 1 : end) {
            end = line + strcspn(line, "\n");
            fprintf(out, ".It Cm %s Ar ", c->name);
            fsim_mdoc_argument(out, fsim_strndup(a, line, (size_t)(end - line)));
            putc('\n', out);
        }
        fsim_mdoc_text(out, c->about);
    }
    fputs(".El\n", out);
}

static void put_options(FILE *out, const fsim_commands *all, fsim_arena *a)
{
    fputs(".Sh OPTIONS\nOptions may stand anywhere, as\n.Fl \\-name Ar VALUE\nor\n.Fl \\-name Ns = Ns Ar VALUE .\n"
          "Behind\n.Fl \\-\nthere are none.\n.Bl -tag -width Ds\n",
          out);
    for (int i = 0; i < all->options->count; i++) {
        const fsim_arg *o = &all->options->at[i];
        fputs(".It ", out);
        put_flag(out, o->name);
        put_value(out, o, a);
        putc('\n', out);
        fsim_mdoc_text(out, fsim_printf(a, "%s.", o->help));
        fsim_mdoc_text(out, fsim_printf(a, "Of %s.", commands_of(all, o, a)));
    }
    fputs(".El\n", out);
}

static void put_strategies(FILE *out, fsim_arena *a)
{
    fputs(".Sh STRATEGIES\n.Bl -tag -width Ds\n", out);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        fsim_mdoc_item(
            out, fsim_strategy_names[i],
            fsim_printf(a, "%s%s", fsim_strategies[i].help, fsim_strategies[i].asked ? "; only when asked for" : ""));
    fputs(".El\n", out);
}

static void put_limits(FILE *out, fsim_arena *a)
{
    fputs(".Sh LIMITS\n", out);
    fsim_mdoc_text(out, "`--gate [GROUP:]METRIC=LIMIT` says what must hold; otherwise the exit status is 1.");
    for (int i = 0; fsim_gate_tables[i]; i++) {
        const fsim_gate_table *t = fsim_gate_tables[i];
        fputs(".Ss ", out);
        fsim_mdoc_argument(out, fsim_printf(a, "fusesim %s", t->command));
        putc('\n', out);
        if (t->groups)
            fsim_mdoc_text(out, fsim_printf(a, "GROUP: %s.", t->groups));
        fputs(".Bl -tag -width Ds\n", out);
        for (int k = 0; k < t->metrics; k++)
            fsim_mdoc_item(out, fsim_gate_example(&t->metric[k], a),
                           fsim_printf(a, "%s%s%s", fsim_gate_bound(&t->metric[k]),
                                       *fsim_gate_bound(&t->metric[k]) ? ": " : "", t->metric[k].help));
        fputs(".El\n", out);
    }
}

static void put_environment(FILE *out)
{
    static const struct {
        const char *name, *meaning;
    } row[] = {
#define FSIM_ENVIRONMENT(name, meaning) {name, meaning},
#include "command/environment.def"
#undef FSIM_ENVIRONMENT
    };
    fputs(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fsim_mdoc_item(out, row[i].name, row[i].meaning);
    fputs(".El\n", out);
}

static void put_files(FILE *out)
{
    fputs(".Sh FILES\n.Bl -tag -width Ds\n", out);
    fsim_mdoc_item(out, "../share/fusesim/workloads",
                   "the workloads that have a name, seen from the program's folder; `./workloads` comes first");
    fsim_mdoc_item(out, "../share/fusesim/hwmodels", "the GPUs that have a name");
    fsim_mdoc_item(out, "../share/fusesim/schema", "JSON schemas of what `--json` writes");
    fputs(".El\n", out);
}

static void put_examples(FILE *out, const fsim_commands *all, fsim_arena *a)
{
    fputs(".Sh EXAMPLES\n.Bd -literal -offset 2n\n", out);
    for (int i = 0; i < all->count; i++)
        for (const char *line = all->at[i].examples, *end; *line; line = *end ? end + 1 : end) {
            end = line + strcspn(line, "\n");
            fsim_mdoc_lines(out, fsim_printf(a, "fusesim %.*s\n", (int)(end - line), line));
        }
    fputs(".Ed\n", out);
}

static void put_program(FILE *out, const fsim_context *c)
{
    const fsim_commands *all = c->commands;
    put_title(out, FUSESIM_RELEASED, "FUSESIM", 1);
    fputs(".Sh NAME\n.Nm fusesim\n.Nd which operators should share a GPU kernel, and what that costs\n.Sh SYNOPSIS\n"
          ".Nm\n.Op Cm COMMAND\n.Op Ar WORKLOAD\n.Op Ar options\n.Sh DESCRIPTION\n",
          out);
    fsim_mdoc_text(out, "fusesim reads a workload and a GPU. It finds the best legal way to cut the workload into "
                        "kernels, and says what each kernel moves, computes and takes, and whether a faster plan is "
                        "possible. It needs no GPU. WORKLOAD is a file in YAML, ONNX or torch.export, the name of a "
                        "shipped workload, or - for the standard input. Results go to the standard output, all else "
                        "to the standard error.");
    put_commands(out, all, c->arena);
    put_options(out, all, c->arena);
    put_strategies(out, c->arena);
    fputs(".Sh DTYPES\n", out);
    fsim_mdoc_text(out, fsim_printf(c->arena, "%s; as in `--set dtype=bf16`.", fsim_dtype_list(c->arena)));
    put_limits(out, c->arena);
    put_environment(out);
    put_files(out);
    fputs(".Sh EXIT STATUS\n", out);
    fsim_mdoc_text(out, fsim_printf(c->arena, "%s.", fsim_exit_words(c->arena, NULL)));
    put_examples(out, all, c->arena);
    fputs(".Sh SEE ALSO\n.Xr fusesim-hw 5 ,\n.Xr fusesim-workload 5\n", out);
}

/* A page that is a section of docs/FORMATS.md. */
static void put_format(FILE *out, const char *title, const char *name, const char *about, const char *heading)
{
    put_title(out, FUSESIM_RELEASED, title, 5);
    fprintf(out, ".Sh NAME\n.Nm %s\n.Nd %s\n.Sh DESCRIPTION\n", name, about);
    fsim_mdoc_section(out, fsim_formats_text, heading);
    fputs(".Sh SEE ALSO\n.Xr fusesim 1\n", out);
}

static void put_workload(FILE *out, const fsim_context *c)
{
    (void)c;
    put_format(out, "FUSESIM-WORKLOAD", "fusesim-workload", "files of workloads", "Workloads");
}

static void put_hardware(FILE *out, const fsim_context *c)
{
    (void)c;
    put_format(out, "FUSESIM-HW", "fusesim-hw", "files of GPUs", "Hardware files");
}

int fsim_run_manual(fsim_context *c)
{
    static const char *const names[] = {"fusesim", "workload", "hw"};
    static void (*const pages[])(FILE *, const fsim_context *) = {put_program, put_workload, put_hardware};
    const char *word = c->args.count ? c->args.at[0] : names[0];
    int which = 0;
    while (which < FSIM_COUNT_OF(names) && strcmp(word, names[which]) != 0)
        which++;
    if (which == FSIM_COUNT_OF(names)) {
        fsim_error(c->diag, fsim_command_line, "manual: unknown page '%s'%s; wanted fusesim, workload or hw", word,
                   fsim_did_you_mean(c->arena, word, names, FSIM_COUNT_OF(names)));
        return fsim_usage_status(c);
    }
    fsim_memory page;
    pages[which](fsim_memory_begin(&page), c);
    return fsim_answer(c, fsim_memory_end(&page, c->arena, NULL));
}
