/* SPDX-License-Identifier: Apache-2.0 */
/* evidence.h: how far predictions of whole systems were off where such systems were measured (evidence.def). */
#ifndef FUSESIM_SERVING_EVIDENCE_H
#define FUSESIM_SERVING_EVIDENCE_H

#include <stdbool.h>

typedef enum {
#define FSIM_EVIDENCE(id, title, rows, median, width) FSIM_EVIDENCE_##id,
#include "serving/evidence.def"
#undef FSIM_EVIDENCE
    FSIM_EVIDENCES
} fsim_evidence_kind;

typedef struct {
    const char *title;
    int rows;      /* measured systems of this kind */
    double median; /* of their relative errors */
    double width;  /* 8 of 10 predictions are within e to this power of what was measured */
} fsim_evidence;
extern const fsim_evidence fsim_evidences[FSIM_EVIDENCES];

/* The half width of an 80 % interval, as a factor. */
double fsim_evidence_factor(fsim_evidence_kind kind);

#endif
