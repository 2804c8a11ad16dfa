/* SPDX-License-Identifier: Apache-2.0 */
/* args.h: reads a command line by a table of options: "--name VALUE", "--name=VALUE", and other words. */
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
    const char *later; /* values of planned releases, comma separated, for messages; NULL */
} fsim_choices;

/* The kind of an option's value, and the type of the field that it sets. */
typedef enum {
    FSIM_ARG_FLAG,    /* none; bool */
    FSIM_ARG_TEXT,    /* const char *; NULL when not given */
    FSIM_ARG_ITEM,    /* fsim_words: one word, appended each time */
    FSIM_ARG_ITEMS,   /* fsim_words: a comma-separated list, appended each time */
    FSIM_ARG_CHOICE,  /* int, an index into choices */
    FSIM_ARG_COUNT,   /* int64_t of at least 1; 0 when not given */
    FSIM_ARG_SECONDS, /* double above 0 */
    FSIM_ARG_NUMBER,  /* the same, of no unit; 0 when not given */
    FSIM_ARG_SIZE,    /* int64_t bytes above 0, "3 GiB"; 0 when not given */
} fsim_arg_kind;

typedef struct {
    const char *name, *argument; /* argument NULL: the choices are shown */
    fsim_arg_kind kind;
    size_t offset; /* offset of the field in the settings */
    const fsim_choices *choices;
    unsigned commands; /* set of commands that have the option; its bits are the caller's */
    const char *help;
} fsim_arg;

/* An option may have several rows with one field, each with the words for its own commands. */
typedef struct {
    const fsim_arg *at;
    int count;
    const char *const *later; /* options of planned releases, for messages */
    int laters;
    bool *used; /* per row, set by fsim_args_read: is it the first row of an option that was used? */
} fsim_args;

/* Sets the fields of settings (text points into argv or is in a) and returns the words that are no options. Options
 * may be anywhere; after "--" there are none. Errors are in d. */
fsim_words fsim_args_read(const fsim_args *known, fsim_arena *a, fsim_diag *d, int argc, char **argv, void *settings);
/* What follows an option: "FILE", "cold|warm", "" for a flag. In a. */
const char *fsim_arg_value_text(fsim_arena *a, const fsim_arg *o);
/* Prints an option, one or two lines. */
void fsim_arg_usage(FILE *out, const fsim_arg *o, fsim_arena *a);

/* Is word one of names[0, count)? */
bool fsim_among(const char *word, const char *const *names, int count);

#endif
