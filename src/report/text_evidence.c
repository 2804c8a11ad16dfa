/* SPDX-License-Identifier: Apache-2.0 */
/* The basis of a prediction: figures that the hardware file lacks, and figures that nobody has measured. */
#include "report/text_parts.h"

/* Features of a workload, for keys that matter only with them. */
typedef enum { ANY, DOUBLES, CONTRACTIONS, DEVICES, HOST } matter;

static bool matters(const fsim_graph *g, matter what)
{
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const fsim_class class = fsim_ops[n->op].class;
        const bool here[] = {[ANY] = true,
                             [DOUBLES] = n->dtype == FSIM_F64,
                             [CONTRACTIONS] = n->gemm.k > 0,
                             [DEVICES] = class == FSIM_COMMUNICATION,
                             [HOST] = class == FSIM_TRANSFER};
        if (here[what])
            return true;
    }
    return false;
}

/* Keys that the model can do without, and what it assumes then. */
void fsim_text_left_out(const fsim_text_page *r)
{
    static const struct {
        fsim_hw_key key;
        matter when;
        const char *text;
    } note[] = {
        {FSIM_HW_L2_BANDWIDTH, ANY, "The hardware file has no L2 bandwidth: time on L2 is not counted."},
        {FSIM_HW_L2_EFFECTIVE, ANY,
         "The hardware file has no 'l2_effective': kernels are assumed to keep all of L2 for the next."},
        {FSIM_HW_DRAM_LATENCY, ANY, "The hardware file has no DRAM latency: a typical one is assumed."},
        {FSIM_HW_FP64_RATE, DOUBLES, "The hardware file has no FP64 rate: FP64 is assumed to be as fast as FP32."},
        {FSIM_HW_LINK_BANDWIDTH, DEVICES,
         "The hardware file has no bandwidth between devices: communication is not counted."},
        {FSIM_HW_HOST_LINK_BANDWIDTH, HOST,
         "The hardware file has no bandwidth between host and device: transfers are not counted."}};
    const bool plain = r->p->hw->arch->plain;
    if (plain)
        fsim_paragraph(&r->page, FSIM_FAINT, 0, 2,
                       fsim_printf(r->a,
                                   "%s is priced by its peaks and its bytes alone (architecture: generic): what its "
                                   "compiler fuses, and how it lays out a kernel, is not modelled.",
                                   r->p->hw->name));
    for (size_t i = 0; i < sizeof note / sizeof *note; i++)
        if (!(plain && note[i].key == FSIM_HW_DRAM_LATENCY) && !fsim_hw_has(r->p->hw, note[i].key) &&
            matters(r->g, note[i].when))
            fsim_paragraph(&r->page, FSIM_FAINT, 0, 2, note[i].text);
}

/* Seconds of the plan's kernels that depend on this key: kernels that read it and, if `bound`, are limited by the
 * unit that it describes. */
static double seconds_on(const fsim_prediction *p, int key, bool bound)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    double seconds = 0;
    for (int k = 0; k < plan->kernels; k++)
        if (p->basis.kernel[k].how[key] && (!bound || fsim_feeds_bound((fsim_hw_key)key, &plan->kernel[k])))
            seconds += plan->kernel[k].time_s;
    return seconds;
}

/* Does x matter more than y? Equal ones are in the order of the table. */
static bool weighs_more(const fsim_prediction *p, int x, int y)
{
    for (int bound = 1; bound >= 0; bound--) {
        const double of_x = seconds_on(p, x, bound), of_y = seconds_on(p, y, bound);
        if (of_x != of_y)
            return of_x > of_y;
    }
    return x < y;
}

/* Keys that the reported plan depends on and nobody has measured: the most important ones, and their number. */
void fsim_text_assumed(const fsim_text_page *r)
{
    enum { SHOWN = 6 };
    const fsim_prediction *p = r->p;
    int key[FSIM_HW_COUNT], keys = 0;
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        fsim_origin from;
        if (!fsim_hw_was_read(p->hw, &p->basis.all, (fsim_hw_key)i, &from) || from != FSIM_FROM_ASSUMED)
            continue;
        int at = keys++;
        for (; at > 0 && weighs_more(p, i, key[at - 1]); at--)
            key[at] = key[at - 1];
        key[at] = i;
    }
    const int shown = r->verbose || keys <= SHOWN ? keys : SHOWN;
    const char *list = "";
    for (int i = 0; i < shown; i++)
        list = fsim_printf(r->a, "%s%s%s", list, i ? ", " : "", fsim_hw_rows[key[i]].key);
    const char *more = keys > shown ? fsim_printf(r->a, " and %d more (--verbose)", keys - shown) : "";
    if (keys > 0)
        fsim_paragraph(&r->page, FSIM_FAINT, 0, 2,
                       fsim_printf(r->a, "Assumed, not measured, in %s: %s%s.",
                                   p->hw->name ? p->hw->name : "the hardware file", list, more));
}
