/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate --device cuda: measures an NVIDIA GPU and writes a hardware file. */
#include "command/command.h"
#include "report/json_stream.h"
#include "validate/cuda/hardware.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const fsim_gpu_probed *probed;
    const fsim_gpu_hardware *hardware;
    const char *from, *file; /* the hardware file that was updated, or NULL; the file written, or NULL */
} gpu_calibration;

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
    return fsim_strdup(a, strcmp(unit, "Hz") == 0 ? fsim_show(buffer, sizeof buffer, x, FSIM_DIM_HZ)
                                                  : fsim_show_rate(buffer, sizeof buffer, x, unit));
}

static void add_row(fsim_table *t, const fsim_gpu_figure *f)
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

static void print_device(const fsim_page *page, const fsim_gpu_probed *p)
{
    const fsim_gpu_facts *f = p->facts;
    fprintf(page->out, "%s, sm_%d, %d SMs; driver %s, CUDA %d.%d, NVRTC %d.%d; times: %s; %.1f s\n", f->name, f->sm,
            f->sms, p->driver ? p->driver : "unknown", f->driver_version / 1000, f->driver_version % 1000 / 10,
            f->nvrtc_version / 1000, f->nvrtc_version % 1000 / 10, f->timing, p->took_s);
}

void fsim_report_gpu_probes(const fsim_page *page, const void *what)
{
    const gpu_calibration *x = what;
    static const fsim_column column[] = {{.title = "probe", .left = true},
                                         {.title = "median"},
                                         {.title = "quartiles"},
                                         {.title = ""},
                                         {.title = "samples"},
                                         {.title = "", .left = true, .shrinks = true}};
    const fsim_gpu_probed *p = x->probed;
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, FSIM_COUNT_OF(column));
    print_device(page, p);
    putc('\n', page->out);
    for (int i = 0; i < FSIM_GPU_PROBES; i++)
        if (p->of[i].name)
            add_row(&t, &p->of[i]);
    for (int i = 0; i < p->sizes; i++)
        add_row(&t, &p->by_size[i]);
    fsim_table_print(page, &t, 0);
    putc('\n', page->out);
    if (p->no_sensors)
        fprintf(page->out, "power and temperature: %s\n", p->no_sensors);
    else
        print_sensors(page, a, "at the start", &p->at_start);
    for (int i = 0; i < FSIM_GPU_LOADS && !p->no_sensors; i++)
        if (p->load[i].name)
            print_sensors(page, a, p->load[i].name, &p->load[i].sensors);
    for (int i = 0; i < x->hardware->notes; i++)
        fprintf(page->out, "not written: %s: %s\n", x->hardware->note[i].key, x->hardware->note[i].text);
    if (x->file)
        fprintf(page->out, "\n%d keys measured; %s%s, written to %s\n", x->hardware->written,
                x->from ? "the others as in " : "a new file", x->from ? x->from : "", x->file);
    fsim_arena_free(a);
}

static void json_figure(FILE *out, const char *before, const fsim_gpu_figure *f)
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

void fsim_json_gpu_probes(FILE *out, const void *what)
{
    const gpu_calibration *x = what;
    const fsim_gpu_probed *p = x->probed;
    const fsim_gpu_facts *f = p->facts;
    const char *before = "{";
    fsim_json_text(out, "{\"schema\": 1,\n \"device\": {", "name", f->name);
    fsim_json_number(out, ", ", "sm", f->sm);
    fsim_json_number(out, ", ", "sms", f->sms);
    fsim_json_text(out, ", ", "driver", p->driver);
    fsim_json_number(out, ", ", "cuda", f->driver_version);
    fsim_json_number(out, ", ", "nvrtc", f->nvrtc_version);
    fsim_json_number(out, ", ", "cupti", f->cupti_version);
    fsim_json_number(out, ", ", "memory_bytes", (double)f->memory_bytes);
    fsim_json_number(out, ", ", "l2_bytes", (double)f->l2_bytes);
    fsim_json_number(out, ", ", "clock_hz", f->clock_hz);
    fsim_json_number(out, ", ", "memory_clock_hz", f->memory_clock_hz);
    fsim_json_text(out, ", ", "timing", f->timing);
    fputs("},\n", out);
    fsim_json_text(out, " ", "hardware", x->from);
    fsim_json_number(out, ", ", "took_s", p->took_s);
    fputs(",\n \"probes\": [", out);
    for (int i = 0; i < FSIM_GPU_PROBES; i++)
        if (p->of[i].name) {
            json_figure(out, before, &p->of[i]);
            before = ",\n  {";
        }
    fputs("],\n \"sizes\": [", out);
    for (int i = 0; i < p->sizes; i++)
        json_figure(out, i ? ",\n  {" : "{", &p->by_size[i]);
    fputs("],\n \"sensors\": [", out);
    json_sensors(out, "{", NULL, &p->at_start);
    for (int i = 0; i < FSIM_GPU_LOADS; i++)
        if (p->load[i].name)
            json_sensors(out, ",\n  {", p->load[i].name, &p->load[i].sensors);
    fputs("],\n \"not_written\": [", out);
    for (int i = 0; i < x->hardware->notes; i++) {
        fsim_json_text(out, i ? ",\n  {" : "{", "key", x->hardware->note[i].key);
        fsim_json_text(out, ", ", "why", x->hardware->note[i].text);
        putc('}', out);
    }
    fputs("]}\n", out);
}

static void check(fsim_context *c)
{
    const fsim_settings *s = &c->set;
    if (c->args.count || s->measurements.count || s->fit.count || s->fresh || s->folds || s->threads)
        fsim_error(c->diag, fsim_command_line,
                   "calibrate --device cuda measures this machine's GPU; it takes no workload, --measurements, --fit, "
                   "--fresh, --folds or --threads");
    if (s->hw.count > 1)
        fsim_error(c->diag, fsim_command_line, "calibrate --device cuda takes one --hw, the file to change");
    if (s->output && !fsim_is_stdout(s->output) && fsim_is_shipped_hw(c, s->output))
        fsim_error(c->diag, fsim_command_line,
                   "-o '%s' is a shipped hardware file's place; write elsewhere, and look at it first", s->output);
}

/* The shipped hardware file of this device, or NULL. */
static const fsim_hw *shipped_like(fsim_context *c, const fsim_gpu_facts *f)
{
    const char *const folder[] = {c->hw_folders.own, c->hw_folders.shipped};
    int count = 0, read = 0;
    const char **name = fsim_hw_list(c->arena, &c->hw_folders, &count);
    fsim_hw **hw = fsim_new(c->arena, fsim_hw *, FSIM_COUNT_OF(folder) * count + 1);
    for (int i = 0; i < FSIM_COUNT_OF(folder) * count; i++) {
        const char *in = folder[i / count],
                   *path = in ? fsim_printf(c->arena, "%s/%s.yaml", in, name[i % count]) : NULL;
        if (path && access(path, R_OK) == 0 && (hw[read] = fsim_hw_read(c->arena, fsim_diag_new(c->arena), path)))
            read++;
    }
    return fsim_gpu_hardware_like(f, hw, read);
}

/* Name of the GPU: that of the file (my.yaml: my); without a file, that of the device ("NVIDIA A10G": nvidia-a10g). */
static const char *name_of(fsim_context *c, const fsim_gpu_facts *f)
{
    const char *path = c->set.output, *slash = path ? strrchr(path, '/') : NULL, *base = slash ? slash + 1 : path;
    const size_t length = base && !fsim_is_stdout(path) ? strcspn(base, ".") : 0;
    if (length > 0)
        return fsim_strndup(c->arena, base, length);
    char *name = fsim_strdup(c->arena, f->name);
    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    return name;
}

/* Reads the file of --hw, which must be an NVIDIA GPU's, before anything is measured. *hw is NULL without the
 * option. */
static int read_given(fsim_context *c, const fsim_hw **hw)
{
    *hw = c->set.hw.count ? fsim_read_hw(c, c->set.hw.at[0]) : NULL;
    if (*hw && (*hw)->sm == 0)
        fsim_failure(c->diag, FSIM_BAD_INPUT, fsim_command_line, "--hw %s is no NVIDIA GPU but %s", c->set.hw.at[0],
                     (*hw)->architecture);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

static int give_up(fsim_context *c, const fsim_fault *fault)
{
    fsim_failure(c->diag, fault->status, fsim_command_line, "calibrate --device cuda: %s", fault->message);
    return fsim_give_up_outputs(c, FSIM_EXIT_OK);
}

/* Warns if the file to be updated is of another kind of device. */
static void warn_of_others(fsim_context *c, const fsim_hw *hw, const fsim_gpu_facts *f)
{
    if (hw->sm != f->sm || fsim_hw_peak(hw, FSIM_HW_SMS) != f->sms)
        fsim_warning(c->diag, fsim_command_line, "--hw %s is sm_%d with %.0f SMs, but %s is sm_%d with %d",
                     c->set.hw.at[0], hw->sm, fsim_hw_peak(hw, FSIM_HW_SMS), f->name, f->sm, f->sms);
}

/* Delivers what was measured: a file and a report; only the report where measurements were too noisy. */
static int deliver(fsim_context *c, const fsim_hw *hw, const fsim_gpu_probed *p, const fsim_fault *noise)
{
    size_t bytes = 0;
    const char *text = hw ? fsim_read_text(c, "hardware file", hw->path, &bytes) : "";
    if (!text)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    const fsim_gpu_hardware hardware =
        fsim_gpu_hardware_of(c->arena, hw, text, name_of(c, p->facts), p,
                             &(fsim_calibration_note){fsim_today(c), "fusesim calibrate --device cuda"});
    if (!hardware.text) {
        fsim_failure(c->diag, FSIM_UNAVAILABLE, fsim_command_line, "calibrate --device cuda: %s", hardware.why);
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    const gpu_calibration x = {p, &hardware, hw ? hw->name : NULL,
                               noise->status || fsim_is_stdout(c->set.output) ? NULL : c->set.output};
    if (noise->status == FSIM_OK)
        return fsim_deliver_hw(c, hardware.text, &x);
    const int status = fsim_deliver(c, &x);
    fsim_failure(c->diag, noise->status, fsim_command_line, "calibrate --device cuda: %s", noise->message);
    return fsim_conclude(c, status);
}

int fsim_run_calibrate_gpu(fsim_context *c)
{
    c->kind = FSIM_RESULT_GPU_PROBES;
    const fsim_gpu_options options = {.no_counters = true, .least = 15, .most = 60, .budget_s = 0.05};
    const fsim_hw *hw = NULL;
    fsim_gpu_probed p;
    fsim_fault fault = {0};
    int status;
    check(c);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    if ((status = read_given(c, &hw)) || (status = fsim_open_outputs(c)))
        return status;
    fsim_gpu *g = fsim_gpu_open(c->arena, &options, &fault);
    if (!g)
        return give_up(c, &fault);
    if (hw)
        warn_of_others(c, hw, fsim_gpu_facts_of(g));
    else
        hw = shipped_like(c, fsim_gpu_facts_of(g));
    if (!fsim_gpu_run_probes(g, NULL, c->arena, &p, &fault) && fault.status != FSIM_INCONCLUSIVE) {
        status = give_up(c, &fault);
        if (strstr(fault.message, "hangs")) /* otherwise the driver's clean-up would wait for the kernel */
            _exit(status);
        return status;
    }
    fsim_gpu_close(g);
    return deliver(c, hw, &p, &fault);
}
