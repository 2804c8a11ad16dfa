/* SPDX-License-Identifier: Apache-2.0 */
/* probed.h: what probes of a device found, as reports show it, and the hardware file that they make. */
#ifndef FUSESIM_VALIDATE_DEVICE_PROBED_H
#define FUSESIM_VALIDATE_DEVICE_PROBED_H

#include <stdbool.h>
#include <stdint.h>

/* A figure: the median of samples and their quartiles, low <= median <= high. */
typedef struct {
    const char *name, *unit;
    int64_t bytes;            /* of the tensor; 0: no figure by size */
    double median, low, high; /* NaN where not measured */
    int samples;
    bool noisy;      /* quartiles are more than a tenth of the median apart */
    const char *why; /* it was not measured, or NULL */
} fsim_figure;

/* A device's sensors. NaN and NULL: not known. */
typedef struct {
    double power_w, power_limit_w, sm_clock_hz, memory_clock_hz, temperature_c;
    const char *reasons;        /* "power cap, thermal (software)", "none"; in the arena */
    unsigned long long held_by; /* the same as the driver's bits */
} fsim_sensors;

typedef struct {
    const char *name;     /* "multiply-adds", "tensor cores", "copy"; NULL: before anything ran */
    fsim_sensors sensors; /* while it ran */
} fsim_under_load;

/* What is known of the device without measuring, for programs. */
typedef struct {
    const char *key;
    const char *text; /* or NULL */
    double number;    /* of those that are no text, which is_number says; NaN: not known */
    bool is_number;
} fsim_device_fact;

/* A key that the hardware file does not get. */
typedef struct {
    const char *key, *text;
} fsim_unwritten_key;

typedef struct {
    const char *head;   /* lines in front of a report */
    const char *remark; /* lines behind its table; NULL */
    const fsim_device_fact *fact;
    int facts;
    const fsim_figure *figure, *by_size; /* by size: names say of what */
    int figures, sizes;
    const fsim_under_load *load;
    int loads;
    const char *no_sensors; /* why power and temperature are not known; NULL: load has them, or the device has none */
    const fsim_unwritten_key *unwritten;
    int unwritten_keys, written_keys;
    const char *hardware; /* text of the hardware file */
    double took_s;
} fsim_device_probed;

#endif
