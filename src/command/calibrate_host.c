/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate --device cpu: measures this machine and writes a hardware file. */
#include "command/command.h"
#include "report/json_stream.h"
#include "validate/cpu/hardware.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const fsim_host_probes *probes;
    const char *file; /* the file written; NULL */
} host_calibration;

/* "36.2 GB/s" */
static const char *shown(fsim_arena *a, double x, const char *unit)
{
    char buffer[48];
    return fsim_strdup(a, strcmp(unit, "s") == 0 ? fsim_show_seconds(buffer, sizeof buffer, x)
                                                 : fsim_show_rate(buffer, sizeof buffer, x, unit));
}

static void add_row(fsim_table *t, const char *name, fsim_spread_of x, const char *unit)
{
    const char **cell = fsim_table_row(t, FSIM_PLAIN);
    cell[0] = name;
    cell[1] = shown(t->arena, x.median, unit);
    cell[2] = shown(t->arena, x.low, unit);
    cell[3] = shown(t->arena, x.high, unit);
}

void fsim_report_host_probes(const fsim_page *page, const void *what)
{
    const host_calibration *x = what;
    static const fsim_column column[] = {
        {.title = "probe", .left = true}, {.title = "median"}, {.title = "quartiles"}, {.title = ""}};
    const fsim_host_probes *h = x->probes;
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, FSIM_COUNT_OF(column));
    char buffer[48];
    fprintf(page->out, "%s, %d threads, %d rounds in %.1f s\n%s\n\n", h->cpu, h->threads, h->rounds, h->took_s,
            h->compiler);
    for (int p = 0; p < FSIM_PROBES; p++)
        if (h->of[p].samples > 0)
            add_row(&t, fsim_probe_names[p], h->of[p], fsim_probe_units[p]);
    for (int i = 0; i < h->sizes; i++)
        add_row(&t, fsim_printf(a, "copy of %s", fsim_show_bytes(buffer, sizeof buffer, (double)h->size[i].bytes / 2)),
                h->size[i].bytes_per_s, "B/s");
    fsim_table_print(page, &t, 0);
    if (h->effective_bytes)
        fprintf(page->out, "\nlast-level cache: %s of it are effective\n",
                fsim_show_bytes(buffer, sizeof buffer, (double)h->effective_bytes));
    if (x->file)
        fprintf(page->out, "\nwritten to %s\n", x->file);
    fsim_arena_free(a);
}

static void put_spread(FILE *out, fsim_spread_of x)
{
    fsim_json_number(out, ", ", "median", x.median);
    fsim_json_number(out, ", ", "low", x.low);
    fsim_json_number(out, ", ", "high", x.high);
    putc('}', out);
}

void fsim_json_host_probes(FILE *out, const void *what)
{
    const host_calibration *x = what;
    const fsim_host_probes *h = x->probes;
    const char *before = "{";
    fsim_json_text(out, "{\"schema\": 1, ", "cpu", h->cpu);
    fsim_json_text(out, ", ", "compiler", h->compiler);
    fprintf(out, ", \"threads\": %d, \"rounds\": %d,\n \"probes\": [", h->threads, h->rounds);
    for (int p = 0; p < FSIM_PROBES; p++)
        if (h->of[p].samples > 0) {
            fsim_json_text(out, before, "name", fsim_probe_names[p]);
            fsim_json_text(out, ", ", "unit", fsim_probe_units[p]);
            put_spread(out, h->of[p]);
            before = ",\n  {";
        }
    fputs("],\n \"copies\": [", out);
    for (int i = 0; i < h->sizes; i++) {
        fsim_json_number(out, i ? ",\n  {" : "{", "bytes", (double)h->size[i].bytes);
        put_spread(out, h->size[i].bytes_per_s);
    }
    fputs("]}\n", out);
}

static void check(fsim_context *c)
{
    const fsim_settings *s = &c->set;
    if (c->args.count || s->measurements.count || s->fit.count || s->fresh || s->folds)
        fsim_error(c->diag, fsim_command_line,
                   "calibrate --device cpu measures this machine; it takes no workload, --measurements, --fit, --fresh "
                   "or --folds");
    if (s->hw.count > 1)
        fsim_error(c->diag, fsim_command_line, "calibrate --device cpu takes one --hw, the file to change");
    if (s->threads > 1024)
        fsim_error(c->diag, fsim_command_line, "--threads: wanted 1 to 1024");
    if (s->output && !fsim_is_stdout(s->output) && fsim_is_shipped_hw(c, s->output))
        fsim_error(c->diag, fsim_command_line,
                   "-o '%s' is a shipped hardware file's place; write elsewhere, and look at it first", s->output);
}

/* The text to update: that of --hw, which must be a host's; "" without the option. NULL after an error. */
static const char *text_to_change(fsim_context *c)
{
    size_t bytes = 0;
    if (c->set.hw.count == 0)
        return "";
    const fsim_hw *hw = fsim_read_hw(c, c->set.hw.at[0]);
    if (!hw)
        return NULL;
    if (hw->host)
        return fsim_read_text(c, "hardware file", hw->path, &bytes);
    fsim_failure(c->diag, FSIM_BAD_INPUT, fsim_command_line, "--hw %s is no CPU but %s", c->set.hw.at[0],
                 hw->architecture);
    return NULL;
}

/* my.yaml: my */
static const char *name_of(fsim_context *c)
{
    const char *path = c->set.output, *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
    const size_t length = base ? strcspn(base, ".") : 0;
    return !path || fsim_is_stdout(path) || length == 0 ? "host" : fsim_strndup(c->arena, base, length);
}

int fsim_run_calibrate_host(fsim_context *c)
{
    c->kind = FSIM_RESULT_HOST_PROBES;
    int status;
    check(c);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const char *text = text_to_change(c), *why = "no threads";
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)) || (status = fsim_open_outputs(c)))
        return status;
    const fsim_cpu_compiler compiler = {.header = fsim_dialect_text};
    fsim_cpu_pool *pool = fsim_cpu_pool_new((int)c->set.threads);
    const fsim_host_probes *h = pool ? fsim_host_probe(pool, &compiler, FSIM_PROBES_ALL, 0, c->arena, &why) : NULL;
    fsim_cpu_pool_free(pool);
    if (!h) {
        fsim_failure(c->diag, FSIM_UNAVAILABLE, fsim_command_line, "calibrate --device cpu: %s", why);
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    const char *date = fsim_today(c);
    const host_calibration x = {h, fsim_is_stdout(c->set.output) ? NULL : c->set.output};
    return fsim_deliver_hw(c, fsim_host_text(c->arena, text, name_of(c), h, date, "fusesim calibrate --device cpu"),
                           &x);
}
