/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of reading a hardware file: what it leaves out, and the checks. */
#include "hw/adopt.h"
#include "hw/relatives.h"

#include <string.h>

/* An example of each form, for messages. */
static const char *const form_example[] = {
    [FSIM_HW_VALUE] = "{value: %s, source: ...}",
    [FSIM_HW_PEAK] = "{peak: %s, achieved: ..., source: ...}",
    [FSIM_HW_BUS] = "{width: %s, rate: 3.2 Gbit/s, source: ...}",
};

const char *fsim_hw_example(fsim_arena *a, fsim_hw_key key)
{
    const fsim_hw_row *row = &fsim_hw_rows[key];
    const char *form = form_example[row->form], *hole = strstr(form, "%s");
    const double one = fsim_shipped_ranges[key].middle;
    char shown[48];
    return fsim_printf(a, "%.*s%s%s", (int)(hole - form), form,
                       !(one > 0) ? fsim_dim_example(row->dim) : fsim_show(shown, sizeof shown, one, row->dim),
                       hole + 2);
}

const char *fsim_hw_range(fsim_arena *a, fsim_hw_key key)
{
    const fsim_hw_figures *f = &fsim_shipped_ranges[key];
    char low[48], high[48];
    if (!(f->high > 0))
        return "";
    return f->low == f->high ? "; shipped GPUs have the same"
                             : fsim_printf(a, "; shipped GPUs have %s to %s",
                                           fsim_show(low, sizeof low, f->low, fsim_hw_rows[key].dim),
                                           fsim_show(high, sizeof high, f->high, fsim_hw_rows[key].dim));
}

/* May the key stay absent here? What similar GPUs say comes later (hw/load.h), and there are none like a CPU. */
static bool may_lack(const fsim_hw *hw, int key)
{
    return !fsim_hw_rows[key].required || (fsim_hw_rows[key].absent == FSIM_ABSENT_SIMILAR && !hw->host);
}

/* Would the key follow from others, one of which is missing too and is named? */
static bool will_be_derived(const fsim_hw *hw, int key)
{
    if (hw->arch->plain && (key == FSIM_HW_SHARED_PER_BLOCK || key == FSIM_HW_SPECIAL_RATE))
        return true;
    return key == FSIM_HW_FP32_PEAK &&
           !(hw->q[FSIM_HW_SMS].present && hw->q[FSIM_HW_SM_CLOCK].present && hw->q[FSIM_HW_FP32_RATE].present);
}

static void check_missing(fsim_arena *a, fsim_diag *d, const fsim_hw *hw)
{
    const int errors = fsim_errors(d);
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (!hw->q[k].present && !may_lack(hw, k) && !will_be_derived(hw, k))
            fsim_error(d, hw->q[k].at, "missing key '%s': %s, e.g. %s: %s%s", fsim_hw_rows[k].key,
                       fsim_hw_rows[k].meaning, fsim_hw_rows[k].key, fsim_hw_example(a, (fsim_hw_key)k),
                       fsim_hw_range(a, (fsim_hw_key)k));
    if (hw->arch->plain && fsim_errors(d) > errors)
        fsim_note(
            d, "of another kind of accelerator sms are its cores, shared_memory_per_sm is the memory of one core, and "
               "fp32_rate what its vector unit does at each clock");
}

static void set_typical(fsim_hw *hw)
{
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (!isnan(fsim_hw_rows[k].otherwise) && isnan(hw->q[k].value)) {
            hw->q[k].value = fsim_hw_rows[k].otherwise;
            hw->q[k].typical = true;
            hw->q[k].from = FSIM_HW_FROM_SIMILAR;
        }
}

bool fsim_hw_finish(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const fsim_hw *parent)
{
    const int errors = fsim_errors(d);
    if (parent && !hw->architecture) {
        hw->architecture = parent->architecture;
        hw->arch = parent->arch;
        hw->sm = parent->sm;
        hw->host = parent->host;
    }
    if (parent)
        fsim_hw_inherit_figures(a, hw, parent);
    fsim_hw_adopt_architecture(a, hw);
    if (parent)
        fsim_hw_inherit_peaks(a, hw, parent);
    fsim_hw_derive_peaks(a, hw);
    if (!*hw->description)
        hw->description = parent ? fsim_printf(a, "%s, like %s", hw->name, parent->name) : hw->name;
    check_missing(a, d, hw);
    set_typical(hw);
    fsim_hw_lint(a, d, hw);
    return fsim_errors(d) == errors;
}
