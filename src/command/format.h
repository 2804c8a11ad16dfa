/* SPDX-License-Identifier: Apache-2.0 */
/* format.h: the formats of formats.def, and which kinds of result each can show. */
#ifndef FUSESIM_COMMAND_FORMAT_H
#define FUSESIM_COMMAND_FORMAT_H

#include "report/project.h"
#include "report/report.h"

struct fsim_context;

typedef enum {
#define FSIM_FORMAT(id, name, help) FSIM_AS_##id,
#include "command/formats.def"
#undef FSIM_FORMAT
    FSIM_FILE_FORMATS,
    FSIM_AS_TEXT = FSIM_FILE_FORMATS,
    FSIM_FORMATS
} fsim_format;

/* What commands find, with the type that renderers are given. */
typedef enum {
    FSIM_RESULT_PLANS,       /* fsim_shown_plans */
    FSIM_RESULT_PARTITIONS,  /* enumerate writes its lines itself, as it finds them */
    FSIM_RESULT_EXPLANATION, /* fsim_shown_explanation */
    FSIM_RESULT_REGIONS,     /* fsim_shown_regions */
    FSIM_RESULT_ACCURACY,    /* fsim_accuracy */
    FSIM_RESULT_TRIALS,      /* fsim_trials */
    FSIM_RESULT_REGISTERS,   /* fsim_register_report */
    FSIM_RESULT_IMPORT,      /* fsim_import */
    FSIM_RESULT_CALIBRATION, /* fsim_calibration */
    FSIM_RESULT_HOST_PROBES, /* calibrate_host.c's own */
    FSIM_RESULT_GPU_PROBES,  /* calibrate_gpu.c's own */
    FSIM_RESULT_PROJECT,     /* fsim_shown_project */
    FSIM_RESULT_HW_LIST,     /* fsim_shown_hw */
    FSIM_RESULT_HW,          /* fsim_hw */
    FSIM_RESULT_HW_CHECK,    /* fsim_shown_hw */
    FSIM_RESULT_HW_KEYS,     /* NULL: the table that hardware files follow */
    FSIM_RESULT_OPS,         /* fsim_op: one, or FSIM_OP_COUNT for all */
    FSIM_RESULT_KINDS
} fsim_result_kind;
extern const char *const fsim_result_names[FSIM_RESULT_KINDS]; /* "plans" */

typedef struct {
    fsim_prediction *at;
    fsim_judged *judged; /* gates, of each GPU */
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

/* How one format shows one kind of result: into a stream, or by drawing a file of its own. Both NULL: it can't. show is
 * false where it failed for another reason than the stream; draw is false with *why set. */
typedef struct {
    bool (*show)(FILE *out, const struct fsim_context *c, const void *what);
    bool (*draw)(const struct fsim_context *c, const char *path, const void *what, const char **why);
} fsim_renderer;

#define FSIM_FORMAT(id, name, help) extern const fsim_renderer fsim_as_##name[FSIM_RESULT_KINDS];
#include "command/formats.def"
#undef FSIM_FORMAT
extern const fsim_renderer fsim_as_text[FSIM_RESULT_KINDS];

/* format.c */

const char *fsim_format_option(fsim_format f); /* "--json"; NULL of the text report */
/* What f shows of a kind; NULL where it can't. */
const fsim_renderer *fsim_renderer_of(fsim_format f, fsim_result_kind kind);
/* Can f show one of the kinds (bits 1 << kind)? */
bool fsim_format_shows(fsim_format f, unsigned kinds);
/* The kinds that f can show: "plans and errors of predictions". In a. */
const char *fsim_format_kinds(fsim_format f, fsim_arena *a);

/* calibrate_host.c and calibrate_gpu.c: what the probes measured. */
void fsim_report_host_probes(const fsim_page *page, const void *x);
/* The same for programs. */
void fsim_json_host_probes(FILE *out, const void *x);
/* Of a GPU: rates, latencies, sensors. */
void fsim_report_gpu_probes(const fsim_page *page, const void *x);
/* The same for programs. */
void fsim_json_gpu_probes(FILE *out, const void *x);

#endif
