/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: what --help prints, from the tables of main.c. */
#ifndef FUSESIM_COMMAND_HELP_H
#define FUSESIM_COMMAND_HELP_H

#include "command/command.h"

/* A command of the program: what runs, and what --help says of it. */
typedef struct {
    const char *name, *help;   /* help: a few words, for the list of commands */
    const char *usage;         /* what may stand behind the name, a line each */
    const char *about;         /* what it does */
    const char *examples;      /* command lines without "fusesim ", a line each; the test of --help runs them */
    unsigned bit;              /* in fsim_arg.commands */
    unsigned kinds;            /* kinds of results, 1 << each, which decide the formats that can show them */
    bool needs_inputs;         /* needs a workload and hardware */
    int most_words, most_gpus; /* most words after the command; most GPUs of --hw */
    int (*run)(fsim_context *c);
} fsim_command;

typedef struct fsim_commands {
    const fsim_command *at;
    int count;
    const fsim_args *options;
    const char *const *often; /* names of options that are used most */
    int oftens;
} fsim_commands;

/* Does the command take the option, by the row's commands and, for a format, by what the format shows? */
bool fsim_command_takes(const fsim_command *c, const fsim_arg *o);
/* The commands, and the options that are used most. */
void fsim_help(FILE *out, const fsim_commands *all, fsim_arena *a);
/* One command in full: its usage, options, gates, examples, exit statuses. */
void fsim_help_of(FILE *out, const fsim_commands *all, const fsim_command *c, fsim_arena *a);

#endif
