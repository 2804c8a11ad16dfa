/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/registers.h"

#include <math.h>

enum {
    FREE = 32,       /* registers of each thread if 2048 threads share 64 Ki registers */
    MOST = 255,      /* the most that an instruction can address */
    TWO_BLOCKS = 128 /* with 256 threads, this many registers still let two blocks fit on an SM */
};
enum { BLOCK = 256 };

int fsim_registers(int live, int vector)
{
    const double r = 8.0 + (double)vector * live;
    return r < 16 ? 16 : r > 4096 ? 4096 : (int)r;
}

int fsim_tile_registers(const fsim_thread_words *w)
{
    enum { SIMT_REST = 20, TENSOR_REST = 12, EACH_GATHERED = 5, EACH_LIVE = 2 };
    const double alone = w->sums + w->fragments + w->staged + EACH_GATHERED * w->gathered +
                         (w->tensor ? TENSOR_REST : SIMT_REST),
                 ahead = alone + w->fragments;
    const bool squeezed = w->tensor && w->threads == BLOCK && ahead > TWO_BLOCKS && alone <= TWO_BLOCKS;
    return (int)fmin(MOST,
                     fmax(squeezed ? TWO_BLOCKS : ahead, w->sums + SIMT_REST + EACH_LIVE * fmin(w->live, SIMT_REST)));
}

int fsim_group_registers(int sums, int live)
{
    enum { REST = 36, SUMS_EACH_REST = 3, LIVE_REST = 20, EACH_LIVE = 2 };
    return (int)fmin(MOST, sums + fmax(REST + sums / SUMS_EACH_REST, LIVE_REST + EACH_LIVE * fmin(live, LIVE_REST)));
}

int fsim_chain_registers(const fsim_thread_words *w)
{
    enum { SIMT_REST = 20, TENSOR_REST = 28, AHEAD = 4, SQUEEZED = 150 };
    const double all = w->sums + AHEAD * w->fragments + w->packed + (w->tensor ? TENSOR_REST : SIMT_REST);
    const bool squeezed = w->tensor && w->threads == BLOCK && all > TWO_BLOCKS && all <= SQUEEZED;
    return (int)fmin(MOST, squeezed ? TWO_BLOCKS : all);
}

int fsim_chain_group_registers(const fsim_thread_words *w)
{
    enum { REST = 36, LEAST_REST = 16 };
    const double alone = w->sums + w->packed;
    const bool squeezed = w->threads == BLOCK && alone + REST > TWO_BLOCKS && alone + LEAST_REST <= TWO_BLOCKS;
    return (int)fmin(MOST, squeezed ? TWO_BLOCKS : alone + REST);
}

int fsim_direct_registers(int live) { return (int)fmin(MOST, fmax(FREE, fsim_registers(live, 1))); }
