/* SPDX-License-Identifier: Apache-2.0 */
/* toolchain.h: the host's C compiler: finds it, chooses the flags that it accepts, and runs it.
 *
 * A command consists of the compiler, our flags, the user's options, and files. The user's options come last, so
 * that CC="gcc -O1" compiles with -O1 although our flags say -O3. */
#ifndef FUSESIM_VALIDATE_CPU_TOOLCHAIN_H
#define FUSESIM_VALIDATE_CPU_TOOLCHAIN_H

#include "validate/cpu/cpu.h"

#include <sys/types.h>

enum { FSIM_TOOLCHAIN_WORDS = 64 };

/* The compiler's command without files. Texts are in the arena that it was found in. */
typedef struct {
    const char *word[FSIM_TOOLCHAIN_WORDS]; /* argv: compiler, then options */
    int words;
    const char *version; /* first line of what --version prints */
    const char *flags;   /* the options, joined by blanks; "" before they are chosen */
    char **environment;  /* the process's, with diagnostics in English */
} fsim_toolchain;

/* Finds the compiler that `how` names and runs it once to ask its version, with a log in `folder`. *t has the
 * command that was tried in any case. False: it does not start. */
bool fsim_toolchain_find(const fsim_cpu_compiler *how, const char *folder, fsim_arena *a, fsim_toolchain *t);
/* Inserts our flags, without those that the compiler refuses. Writes a source and a log called flags to `folder`; false
 * where it can't. */
bool fsim_toolchain_choose_flags(fsim_toolchain *t, const char *folder, fsim_arena *a);
/* argv: the compiler's words, then `more`, then NULL. In a. */
const char **fsim_toolchain_command(const fsim_toolchain *t, const char *const *more, int count, fsim_arena *a);
/* Starts argv with its output in the file `log` and no input. 0 after an error. */
pid_t fsim_toolchain_start(const fsim_toolchain *t, const char *const *argv, const char *log);
/* Waits for it. True: it ended with status 0. */
bool fsim_toolchain_finish(pid_t pid);
/* SHA-256, in hexadecimal, of everything that a library depends on except its source: compiler, options, `header`,
 * CPU. False with *why set where the CPU can't be read. */
bool fsim_toolchain_salt(const fsim_toolchain *t, const char *header, fsim_arena *a, char hex[65], const char **why);

#endif
