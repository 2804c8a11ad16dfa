/* SPDX-License-Identifier: Apache-2.0 */
/* completion: what shells need to complete command lines, from the tables of main.c; and the names that they ask for.
 */
#include "base/memory.h"
#include "command/help.h"
#include "command/texts.h"
#include "graph/find.h"
#include "graph/op.h"
#include "model/model.h"
#include "report/describe.h"

#include <ctype.h>
#include <string.h>

typedef struct {
    FILE *out;
    const fsim_commands *all;
    fsim_arena *a;
} writer;

/* What follows an option: a kind that the scripts know, and words. */
static const char *value_of(const writer *w, const fsim_arg *o)
{
    const char *about = o->argument ? o->argument : "", *names = "";
    const bool many = o->kind == FSIM_ARG_ITEMS;
    for (int i = 0; o->choices && i < o->choices->count; i++)
        names = fsim_printf(w->a, "%s %s", names, o->choices->names[i]);
    return o->kind == FSIM_ARG_FLAG ? "none"
           : *names                 ? fsim_printf(w->a, "%s%s", many ? "list" : "words", names)
           : strncmp(about, "HW", 2) == 0 || strncmp(about, "GPU", 3) == 0 ? (many ? "list-names hw" : "names hw")
           : strcmp(about, "FILE") == 0                                    ? "files"
           : strcmp(about, "DIR") == 0                                     ? "folders"
                                                                           : "any";
}

/* The first word of a line of a command's usage: its kind. command: its name. */
static const char *word_of(const writer *w, const char *command, const char *at, size_t length)
{
    const char *word = fsim_strndup(w->a, at, length);
    return strncmp(word, "WORKLOAD", 8) == 0 || strncmp(word, "MODEL", 5) == 0 ? "names workloads"
           : strstr(word, "OP]")                                               ? "names ops"
           : strstr(word, "NAME|")                                             ? fsim_printf(w->a, "names %s", command)
                                                                               : "files";
}

/* "bash|zsh" or "list": words that stand as they are, with spaces between; "" where it is another thing. */
static const char *literals(const writer *w, const char *at, size_t length)
{
    char *text = fsim_strndup(w->a, at, length), *to = text;
    for (const char *c = text; *c; c++) {
        if (!islower((unsigned char)*c) && !strchr("|[]", *c))
            return "";
        if (*c != '[' && *c != ']')
            *to++ = *c == '|' ? ' ' : *c;
    }
    *to = '\0';
    return text;
}

/* Calls show for each kind of word behind a command: "plan" has "names workloads", "hw" has "words list show", and
 * "hw/show" has "names hw". */
static void each_word(const writer *w, void (*show)(const writer *w, const char *where, const char *kind))
{
    for (int i = 0; i < w->all->count; i++) {
        const fsim_command *c = &w->all->at[i];
        const char *words = "", *kind = NULL;
        for (const char *line = c->usage, *end; *line; line = *end ? end + 1 : end) {
            end = line + strcspn(line, "\n");
            const size_t length = strcspn(line, " \n");
            const char *own = literals(w, line, length), *next = line + length + (line[length] == ' ');
            words = *own ? fsim_printf(w->a, "%s %s", words, own) : words;
            if (!*own && !kind && *line != '-')
                kind = word_of(w, c->name, line, length);
            if (*own && next < end)
                show(w, fsim_printf(w->a, "%s/%s", c->name, own), word_of(w, c->name, next, strcspn(next, " \n")));
        }
        show(w, c->name, *words ? fsim_printf(w->a, "words%s", words) : kind ? kind : "files");
    }
}

static void show_case(const writer *w, const char *where, const char *kind)
{
    fprintf(w->out, "    (%s) REPLY='%s' ;;\n", where, kind);
}

static void put_words(const writer *w) { each_word(w, show_case); }

/* text within '...' of a shell. Ours have no backslash. */
static const char *quoted(const writer *w, const char *text, const char *escape)
{
    const char *safe = "";
    for (const char *at = text; *at; at += strcspn(at, "'") + (at[strcspn(at, "'")] == '\''))
        safe = fsim_printf(w->a, "%s%.*s%s", safe, (int)strcspn(at, "'"), at, at[strcspn(at, "'")] ? escape : "");
    return safe;
}

static void put_values(const writer *w)
{
    for (int i = 0; i < w->all->options->count; i++) {
        const fsim_arg *o = &w->all->options->at[i];
        const char *before = "    (", *kind = value_of(w, o);
        for (int c = 0; c < w->all->count; c++)
            if (strcmp(kind, "any") != 0 && o->kind != FSIM_ARG_FLAG && fsim_command_takes(&w->all->at[c], o)) {
                fprintf(w->out, "%s%s/%s", before, w->all->at[c].name, o->name);
                before = "|";
            }
        if (*before == '|')
            fprintf(w->out, ") REPLY='%s' ;;\n", kind);
    }
}

static void put_options(const writer *w)
{
    for (int c = 0; c < w->all->count; c++) {
        const char *before = "";
        fprintf(w->out, "    (%s) REPLY='", w->all->at[c].name);
        for (int i = 0; i < w->all->options->count; i++)
            if (fsim_command_takes(&w->all->at[c], &w->all->options->at[i])) {
                fprintf(w->out, "%s%s", before, w->all->options->at[i].name);
                before = " ";
            }
        fputs("' ;;\n", w->out);
    }
}

static void put_described_options(const writer *w)
{
    for (int c = 0; c < w->all->count; c++) {
        fprintf(w->out, "    (%s) reply=(", w->all->at[c].name);
        for (int i = 0; i < w->all->options->count; i++) {
            const fsim_arg *o = &w->all->options->at[i];
            if (fsim_command_takes(&w->all->at[c], o))
                fprintf(w->out, "\n        '%s:%s'", o->name, quoted(w, o->help, "'\\''"));
        }
        fputs(") ;;\n", w->out);
    }
}

static void put_described_commands(const writer *w)
{
    for (int c = 0; c < w->all->count; c++)
        fprintf(w->out, "        '%s:%s'\n", w->all->at[c].name, quoted(w, w->all->at[c].help, "'\\''"));
}

static void put_command_names(const writer *w)
{
    for (int c = 0; c < w->all->count; c++)
        fprintf(w->out, "%s%s", c ? " " : "", w->all->at[c].name);
}

/* Options that take no value, whatever the command. */
static void put_flags(const writer *w)
{
    fputs("-h", w->out);
    for (int i = 0; i < w->all->options->count; i++)
        if (w->all->options->at[i].kind == FSIM_ARG_FLAG)
            fprintf(w->out, " %s", w->all->options->at[i].name);
}

/* What "complete" of fish says of a kind: -x: a value must follow, and it is no file; -r: one must, it may be. */
static const char *fish_value(const writer *w, const char *kind)
{
    const char *names = kind + strcspn(kind, " ") + (kind[strcspn(kind, " ")] == ' ');
    return strncmp(kind, "none", 4) == 0    ? " -f"
           : strncmp(kind, "words", 5) == 0 ? fsim_printf(w->a, " -x -a '%s'", names)
           : strncmp(kind, "list-names", 10) == 0
               ? fsim_printf(w->a, " -x -a '(__fish_complete_list , \"__fusesim_names %s\")'", names)
           : strncmp(kind, "list", 4) == 0
               ? fsim_printf(w->a, " -x -a '(__fish_complete_list , \"printf \\\"%%s\\\\\\n\\\" %s\")'", names)
           : strncmp(kind, "names", 5) == 0 ? fsim_printf(w->a, " -r -a '(__fusesim_names %s)'", names)
           : strncmp(kind, "any", 3) == 0   ? " -x"
                                            : " -r";
}

static void show_fish(const writer *w, const char *where, const char *kind)
{
    const size_t command = strcspn(where, "/");
    const char *further = where[command] ? fsim_printf(w->a, " %s", where + command + 1) : "";
    const char *names = kind + strcspn(kind, " ") + (kind[strcspn(kind, " ")] == ' ');
    const bool no_file = strncmp(kind, "words", 5) == 0 || strcmp(kind, "names ops") == 0;
    if (strncmp(kind, "files", 5) != 0)
        fprintf(w->out, "complete -c fusesim -n '__fusesim_at %.*s%s'%s -a '%s'\n", (int)command, where, further,
                no_file ? " -f" : "",
                strncmp(kind, "names", 5) == 0 ? fsim_printf(w->a, "(__fusesim_names %s)", names) : names);
}

static void put_fish(const writer *w)
{
    for (int c = 0; c < w->all->count; c++)
        fprintf(w->out, "complete -c fusesim -n '__fusesim_at \"\"' -a %s -d '%s'\n", w->all->at[c].name,
                quoted(w, w->all->at[c].help, "\\'"));
    each_word(w, show_fish);
    for (int i = 0; i < w->all->options->count; i++) {
        const fsim_arg *o = &w->all->options->at[i];
        fputs("complete -c fusesim -n '__fusesim_on", w->out);
        for (int c = 0; c < w->all->count; c++)
            if (fsim_command_takes(&w->all->at[c], o))
                fprintf(w->out, " %s", w->all->at[c].name);
        fprintf(w->out, "' %s%s -d '%s'\n",
                o->name[1] == '-' ? fsim_printf(w->a, "-l %s", o->name + 2) : fsim_printf(w->a, "-s %s", o->name + 1),
                fish_value(w, value_of(w, o)), quoted(w, o->help, "\\'"));
    }
}

static const struct {
    const char *mark;
    void (*put)(const writer *w);
} marks[] = {{"@command-names@", put_command_names},
             {"@flags@", put_flags},
             {"@values@\n", put_values},
             {"@words@\n", put_words},
             {"@options@\n", put_options},
             {"@described-options@\n", put_described_options},
             {"@described-commands@\n", put_described_commands},
             {"@fish@\n", put_fish}};

/* The script with its marks replaced by what the tables say. */
static void put_script(const writer *w, const char *text)
{
    while (*text) {
        size_t length = 1;
        for (int i = 0; i < FSIM_COUNT_OF(marks); i++)
            if (strncmp(text, marks[i].mark, strlen(marks[i].mark)) == 0) {
                marks[i].put(w);
                length = strlen(marks[i].mark);
                text += length;
                length = 0;
                break;
            }
        if (length > 0)
            putc(*text, w->out);
        text += length;
    }
}

/* The names of a kind, a line each: those that a shell takes as they are. */
static void put_names(const writer *w, const char *const *name, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(fsim_shell_word(w->a, name[i]), name[i]) == 0)
            fprintf(w->out, "%s\n", name[i]);
}

/* The operators that a workload may name: some rows are made by expansion alone. */
static const char *const *operators(const writer *w, int *count)
{
    int rows;
    const char *const *all = fsim_op_names(&rows);
    const char **names = fsim_new(w->a, const char *, rows + 1);
    *count = 0;
    for (int i = 0; i < rows; i++) {
        fsim_op op;
        if (fsim_op_parse(all[i], &op))
            names[(*count)++] = all[i];
    }
    return names;
}

static void put_names_of(const writer *w, const fsim_context *c, const char *kind)
{
    int count = 0;
    const char *const *names = NULL;
    if (strcmp(kind, "hw") == 0)
        names = fsim_hw_list(w->a, &c->hw_folders, &count, NULL);
    else if (strcmp(kind, "workloads") == 0)
        names = fsim_workload_names(w->a, c->workload_folder, &count);
    else if (strcmp(kind, "ops") == 0)
        names = operators(w, &count);
    else
        count = fsim_model_names(&names);
    put_names(w, names, count);
}

int fsim_run_completion(fsim_context *c)
{
    static const char *const words[] = {"bash", "zsh", "fish", "hw", "workloads", "models", "ops"};
    static const char *const scripts[] = {fsim_completion_bash_text, fsim_completion_zsh_text,
                                          fsim_completion_fish_text};
    const char *word = c->args.count ? c->args.at[0] : "";
    int which = 0;
    while (which < FSIM_COUNT_OF(words) && strcmp(word, words[which]) != 0)
        which++;
    if (which == FSIM_COUNT_OF(words)) {
        fsim_error(c->diag, fsim_command_line,
                   "completion: unknown '%s'%s; wanted bash, zsh or fish, or the names of hw, workloads, models or ops",
                   word, fsim_did_you_mean(c->arena, word, words, FSIM_COUNT_OF(words)));
        return fsim_usage_status(c);
    }
    fsim_memory text;
    const writer w = {fsim_memory_begin(&text), c->commands, c->arena};
    if (which < FSIM_COUNT_OF(scripts))
        put_script(&w, scripts[which]);
    else
        put_names_of(&w, c, word);
    return fsim_answer(c, fsim_memory_end(&text, c->arena, NULL));
}
