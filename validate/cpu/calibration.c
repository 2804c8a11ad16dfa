/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cpu/calibration.h"

#include "base/unit.h"

enum { FACTS = 4 };

static fsim_figure figure_of(const char *name, const char *unit, fsim_spread_of x)
{
    return (fsim_figure){
        .name = name, .unit = unit, .median = x.median, .low = x.low, .high = x.high, .samples = x.samples};
}

static void list_figures(const fsim_host_probes *h, fsim_arena *a, fsim_device_probed *out)
{
    char bytes[48];
    fsim_figure *figure = fsim_new(a, fsim_figure, FSIM_PROBES), *by_size = fsim_new(a, fsim_figure, h->sizes + 1);
    for (int p = 0; p < FSIM_PROBES; p++)
        if (h->of[p].samples > 0)
            figure[out->figures++] = figure_of(fsim_probe_names[p], fsim_probe_units[p], h->of[p]);
    for (int i = 0; i < h->sizes; i++) {
        const char *name =
            fsim_printf(a, "copy of %s", fsim_show_bytes(bytes, sizeof bytes, (double)h->size[i].bytes / 2));
        by_size[i] = figure_of(name, "B/s", h->size[i].bytes_per_s);
        by_size[i].bytes = h->size[i].bytes;
    }
    out->figure = figure;
    out->by_size = by_size;
    out->sizes = h->sizes;
}

static void list_facts(const fsim_host_probes *h, fsim_arena *a, fsim_device_probed *out)
{
    char bytes[48];
    fsim_device_fact *fact = fsim_new(a, fsim_device_fact, FACTS);
    fact[out->facts++] = (fsim_device_fact){.key = "name", .text = h->cpu};
    fact[out->facts++] = (fsim_device_fact){.key = "compiler", .text = h->compiler};
    fact[out->facts++] = (fsim_device_fact){.key = "threads", .number = h->threads, .is_number = true};
    fact[out->facts++] = (fsim_device_fact){.key = "rounds", .number = h->rounds, .is_number = true};
    out->fact = fact;
    out->head = fsim_printf(a, "%s, %d threads, %d rounds in %.1f s\n%s", h->cpu, h->threads, h->rounds, h->took_s,
                            h->compiler);
    if (h->effective_bytes)
        out->remark = fsim_printf(a, "last-level cache: %s of it are effective",
                                  fsim_show_bytes(bytes, sizeof bytes, (double)h->effective_bytes));
}

bool fsim_host_calibrate(fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, const fsim_probe_order *order,
                         fsim_arena *a, fsim_device_probed *out, fsim_fault *fault)
{
    const char *why = "";
    fsim_host_key *key;
    const fsim_host_probes *h = fsim_host_probe(p, compiler, FSIM_PROBES_ALL, 0, a, &why);
    if (!h)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s", why);
    *out = (fsim_device_probed){.took_s = h->took_s};
    list_figures(h, a, out);
    list_facts(h, a, out);
    out->hardware = fsim_host_text(a, order->text, order->name ? order->name : "host", h, order->date, order->command);
    out->written_keys = fsim_host_keys(h, a, &key);
    return true;
}
