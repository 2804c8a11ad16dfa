/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/evidence.h"
#include "serving/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const fsim_engine engines[] = {
#define FSIM_ENGINE(words, since, host, rank, first, most, tokens, share, whole, reserved, cache, masked, xqa, bytes,  \
                    cutlass, source)                                                                                   \
    {words, since, host, rank, first, most, tokens, share, whole, reserved, cache, masked, xqa, bytes, cutlass},
#include "serving/engines.def"
#undef FSIM_ENGINE
};

/* Is the version at the begin of text, behind blanks and a v, that of `since` or a later one? */
static bool is_since(const char *text, const char *since)
{
    char *rest;
    if (*since == '\0')
        return true;
    text += strspn(text, " v");
    const long have = strtol(text, &rest, 10), have_minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    if (rest == text)
        return false;
    const long want = strtol(since, &rest, 10), want_minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return have != want ? have > want : have_minor >= want_minor;
}

const fsim_engine *fsim_engine_in(const char *source)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        const char *at = strstr(source, engines[i].words);
        if (at && is_since(at + strlen(engines[i].words), engines[i].since))
            return &engines[i];
    }
    return NULL;
}

const fsim_evidence fsim_evidences[FSIM_EVIDENCES] = {
#define FSIM_EVIDENCE(id, title, rows, median, width) {title, rows, median, width},
#include "serving/evidence.def"
#undef FSIM_EVIDENCE
};

double fsim_evidence_factor(fsim_evidence_kind kind) { return exp(fsim_evidences[kind].width); }
