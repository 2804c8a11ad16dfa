/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h: exit statuses of the program. Only src/command and main.c know these numbers; all other code returns an
 * fsim_status in a diagnostic or a fault. */
#ifndef FUSESIM_COMMAND_EXIT_H
#define FUSESIM_COMMAND_EXIT_H

#include "base/arena.h"
#include "fusesim.h"

enum {
#define FSIM_EXIT(id, number, commands, words) FSIM_EXIT_##id = number,
#include "command/exit.def"
#undef FSIM_EXIT
};
/* "0 ok, 1 a limit does not hold, ...": those of a command, for --help; NULL: all. In a. */
const char *fsim_exit_words(fsim_arena *a, const char *command);

/* The exit status for a failure of this kind. */
int fsim_exit_status(fsim_status status);

#endif
