/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c: sort and topk as PyTorch computes them, by radix. Values come with their places, 64-bit integers.
 *
 *     time_s = launch_s + norm_4(bytes / bandwidth, elements x passes x cycles / (SMs x clock))
 * Bytes are those of each kernel, since every pass but a row's own on chip goes through memory. */
#include "kernel/sort.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"

#include <math.h>
#include <string.h>

typedef struct {
    double read, write; /* bytes */
    double cycles;      /* of an SM */
} sort_work;

/* Bytes of each element, from its size e and that of a pair with its place, p. */
static sort_work of_form(const fsim_sort *s)
{
    const double n = (double)s->rows * (double)s->width, e = s->elem_bytes, place = ATEN_INDEX_BYTES, p = e + place,
                 passes = s->passes;
    switch (s->form) {
    case FSIM_SORT_IN_PLACE: /* places filled in, values copied, pairs sorted */
        return (sort_work){n * (e + p), n * (place + e + p), n * passes * sort_block_cycles};
    case FSIM_SORT_SEGMENTS: /* each digit: counts, then pairs scattered */
        return (sort_work){n * passes * (e + p), n * (place + passes * p), n * passes * sort_digit_cycles};
    case FSIM_SORT_TWICE: /* pairs by value, places by row, then values gathered */
        return (sort_work){n * (e + passes * p + place + e), n * (place + passes * p + p),
                           n * passes * sort_digit_cycles};
    case FSIM_SORT_EACH:
        return (sort_work){n * (e + passes * p), n * passes * p, n * passes * sort_digit_cycles};
    case FSIM_SELECT_BLOCKS: /* each digit: counts; then counts of what is kept, and its gathering */
        return (sort_work){n * (passes + 2) * e, 0, n * (passes + 2) * select_blocks_cycles};
    default: /* the row stays in L1 or L2 between passes */
        return (sort_work){n * e, 0, n * (passes + 2) * select_block_cycles};
    }
}

static sort_work work_of(const fsim_sort *s)
{
    sort_work w = of_form(s);
    const double pair = s->elem_bytes + ATEN_INDEX_BYTES, n = (double)s->rows * (double)s->width,
                 kept = (double)s->rows * (double)s->kept;
    if (s->form >= FSIM_SELECT_BLOCKS) { /* what is kept is stored, then sorted in place */
        w.read += kept > (double)s->rows ? kept * pair : 0;
        w.write += kept * pair * (kept > (double)s->rows ? 2 : 1);
        w.cycles += kept * s->elem_bytes * 2 * sort_block_cycles;
    } else if (s->strided && s->form != FSIM_SORT_IN_PLACE) { /* copied in, and out */
        w.read += n * (s->elem_bytes + pair);
        w.write += n * (s->elem_bytes + pair);
    }
    return w;
}

fsim_kernel fsim_sort_kernel(const fsim_costing *c, const fsim_kernel *own)
{
    fsim_sort s;
    if (c->group->anchor < 0 || c->hw->host || !fsim_sort_of(c->g, c->group->anchor, &s))
        return *own;
    const sort_work w = work_of(&s);
    const bool hit = c->group->reads > 0 && c->l2 && c->l2->hit && c->l2->hit[0];
    const double input = (double)s.rows * (double)s.width * s.elem_bytes, l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH);
    fsim_kernel k = *own;
    memset(k.unit, 0, sizeof k.unit);
    memset(k.time, 0, sizeof k.time);
    k.penalised = true;
    /* what one pass leaves the next one finds in L2 where all of it fits: only first reads and last writes remain */
    const double all = input + (double)s.rows * (double)s.kept * (s.elem_bytes + ATEN_INDEX_BYTES);
    const double stays = fmin(1, fmax(0, 2 - 2 * all / c->l2_bytes)), least = hit ? 0 : input;
    k.dram_read_bytes = (int64_t)(stays * least + (1 - stays) * (w.read - (hit ? input : 0)));
    k.dram_write_bytes = (int64_t)(stays * (all - input) + (1 - stays) * w.write);
    k.l2_bytes = w.read + w.write;
    k.unit[FSIM_DRAM] = fsim_dram_seconds(c->hw, (double)k.dram_read_bytes, (double)k.dram_write_bytes);
    k.unit[FSIM_L2] = isnan(l2) ? 0 : k.l2_bytes / l2;
    k.unit[FSIM_ISSUE] = w.cycles / (c->sms * c->clock);
    k.unit[FSIM_LATENCY] = s.passes * c->latency_s;
    fsim_sum_up_by(c, &k, aten_exponent);
    return k;
}
