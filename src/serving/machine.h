/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what a cluster is made of (systems/NAME.yaml): nodes of equal GPUs, and the network between them. */
#ifndef FUSESIM_SERVING_MACHINE_H
#define FUSESIM_SERVING_MACHINE_H

#include "hw/hw.h"
#include <stdint.h>

/* A figure and where it is from; NaN where the file does not give it. */
typedef struct {
    double value;
    const char *source;
} fsim_stated;

typedef struct {
    const char *name, *description;
    const char *gpu;         /* its hardware file */
    int64_t gpus;            /* of a node */
    fsim_stated network;     /* bytes a second between nodes, for each GPU and direction */
    fsim_stated power;       /* watts of a whole node at most */
    fsim_stated rent;        /* USD an hour and GPU, where it is another than the GPU's file says */
    const char *gpus_source; /* of gpus */
} fsim_cluster;

/* GPUs of a kind, and what is around them. */
typedef struct {
    const char *name; /* the system's, or the GPU's */
    const fsim_hw *hw;
    const fsim_cluster *node; /* NULL: no more is known than how many a node has */
    int64_t gpus;             /* of a node, whose links reach each other */
    int64_t shared;           /* that may share a layer at most; above `gpus` the network is between them */
    fsim_stated price;        /* USD an hour and GPU */
} fsim_machine;

/* Bytes a second that reach other nodes, of what its file says, for each GPU and direction; NaN: not known. */
double fsim_machine_network(const fsim_machine *m);
/* Watts of a node at most beside its GPUs' limits, for each GPU; 0 where they are not known. */
double fsim_machine_rest_w(const fsim_machine *m);
/* The names of the folder's systems, sorted. Returns how many. In a. */
int fsim_cluster_names(fsim_arena *a, const char *folder, const char ***out);
/* The system of this name in the folder, or of the file at this path. NULL after errors in d. In a. */
const fsim_cluster *fsim_cluster_load(fsim_arena *a, fsim_diag *d, const char *name, const char *folder);

#endif
