/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/scale.h"

#include <stdlib.h>
#include <string.h>

static bool is_lengths(const char *key)
{
    static const char *const names[] = {"shape",       "size",   "start", "groups", "normalized_shape",
                                        "output_size", "symbols"};
    bool among = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        among = among || strcmp(key, names[i]) == 0;
    return among;
}

/* length: not scaled, or (`only`) the one length that is. */
typedef struct {
    int64_t factor, length, shortest;
    bool only;
} way;

static int64_t shorter(int64_t length, const way *w)
{
    if ((length == w->length) != w->only)
        return length;
    for (int64_t by = 2; by <= w->factor && length % 2 == 0 && length / 2 >= w->shortest; by *= 2)
        length /= 2;
    return length;
}

static const fsim_yaml *scaled(fsim_arena *a, const fsim_yaml *y, const way *w, bool lengths)
{
    fsim_yaml *copy = fsim_new(a, fsim_yaml, 1);
    *copy = *y;
    if (y->kind == FSIM_YAML_SCALAR) {
        char *end;
        const long long length = strtoll(y->text, &end, 10);
        if (lengths && *y->text && *end == 0 && length > 0)
            copy->text = fsim_printf(a, "%lld", (long long)shorter(length, w));
        return copy;
    }
    copy->item = fsim_new(a, fsim_yaml *, y->count + 1);
    for (int i = 0; i < y->count; i++)
        copy->item[i] = (fsim_yaml *)scaled(a, y->item[i], w,
                                            lengths || (y->kind == FSIM_YAML_MAPPING && is_lengths(y->key[i]->text)));
    return copy;
}

const fsim_yaml *fsim_scale_shapes(fsim_arena *a, const fsim_yaml *y, int64_t factor)
{
    return scaled(a, y, &(way){.factor = factor, .shortest = FSIM_SHORTEST}, false);
}

const fsim_yaml *fsim_scale_around(fsim_arena *a, const fsim_yaml *y, int64_t factor, int64_t length, bool only)
{
    return scaled(a, y, &(way){factor, length, only ? 1 : FSIM_SHORTEST, only}, false);
}
