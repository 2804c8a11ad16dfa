/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/hw.h"

#include <math.h>
#include <string.h>

const fsim_hw_row fsim_hw_rows[FSIM_HW_COUNT] = {
#define FSIM_HW(id, key, dim, form, required, low, high) {key, dim, form, required, low, high, NAN},
#define FSIM_FIT(id, key, dim, low, high, otherwise)     {key, dim, FSIM_HW_VALUE, false, low, high, otherwise},
#include "hw/hw.def"
#undef FSIM_HW
};

double fsim_hw_get(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = &hw->q[key];
    return isnan(q->achieved) ? q->value : q->achieved;
}

double fsim_hw_peak(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = &hw->q[key];
    return isnan(q->value) ? q->achieved : q->value;
}

bool fsim_hw_has(const fsim_hw *hw, fsim_hw_key key) { return !isnan(fsim_hw_get(hw, key)); }

const char *const fsim_origin_names[FSIM_ORIGINS] = {"measured", "fitted", "datasheet", "assumed"};

fsim_origin fsim_hw_origin(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = &hw->q[key];
    const char *said = q->source, *achieved = said ? strstr(said, "; achieved ") : NULL;
    if (q->typical && (!said || isnan(q->value)))
        return FSIM_FROM_ASSUMED;
    if (!said)
        return q->present ? FSIM_FROM_DATASHEET : FSIM_FROM_ASSUMED;
    said = achieved && !isnan(q->achieved) ? achieved + strlen("; achieved ") : said;
    for (int i = 0; i < FSIM_ORIGINS; i++)
        if (strncmp(said, fsim_origin_names[i], strlen(fsim_origin_names[i])) == 0)
            return (fsim_origin)i;
    return FSIM_FROM_DATASHEET;
}
