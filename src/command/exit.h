/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h: what the program ends with. Only src/command and main.c know these numbers; everything below returns an
 * fsim_status, in a diagnostic or a fault. */
#ifndef FUSESIM_COMMAND_EXIT_H
#define FUSESIM_COMMAND_EXIT_H

#include "fusesim.h"

/* 64 and above as in sysexits.h. */
enum {
    FSIM_EXIT_OK = 0,
    FSIM_EXIT_GATE = 1, /* a limit that the user set is not met */
    FSIM_EXIT_USAGE = 2,
    FSIM_EXIT_BAD_INPUT = 65,
    FSIM_EXIT_NO_INPUT = 66,
    FSIM_EXIT_UNAVAILABLE = 69,
    FSIM_EXIT_INTERNAL = 70,
    FSIM_EXIT_INCONCLUSIVE = 75,
    FSIM_EXIT_SKIPPED = 77 /* tests only */
};

/* The exit status of a failure of that kind. */
int fsim_exit_status(fsim_status status);

#endif
