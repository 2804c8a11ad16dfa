/* SPDX-License-Identifier: Apache-2.0 */
/* proof.h: what --proof writes: the certificate of a lower bound, so that somebody who does not trust the search can
 * check it. docs/FORMATS.md describes it, reports/schema/proof.schema.json too. */
#ifndef FUSESIM_REPORT_PROOF_H
#define FUSESIM_REPORT_PROOF_H

#include "plan/search/certificate.h"
#include "predict.h"
#include <stdio.h>

enum { FSIM_PROOF_SCHEMA = 1 };

/* A line for each part: {"schema": 1, "fusesim": VERSION, "proofs": [one for each prediction]}. The stream keeps its
 * errors. */
void fsim_report_proof(FILE *out, const fsim_prediction *p, const fsim_certificate *certificate, int count);

#endif
