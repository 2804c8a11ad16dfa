/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: kernels' texts without their names. Repeated layers give kernels that differ in nothing but names: each text
 * is compiled once, whoever has it. */
#ifndef FUSESIM_VALIDATE_DEVICE_TEXTS_H
#define FUSESIM_VALIDATE_DEVICE_TEXTS_H

#include "emit/program.h"

/* p's text without comments, with the names of its parameters and entries by number, each on the line that it has in
 * the source. In a. */
const char *fsim_nameless_text(const fsim_program *p, fsim_arena *a);
/* What a nameless text calls the entry of a launch: "fs_entry_0". In a. */
const char *fsim_nameless_entry(int launch, fsim_arena *a);

typedef struct {
    uint64_t hash;
    const char *source;          /* nameless */
    const fsim_program *program; /* the first that has it */
    int sm;
} fsim_nameless;

/* Distinct ones. */
typedef struct {
    fsim_nameless *at;
    int count, room;
    fsim_arena *a;
} fsim_texts;

/* The number of p's text for this architecture (0: no matter which); count - 1 where it is the first. p must outlive t.
 */
int fsim_texts_add(fsim_texts *t, const fsim_program *p, int sm);

#endif
