/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/load.h"

#include "base/file.h"
#include "hw/adopt.h"
#include "hw/choose.h"
#include "hw/like.h"
#include "hw/relatives.h"

fsim_hw *fsim_hw_open(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where)
{
    const char *path = fsim_hw_choose(a, d, name, where), *why = "";
    size_t bytes = 0;
    if (!path)
        return NULL;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text)
        fsim_failure(d, FSIM_NO_INPUT, (fsim_loc){NULL, 0, 0}, "cannot read hardware file '%s': %s", path, why);
    return text ? fsim_hw_parse_in(a, d, &(fsim_hw_text){path, text, bytes}, where) : NULL;
}

bool fsim_hw_complete(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const fsim_hw_wanted *how)
{
    if (how->unseen)
        fsim_hw_drop_measurements(hw);
    if (fsim_hw_lacks_measurements(hw))
        fsim_hw_fill_from(a, hw, fsim_shipped_relatives, fsim_shipped_relatives_count);
    const fsim_hw before = *hw;
    for (int i = 0; i < how->changes; i++)
        if (!fsim_hw_set(a, d, hw, how->change[i]))
            return false;
    fsim_hw_rescale_peaks(a, hw, &before);
    return how->changes == 0 || fsim_hw_fit_blocks(a, d, hw);
}

fsim_hw *fsim_hw_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_wanted *how)
{
    fsim_hw *hw = fsim_hw_open(a, d, name, &how->folders);
    return hw && fsim_hw_complete(a, d, hw, how) ? hw : NULL;
}
