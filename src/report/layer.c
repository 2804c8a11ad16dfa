/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layer.h"

#include <ctype.h>
#include <string.h>

/* How many bytes of two paths are the same, whole names only. */
static size_t shared_bytes(const char *x, size_t bytes, const char *y)
{
    size_t at = 0, whole = 0;
    while (at < bytes && x[at] == y[at]) {
        if (x[at] == '.')
            whole = at;
        at++;
    }
    const bool ends = (at == bytes || x[at] == '.') && (y[at] == 0 || y[at] == '.');
    return ends ? at : whole;
}

const char *fsim_kernel_layer(const fsim_graph *g, const fsim_kernel *k, fsim_arena *a)
{
    const char *path = NULL;
    size_t bytes = 0;
    for (int m = 0; m < k->group->members; m++) {
        const char *layer = g->source[g->node[k->group->member[m].node].source].layer;
        if (!layer || k->group->member[m].clone)
            continue;
        bytes = path ? shared_bytes(path, bytes, layer) : strlen(layer);
        path = path ? path : layer;
    }
    return bytes > 0 ? fsim_strndup(a, path, bytes) : NULL;
}

const char *fsim_layer_head(fsim_arena *a, const char *layer, int levels)
{
    const char *end = layer;
    for (int level = 0; level < levels && *end; level++) {
        end += (*end == '.');
        end += strcspn(end, ".");
        size_t digits = *end == '.' ? strspn(end + 1, "0123456789") : 0; /* "layer.3" is one name */
        if (digits > 0 && (end[1 + digits] == '.' || end[1 + digits] == 0))
            end += 1 + digits;
    }
    return fsim_strndup(a, layer, (size_t)(end - layer));
}
