/* SPDX-License-Identifier: Apache-2.0 */
#include "report/probes.h"

#include "base/unit.h"
#include "report/json_stream.h"
#include <math.h>
#include <string.h>

/* "36.2 GB/s" */
static const char *shown(fsim_arena *a, double x, const char *unit)
{
    char buffer[48];
    if (strcmp(unit, "s") == 0)
        return fsim_strdup(a, fsim_show_seconds(buffer, sizeof buffer, x));
    if (strcmp(unit, "B") == 0)
        return fsim_strdup(a, fsim_show_bytes(buffer, sizeof buffer, x));
    if (strstr(unit, "clk"))
        return fsim_printf(a, "%.4g %s", x, unit);
    if (strcmp(unit, "Hz") == 0)
        return fsim_printf(a, "%.0f MHz", 1e-6 * x);
    return fsim_strdup(a, fsim_show_rate(buffer, sizeof buffer, x, unit));
}

static void add_row(fsim_table *t, const fsim_figure *f)
{
    const char **cell = fsim_table_row(t, f->samples == 0 ? FSIM_FAINT : f->noisy ? FSIM_BAD : FSIM_PLAIN);
    cell[0] = f->name;
    if (f->samples > 0) {
        cell[1] = shown(t->arena, f->median, f->unit);
        cell[2] = shown(t->arena, f->low, f->unit);
        cell[3] = shown(t->arena, f->high, f->unit);
        cell[4] = fsim_printf(t->arena, "%d", f->samples);
    }
    cell[5] = f->samples == 0 ? f->why : f->noisy ? "scatters" : NULL;
}

static void print_sensors(const fsim_page *page, fsim_arena *a, const char *when, const fsim_sensors *s)
{
    const char *text = fsim_printf(a, "%s:", when);
    if (!isnan(s->power_w))
        text = fsim_printf(a, "%s %.0f W of %.0f W,", text, s->power_w, s->power_limit_w);
    if (!isnan(s->sm_clock_hz))
        text =
            fsim_printf(a, "%s SMs %.0f MHz, memory %.0f MHz,", text, 1e-6 * s->sm_clock_hz, 1e-6 * s->memory_clock_hz);
    if (!isnan(s->temperature_c))
        text = fsim_printf(a, "%s %.0f C,", text, s->temperature_c);
    fprintf(page->out, "%s clocks limited by: %s\n", text, s->reasons ? s->reasons : "not known");
}

/* Each line of the text as a paragraph. */
static void print_lines(const fsim_page *page, fsim_arena *a, const char *text)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_strndup(a, text, (size_t)(end - text)));
    }
}

void fsim_report_probes(const fsim_page *page, const fsim_probe_report *x)
{
    static const fsim_column column[] = {{.title = "probe", .left = true},
                                         {.title = "median"},
                                         {.title = "quartiles"},
                                         {.title = ""},
                                         {.title = "samples"},
                                         {.title = "", .left = true, .shrinks = true}};
    const fsim_device_probed *p = x->probed;
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    print_lines(page, a, p->head);
    putc('\n', page->out);
    for (int i = 0; i < p->figures; i++)
        add_row(&t, &p->figure[i]);
    for (int i = 0; i < p->sizes; i++)
        add_row(&t, &p->by_size[i]);
    fsim_table_print(page, &t, 0);
    putc('\n', page->out);
    if (p->remark)
        fprintf(page->out, "%s\n", p->remark);
    if (p->no_sensors)
        fprintf(page->out, "power and temperature: %s\n", p->no_sensors);
    for (int i = 0; i < p->loads && !p->no_sensors; i++)
        print_sensors(page, a, p->load[i].name ? p->load[i].name : "at the start", &p->load[i].sensors);
    for (int i = 0; i < p->unwritten_keys; i++)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a, "not written: %s: %s", p->unwritten[i].key, p->unwritten[i].text));
    if (x->file)
        fprintf(page->out, "\n%d keys measured; %s%s, written to %s\n", p->written_keys,
                x->from ? "the others as in " : "a new file", x->from ? x->from : "", x->file);
    fsim_arena_free(a);
}

static void json_figure(FILE *out, const char *before, const fsim_figure *f)
{
    fsim_json_text(out, before, "name", f->name);
    fsim_json_text(out, ", ", "unit", f->unit);
    if (f->bytes > 0)
        fsim_json_number(out, ", ", "bytes", (double)f->bytes);
    fsim_json_number(out, ", ", "median", f->median);
    fsim_json_number(out, ", ", "low", f->low);
    fsim_json_number(out, ", ", "high", f->high);
    fsim_json_number(out, ", ", "samples", f->samples);
    fsim_json_bool(out, ", ", "noisy", f->noisy);
    if (f->why)
        fsim_json_text(out, ", ", "missing", f->why);
    putc('}', out);
}

static void json_sensors(FILE *out, const char *before, const char *name, const fsim_sensors *s)
{
    fsim_json_text(out, before, "load", name);
    fsim_json_number(out, ", ", "power_w", s->power_w);
    fsim_json_number(out, ", ", "power_limit_w", s->power_limit_w);
    fsim_json_number(out, ", ", "sm_clock_hz", s->sm_clock_hz);
    fsim_json_number(out, ", ", "memory_clock_hz", s->memory_clock_hz);
    fsim_json_number(out, ", ", "temperature_c", s->temperature_c);
    fsim_json_text(out, ", ", "limited_by", s->reasons);
    putc('}', out);
}

void fsim_json_probes(FILE *out, const fsim_probe_report *x)
{
    const fsim_device_probed *p = x->probed;
    fputs("{\"schema\": 2,\n \"device\": {", out);
    for (int i = 0; i < p->facts; i++)
        if (p->fact[i].is_number)
            fsim_json_number(out, i ? ", " : "", p->fact[i].key, p->fact[i].number);
        else
            fsim_json_text(out, i ? ", " : "", p->fact[i].key, p->fact[i].text);
    fputs("},\n", out);
    fsim_json_text(out, " ", "hardware", x->from);
    fsim_json_number(out, ", ", "took_s", p->took_s);
    fputs(",\n \"probes\": [", out);
    for (int i = 0; i < p->figures; i++)
        json_figure(out, i ? ",\n  {" : "{", &p->figure[i]);
    fputs("],\n \"sizes\": [", out);
    for (int i = 0; i < p->sizes; i++)
        json_figure(out, i ? ",\n  {" : "{", &p->by_size[i]);
    fputs("],\n \"sensors\": [", out);
    for (int i = 0; i < p->loads; i++)
        json_sensors(out, i ? ",\n  {" : "{", p->load[i].name, &p->load[i].sensors);
    fputs("],\n \"not_written\": [", out);
    for (int i = 0; i < p->unwritten_keys; i++) {
        fsim_json_text(out, i ? ",\n  {" : "{", "key", p->unwritten[i].key);
        fsim_json_text(out, ", ", "why", p->unwritten[i].text);
        putc('}', out);
    }
    fputs("]}\n", out);
}
