/* SPDX-License-Identifier: Apache-2.0 */
/* small_example.h: examples of operators (graph/example.h) with short shapes. */
#ifndef FUSESIM_TESTS_SMALL_EXAMPLE_H
#define FUSESIM_TESTS_SMALL_EXAMPLE_H

#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

/* Lengths of the examples' shapes divided, so that there is less to look at. */
static inline const char *made_small(fsim_arena *a, const char *text)
{
    const char *out = "", *from = text;
    for (const char *at = text; *at;) {
        const int64_t length = strncmp(at, "operators:", 10) == 0 ? -1 : strtoll(at, NULL, 10);
        if (length < 0) {
            out = fsim_printf(a, "%s%s", out, from);
            return out;
        }
        const size_t digits = strspn(at, "0123456789");
        if (digits > 0 && at > text && strchr("[ ", at[-1]) && strchr(",]", at[digits])) {
            out = fsim_printf(a, "%s%.*s%lld", out, (int)(at - from), from,
                              (long long)(length >= 256 ? length / 64 : length));
            from = at + digits;
        }
        at += digits > 0 ? digits : 1;
    }
    return fsim_printf(a, "%s%s", out, from);
}

#endif
