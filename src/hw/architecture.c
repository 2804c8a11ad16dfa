/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/architecture.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
#define FSIM_MAKER(id, ...) id,
#include "hw/architecture.def"
};
static const fsim_maker_limits makers[] = {
#define FSIM_MAKER(id, warp, registers, per_thread, unit, threads_block, shared, guide)                                \
    {warp, registers, per_thread, unit, threads_block, shared, guide},
#include "hw/architecture.def"
};

static const fsim_architecture rows[] = {
#define FSIM_ARCHITECTURE(name, sm, design, maker, step, dense, new_dense, memory, least, most, threads, blocks,       \
                          shared, block_shared, reserved, fp32, special, fp64, fp16, int32, bf16, tf32, f32, f8, i8,   \
                          f64, mma, wgmma, generated, plain, process_nm)                                               \
    {name,     sm,    FSIM_##design, &makers[maker], step,      dense,  new_dense,                                     \
     memory,   least, most,          threads,        blocks,    shared, block_shared,                                  \
     reserved, fp32,  special,       fp64,           fp16,      int32,  {1, bf16, tf32, f32, f8, i8, f64},             \
     mma,      wgmma, generated,     plain,          process_nm},
#include "hw/architecture.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

const fsim_architecture *fsim_architecture_at(int i) { return i >= 0 && i < ROWS ? &rows[i] : NULL; }

int fsim_least_mma_sm(fsim_matrix_type of)
{
    int i = 0;
    while (!rows[i].mma || !(rows[i].tensor_rate[of] > 0))
        i++;
    return rows[i].sm;
}

int fsim_sm_of_name(const char *name)
{
    char *rest;
    if (strncmp(name, "sm_", 3) != 0 || !isdigit((unsigned char)name[3]))
        return 0;
    const long sm = strtol(name + 3, &rest, 10);
    const bool whole = !*rest || (islower((unsigned char)*rest) && !rest[1]);
    return whole && sm >= 20 && sm <= 999 ? (int)sm : 0;
}

static bool is_gfx(const char *name)
{
    return strncmp(name, "gfx", 3) == 0 && strlen(name) >= 6 &&
           strspn(name + 3, "0123456789abcdef") == strlen(name + 3);
}

const fsim_architecture *fsim_architecture_of_sm(int sm)
{
    const fsim_architecture *like = NULL;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].sm > 0 && (!like || rows[i].sm <= sm))
            like = &rows[i];
    return like;
}

const fsim_architecture *fsim_architecture_named(const char *name)
{
    const int sm = fsim_sm_of_name(name);
    for (int i = 0; i < ROWS; i++)
        if (sm ? rows[i].sm == sm : strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const fsim_architecture *fsim_architecture_like(const char *name)
{
    const int sm = fsim_sm_of_name(name);
    const fsim_architecture *own = sm ? fsim_architecture_of_sm(sm) : fsim_architecture_named(name);
    return own || !is_gfx(name) ? own : fsim_architecture_named("gfx90a");
}
