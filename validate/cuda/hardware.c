/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/hardware.h"

#include "evidence/hardware_text.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_write_cost = 0.7, most_write_cost = 1.8; /* the range of dram_write_cost */
static const double above_peak = 1.02; /* a figure may exceed the data sheet's by this: that is for a nominal clock */
static const double as_told = 0.1;     /* a rate per clock this close to the vendor's keeps the vendor's value */

typedef struct {
    fsim_arena *a;
    const fsim_hw *hw; /* the file to update */
    const fsim_gpu_probed *p;
    const char *date;
    fsim_gpu_hardware out;
    int room;
} writer;

static void note(writer *w, fsim_hw_key key, const char *text)
{
    *FSIM_PUSH(w->a, w->out.note, w->out.notes, w->room) = (fsim_unwritten_key){fsim_hw_rows[key].key, text};
}

/* The text of the first message. */
static const char *first_message(fsim_arena *a, fsim_diag *d)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return "refused";
    fsim_diag_print(d, out, true);
    fclose(out);
    const char *at = text ? strstr(text, "error: ") : NULL;
    const char *said = at ? fsim_strndup(a, at + 7, strcspn(at + 7, "\n")) : "refused";
    free(text);
    return said;
}

/* Why the text is no valid hardware file, or NULL. */
static const char *fault_of(fsim_arena *a, const char *text)
{
    fsim_diag *d = fsim_diag_new(a);
    return fsim_hw_parse(a, d, "new", text, strlen(text)) ? NULL : first_message(a, d);
}

/* Entries. */

typedef struct {
    fsim_hw_entry entry; /* source NULL: no entry; why gives the reason */
    const char *why;
    fsim_hw_key key;
} change;

static change none(fsim_hw_key key, const char *why) { return (change){.key = key, .why = why}; }

/* An entry for the key: `value` with the spread of the figure, measured by `kernel`. */
static change changed(const writer *w, fsim_hw_key key, double value, double spread, const char *kernel)
{
    const fsim_quantity *q = &w->hw->q[key];
    const char *measured = fsim_printf(w->a, "measured: fusesim calibrate --device cuda, %s, %s", kernel, w->date);
    change c = {.key = key, .entry = {key, value, NAN, spread, measured}};
    if (fsim_hw_rows[key].form != FSIM_HW_PEAK)
        return c;
    const double peak = q->present && !q->unknown ? q->value : NAN;
    c.entry.achieved = value > peak && value <= above_peak * peak ? peak : value;
    c.entry.value = peak;
    if (!isnan(peak)) {
        const char *sheet = q->source ? fsim_strndup(w->a, q->source, strcspn(q->source, ";")) : "data sheet";
        c.entry.source = fsim_printf(w->a, "%s; achieved %s", sheet, measured);
    }
    return c;
}

static const char *unusable(const fsim_figure *f)
{
    return f->samples == 0 ? f->why ? f->why : "not measured" : f->noisy ? "its measurements scatter too much" : NULL;
}

static change change_of(const writer *w, fsim_hw_key key, fsim_gpu_probe p, double scale, const char *kernel)
{
    const fsim_figure *f = &w->p->of[p];
    const char *why = unusable(f);
    return why ? none(key, why)
               : changed(w, key, f->median * scale, f->samples > 1 ? fsim_gpu_spread(f) / 2 : NAN, kernel);
}

static const char *with(const writer *w, const char *text, const change *c)
{
    return fsim_hw_text_line(w->a, text, fsim_hw_rows[c->key].key, fsim_hw_entry_line(w->a, &c->entry));
}

/* Writes all entries if the checks, some of which compare keys, accept them together; otherwise each by itself. */
static void apply(writer *w, const change *c, int count)
{
    const char *all = w->out.text;
    for (int i = 0; i < count; i++)
        if (c[i].entry.source)
            all = with(w, all, &c[i]);
        else
            note(w, c[i].key, c[i].why);
    const bool together = !fault_of(w->a, all);
    if (together)
        w->out.text = all;
    for (int i = 0; i < count; i++) {
        if (!c[i].entry.source)
            continue;
        const char *one = together ? all : with(w, w->out.text, &c[i]), *why = together ? NULL : fault_of(w->a, one);
        if (why)
            note(w, c[i].key, why);
        else
            w->out.text = one;
        w->out.written += !why;
    }
}

static void apply_one(writer *w, change c) { apply(w, &c, 1); }

/* The vendor's rates per clock stay where the probe agrees. */
static void apply_per_clock(writer *w, fsim_hw_key key, fsim_gpu_probe p, const char *kernel)
{
    const double told = fsim_hw_peak(w->hw, key);
    const fsim_figure *f = &w->p->of[p];
    if (f->samples > 0 && fabs(f->median / told - 1) <= as_told)
        note(w, key, fsim_printf(w->a, "%.4g as told; measured: %.4g", told, f->median));
    else
        apply_one(w, change_of(w, key, p, 1, kernel));
}

static void apply_memory(writer *w)
{
    const fsim_figure *copy = &w->p->of[FSIM_GPU_COPY], *read = &w->p->of[FSIM_GPU_READ];
    const double l2_bytes = (double)w->p->facts->l2_bytes;
    change c[2] = {change_of(w, FSIM_HW_DRAM_BANDWIDTH, FSIM_GPU_COPY, 1, "copy of the largest tensors, cold"),
                   change_of(w, FSIM_HW_L2_BANDWIDTH, FSIM_GPU_L2, 1, "repeated reads of a set within L2")};
    apply(w, c, 2);
    if (!unusable(copy) && !unusable(read)) /* a copy of one byte read and one written takes (1 + cost) / read */
        apply_one(w, changed(w, FSIM_HW_DRAM_WRITE_COST,
                             fmin(most_write_cost, fmax(least_write_cost, 2 * read->median / copy->median - 1)),
                             fsim_gpu_spread(read) / 2, "reading beside copying"));
    if (!unusable(&w->p->of[FSIM_GPU_L2_EFFECTIVE]) && l2_bytes > 0)
        apply_one(w, changed(w, FSIM_HW_L2_EFFECTIVE,
                             fmin(1, fmax(0.05, w->p->of[FSIM_GPU_L2_EFFECTIVE].median / l2_bytes)), NAN,
                             "repeated reads of growing sets"));
    c[0] = change_of(w, FSIM_HW_L2_LATENCY, FSIM_GPU_L2_LATENCY, 1, "dependent loads within L2");
    c[1] = change_of(w, FSIM_HW_DRAM_LATENCY, FSIM_GPU_DRAM_LATENCY, 1, "dependent loads, cold");
    apply(w, c, 2);
}

static void apply_rates(writer *w)
{
    static const struct {
        fsim_hw_key key;
        fsim_gpu_probe probe;
        const char *kernel;
    } peaks[] = {{FSIM_HW_FP32_PEAK, FSIM_GPU_GEMM_F32, "largest cuBLAS product"},
                 {FSIM_HW_FP64_PEAK, FSIM_GPU_DFMA_RATE, "FP64 multiply-adds in registers"},
                 {FSIM_HW_FP16_PEAK, FSIM_GPU_HFMA2_RATE, "FP16 multiply-adds in registers"},
                 {FSIM_HW_TENSOR_F16, FSIM_GPU_GEMM_F16, "largest cuBLAS product"},
                 {FSIM_HW_TENSOR_BF16, FSIM_GPU_GEMM_BF16, "largest cuBLAS product"},
                 {FSIM_HW_TENSOR_TF32, FSIM_GPU_GEMM_TF32, "largest cuBLAS product"}};
    apply_one(w, change_of(w, FSIM_HW_SM_CLOCK, FSIM_GPU_CLOCK_FMA, 1, "SM clock under FP32 multiply-adds"));
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        if (w->hw->q[peaks[i].key].present)
            apply_one(w, change_of(w, peaks[i].key, peaks[i].probe, 1, peaks[i].kernel));
    apply_per_clock(w, FSIM_HW_SPECIAL_RATE, FSIM_GPU_SPECIAL, "ex2 in registers");
    apply_per_clock(w, FSIM_HW_INT32_RATE, FSIM_GPU_IMAD, "integer multiply-adds in registers");
    apply_per_clock(w, FSIM_HW_SHARED_BANDWIDTH, FSIM_GPU_SHARED, "16-byte loads without conflicts");
}

static void apply_launches(writer *w)
{
    const bool queued = w->p->of[FSIM_GPU_LAUNCH_QUEUED].samples >
                        0; /* empty kernels end before the processor has launched the next one */
    const change c[] = {
        queued ? change_of(w, FSIM_HW_LAUNCH_STREAM, FSIM_GPU_LAUNCH_QUEUED, 1,
                           "gap between queued kernels of 20 us, and the record of an empty kernel")
               : change_of(w, FSIM_HW_LAUNCH_STREAM, FSIM_GPU_LAUNCH_STREAM, 1, "empty kernels one behind the other"),
        change_of(w, FSIM_HW_LAUNCH_GRAPH, FSIM_GPU_LAUNCH_GRAPH, 1, "empty kernels in a CUDA graph"),
        change_of(w, FSIM_HW_KERNEL_FLOOR, FSIM_GPU_FLOOR, 1, "record of an empty kernel")};
    apply(w, c, 3);
    if (!isnan(w->p->load[0].sensors.power_limit_w))
        apply_one(w, changed(w, FSIM_HW_POWER_LIMIT, w->p->load[0].sensors.power_limit_w, NAN, "limit in force"));
}

/* A new file. */

static void say(writer *w, fsim_hw_key key, double value, const char *source)
{
    const change c = {.key = key, .entry = {key, value, NAN, NAN, source}};
    w->out.text = with(w, w->out.text, &c);
}

/* What every file must have: from the driver, the programming guide and, for launches, usual values. Probes then
 * replace what they measure. */
static void begin(writer *w, const char *name)
{
    static const char driver[] = "what the driver reports", guide[] = "CUDA C++ programming guide, compute capability",
                      usual[] = "assumed: as GPUs of this kind have it";
    const fsim_gpu_facts *f = w->p->facts;
    const fsim_architecture *arch = fsim_architecture_of_sm(f->sm);
    w->out.text = fsim_printf(w->a, "name: %s\ndescription: \"%s\"\narchitecture: sm_%d\n", name, f->name, f->sm);
    say(w, FSIM_HW_SMS, f->sms, driver);
    say(w, FSIM_HW_SM_CLOCK, f->clock_hz > 0 ? f->clock_hz : w->p->of[FSIM_GPU_CLOCK_FMA].median, driver);
    say(w, FSIM_HW_DRAM_BANDWIDTH,
        f->memory_clock_hz > 0 && f->memory_bus_bits > 0 ? 2 * f->memory_clock_hz * f->memory_bus_bits / 8
                                                         : w->p->of[FSIM_GPU_READ].high,
        "memory clock x 2 x bus, as the driver reports them");
    say(w, FSIM_HW_DRAM_CAPACITY, (double)f->memory_bytes, driver);
    say(w, FSIM_HW_L2_CAPACITY, (double)f->l2_bytes, driver);
    say(w, FSIM_HW_SHARED_PER_SM, (double)f->shared_bytes_per_sm, driver);
    say(w, FSIM_HW_SHARED_PER_BLOCK, (double)f->shared_bytes_per_block, driver);
    say(w, FSIM_HW_SHARED_BANDWIDTH, 128, guide);
    say(w, FSIM_HW_REGISTERS_PER_SM, f->registers_per_sm, driver);
    say(w, FSIM_HW_REGISTERS_PER_THREAD, 255, guide);
    say(w, FSIM_HW_REGISTER_UNIT, 256, guide);
    say(w, FSIM_HW_THREADS_PER_SM, f->threads_per_sm, driver);
    say(w, FSIM_HW_THREADS_PER_BLOCK, f->threads_per_block, driver);
    say(w, FSIM_HW_BLOCKS_PER_SM, f->blocks_per_sm, driver);
    say(w, FSIM_HW_WARP_SIZE, f->warp_size, driver);
    say(w, FSIM_HW_FP32_RATE, arch->fp32_rate, guide);
    say(w, FSIM_HW_SPECIAL_RATE, arch->special_rate, guide);
    say(w, FSIM_HW_FP32_PEAK, f->sms * arch->fp32_rate * 2 * f->clock_hz, "SMs x fp32_rate x 2 x clock");
    if (arch->new_f16 > 0) {
        static const char dense[] = "assumed: SMs x dense FLOP a clock of the architecture x clock";
        say(w, FSIM_HW_TENSOR_F16, f->sms * arch->new_f16 * f->clock_hz, dense);
        say(w, FSIM_HW_TENSOR_BF16, f->sms * arch->new_f16 * f->clock_hz, dense);
        say(w, FSIM_HW_TENSOR_TF32, f->sms * arch->new_f16 / 2 * f->clock_hz, dense);
    }
    say(w, FSIM_HW_LAUNCH_EAGER, 9e-6, usual);
    say(w, FSIM_HW_LAUNCH_STREAM, 2.5e-6, usual);
    say(w, FSIM_HW_LAUNCH_GRAPH, 1.3e-6, usual);
    say(w, FSIM_HW_KERNEL_FLOOR, 1.3e-6, usual);
}

static const char *megahertz(fsim_arena *a, const fsim_figure *f)
{
    return f->samples > 0 ? fsim_printf(a, "%.0f MHz", 1e-6 * f->median) : "?";
}

/* Device, driver, clocks; no serial numbers. */
static const char *head_of(const writer *w, const char *command)
{
    const fsim_gpu_probed *p = w->p;
    const fsim_gpu_facts *f = p->facts;
    return fsim_printf(w->a,
                       "%s, %s, driver %s, CUDA %d.%d, NVRTC %d.%d, times by %.*s, SM clock %s at the start, %s under "
                       "multiply-adds, %s under tensor cores, %s under copies (%s)",
                       command, f->name, p->driver ? p->driver : "unknown", f->driver_version / 1000,
                       f->driver_version % 1000 / 10, f->nvrtc_version / 1000, f->nvrtc_version % 1000 / 10,
                       (int)strcspn(f->timing, ","), f->timing, megahertz(w->a, &p->of[FSIM_GPU_CLOCK_START]),
                       megahertz(w->a, &p->of[FSIM_GPU_CLOCK_FMA]), megahertz(w->a, &p->of[FSIM_GPU_CLOCK_TENSOR]),
                       megahertz(w->a, &p->of[FSIM_GPU_CLOCK_MEMORY]), w->date);
}

fsim_gpu_hardware fsim_gpu_hardware_of(fsim_arena *a, const fsim_hw *hw, const char *text, const char *name,
                                       const fsim_gpu_probed *p, const fsim_calibration_note *note)
{
    writer w = {.a = a, .hw = hw, .p = p, .date = note->date, .out = {.text = text}};
    fsim_diag *d = fsim_diag_new(a);
    if (!hw) {
        begin(&w, name);
        w.hw = fsim_hw_parse(a, d, "new", w.out.text, strlen(w.out.text));
        if (!w.hw)
            return (fsim_gpu_hardware){
                .why =
                    fsim_printf(a, "the driver's figures do not make a valid hardware file: %s", first_message(a, d))};
    }
    apply_memory(&w);
    apply_rates(&w);
    apply_launches(&w);
    w.out.text = fsim_hw_text_head(a, w.out.text, "Measured by: ", head_of(&w, note->command));
    return w.out;
}

/* Which shipped file. */

/* How many parts of "a100-sxm4-40gb" are in "NVIDIA A100-SXM4-40GB". */
static int parts_in(const char *name, const char *device)
{
    char part[64], low[256];
    int found = 0;
    size_t length = 0;
    for (; device[length] && length + 1 < sizeof low; length++)
        low[length] = (char)tolower((unsigned char)device[length]);
    low[length] = '\0';
    for (const char *at = name; *at; at += *at == '-') {
        const size_t bytes = strcspn(at, "-");
        snprintf(part, sizeof part, "%.*s", (int)(bytes < sizeof part ? bytes : sizeof part - 1), at);
        found += strstr(low, part) != NULL;
        at += bytes;
    }
    return found;
}

const fsim_hw *fsim_gpu_hardware_like(const fsim_gpu_facts *f, fsim_hw *const *hw, int count)
{
    static const double most_apart = 0.15, a_part = 0.2;
    const double bandwidth = 2 * f->memory_clock_hz * f->memory_bus_bits / 8;
    const fsim_hw *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        const fsim_hw *h = hw[i];
        if (h->sm != f->sm || fsim_hw_peak(h, FSIM_HW_SMS) != f->sms)
            continue;
        const double apart = bandwidth > 0 ? fabs(log(bandwidth / fsim_hw_peak(h, FSIM_HW_DRAM_BANDWIDTH))) : 0;
        const double memory =
            f->memory_bytes > 0 ? fabs(log((double)f->memory_bytes / fsim_hw_peak(h, FSIM_HW_DRAM_CAPACITY))) : 0;
        const double distance = apart + fmin(memory, 1) - a_part * parts_in(h->name, f->name);
        if (apart <= most_apart && distance < least) {
            least = distance;
            best = h;
        }
    }
    return best;
}
