/* SPDX-License-Identifier: Apache-2.0 */
/* serving_quantize.c: 16-bit numbers to 8 bits.
 *
 *     static    floor + ((bytes from DRAM / DRAM)^3 + (bytes / L2)^3)^(1/3), bytes = 3 m k
 *     each row  floor + k clocks + the same with 5 m k bytes of L2 + m / SMs x clocks of a row
 * Blocks of 128 numbers are read once, as by a known scale. A row is read twice, for its largest magnitude and to be
 * quantised; where the rows under way do not fit L2, twice from DRAM. Replays find in L2 what fits there; otherwise all
 * bytes come from DRAM that L2 does not hold. SGLang's kernel for rows has a block for each, but from 16 rows an SM on
 * a warp, eight a block, and its replays rotate copies of the activation as those of the weights. */
#include "vendor/constants.h"
#include "vendor/serving.h"

#include <math.h>

typedef struct {
    fsim_design design;
    double floor, dram, l2, from, row_clocks, element_clocks;
} fit;

static const fit of_static[] = {
#define FSIM_SERVING_STATIC(design, ...) {FSIM_##design, __VA_ARGS__, 0, 0},
#include "vendor/serving_fit.def"
};

static const fit of_rows[] = {
#define FSIM_SERVING_ROW(design, ...) {FSIM_##design, __VA_ARGS__},
#include "vendor/serving_fit.def"
};

static const fit *fit_of(const fsim_serving_site *s, const fit *rows, int count)
{
    for (int i = 0; i < FSIM_SERVING_KIN; i++)
        for (int k = 0; k < count; k++)
            if (rows[k].design == fsim_serving_kin(s, i))
                return fsim_refitted(s->hw, &rows[k]);
    return rows;
}

fsim_refit_table fsim_static_table(void) { return FSIM_REFIT_TABLE("FSIM_SERVING_STATIC", of_static, fit, floor); }
fsim_refit_table fsim_row_table(void) { return FSIM_REFIT_TABLE("FSIM_SERVING_ROW", of_rows, fit, floor); }

/* The share of 3 m k bytes that DRAM moves. A product of the same call finds its operand in L2 where that fits: of
 * three bytes the two that are read come from DRAM. */
static double missed_of(const fsim_serving_site *s, const fit *f, double bytes)
{
    const bool alone = s->call->kind == FSIM_SERVING_QUANTIZE_STATIC || s->call->kind == FSIM_SERVING_QUANTIZE_TOKEN;
    const bool rotates = s->replays && s->call->kind == FSIM_SERVING_GEMM_F8_TOKEN && f->design == FSIM_ADA;
    const double replayed =
        fsim_ramp((rotates ? serving_sglang_copies : 1) * bytes / s->l2_bytes, f->from, serving_ramp);
    return s->replays ? replayed : alone ? s->from_dram : fmax(replayed, s->from_dram * 2 / 3);
}

static double streamed_s(const fsim_serving_site *s, const fit *f, double bytes, double again, double l2_bytes)
{
    const double missed = missed_of(s, f, bytes), dram = (bytes + again) * missed / (s->dram * f->dram),
                 l2 = l2_bytes / (f->l2 * s->sms * s->clock);
    return cbrt(dram * dram * dram + l2 * l2 * l2);
}

double fsim_quantize_static_s(const fsim_serving_site *s, double m, double k)
{
    const fit *f = fit_of(s, of_static, sizeof of_static / sizeof *of_static);
    return f->floor + streamed_s(s, f, 3 * m * k, 0, 3 * m * k);
}

double fsim_quantize_rows_s(const fsim_serving_site *s, double m, double k)
{
    const fit *f = fit_of(s, of_rows, sizeof of_rows / sizeof *of_rows);
    const double under_way = 4 * s->sms * k,
                 again = 2 * m * k * fsim_ramp(under_way / s->l2_bytes, serving_rows_from, serving_rows_from);
    const bool sglang = s->call->kind == FSIM_SERVING_GEMM_F8_TOKEN;
    const double together = sglang && m >= SGLANG_ROWS_TOGETHER * 2 * s->sms ? SGLANG_ROWS_TOGETHER : 1,
                 wider = sglang ? serving_sglang_row : 1;
    return f->floor + together * wider * k * f->element_clocks / s->clock +
           streamed_s(s, f, 3 * m * k, again, 5 * m * k) + m / together / s->sms * f->row_clocks / s->clock;
}

fsim_serving_time fsim_serving_quantize(const fsim_serving_site *s)
{
    const double m = s->call->value[0], k = s->call->value[1];
    const bool known = s->call->kind == FSIM_SERVING_QUANTIZE_STATIC;
    return fsim_serving_sum(0, 3 * m * k / s->dram,
                            known ? fsim_quantize_static_s(s, m, k) : fsim_quantize_rows_s(s, m, k), 1);
}
