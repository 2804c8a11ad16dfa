/* SPDX-License-Identifier: Apache-2.0 */
/* printed.h: what a test's diagnostics say. Needs cmocka.h in front of it. */
#ifndef FUSESIM_TESTS_PRINTED_H
#define FUSESIM_TESTS_PRINTED_H

#include "base/diag.h"
#include <stdio.h>
#include <stdlib.h>

/* All that d holds, as fsim_diag_print writes it, which empties d. In a. */
static inline const char *printed(fsim_arena *a, fsim_diag *d)
{
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    assert_non_null(stream);
    fsim_diag_print(d, stream, false);
    fclose(stream);
    const char *copy = fsim_strdup(a, out);
    free(out);
    return copy;
}

#endif
