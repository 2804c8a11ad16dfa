/* SPDX-License-Identifier: Apache-2.0 */
/* text_parts.h: the parts of the text report, which text.c puts together. Each prints itself, or returns a sentence or
 * a table that Markdown shows too; strings and tables live in r->a, or in the a that is given. */
#ifndef FUSESIM_REPORT_TEXT_PARTS_H
#define FUSESIM_REPORT_TEXT_PARTS_H

#include "report/describe.h"
#include "report/repeats.h"
#include "report/report.h"
#include "report/table.h"
#include "report/versus.h"

/* The report being written. */
typedef struct {
    fsim_page page;
    fsim_arena *a;
    const fsim_prediction *p;
    const fsim_graph *g;
    const fsim_plan *plan; /* the reported plan */
    fsim_repeats repeats;  /* of that plan; none where verbose */
    bool verbose;
} fsim_text_page;

/* text.c */

/* A report on p, with the repeats of its plan unless style is verbose. */
fsim_text_page fsim_text_page_of(FILE *out, const fsim_prediction *p, const fsim_text_style *style, fsim_arena *a);
const char *fsim_text_count(fsim_arena *a, int count, const char *what); /* "3 kernels" */
const char *fsim_text_hardware(const fsim_hw *hw);                       /* its description, or its name */
/* A heading behind an empty line. */
void fsim_text_title(const fsim_text_page *r, const char *text);

/* text_head.c */

/* Workload, GPU, and what was asked for. */
void fsim_text_header(const fsim_text_page *r);
/* "GPU time; the host is not waited for (--launch stream). L2 cold, objective time" */
const char *fsim_text_counted(const fsim_prediction *p, fsim_arena *a);
/* A sentence where the host holds the GPU up when kernels are launched from Python; "" where it does not. */
const char *fsim_text_host(const fsim_prediction *p, fsim_arena *a);
/* ", memory limit 3.0 GiB", or "". */
const char *fsim_text_limit(fsim_arena *a, const fsim_options *o);
/* What a dtype costs that the GPU has no fast unit for; "" where there is none. who: "This GPU", or its name. */
const char *fsim_text_slow_dtype(const fsim_prediction *p, const char *who, fsim_arena *a);
/* Which products are priced too low because rows of their operands are no multiple of 16 bytes; "" where none is. */
const char *fsim_text_unaligned(const fsim_prediction *p, fsim_arena *a);

/* Would the other dtype that it names make eager faster to a degree that shows? */
bool fsim_slow_dtype_matters(const fsim_prediction *p);

/* text_verdict.c */

/* Is fusion worth it, what does the plan take, is it optimal, does fusing everything hurt? */
void fsim_text_verdict(const fsim_text_page *r);
/* A sentence: the reported plan (for eager: the optimum) compared with eager. */
const char *fsim_text_against_eager(const fsim_text_page *r, fsim_emphasis *emphasis);
/* "proven optimal", "not proven: ..." */
const char *fsim_text_how_sure(const fsim_text_page *r);

/* text_tables.c */

typedef enum { FSIM_NARROW_TABLE, FSIM_WIDE_TABLE, FSIM_MARKDOWN_TABLE } fsim_kernel_table;

/* A row for each strategy that was planned. */
fsim_table fsim_text_strategies(const fsim_prediction *p, fsim_arena *a);
/* Kernels of the plan shown, of equal layers the first. */
fsim_table fsim_text_kernels(const fsim_text_page *r, fsim_kernel_table kind);
/* A sentence on a repeat: "x 11: kernels 2 to 8 run 11 times one after the other, as 2 to 78: ..." */
const char *fsim_text_repeat(const fsim_text_page *r, const fsim_repeat *repeat);
/* --top: each plan compared with the best. */
fsim_table fsim_text_alternatives(const fsim_text_page *r);
/* --objective pareto: time against peak memory. */
fsim_table fsim_text_front(const fsim_text_page *r);
/* The same workload on several GPUs. */
fsim_table fsim_text_comparison(const fsim_prediction *p, int count, fsim_arena *a);
/* "12%": half the width of an interval of a time, as a share of it; eight of ten measured times would lie within. */
const char *fsim_text_spread(fsim_arena *a, fsim_interval x, double time_s);
/* "0.92x to 1.24x" */
const char *fsim_text_times_range(fsim_arena *a, fsim_interval x);
/* A speedup over eager, c: as a figure where it is none, or where its interval leaves out 1; else "no difference". */
const char *fsim_text_speedup(const fsim_prediction *p, fsim_strategy s, const fsim_contest *c, fsim_arena *a);
const char *fsim_text_dram(fsim_arena *a, const fsim_plan *plan); /* read and written: "96 MiB" */

/* text_training.c: of workloads with gradients */

/* What each phase takes. */
fsim_table fsim_text_phases(const fsim_text_page *r);
/* --verbose: each value of the forward pass that backward needs, and the ways to come by it. */
fsim_table fsim_text_saved_ways(const fsim_text_page *r);
/* Sentences: what forward keeps for backward, and what backward computes again. */
const char *fsim_text_saved(const fsim_text_page *r);
/* What a step of several micro-batches takes; NULL where there is one. */
const char *fsim_text_step(const fsim_text_page *r);
/* When most memory is needed, and for what; FSIM_BAD where that is more than eager needs. */
const char *fsim_text_peak(const fsim_text_page *r, fsim_emphasis *emphasis);

/* text_parallel.c: on several GPUs, a batch each */

/* "On 8 GPUs a step takes 8.31 ms": NULL where there is one GPU. */
const char *fsim_text_parallel_verdict(const fsim_text_page *r);
/* One GPU, several, and those that share the optimizer's state, gradients and weights out. */
fsim_table fsim_text_parallel(const fsim_text_page *r);
/* Sentences: what is exchanged and what of it shows in the step's time. */
const char *fsim_text_exchanges(const fsim_text_page *r);

/* text_next.c */

/* What to try next, with what it saves and what to type; nothing where there is nothing to gain. */
void fsim_text_next(const fsim_text_page *r);
/* The same as a Markdown list. */
void fsim_markdown_next(FILE *out, const fsim_prediction *p, fsim_arena *a);

/* text_fusion.c: nothing is printed where there is nothing to say. */

/* Primitives that run in several kernels: "Recomputed: t1 in kernel 3; t2, t3, t4 and 5 more in kernel 7." */
void fsim_text_recomputed(const fsim_text_page *r);
/* Operators that are folded into weights, and so cost nothing at run time. */
void fsim_text_folded(const fsim_text_page *r);
/* Pairs that are not fused, the largest saving first. */
void fsim_text_refusals(const fsim_text_page *r);
/* Refusals that one line tells: one of them, and how many others it stands for; same: those are between the same
 * primitives of other layers. */
typedef struct {
    const fsim_priced_refusal *of;
    int others;
    bool same;
} fsim_told_refusal;
/* All of the plan's, the largest saving first; each: none stands for others. Returns their number. */
int fsim_text_told_refusals(const fsim_text_page *r, bool each, fsim_told_refusal **told);
/* "a + b (x 12)" */
const char *fsim_text_refused_pair(const fsim_text_page *r, const fsim_told_refusal *told);
/* "would save at most 2.6 us and 16 MiB of DRAM traffic each" */
const char *fsim_text_saving(const fsim_text_page *r, const fsim_told_refusal *told);
/* Where the plan shown differs from the optimum, the dearest first. */
void fsim_text_losses(const fsim_text_page *r);
/* What plan `mine` does where `best` does something else: "cuts a + b" */
const char *fsim_text_difference(const fsim_text_page *r, const fsim_difference *d, const fsim_plan *mine,
                                 const fsim_plan *best);

/* text_evidence.c */

/* Figures that the hardware file lacks, and what the model does without them. */
void fsim_text_left_out(const fsim_text_page *r);
/* Figures that the plan depends on and nobody has measured. */
void fsim_text_assumed(const fsim_text_page *r);

/* text_details.c */

/* Every kernel of the plan: how it is launched, its units and its tensors. */
void fsim_text_details(const fsim_text_page *r);
/* Sentences: how kernel k is launched. */
void fsim_text_configuration(const fsim_text_page *r, const fsim_kernel *k);
/* What each unit accounts for. */
fsim_table fsim_text_units(const fsim_text_page *r, const fsim_kernel *k);
/* What it reads and writes. */
fsim_table fsim_text_tensors(const fsim_text_page *r, const fsim_kernel *k);

#endif
