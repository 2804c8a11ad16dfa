/* SPDX-License-Identifier: Apache-2.0 */
/* build.h: texts of kernels, compiled by the host's cc to libraries that the emulator runs. */
#ifndef FUSESIM_MOCK_BUILD_H
#define FUSESIM_MOCK_BUILD_H

#include "base/arena.h"

/* Each text to a library of its own: their paths, in a, those of the same text alike. A NULL among them: that text does
 * not compile, or is NULL itself; cc has said why on stderr. They lie in $FUSESIM_CACHE, where they stay for the next
 * test, else in a new folder. flags: "-O0 -w". mock_build_end removes the folder. */
const char **mock_build(const char *const *text, int count, const char *flags, fsim_arena *a);
void mock_build_end(const char *const *library, int count);

#endif
