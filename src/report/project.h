/* SPDX-License-Identifier: Apache-2.0 */
/* project.h: a plan's kernels as a folder that stands by itself: sources, a launcher that runs and times them, a
 * Makefile, and a manifest for programs. */
#ifndef FUSESIM_REPORT_PROJECT_H
#define FUSESIM_REPORT_PROJECT_H

#include "emit/program.h"
#include "input/args.h"
#include "report/report.h"
#include "validate/reference/reference.h"

/* The languages of --target; fsim_project.host is an index. */
extern const char *const fsim_target_words[2];

/* What a kernel's parameter is. */
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
    bool borrowed; /* the strategy's own kernels are a framework's: here it gives the partition only */
    bool host;     /* C for this machine, else CUDA */
    bool warm, strict;
    int64_t scale; /* shapes were divided by up to this; 1: not at all */
    fsim_regime regime;
    double time_s;          /* of the plan in that regime, launches and all */
    fsim_plan plan;         /* kernels as fusesim's own, device time without launches */
    fsim_program *program;  /* per kernel */
    const char **source;    /* per kernel, the name of its file; NULL: not generated */
    fsim_fill *fill;        /* per tensor of the graph */
    bool *used, *generated; /* per tensor: some kernel has it as parameter; a kernel that is generated writes it */
    int skipped;
    int files;
    fsim_project_file *file; /* the manifest last */
} fsim_project;

/* Everything that p does not say yet follows from graph, hw, plan and the flags. In a. */
void fsim_project_finish(fsim_project *p, fsim_arena *a);

/* What was written to `folder`; removed: kernels of an earlier run that are gone. */
void fsim_report_project(const fsim_page *page, const fsim_project *p, const char *folder, const fsim_words *removed);
/* manifest.c: reports/schema/manifest.schema.json. */
void fsim_json_manifest(FILE *out, const fsim_project *p);
/* launcher.c: the launcher's source. In a. */
const char *fsim_launcher_of(const fsim_project *p, fsim_arena *a);
/* launcher.in: lines that start with @ are of both targets or of one, or say what is put there. */
extern const char fsim_launcher_text[];

/* Of a parameter, one of fsim_role_names. */
const char *fsim_project_role(const fsim_project *p, const fsim_parameter *x);
/* Text that a comment can hold. In a. */
const char *fsim_comment_text(const char *text, fsim_arena *a);
/* Names of what kernel k computes, clones too: "h, g". In a. */
const char *fsim_operators_text(const fsim_project *p, int k, fsim_arena *a);

#endif
