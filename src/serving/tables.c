/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/system.h"

#include <string.h>

static const fsim_served served[] = {
#define FSIM_SERVED(name, layers, hidden, heads, kv_heads, head_dim, ffn, vocab, experts, topk, tied, source)          \
    {name, layers, hidden, heads, kv_heads, head_dim, ffn, vocab, experts, topk, tied},
#include "serving/served.def"
#undef FSIM_SERVED
};

static const char *const names[] = {
#define FSIM_SERVED(name, layers, hidden, heads, kv_heads, head_dim, ffn, vocab, experts, topk, tied, source) name,
#include "serving/served.def"
#undef FSIM_SERVED
};

static const fsim_engine engines[] = {
#define FSIM_ENGINE(words, host, first, most, tokens, share, reserved, cache, source)                                  \
    {words, host, first, most, tokens, share, reserved, cache},
#include "serving/engines.def"
#undef FSIM_ENGINE
};

const fsim_served *fsim_served_named(const char *name)
{
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        if (strcmp(served[i].name, name) == 0)
            return &served[i];
    return NULL;
}

int fsim_served_names(const char *const **out)
{
    *out = names;
    return (int)(sizeof names / sizeof *names);
}

const fsim_engine *fsim_engine_in(const char *source)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strstr(source, engines[i].words))
            return &engines[i];
    return NULL;
}
