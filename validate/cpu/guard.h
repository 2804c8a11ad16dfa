/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: generated code and the compiler run in a child process, so that a kernel that crashes, or one of them that
 * does not end, ends that process and not what the user called; and nothing stays behind. */
#ifndef FUSESIM_VALIDATE_CPU_GUARD_H
#define FUSESIM_VALIDATE_CPU_GUARD_H

#include "validate/device/backend.h"

#include <sys/types.h>

/* As fsim_backend.guard. The parent hands on the signals that end it, and deletes what the child left in its temporary
 * folder. */
bool fsim_guard_begin(fsim_arena *a, fsim_guarded *out);
/* What the child does now. A kernel's name; NULL: it has ended. */
void fsim_guard_kernel(const char *name);
/* A compiler was started, in a process group of its own. */
void fsim_guard_compiler(pid_t pid);
/* It has ended. */
void fsim_guard_compiled(pid_t pid);
/* What the name of this process's temporary folders begins with: fusesim-PID-. In a. */
const char *fsim_guard_prefix(fsim_arena *a);

#endif
