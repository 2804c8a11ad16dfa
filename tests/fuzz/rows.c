/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a measurements file. What is read is written, and reads back as the same rows; a source reads as what it
 * pairs by. */
#include "evidence/pairs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const char *x, const char *y) { return strcmp(x, y) == 0; }
static bool same_time(double x, double y) { return fabs(x - y) <= 1e-8 * x; }
static bool same_bytes(double x, double y)
{
    return isnan(x) ? isnan(y) : fabs(x - y) <= 0.5 + 1e-12 * x;
} /* written as whole ones */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a), *again = fsim_diag_new(a);
    const char *input = fsim_strndup(a, (const char *)data, size);
    const fsim_measurements rows = fsim_rows_parse(a, d, "fuzz.csv", input, size);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        abort();
    fsim_rows_write(out, rows.at, rows.count);
    fclose(out);
    const fsim_measurements back = fsim_rows_parse(a, again, "again.csv", text, bytes);
    if (fsim_errors(again) || back.count != rows.count)
        abort();
    fsim_evaluated *e = fsim_new(a, fsim_evaluated, rows.count + 1);
    for (int i = 0; i < rows.count; i++) {
        const fsim_measured *x = &rows.at[i], *y = &back.at[i];
        if (!same_text(x->id, y->id) || !same_text(x->hw, y->hw) || !same_text(x->workload, y->workload) ||
            !same_text(x->set, y->set) || !same_text(x->source, y->source) || !same_text(x->kernel, y->kernel) ||
            x->strategy != y->strategy || x->l2 != y->l2 || x->launch != y->launch ||
            !same_time(x->time_s, y->time_s) || !same_bytes(x->dram_read_bytes, y->dram_read_bytes) ||
            !same_bytes(x->dram_write_bytes, y->dram_write_bytes))
            abort();
        e[i] = (fsim_evaluated){.row = x, .predicted_s = x->time_s};
    }
    fsim_pair *pair;
    const int pairs = fsim_pairs_of(e, rows.count, a, &pair);
    for (int i = 0; i < pairs; i++)
        if (pair[i].error > 1e-9 || pair[i].other->row->strategy == FSIM_STRATEGY_EAGER)
            abort();
    free(text);
    fsim_arena_free(a);
    return 0;
}
