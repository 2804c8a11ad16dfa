/* SPDX-License-Identifier: Apache-2.0 */
#include "command/format.h"

const char *const fsim_result_names[FSIM_RESULT_KINDS] = {
#define FSIM_RESULT(id, show, schema, words) [FSIM_RESULT_##id] = words,
#include "command/results.def"
#undef FSIM_RESULT
};

static const struct {
    const char *option;
    const fsim_renderer *of; /* by kind */
} formats[FSIM_FORMATS] = {
#define FSIM_FORMAT(id, name, option, help) [FSIM_AS_##id] = {option, fsim_as_##name},
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
