/* SPDX-License-Identifier: Apache-2.0 */
/* wanted.h: what a caller says of how a workload is to be read. */
#ifndef FUSESIM_IMPORT_WANTED_H
#define FUSESIM_IMPORT_WANTED_H

#include "graph/graph.h"

/* How a workload is to be read. */
typedef struct {
    const char *shipped;     /* the folder of shipped workloads; NULL: none */
    const fsim_binding *set; /* values for its symbols, sets of them; a model's are its dimensions, by name or by place
                                ("x:0") */
    int sets;
    int64_t scale;             /* above 1: lengths are divided by powers of 2 up to this one (graph/scale.h) */
    const char *precision;     /* the dtype that replaces those of floats; NULL: as they are */
    const fsim_derive *derive; /* derivatives that are wanted beside it; NULL: none */
    bool likely;               /* dimensions of a model without a value get a likely one */
} fsim_workload_wanted;

#endif
