/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/hw.h"

#include <math.h>
#include <string.h>

const fsim_hw_row fsim_hw_rows[FSIM_HW_COUNT] = {
#define FSIM_HW(id, key, feeds, dim, form, required, absent, low, high, meaning)                                       \
    {key, dim, form, required, FSIM_ABSENT_##absent, low, high, NAN, FSIM_FEEDS_##feeds, meaning},
#define FSIM_FIT(id, key, feeds, dim, low, high, otherwise, meaning)                                                   \
    {key, dim, FSIM_HW_VALUE, false, FSIM_ABSENT_UNKNOWN, low, high, otherwise, FSIM_FEEDS_##feeds, meaning},
#include "hw/hw.def"
#undef FSIM_HW
};

const char *const fsim_origin_names[FSIM_ORIGINS] = {"measured", "fitted", "datasheet", "assumed"};

const char *const fsim_hw_from_names[FSIM_HW_FROMS] = {"given", "architecture", "derived", "inherited", "assumed"};

/* The origin that a source states at its beginning. */
static fsim_origin origin_said(const char *source)
{
    for (int i = 0; i < FSIM_ORIGINS; i++)
        if (strncmp(source, fsim_origin_names[i], strlen(fsim_origin_names[i])) == 0)
            return (fsim_origin)i;
    return FSIM_FROM_DATASHEET;
}

/* Where a peak (fsim_hw_peak) comes from. */
static fsim_origin peak_origin(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = &hw->q[key];
    if (q->from == FSIM_HW_FROM_LIKE || q->from == FSIM_HW_FROM_SIMILAR)
        return FSIM_FROM_ASSUMED;
    if (q->typical && (!q->source || isnan(q->value)))
        return FSIM_FROM_ASSUMED;
    if (!q->source)
        return q->present ? FSIM_FROM_DATASHEET : FSIM_FROM_ASSUMED;
    return origin_said(q->source);
}

fsim_origin fsim_hw_origin(const fsim_hw *hw, fsim_hw_key key)
{
    static const char mark[] = "; achieved ";
    const fsim_quantity *q = &hw->q[key];
    const char *achieved = q->source && !isnan(q->achieved) ? strstr(q->source, mark) : NULL;
    return achieved ? origin_said(achieved + strlen(mark)) : peak_origin(hw, key);
}

bool fsim_hw_was_read(const fsim_hw *hw, const fsim_hw_keys *read, fsim_hw_key key, fsim_origin *from)
{
    if (!read->how[key] || !fsim_hw_has(hw, key))
        return false;
    const fsim_origin rate = fsim_hw_origin(hw, key), peak = peak_origin(hw, key);
    *from = read->how[key] == FSIM_HW_READ_RATE                  ? rate
            : read->how[key] == FSIM_HW_READ_PEAK || peak > rate ? peak
                                                                 : rate;
    return true;
}
