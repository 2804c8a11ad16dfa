/* SPDX-License-Identifier: Apache-2.0 */
#include "report/calibration.h"

#include "report/json_stream.h"
#include <math.h>

static const char *percent(fsim_arena *a, double share)
{
    return isnan(share) ? "" : fsim_printf(a, "%.1f %%", share * 100);
}

static const char *shown(fsim_arena *a, double x, fsim_hw_key key)
{
    char buffer[48];
    const fsim_dim dim = fsim_hw_rows[key].dim;
    return dim == FSIM_DIM_NONE || dim == FSIM_DIM_BYTES_PER_CLOCK
               ? fsim_printf(a, "%.4g", x)
               : fsim_strdup(a, fsim_show(buffer, sizeof buffer, x, dim));
}

static void print_fits(const fsim_page *page, const fsim_calibration *x, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "group", .left = true},
                                         {.title = "rows"},
                                         {.title = "before", .legend = "mean error with the file's figures"},
                                         {.title = "median"},
                                         {.title = "after", .legend = "with fitted ones"},
                                         {.title = "median"},
                                         {.title = "p90", .legend = "nine of ten errors are smaller"},
                                         {.title = "on fitted", .legend = "mean error on the rows of the fit itself"},
                                         {.title = "", .left = true}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->fits; i++) {
        const fsim_fit *f = &x->fit[i];
        const char **cell = fsim_table_row(&t, f->refused ? FSIM_BAD : FSIM_PLAIN);
        cell[0] = f->group->name;
        cell[1] = fsim_printf(a, "%d", f->rows);
        if (f->rows > 0) {
            cell[2] = percent(a, f->before.mape);
            cell[3] = percent(a, f->before.median);
            cell[4] = percent(a, f->after.mape);
            cell[5] = percent(a, f->after.median);
            cell[6] = percent(a, f->after.p90);
            cell[7] = percent(a, f->fitted.mape);
        }
        cell[8] = f->rows == 0          ? "no rows"
                  : f->refused          ? "refused"
                  : f->fitted_keys == 0 ? "too few rows of any kind"
                                        : "fitted";
    }
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
}

static void print_keys(const fsim_page *page, const fsim_calibration *x, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "key", .left = true},
        {.title = "before"},
        {.title = "after"},
        {.title = "spread", .legend = "standard deviation over the folds, as a share of the value"},
        {.title = "rows"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->fits; i++)
        for (int k = 0; k < x->fit[i].fitted_keys && x->fit[i].rows > 0 && !x->fit[i].refused; k++) {
            const fsim_fitted_key *f = &x->fit[i].key[k];
            const char **cell = fsim_table_row(&t, FSIM_PLAIN);
            cell[0] = fsim_hw_rows[f->key].key;
            cell[1] = shown(a, f->before, f->key);
            cell[2] = shown(a, f->after, f->key);
            cell[3] = percent(a, f->spread);
            cell[4] = fsim_printf(a, "%d", f->rows);
        }
    if (t.rows > 0) {
        putc('\n', page->out);
        fsim_table_print(page, &t, 0);
        fsim_table_legend(page, &t, 0);
    }
}

void fsim_report_calibration(const fsim_page *page, const fsim_calibration *x)
{
    fsim_arena *a = fsim_arena_new();
    if (x->host) {
        fprintf(page->out, "%s: what PyTorch's host takes, measured by %s; host_*: in launches beside its own\n",
                x->hw->name, x->host);
    } else {
        fprintf(page->out, "%s: mean error on rows not fitted, before and after, %d folds\n\n", x->hw->name, x->folds);
        print_fits(page, x, a);
    }
    print_keys(page, x, a);
    bool any = false;
    for (int i = 0; i < x->fits; i++)
        if (x->fit[i].refused) {
            if (!any)
                putc('\n', page->out);
            any = true;
            fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                           fsim_printf(a, "%s refused: %s", x->fit[i].group->name, x->fit[i].refused));
        }
    int changed = 0;
    for (int i = 0; i < x->fits; i++)
        changed += x->fit[i].rows > 0 && !x->fit[i].refused ? x->fit[i].fitted_keys : 0;
    putc('\n', page->out);
    if (changed == 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a,
                                   "No figure of %s changes: a scalar is fitted to rows of its kind of kernel, and no "
                                   "kind has rows enough for a fit that predicts others of them better.",
                                   x->hw->name));
    if (x->file)
        fprintf(page->out, "written to %s\n", x->file);
    else if (changed > 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, "Nothing was written: -o FILE gets the fitted hardware file.");
    fsim_arena_free(a);
}

static void put_stats(FILE *out, const char *name, const fsim_stats *s)
{
    fprintf(out, ", \"%s\": ", name);
    fsim_json_number(out, "{", "mape", s->mape);
    fsim_json_number(out, ", ", "median", s->median);
    fsim_json_number(out, ", ", "p90", s->p90);
    fsim_json_number(out, ", ", "bias", s->bias);
    putc('}', out);
}

void fsim_json_calibration(FILE *out, const fsim_calibration *x)
{
    fsim_json_text(out, "{\"schema\": 1, ", "hw", x->hw->name);
    fprintf(out, ", \"folds\": %d,\n \"groups\": [", x->folds);
    for (int i = 0; i < x->fits; i++) {
        const fsim_fit *f = &x->fit[i];
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "name", f->group->name);
        fprintf(out, ", \"rows\": %d", f->rows);
        if (f->rows > 0 && !x->host) {
            put_stats(out, "before", &f->before);
            put_stats(out, "after", &f->after);
            put_stats(out, "fitted", &f->fitted);
        }
        fsim_json_text(out, ", ", "refused", f->refused);
        fputs(", \"keys\": [", out);
        for (int k = 0; k < f->fitted_keys && f->rows > 0; k++) {
            fsim_json_text(out, k ? ", {" : "{", "key", fsim_hw_rows[f->key[k].key].key);
            fsim_json_number(out, ", ", "before", f->key[k].before);
            fsim_json_number(out, ", ", "after", f->key[k].after);
            fsim_json_number(out, ", ", "spread", f->key[k].spread);
            putc('}', out);
        }
        fputs("]}", out);
    }
    fputs("]}\n", out);
}
