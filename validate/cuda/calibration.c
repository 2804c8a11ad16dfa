/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/calibration.h"

#include <ctype.h>
#include <math.h>

const fsim_gpu_options fsim_gpu_probe_settings = {.no_counters = true, .least = 15, .most = 60, .budget_s = 0.05};

const char *fsim_gpu_differs(const fsim_gpu_facts *f, const fsim_hw *hw, fsim_arena *a)
{
    const double sms = fsim_hw_peak(hw, FSIM_HW_SMS);
    return hw->sm == f->sm && sms == f->sms
               ? NULL
               : fsim_printf(a, "sm_%d with %.0f SMs, but %s is sm_%d with %d", hw->sm, sms, f->name, f->sm, f->sms);
}

/* "NVIDIA A10G": nvidia-a10g. */
static const char *name_of(const fsim_gpu_facts *f, fsim_arena *a)
{
    char *name = fsim_strdup(a, f->name);
    for (char *at = name; *at; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    return name;
}

static fsim_device_fact text(const char *key, const char *x) { return (fsim_device_fact){.key = key, .text = x}; }
static fsim_device_fact number(const char *key, double x)
{
    return (fsim_device_fact){.key = key, .number = x, .is_number = true};
}

static void list_facts(const fsim_gpu_probed *p, fsim_arena *a, fsim_device_probed *out)
{
    const fsim_gpu_facts *f = p->facts;
    const fsim_device_fact all[] = {text("name", f->name),
                                    number("sm", f->sm),
                                    number("sms", f->sms),
                                    text("driver", p->driver),
                                    number("cuda", f->driver_version),
                                    number("nvrtc", f->nvrtc_version),
                                    number("cupti", f->cupti_version),
                                    number("memory_bytes", (double)f->memory_bytes),
                                    number("l2_bytes", (double)f->l2_bytes),
                                    number("clock_hz", f->clock_hz),
                                    number("memory_clock_hz", f->memory_clock_hz),
                                    text("timing", f->timing)};
    enum { FACTS = sizeof all / sizeof *all };
    fsim_device_fact *fact = fsim_new(a, fsim_device_fact, FACTS);
    for (int i = 0; i < FACTS; i++)
        fact[i] = all[i];
    out->fact = fact;
    out->facts = FACTS;
    out->head =
        fsim_printf(a, "%s, sm_%d, %d SMs; driver %s, CUDA %d.%d, NVRTC %d.%d; times: %s; %.1f s", f->name, f->sm,
                    f->sms, p->driver ? p->driver : "unknown", f->driver_version / 1000, f->driver_version % 1000 / 10,
                    f->nvrtc_version / 1000, f->nvrtc_version % 1000 / 10, f->timing, p->took_s);
}

static void list_figures(const fsim_gpu_probed *p, fsim_arena *a, fsim_device_probed *out)
{
    fsim_figure *figure = fsim_new(a, fsim_figure, FSIM_GPU_PROBES);
    fsim_under_load *load = fsim_new(a, fsim_under_load, FSIM_GPU_LOADS + 1);
    for (int i = 0; i < FSIM_GPU_PROBES; i++)
        if (p->of[i].name)
            figure[out->figures++] = p->of[i];
    load[out->loads++].sensors = p->at_start;
    for (int i = 0; i < FSIM_GPU_LOADS; i++)
        if (p->load[i].name)
            load[out->loads++] = p->load[i];
    out->figure = figure;
    out->by_size = p->by_size;
    out->sizes = p->sizes;
    out->load = load;
    out->no_sensors = p->no_sensors;
}

bool fsim_gpu_calibrate(fsim_gpu *g, const fsim_probe_order *order, fsim_arena *a, fsim_device_probed *out,
                        fsim_fault *fault)
{
    fsim_gpu_probed *p = fsim_new(a, fsim_gpu_probed, 1);
    fsim_fault noise = {0};
    if (!fsim_gpu_run_probes(g, NULL, a, p, &noise) && noise.status != FSIM_INCONCLUSIVE) {
        *fault = noise;
        return false;
    }
    *out = (fsim_device_probed){.took_s = p->took_s};
    list_facts(p, a, out);
    list_figures(p, a, out);
    const fsim_calibration_note note = {order->date, order->command};
    const fsim_gpu_hardware made =
        fsim_gpu_hardware_of(a, order->hw, order->text, order->name ? order->name : name_of(p->facts, a), p, &note);
    if (!made.text)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s", made.why);
    out->hardware = made.text;
    out->unwritten = made.note;
    out->unwritten_keys = made.notes;
    out->written_keys = made.written;
    if (noise.status)
        *fault = noise;
    return !noise.status;
}
