/* SPDX-License-Identifier: Apache-2.0 */
/* project.h: the kernels of a plan as a self-contained folder: sources, a launcher that runs and times them, a
 * Makefile, and a manifest. */
#ifndef FUSESIM_REPORT_PROJECT_H
#define FUSESIM_REPORT_PROJECT_H

#include "emit/program.h"
#include "input/args.h"
#include "report/report.h"
#include "validate/reference/reference.h"

/* The languages of --target; fsim_project.host is an index. */
extern const char *const fsim_target_words[2];

/* The role of a kernel's parameter. */
typedef enum {
    FSIM_ROLE_INPUT,
    FSIM_ROLE_WEIGHT,
    FSIM_ROLE_OUTPUT,
    FSIM_ROLE_INTERMEDIATE,
    FSIM_ROLE_SCRATCH,
    FSIM_ROLES
} fsim_project_part;
extern const char *const fsim_role_names[FSIM_ROLES];

typedef struct {
    const char *name, *text;
} fsim_project_file;

typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    const char *strategy;
    bool borrowed; /* the strategy's own kernels are a framework's: only its partition is used */
    bool host;     /* C for this machine, else CUDA */
    bool warm, strict;
    int64_t scale; /* factor by which shapes were divided; 1: not divided */
    fsim_regime regime;
    int jobs;               /* threads that write kernels (base/jobs.h) */
    double time_s;          /* of the plan in its launch regime, launches included */
    fsim_plan plan;         /* with fusesim's own kernels, priced without launches */
    fsim_program *program;  /* per kernel */
    const char **source;    /* per kernel: its file; NULL: not generated */
    fsim_fill *fill;        /* per tensor of the graph */
    bool *used, *generated; /* per tensor: it is a parameter of some kernel; a generated kernel writes it */
    int skipped;
    int files;
    fsim_project_file *file; /* the manifest comes last */
} fsim_project;

/* Fills in the rest of p from graph, hw, plan and the flags. In a. */
void fsim_project_finish(fsim_project *p, fsim_arena *a);

/* Reports what was written to `folder`. removed: files of an earlier run that were deleted. */
void fsim_report_project(const fsim_page *page, const fsim_project *p, const char *folder, const fsim_words *removed);
/* manifest.c: reports/schema/manifest.schema.json. */
void fsim_json_manifest(FILE *out, const fsim_project *p);
/* launcher.c: the launcher's source. In a. */
const char *fsim_launcher_of(const fsim_project *p, fsim_arena *a);
/* launcher.in: a line that starts with @ selects lines for one target or both, or names what is inserted there. */
extern const char fsim_launcher_text[];

/* The role of a parameter, one of fsim_role_names. */
const char *fsim_project_role(const fsim_project *p, const fsim_parameter *x);
/* Text without characters that would end a C comment. In a. */
const char *fsim_comment_text(const char *text, fsim_arena *a);
/* Names of the primitives of kernel k, including clones: "h, g". In a. */
const char *fsim_operators_text(const fsim_project *p, int k, fsim_arena *a);

#endif
