/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a torch.export archive, and as the program's JSON of one: read and translated, with and without values
 * for its dimensions. */
#include "import/format.h"
#include "import/load.h"
#include "import/torch/program.h"
#include "import/torch/symbols.h"
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* The bytes as the program in an archive; NULL where libzip has no memory. The caller frees it. */
static char *archive_of(const uint8_t *data, size_t size, size_t *bytes)
{
    zip_source_t *into = zip_source_buffer_create(NULL, 0, 0, NULL);
    zip_source_keep(into);
    zip_t *zip = zip_open_from_source(into, ZIP_TRUNCATE, NULL);
    const zip_int64_t at =
        zip_file_add(zip, "m/models/model.json", zip_source_buffer(zip, size ? data : NULL, size, 0), 0);
    zip_set_file_compression(zip, (zip_uint64_t)at, ZIP_CM_STORE, 0);
    zip_stat_t s = {0};
    char *text = NULL;
    if (zip_close(zip) == 0 && zip_source_stat(into, &s) == 0 && zip_source_open(into) == 0) {
        text = malloc(s.size);
        *bytes = s.size;
        zip_source_read(into, text, s.size);
        zip_source_close(into);
    }
    zip_source_free(into);
    return text;
}

static void read_archive(const char *text, size_t size)
{
    static const fsim_binding dims[] = {{"s1", "4"}, {"s2", "3"}, {"x:0", "4"}};
    for (int sets = 0; sets <= 2 && fsim_format_of(text, size) == FSIM_FORMAT_TORCH; sets++) {
        const fsim_workload_wanted how = {.set = dims, .sets = sets};
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_load_text(a, d, "fuzz.pt2", text, size, &how);
        if (!g && fsim_errors(d) == 0)
            abort(); /* it says nothing */
        fsim_arena_free(a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size ? size : 1); /* of this size: a file in memory has no NUL behind it */
    if (size)
        memcpy(text, data, size);
    read_archive(text, size);
    free(text);
    size_t bytes = 0;
    if (size && (*data == '{' || *data == ' ') && (text = archive_of(data, size, &bytes))) {
        read_archive(text, bytes);
        free(text);
    }
    return 0;
}
