/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an expression of a workload, up to the first NUL: it has a value or an error, and the same value in
 * parentheses. */
#include "input/expr.h"
#include <stdlib.h>
#include <string.h>

static bool value_of(const void *scope, const char *name, int64_t *value)
{
    (void)scope;
    *value = strcmp(name, "N") == 0 ? 4096 : -3;
    return strcmp(name, "N") == 0 || strcmp(name, "m") == 0;
}

static int dtype_of(const void *scope, const char *name)
{
    (void)scope;
    return strcmp(name, "f16") == 0 ? 1 : strcmp(name, "f32") == 0 ? 2 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"N", "m"};
    static const fsim_scope scope = {.value = value_of, .names = names, .count = 2, .dtype = dtype_of};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a), *again = fsim_diag_new(a);
    const char *text = fsim_strndup(a, (const char *)data, size);
    const fsim_loc at = {.file = "fuzz", .line = 1, .col = 1};
    int64_t value = 0, same = 0;
    const bool good = fsim_eval(a, d, at, text, &scope, &value);
    if (good != (fsim_errors(d) == 0))
        abort();
    if (good && fsim_eval(a, again, at, fsim_printf(a, "(%s)", text), &scope, &same) && same != value)
        abort();
    fsim_arena_free(a);
    return 0;
}
