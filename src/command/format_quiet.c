/* SPDX-License-Identifier: Apache-2.0 */
/* The text report as one line, for --quiet. Lists of GPUs, keys and operators have no line: they are shown in full. */
#include "base/memory.h"
#include "command/command.h"
#include "report/capacity.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/quiet.h"
#include "report/sweep.h"
#include "report/trainings.h"
#include "report/trial.h"

#include <stdlib.h>
#include <string.h>

/* Returns lines, or NULL: the first line of the text report. */
typedef const char *quiet(const fsim_context *c, const void *what);

static const char *plans(const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    const char *text = "";
    for (int i = 0; i < p->count; i++)
        text = fsim_printf(c->arena, "%s%s\n", text, fsim_plan_line(&p->at[i], c->arena));
    return text;
}

static const char *trials(const fsim_context *c, const void *what)
{
    const fsim_trials *x = what;
    const char *text = "";
    for (int i = 0; i < x->count; i++)
        text = fsim_printf(c->arena, "%s%s\n", text, fsim_trial_line(x, &x->at[i], c->arena));
    return text;
}

static const char *diff(const fsim_context *c, const void *what)
{
    const fsim_diff *x = ((const fsim_shown_diff *)what)->x;
    const char *text = "";
    for (int i = 0; i < x->count; i++)
        text = fsim_printf(c->arena, "%s%s\n", text, fsim_diff_line(&x->at[i], c->arena));
    return text;
}

static const char *hw_check(const fsim_context *c, const void *what)
{
    const fsim_shown_hw *x = what;
    return fsim_printf(c->arena, "%s\n", fsim_hw_check_line(x->at, x->count, c->arena));
}

#define LINE(name, call)                                                                                               \
    static const char *name(const fsim_context *c, const void *what)                                                   \
    {                                                                                                                  \
        return fsim_printf(c->arena, "%s\n", call(what, c->arena));                                                    \
    }
LINE(regions, fsim_regions_line)
LINE(sweep, fsim_sweep_lines)
LINE(capacity, fsim_capacity_line)
LINE(trainings, fsim_trainings_line)
LINE(rows_diff, fsim_rows_diff_line)
LINE(calibration, fsim_calibration_line)
LINE(registers, fsim_register_line)

static const char *first(const fsim_context *c, const void *what)
{
    (void)c;
    (void)what;
    return NULL;
}

/* NULL, and for --dump: the report in full. */
static quiet *const line[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = plans,         [FSIM_RESULT_EXPLANATION] = first,
    [FSIM_RESULT_REGIONS] = regions,     [FSIM_RESULT_ACCURACY] = first,
    [FSIM_RESULT_TRIALS] = trials,       [FSIM_RESULT_REGISTERS] = registers,
    [FSIM_RESULT_SYSTEMS] = first,       [FSIM_RESULT_SWEEP] = sweep,
    [FSIM_RESULT_DIFF] = diff,           [FSIM_RESULT_CAPACITY] = capacity,
    [FSIM_RESULT_TRAININGS] = trainings, [FSIM_RESULT_ROWS_DIFF] = rows_diff,
    [FSIM_RESULT_IMPORT] = first,        [FSIM_RESULT_CALIBRATION] = calibration,
    [FSIM_RESULT_PROBES] = first,        [FSIM_RESULT_PROJECT] = first,
    [FSIM_RESULT_MODEL] = first,         [FSIM_RESULT_HW_CHECK] = hw_check,
};

/* The first line of the text report, as wide as it is. */
static bool show_first(FILE *out, const fsim_context *c, const void *what)
{
    fsim_context wide = *c;
    fsim_memory memory;
    wide.width = 0;
    wide.set.color = FSIM_COLOR_NEVER;
    const bool good = fsim_as_text[c->kind].show(fsim_memory_begin(&memory), &wide, what);
    const char *text = fsim_memory_end(&memory, c->arena, NULL);
    if (good)
        fprintf(out, "%.*s\n", (int)strcspn(text, "\n"), text);
    return good;
}

bool fsim_has_line(const fsim_context *c) { return line[c->kind] && c->set.dump.count == 0; }

bool fsim_show_quietly(FILE *out, const fsim_context *c, const void *what)
{
    if (!fsim_has_line(c))
        return fsim_as_text[c->kind].show(out, c, what);
    const char *text = line[c->kind](c, what);
    if (!text)
        return show_first(out, c, what);
    fputs(text, out);
    return true;
}
