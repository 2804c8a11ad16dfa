/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"
#include <stdlib.h>

static void discard(void *what)
{
    fsim_memory *m = what;
    if (m->stream)
        fclose(m->stream);
    free(m->text);
}

FILE *fsim_memory_begin(fsim_memory *m)
{
    *m = (fsim_memory){0};
    m->stream = open_memstream(&m->text, &m->bytes);
    if (!m->stream)
        fsim_out_of_memory();
    fsim_guard(&m->resource, discard, m);
    return m->stream;
}

char *fsim_memory_end(fsim_memory *m, fsim_arena *a, size_t *bytes)
{
    const bool whole = !ferror(m->stream); /* what did not fit once is missing, whatever came after it */
    const bool closed = fclose(m->stream) == 0;
    m->stream = NULL;
    if (!whole || !closed || !m->text) /* glibc's fclose reports no error where it has no memory for the end */
        fsim_out_of_memory();
    char *kept = fsim_strndup(a, m->text, m->bytes);
    if (bytes)
        *bytes = m->bytes;
    fsim_release(&m->resource);
    return kept;
}
