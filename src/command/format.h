/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: the formats of formats.def, and which kinds of result each can show. */
#ifndef FUSESIM_COMMAND_FORMAT_H
#define FUSESIM_COMMAND_FORMAT_H

#include "report/project.h"
#include "report/report.h"

struct fsim_context;

typedef enum {
#define FSIM_FORMAT(id, name, option, help) FSIM_AS_##id,
#include "command/formats.def"
#undef FSIM_FORMAT
    FSIM_FILE_FORMATS,
    FSIM_AS_TEXT = FSIM_FILE_FORMATS,
    FSIM_FORMATS
} fsim_format;

/* The kinds of results. */
typedef enum {
#define FSIM_RESULT(id, show, schema, words) FSIM_RESULT_##id,
#include "command/results.def"
#undef FSIM_RESULT
    FSIM_RESULT_KINDS
} fsim_result_kind;
extern const char *const fsim_result_names[FSIM_RESULT_KINDS]; /* "plans" */

typedef struct {
    fsim_prediction *at;
    fsim_judged *judged; /* the gates of each GPU */
    int count;
} fsim_shown_plans;
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_explanation e;
} fsim_shown_explanation;
typedef struct {
    const fsim_project *project;
    const char *folder;
    const fsim_words *removed;
} fsim_shown_project;
typedef struct {
    fsim_named_hw *at;
    int count;
} fsim_shown_hw;

/* How a format shows a kind of result: on a stream, or by drawing a file. Both NULL: it can't. show returns false
 * where it failed for another reason than the stream; draw returns false with *why set. */
typedef struct {
    bool (*show)(FILE *out, const struct fsim_context *c, const void *what);
    bool (*draw)(const struct fsim_context *c, const char *path, const void *what, fsim_fault *fault);
} fsim_renderer;

#define FSIM_FORMAT(id, name, option, help) extern const fsim_renderer fsim_as_##name[FSIM_RESULT_KINDS];
#include "command/formats.def"
#undef FSIM_FORMAT
extern const fsim_renderer fsim_as_text[FSIM_RESULT_KINDS];

/* format.c */

const char *fsim_format_option(fsim_format f); /* "--json"; NULL for the text report */
/* How f shows a kind; NULL where it can't. */
const fsim_renderer *fsim_renderer_of(fsim_format f, fsim_result_kind kind);
/* Can f show one of the kinds (bits 1 << kind)? */
bool fsim_format_shows(fsim_format f, unsigned kinds);
/* The kinds that f can show: "plans and errors of predictions". In a. */
const char *fsim_format_kinds(fsim_format f, fsim_arena *a);

#endif
