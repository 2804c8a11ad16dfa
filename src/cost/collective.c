/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/collective.h"

#include "cost/constants.h"
#include <math.h>

typedef enum { NCCL, CUSTOM } library;
typedef struct {
    fsim_op op;
    library of;
    fsim_design design;
    struct {
        double latency_s, step_s, share;
    } protocol[2];
    double four, more; /* factors of the second share: 3 to 4 ranks, more ranks */
} fit;

static const fit fits[] = {
#define FSIM_COLLECTIVE(op, library, design, a1, h1, s1, a2, h2, s2, four, more)                                       \
    {FSIM_OP_##op, library, FSIM_##design, {{a1, h1, s1}, {a2, h2, s2}}, four, more},
#include "cost/collective.def"
#undef FSIM_COLLECTIVE
};

/* The designs whose numbers a GPU takes, nearest first. */
static fsim_design nearest_design(const fsim_hw *hw, double link, int i)
{
    static const fsim_design of[][2] = {
        {FSIM_ADA, FSIM_AMPERE}, {FSIM_AMPERE, FSIM_HOPPER}, {FSIM_HOPPER, FSIM_AMPERE}, {FSIM_BLACKWELL, FSIM_HOPPER}};
    const fsim_design design = hw->arch->design;
    const int row = link <= pcie_most                                               ? 0
                    : design <= FSIM_AMPERE_GRAPHICS                                ? 1
                    : design == FSIM_BLACKWELL || design == FSIM_BLACKWELL_GRAPHICS ? 3
                                                                                    : 2;
    return of[row][i];
}

static const fit *fit_of(const fsim_hw *hw, double link, fsim_op op, library of)
{
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof fits / sizeof *fits; k++)
            if (fits[k].op == op && fits[k].of == of && fits[k].design == nearest_design(hw, link, i))
                return fsim_refitted(hw, &fits[k]);
    return NULL;
}

fsim_refit_table fsim_collective_table(void) { return FSIM_REFIT_TABLE("FSIM_COLLECTIVE", fits, fit, protocol); }

/* Bytes that each GPU sends, over the larger buffer. */
static double bus_share(fsim_op op, double ranks)
{
    return op == FSIM_OP_SEND ? 1 : (op == FSIM_OP_ALL_REDUCE ? 2 : 1) * (ranks - 1) / ranks;
}

/* The same in protocol p of f: in a one-shot all-reduce each GPU reads the whole buffers of all others. */
static double bus_share_in(const fit *f, int p, double ranks)
{
    return f->op == FSIM_OP_ALL_REDUCE && f->of == CUSTOM && p == 0 ? ranks - 1 : bus_share(f->op, ranks);
}

double fsim_stepwise_s(const fsim_hw *hw, double steps, double sent_bytes)
{
    const double link = fsim_hw_get(hw, FSIM_HW_LINK_BANDWIDTH), peak = fsim_hw_peak(hw, FSIM_HW_LINK_BANDWIDTH),
                 rate = link < peak ? link : collective_link_share * peak;
    return collective_call_s + steps * collective_step_s + sent_bytes / rate;
}

static double protocol_s(const fit *f, int p, double link, double bytes, double ranks)
{
    const double bus = bytes * bus_share_in(f, p, ranks);
    const double factor = ranks <= 2   ? 1
                          : ranks <= 4 ? f->four
                                       : f->more,
                 share = f->protocol[p].share * (p == 1 || f->design == FSIM_ADA ? factor : 1);
    return f->protocol[p].latency_s + f->protocol[p].step_s * log2(ranks) + bus / (link * share);
}

double fsim_all_reduce_by_s(const fsim_hw *hw, int algorithm, double bytes, double ranks)
{
    const double link = fsim_hw_get(hw, FSIM_HW_LINK_BANDWIDTH);
    const fit *f = isnan(link) ? NULL : fit_of(hw, link, FSIM_OP_ALL_REDUCE, CUSTOM);
    if (!f)
        return NAN;
    if (algorithm == FSIM_RING || algorithm == FSIM_TREE)
        return fsim_stepwise_s(hw, 2 * (algorithm == FSIM_RING ? ranks - 1 : ceil(log2(ranks))),
                               bytes * bus_share(FSIM_OP_ALL_REDUCE, ranks));
    return protocol_s(f, algorithm == FSIM_TWO_SHOT, link, bytes, ranks);
}

double fsim_collective_s(const fsim_hw *hw, fsim_op op, double bytes, double ranks, bool graph)
{
    const double link = fsim_hw_get(hw, FSIM_HW_LINK_BANDWIDTH);
    const fsim_op which = op == FSIM_OP_RECV ? FSIM_OP_SEND : op;
    const fit *f = isnan(link) ? NULL : fit_of(hw, link, which, graph && which == FSIM_OP_ALL_REDUCE ? CUSTOM : NCCL);
    if (!f)
        return NAN;
    return fmin(protocol_s(f, 0, link, bytes, ranks), protocol_s(f, 1, link, bytes, ranks));
}
