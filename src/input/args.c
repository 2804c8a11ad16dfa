/* SPDX-License-Identifier: Apache-2.0 */
#include "input/args.h"
#include "base/unit.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const fsim_args *known;
    fsim_arena *a;
    fsim_diag *d;
    void *settings;
} reader;

static const fsim_loc command_line = {NULL, 0, 0};

bool fsim_among(const char *word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static void add(fsim_arena *a, fsim_words *to, const char *text) { *FSIM_PUSH(a, to->at, to->count, to->room) = text; }

/* Adds the comma-separated parts of text. */
static void add_parts(fsim_arena *a, fsim_words *to, const char *text)
{
    for (const char *end; (end = strchr(text, ',')); text = end + 1)
        add(a, to, fsim_strndup(a, text, (size_t)(end - text)));
    add(a, to, text);
}

static void read_choice(const reader *r, const fsim_arg *o, const char *text, int *value)
{
    const fsim_choices *all = o->choices;
    fsim_words later = {0};
    const char *wanted = "";
    for (int i = 0; i < all->count; i++) {
        if (strcmp(text, all->names[i]) == 0) {
            *value = i;
            return;
        }
        wanted = fsim_printf(r->a, "%s%s%s", wanted, i ? ", " : "", all->names[i]);
    }
    if (all->later)
        add_parts(r->a, &later, all->later);
    if (fsim_among(text, later.at, later.count))
        fsim_error(r->d, command_line, "%s %s is not in this release; wanted %s", o->name, text, wanted);
    else
        fsim_error(r->d, command_line, "%s: unknown value '%s'%s; wanted %s", o->name, text,
                   fsim_did_you_mean(r->a, text, all->names, all->count), wanted);
}

static void read_count(const reader *r, const fsim_arg *o, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < 1)
        fsim_error(r->d, command_line, "%s: '%s' is not a whole number of at least 1", o->name, text);
    else
        *value = number;
}

/* unit: "" or " of seconds". */
static void read_number(const reader *r, const fsim_arg *o, const char *text, const char *unit, double *value)
{
    static const double most = 1e6;
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end || !(number > 0 && number <= most))
        fsim_error(r->d, command_line, "%s: '%s' is not a number%s from above 0 to %g", o->name, text, unit, most);
    else
        *value = number;
}

static void read_size(const reader *r, const fsim_arg *o, const char *text, int64_t *value)
{
    static const double most = 1e18;
    const char *why = "";
    double bytes;
    if (!fsim_parse_unit(text, FSIM_DIM_BYTES, &bytes, &why))
        fsim_error(r->d, command_line, "%s: '%s' %s", o->name, text, why);
    else if (!(bytes >= 1 && bytes <= most))
        fsim_error(r->d, command_line, "%s: '%s' is not from 1 B to %g B", o->name, text, most);
    else
        *value = (int64_t)bytes;
}

/* value: NULL for flags. */
static void take(const reader *r, const fsim_arg *o, const char *value)
{
    void *at = (char *)r->settings + o->offset;
    switch (o->kind) {
    case FSIM_ARG_FLAG:
        *(bool *)at = true;
        break;
    case FSIM_ARG_TEXT:
        *(const char **)at = value;
        break;
    case FSIM_ARG_ITEM:
        add(r->a, at, value);
        break;
    case FSIM_ARG_ITEMS:
        add_parts(r->a, at, value);
        break;
    case FSIM_ARG_CHOICE:
        read_choice(r, o, value, at);
        break;
    case FSIM_ARG_COUNT:
        read_count(r, o, value, at);
        break;
    case FSIM_ARG_SECONDS:
        read_number(r, o, value, " of seconds", at);
        break;
    case FSIM_ARG_NUMBER:
        read_number(r, o, value, "", at);
        break;
    case FSIM_ARG_SIZE:
        read_size(r, o, value, at);
        break;
    }
    if (o->kind != FSIM_ARG_FLAG && !*value)
        fsim_error(r->d, command_line, "%s has an empty value", o->name);
}

static const fsim_arg *find(const reader *r, const char *name)
{
    const fsim_args *known = r->known;
    const char **names = fsim_new(r->a, const char *, known->count);
    for (int i = 0; i < known->count; i++) {
        names[i] = known->at[i].name;
        if (strcmp(name, names[i]) == 0)
            return &known->at[i];
    }
    if (fsim_among(name, known->later, known->laters))
        fsim_error(r->d, command_line, "option %s is not in this release", name);
    else
        fsim_error(r->d, command_line, "unknown option '%s'%s", name,
                   fsim_did_you_mean(r->a, name, names, known->count));
    return NULL;
}

/* Reads the option at argv[i]; returns the index of the last word that it took. */
static int read_option(const reader *r, int argc, char **argv, int i)
{
    const char *word = argv[i], *equals = strchr(word, '=');
    const char *name = equals                    ? fsim_strndup(r->a, word, (size_t)(equals - word))
                       : strcmp(word, "-h") == 0 ? "--help"
                                                 : word;
    const fsim_arg *o = find(r, name);
    if (!o)
        return i;
    r->known->used[o - r->known->at] = true;
    if (o->kind == FSIM_ARG_FLAG) {
        if (equals)
            fsim_error(r->d, command_line, "%s takes no value", name);
        take(r, o, NULL);
    } else if (equals) {
        take(r, o, equals + 1);
    } else if (i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0) {
        fsim_error(r->d, command_line, "%s needs a value%s%s", name, o->argument ? ": " : "",
                   o->argument ? o->argument : "");
    } else {
        take(r, o, argv[++i]);
    }
    return i;
}

fsim_words fsim_args_read(const fsim_args *known, fsim_arena *a, fsim_diag *d, int argc, char **argv, void *settings)
{
    const reader r = {known, a, d, settings};
    fsim_words words = {0};
    bool all_words = false;
    for (int i = 1; i < argc; i++) {
        if (all_words || argv[i][0] != '-' || strcmp(argv[i], "-") == 0)
            add(a, &words, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            all_words = true;
        else
            i = read_option(&r, argc, argv, i);
    }
    return words;
}

const char *fsim_arg_value_text(fsim_arena *a, const fsim_arg *o)
{
    const char *text = o->argument;
    for (int i = 0; o->kind == FSIM_ARG_CHOICE && i < o->choices->count; i++)
        text = i ? fsim_printf(a, "%s|%s", text, o->choices->names[i]) : o->choices->names[i];
    return text;
}

void fsim_arg_usage(FILE *out, const fsim_arg *o, fsim_arena *a)
{
    enum { COLUMN = 34 };
    const char *left = fsim_printf(a, "%s %s", o->name, fsim_arg_value_text(a, o));
    if (strlen(left) > COLUMN)
        fprintf(out, "  %s\n  %*s %s\n", left, COLUMN, "", o->help);
    else
        fprintf(out, "  %-*s %s\n", COLUMN, left, o->help);
}
