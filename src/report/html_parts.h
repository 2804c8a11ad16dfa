/* SPDX-License-Identifier: Apache-2.0 */
/* html_parts.h: the parts of the HTML report of one GPU, which html.c puts together. */
#ifndef FUSESIM_REPORT_HTML_PARTS_H
#define FUSESIM_REPORT_HTML_PARTS_H

#include "report/html_write.h"

/* What all parts read. The kernels of `text` have no repeats: each stands for itself. */
typedef struct {
    FILE *out;
    fsim_arena *a;
    const fsim_text_page *text;
    const fsim_prediction *p;
    const fsim_graph *g;
    const fsim_plan *plan;
    int gpu;            /* its number begins the ids of what belongs to it */
    const int *home;    /* per primitive: the kernel that owns what it makes; -1: none */
    const char **layer; /* per kernel: the layer that it is in, "" for none; NULL: the workload has no layers */
    fsim_repeats repeats;
} fsim_html_page;

/* html_kernels.c */

/* Kernels as a table that can be sorted and filtered, by layer. */
void fsim_html_kernels(const fsim_html_page *h);
/* What is shown of each kernel when it is chosen: blocks of markup that are data until then, so that a page with a
 * thousand kernels opens at once. */
void fsim_html_details(const fsim_html_page *h);

/* html_graph.c */

/* Kernels as boxes around their operators, and what goes from one to the other through memory. */
void fsim_html_graph(const fsim_html_page *h);

/* html_charts.c: each is a <figure> */

/* Pixels of a picture beside others, and of the same for a narrow screen; html_style.css chooses. */
enum { FSIM_HTML_WIDE = 720, FSIM_HTML_NARROW = 360 };

/* Time of each strategy with its interval. */
void fsim_html_strategy_bars(const fsim_html_page *h);
/* The kernels that take longest, by what they wait for. */
void fsim_html_time_bars(const fsim_html_page *h);
/* Memory in use while the plan runs. */
void fsim_html_memory_curve(const fsim_html_page *h);
/* html_roofline.c */
void fsim_html_roofline(const fsim_html_page *h);

/* html_refusals.c */

/* What is not fused and why, the dearest first. */
void fsim_html_refusals(const fsim_html_page *h);
/* Those of kernel k, as a list; nothing where it has none. */
void fsim_html_refusals_of(const fsim_html_page *h, int k);

/* html_evidence.c */

/* Inputs, versions, and where each figure behind the times is from. */
void fsim_html_evidence(const fsim_html_page *h);

/* What a reader presses to see kernel k: "kernel 12". */
void fsim_html_kernel_link(const fsim_html_page *h, int k);

#endif
