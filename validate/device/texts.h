/* SPDX-License-Identifier: Apache-2.0 */
/* texts.h: texts of kernels without their names. Kernels of repeated layers differ only in names: each distinct text
 * is compiled once. */
#ifndef FUSESIM_VALIDATE_DEVICE_TEXTS_H
#define FUSESIM_VALIDATE_DEVICE_TEXTS_H

#include "emit/program.h"

/* p's text without comments, with numbers in place of the names of its parameters and entries, and every line where
 * it is in the source. In a. */
const char *fsim_nameless_text(const fsim_program *p, fsim_arena *a);
/* The entry of a launch in a nameless text: "fs_entry_0". In a. */
const char *fsim_nameless_entry(int launch, fsim_arena *a);

typedef struct {
    uint64_t hash;
    const char *source;          /* nameless */
    const fsim_program *program; /* the first program with this text */
    int sm;
} fsim_nameless;

/* Distinct texts. */
typedef struct {
    fsim_nameless *at;
    int count, room;
    fsim_arena *a;
} fsim_texts;

/* The number of p's text for this architecture (0: for any); count - 1 where it is new. p must outlive t. */
int fsim_texts_add(fsim_texts *t, const fsim_program *p, int sm);

#endif
