/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: compares what a plan's programs wrote with the reference. */
#ifndef FUSESIM_VALIDATE_REFERENCE_CHECK_H
#define FUSESIM_VALIDATE_REFERENCE_CHECK_H

#include "emit/program.h"
#include "validate/reference/reference.h"

/* The comparison of one program's results with the reference. */
typedef struct {
    bool ran;   /* otherwise its results were filled in from the reference */
    int tensor; /* the tensor of `found`: the first wrong one, else the one closest to its bounds */
    fsim_comparison found;
    int64_t elems, compared; /* elements of all its results; those with a finite bound */
    const char *message;     /* the first error in the user's words, with tensor, index and both values; NULL: none */
    const char *untold;      /* why a result that is not wrong says nothing about the program; NULL */
} fsim_check;

/* Returns the bytes of a program's parameter after the kernel ran. */
typedef const void *fsim_fetch(void *from, int parameter);
/* Compares everything that program p wrote, parameter by parameter, up to the first wrong one. `from` is passed to
 * fetch. Messages live in a. */
fsim_check fsim_check_program(const fsim_reference *r, const fsim_program *p, fsim_fetch *fetch, void *from,
                              fsim_arena *a);

/* Host memory for every tensor that a program reads or writes: inputs as in the reference; everything else filled
 * with a pattern that is NaN as any float. */
typedef struct {
    void **tensor;    /* per storage tensor of the graph; NULL where no program uses it */
    void ***argument; /* per program and parameter */
    int64_t bytes;    /* of all */
    int programs;
    const fsim_program *program;
    int tensors;
} fsim_host_memory;

/* Allocates them. NULL where there is not enough memory. */
fsim_host_memory *fsim_host_memory_new(const fsim_reference *r, const fsim_program *p, int programs);
/* Frees it with all its tensors. m may be NULL. */
void fsim_host_memory_free(fsim_host_memory *m);
/* Writes the reference's values in place of program p's results. */
void fsim_host_stand_in(const fsim_host_memory *m, const fsim_reference *r, int program);
/* Puts what a program overwrites in place into its results: the old value of the tensor. */
void fsim_host_set_out(const fsim_host_memory *m, const fsim_reference *r, int program);
/* The parameter beyond whose end program p has written, or NULL. */
const char *fsim_host_overrun(const fsim_host_memory *m, int program);
/* An fsim_fetch: from is the program's argument list. */
const void *fsim_host_fetch(void *from, int parameter);

#endif
