/* SPDX-License-Identifier: Apache-2.0 */
#include "command/help.h"

#include <string.h>

enum { COLUMNS = 80 };

static fsim_page page_of(FILE *out) { return (fsim_page){.out = out, .width = COLUMNS}; }

bool fsim_command_takes(const fsim_command *c, const fsim_arg *o)
{
    if (!(o->commands & c->bit))
        return false;
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++)
        if (strcmp(o->name, fsim_format_option(f)) == 0)
            return fsim_format_shows(f, c->kinds);
    return true;
}

/* Prints each line of text behind `before`. */
static void print_lines(FILE *out, const char *before, const char *text)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", before, (int)(end - text), text);
    }
}

/* Prints the first row of an option. */
static void print_option(FILE *out, const fsim_commands *all, const char *name, fsim_arena *a)
{
    for (int i = 0; i < all->options->count; i++)
        if (strcmp(all->options->at[i].name, name) == 0) {
            fsim_arg_usage(out, &all->options->at[i], a);
            return;
        }
}

void fsim_help(FILE *out, const fsim_commands *all, fsim_arena *a)
{
    const fsim_page page = page_of(out);
    fputs("usage: fusesim [COMMAND] [WORKLOAD] [options]     (no command: plan)\n\n", out);
    for (int i = 0; i < all->count; i++)
        fprintf(out, "  %-10s %s\n", all->at[i].name, all->at[i].help);
    fprintf(out, "  %-10s %s\n", "help", "a command in full: 'fusesim help plan', or 'fusesim plan --help'");
    fputs("\nWORKLOAD: a YAML file, the name of a shipped one ('mlp'), or - for stdin\n", out);
    for (int i = 0; i < all->oftens; i++)
        print_option(out, all, all->often[i], a);
    putc('\n', out);
    fsim_paragraph(
        &page, FSIM_PLAIN, 0, 0,
        fsim_printf(a,
                    "These are the options that are used most; 'fusesim COMMAND --help' has all of a command, "
                    "with examples. Results go to stdout, all else to stderr. Exit status: %s.",
                    fsim_exit_words(a, NULL)));
}

/* The usage of a command, the lines behind the first in line with it. */
static void print_usage(FILE *out, const fsim_command *c)
{
    for (const char *line = c->usage, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        fprintf(out, "%s fusesim %s %.*s\n", line == c->usage ? "usage:" : "      ", c->name, (int)(end - line), line);
    }
}

/* Does the command take an option whose row is `name`? */
static bool takes_named(const fsim_commands *all, const fsim_command *c, const char *name)
{
    for (int i = 0; i < all->options->count; i++)
        if (strcmp(all->options->at[i].name, name) == 0 && fsim_command_takes(c, &all->options->at[i]))
            return true;
    return false;
}

static void print_strategies(FILE *out)
{
    fputs("\nstrategies\n", out);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        fprintf(out, "  %-10s%s%s\n", fsim_strategy_names[i], fsim_strategies[i].help,
                fsim_strategies[i].asked ? "; only when asked for" : "");
}

static void print_dtypes(FILE *out, fsim_arena *a)
{
    const fsim_page page = page_of(out);
    fputs("\ndtypes\n", out);
    fsim_paragraph(&page, FSIM_PLAIN, 2, 2, fsim_printf(a, "%s; as in --set dtype=bf16", fsim_dtype_list(a)));
}

/* The metrics of --gate that are this command's: its tables are named after it, "validate --device". */
static void print_gates(FILE *out, const fsim_command *c)
{
    const size_t length = strlen(c->name);
    fputs("\ngates: [GROUP:]METRIC=LIMIT, what must hold\n", out);
    for (int i = 0; fsim_gate_tables[i]; i++)
        if (strncmp(fsim_gate_tables[i]->command, c->name, length) == 0)
            fsim_gate_usage(out, fsim_gate_tables[i]);
}

void fsim_help_of(FILE *out, const fsim_commands *all, const fsim_command *c, fsim_arena *a)
{
    const fsim_page page = page_of(out);
    print_usage(out, c);
    putc('\n', out);
    fsim_paragraph(&page, FSIM_PLAIN, 0, 0, c->about);
    if (c->needs_inputs)
        fputs("WORKLOAD: a YAML file, the name of a shipped one ('mlp'), or - for stdin\n", out);
    fputs("\noptions\n", out);
    for (int i = 0; i < all->options->count; i++)
        if (fsim_command_takes(c, &all->options->at[i]))
            fsim_arg_usage(out, &all->options->at[i], a);
    if (takes_named(all, c, "--strategy") || takes_named(all, c, "--strategies"))
        print_strategies(out);
    if (takes_named(all, c, "--set"))
        print_dtypes(out, a);
    if (takes_named(all, c, "--gate"))
        print_gates(out, c);
    fputs("\nexamples\n", out);
    print_lines(out, "  fusesim ", c->examples);
    putc('\n', out);
    fsim_paragraph(&page, FSIM_PLAIN, 0, 0, fsim_printf(a, "Exit status: %s.", fsim_exit_words(a, c->name)));
}
