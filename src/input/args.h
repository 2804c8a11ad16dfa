/* SPDX-License-Identifier: Apache-2.0 */
/* args.h: a command line by a table of options: "--name VALUE", "--name=VALUE", and the words that are none. */
#ifndef FUSESIM_INPUT_ARGS_H
#define FUSESIM_INPUT_ARGS_H

#include "base/diag.h"

typedef struct {
    const char **at;
    int count, room;
} fsim_words;

typedef struct {
    const char *const *names;
    int count;
    const char *later; /* values of other releases, comma separated; NULL */
} fsim_choices;

/* What an option's value is, and the type of the field that it sets. */
typedef enum {
    FSIM_ARG_FLAG,    /* none; bool */
    FSIM_ARG_TEXT,    /* const char *; NULL when not given */
    FSIM_ARG_ITEM,    /* fsim_words, one more each time */
    FSIM_ARG_ITEMS,   /* fsim_words, comma separated, more each time */
    FSIM_ARG_CHOICE,  /* int, an index into choices */
    FSIM_ARG_COUNT,   /* int64_t of at least 1; 0 when not given */
    FSIM_ARG_SECONDS, /* double above 0 */
    FSIM_ARG_SIZE,    /* int64_t bytes above 0, "3 GiB"; 0 when not given */
} fsim_arg_kind;

typedef struct {
    const char *name, *argument; /* argument NULL: the choices are shown */
    fsim_arg_kind kind;
    size_t offset; /* in the settings */
    const fsim_choices *choices;
    unsigned commands; /* that it means something to; for the caller */
    const char *help;
} fsim_arg;

typedef struct {
    const fsim_arg *at;
    int count;
    const char *const *later; /* options of other releases */
    int laters;
} fsim_args;

/* Sets the fields of settings, whose strings are argv's or in a, and returns the other words. Options may stand
 * anywhere; behind "--" nothing is one. Errors are in d. */
fsim_words fsim_args_read(const fsim_args *known, fsim_arena *a, fsim_diag *d, int argc, char **argv, void *settings);
/* Whether the settings show that an option was given; false for kinds that don't show it. */
bool fsim_arg_present(const fsim_arg *o, const void *settings);
/* The options, a line or two each. */
void fsim_args_usage(FILE *out, const fsim_args *known, fsim_arena *a);

/* Is word one of names[0, count)? */
bool fsim_among(const char *word, const char *const *names, int count);

#endif
