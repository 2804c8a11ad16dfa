/* SPDX-License-Identifier: Apache-2.0 */
/* probes.h: what probes of a device found, and where its hardware file went. */
#ifndef FUSESIM_REPORT_PROBES_H
#define FUSESIM_REPORT_PROBES_H

#include "report/table.h"
#include "validate/device/probed.h"

typedef struct {
    const fsim_device_probed *probed;
    const char *from; /* the hardware file that was changed; NULL: a new one */
    const char *file; /* written; NULL: none */
} fsim_probe_report;

/* A table of the figures, what the sensors said, and what the file did not get. */
void fsim_report_probes(const fsim_page *page, const fsim_probe_report *x);
/* The same as JSON. */
void fsim_json_probes(FILE *out, const fsim_probe_report *x);

#endif
