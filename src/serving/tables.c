/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/evidence.h"
#include "serving/system.h"

#include <math.h>
#include <string.h>

static const fsim_engine engines[] = {
#define FSIM_ENGINE(words, host, first, most, tokens, share, reserved, cache, grouped, cutlass, source)                \
    {words, host, first, most, tokens, share, reserved, cache, grouped, cutlass},
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

const fsim_evidence fsim_evidences[FSIM_EVIDENCES] = {
#define FSIM_EVIDENCE(id, title, rows, median, width) {title, rows, median, width},
#include "serving/evidence.def"
#undef FSIM_EVIDENCE
};

double fsim_evidence_factor(fsim_evidence_kind kind) { return exp(fsim_evidences[kind].width); }
