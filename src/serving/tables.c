/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/system.h"

#include <string.h>

static const fsim_engine engines[] = {
#define FSIM_ENGINE(words, host, first, most, tokens, share, reserved, cache, source)                                  \
    {words, host, first, most, tokens, share, reserved, cache},
#include "serving/engines.def"
#undef FSIM_ENGINE
};

const fsim_engine *fsim_engine_in(const char *source)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strstr(source, engines[i].words))
            return &engines[i];
    return NULL;
}
