/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what plan --json writes, which `diff` reads: with an error, or compared with itself without a
 * difference. */
#include "diff/diff.h"
#include "evidence/json_scan.h"
#include "input/yaml.h"
#include <stdlib.h>
#include <string.h>

/* As a trace is scanned: values one after the other, in memory without a NUL behind it. */
static void scan(const uint8_t *data, size_t size, fsim_arena *a)
{
    char *text = malloc(size ? size : 1);
    if (size)
        memcpy(text, data, size);
    fsim_diag *d = fsim_diag_new(a);
    fsim_scan s = {.d = d, .path = "fuzz.json", .text = text, .at = text, .end = text + size};
    for (fsim_scan_space(&s); s.at < s.end && fsim_scan_value(&s); fsim_scan_space(&s))
        if (s.at > s.end)
            abort();
    free(fsim_json_without_nan(text, size));
    free(text);
}

/* With itself: no kernel is another one. */
static void compare(const fsim_filed *f, fsim_arena *a, fsim_diag *d)
{
    fsim_diff x;
    const bool good = fsim_diff_of(f, f, a, d, &x);
    if (good != (fsim_errors(d) == 0))
        abort();
    for (int i = 0; good && i < x.count; i++)
        if (x.at[i].changed || x.at[i].total.before_fs != x.at[i].total.after_fs ||
            x.at[i].kinds[FSIM_PART_ADDED] + x.at[i].kinds[FSIM_PART_REMOVED] > 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const char *text = fsim_strndup(a, (const char *)data, size);
    const fsim_yaml *root = fsim_yaml_parse_json(a, d, "fuzz.json", text, size);
    if ((root == NULL) != (fsim_errors(d) > 0))
        abort();
    if (root && fsim_is_filed_plan(root)) {
        const fsim_filed *f = fsim_filed_read(a, d, "fuzz.json", root);
        if ((f == NULL) != (fsim_errors(d) > 0))
            abort();
        if (f)
            compare(f, a, d);
    }
    scan(data, size, a);
    fsim_arena_free(a);
    return 0;
}
