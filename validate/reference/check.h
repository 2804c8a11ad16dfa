/* SPDX-License-Identifier: Apache-2.0 */
/* check.h: does a plan compute what the reference does? */
#ifndef FUSESIM_VALIDATE_REFERENCE_CHECK_H
#define FUSESIM_VALIDATE_REFERENCE_CHECK_H

#include "emit/program.h"
#include "validate/reference/reference.h"

/* What one kernel wrote, against the reference. */
typedef struct {
    bool ran;   /* else its results are the reference's */
    int tensor; /* the one that `found` is about: the first that is wrong, else the one nearest to its bounds */
    fsim_comparison found;
    int64_t elems, compared; /* of all its results; those with a finite bound */
    const char *message;     /* what is wrong, in the user's words: tensor, index, both values; NULL where nothing is */
    const char *untold;      /* why one of its results says nothing of what made it, though it is not wrong; NULL */
} fsim_check;

/* The bytes of a program's parameter, as the kernel left them. */
typedef const void *fsim_fetch(void *from, int parameter);
/* Compares all that program p has written, parameter by parameter, up to the first that is wrong. from is handed to
 * fetch. Messages live in a. */
fsim_check fsim_check_program(const fsim_reference *r, const fsim_program *p, fsim_fetch *fetch, void *from,
                              fsim_arena *a);

/* Bytes of every tensor that some program reads or writes, on the host: inputs as the reference has them, the rest
 * filled with a pattern that is a NaN in every float. */
typedef struct {
    void **tensor;    /* per storage tensor of the graph; NULL where no program has it */
    void ***argument; /* per program and parameter */
    int64_t bytes;    /* of all */
    int programs;
    const fsim_program *program;
    int tensors;
} fsim_host_memory;

/* NULL where there is not enough memory. */
fsim_host_memory *fsim_host_memory_new(const fsim_reference *r, const fsim_program *p, int programs);
/* Frees it with all its tensors. m may be NULL. */
void fsim_host_memory_free(fsim_host_memory *m);
/* Puts the reference's values into what program p would have written. */
void fsim_host_stand_in(const fsim_host_memory *m, const fsim_reference *r, int program);
/* The parameter behind whose end program p has written, or NULL. */
const char *fsim_host_overrun(const fsim_host_memory *m, int program);
/* A fetch of fsim_check_program: from is the program's argument list. */
const void *fsim_host_fetch(void *from, int parameter);

#endif
