/* SPDX-License-Identifier: Apache-2.0 */
#include "command/format.h"

const char *const fsim_result_names[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = "plans",
    [FSIM_RESULT_PARTITIONS] = "lists of partitions",
    [FSIM_RESULT_EXPLANATION] = "explanations",
    [FSIM_RESULT_REGIONS] = "regions of a symbol",
    [FSIM_RESULT_ACCURACY] = "errors of predictions",
    [FSIM_RESULT_TRIALS] = "runs of kernels",
    [FSIM_RESULT_REGISTERS] = "registers",
    [FSIM_RESULT_IMPORT] = "imported profiles",
    [FSIM_RESULT_CALIBRATION] = "fits",
    [FSIM_RESULT_HOST_PROBES] = "measurements of this CPU",
    [FSIM_RESULT_GPU_PROBES] = "measurements of this GPU",
    [FSIM_RESULT_PROJECT] = "generated kernels",
    [FSIM_RESULT_HW_LIST] = "lists of GPUs",
    [FSIM_RESULT_HW] = "GPUs",
    [FSIM_RESULT_HW_CHECK] = "checks of hardware files",
    [FSIM_RESULT_HW_KEYS] = "keys of hardware files",
    [FSIM_RESULT_OPS] = "lists of operators",
};

static const struct {
    const char *option;
    const fsim_renderer *of; /* by kind */
} formats[FSIM_FORMATS] = {
#define FSIM_FORMAT(id, name, help) [FSIM_AS_##id] = {"--" #name, fsim_as_##name},
#include "command/formats.def"
#undef FSIM_FORMAT
    [FSIM_AS_TEXT] = {NULL, fsim_as_text}};

const char *fsim_format_option(fsim_format f) { return formats[f].option; }

const fsim_renderer *fsim_renderer_of(fsim_format f, fsim_result_kind kind)
{
    const fsim_renderer *r = &formats[f].of[kind];
    return r->show || r->draw ? r : NULL;
}

bool fsim_format_shows(fsim_format f, unsigned kinds)
{
    bool shows = false;
    for (fsim_result_kind kind = 0; kind < FSIM_RESULT_KINDS; kind++)
        shows = shows || (kinds & 1u << kind && fsim_renderer_of(f, kind));
    return shows;
}

const char *fsim_format_kinds(fsim_format f, fsim_arena *a)
{
    const char *text = "";
    int left = 0;
    for (fsim_result_kind kind = 0; kind < FSIM_RESULT_KINDS; kind++)
        left += fsim_renderer_of(f, kind) != NULL;
    for (fsim_result_kind kind = 0; kind < FSIM_RESULT_KINDS; kind++)
        if (fsim_renderer_of(f, kind))
            text = fsim_printf(a, "%s%s%s", text, !*text ? "" : --left == 1 ? " and " : ", ", fsim_result_names[kind]);
    return text;
}
