/* SPDX-License-Identifier: Apache-2.0 */
/* process.h: what the program sets up before it does anything. */
#ifndef FUSESIM_COMMAND_PROCESS_H
#define FUSESIM_COMMAND_PROCESS_H

/* Gives the descriptors 0 to 2 a file where the caller closed them, so that no output gets their number; has temporary
 * files deleted where SIGTERM, SIGHUP or SIGINT ends the program; keeps freed memory, since returning it to the system
 * means getting it back zeroed, and searches allocate and free some blocks ten thousand times. */
void fsim_begin_process(void);

#endif
