/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as comma-separated values: what is read, written and read again is the same. */
#include "input/csv.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Writes all records, each field as fsim_csv_put does. Returns their fields; -1 after an error. */
static int copy(fsim_arena *a, const char *text, size_t bytes, FILE *out)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_csv c = fsim_csv_open(a, d, "fuzz.csv", text, bytes);
    int fields = 0;
    while (fsim_csv_next(&c)) {
        for (int i = 0; i < c.fields; i++) {
            const fsim_loc at = fsim_csv_place(&c, i);
            if (at.line < 1 || (i > 0 && fputc(',', out) == EOF))
                abort();
            fsim_csv_put(out, c.field[i].text);
        }
        if (c.fields == 1 && !*c.field[0].text)
            fputs("\"\"", out); /* a blank line would be skipped */
        fputc('\n', out);
        fields += c.fields;
    }
    return fsim_errors(d) ? -1 : fields;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char first[1 << 17], second[1 << 17];
    fsim_arena *a = fsim_arena_new();
    char *text = malloc(size ? size : 1); /* of this size: a file in memory has no NUL behind it */
    if (size)
        memcpy(text, data, size);
    FILE *one = size < sizeof first / 4 ? fmemopen(first, sizeof first, "w") : NULL,
         *two = one ? fmemopen(second, sizeof second, "w") : NULL;
    if (two) {
        const int fields = copy(a, text, size, one);
        const size_t bytes = (size_t)ftell(one);
        fclose(one);
        const int again = fields < 0 ? -1 : copy(a, first, bytes, two);
        const size_t same = (size_t)ftell(two);
        fclose(two);
        if (fields >= 0 && (again != fields || same != bytes || memcmp(first, second, bytes) != 0))
            abort();
    }
    free(text);
    fsim_arena_free(a);
    return 0;
}
