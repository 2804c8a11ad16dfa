/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c: the head and the end of an entry point, and scratch memory among its parameters. */
#include "emit/emit.h"

const char *fsim_scratch(fsim_emitter *e, const char *type, int64_t bytes)
{
    fsim_program *p = e->program;
    const char *name = fsim_printf(e->a, "scratch_%d", p->parameters);
    p->parameter[p->parameters++] = (fsim_parameter){-1, bytes, true, name, type};
    return name;
}

/* stated: the text says how many blocks an SM runs. */
static void begin_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes, bool stated)
{
    fsim_program *p = e->program;
    const char *entry = fsim_printf(e->a, "%s%s", p->name, p->launches ? fsim_printf(e->a, "_%d", p->launches) : "");
    if (p->launches == 0) {
        p->schedule.grid = grid;
        p->schedule.block = block;
        p->schedule.shared_bytes = shared_bytes + e->declared_bytes;
        fsim_fit_on_sm(e->hw, &p->schedule);
    }
    p->launch[p->launches++] = (fsim_launch){entry, grid, block, shared_bytes};
    p->schedule.launches = p->launches;
    fsim_text_put(e->a, &e->out, "\nFS_ENTRY(%s, %d%s, (", entry, block,
                  stated && p->schedule.blocks_per_sm > 0 && !e->hw->host
                      ? fsim_printf(e->a, " FS_RESIDENT(%d)", p->schedule.blocks_per_sm)
                      : "");
    for (int i = 0; i < p->parameters; i++)
        fsim_text_put(e->a, &e->out, "%s%s%s *FS_RESTRICT %s", i ? ", " : "", p->parameter[i].written ? "" : "const ",
                      p->parameter[i].type, p->parameter[i].name);
    fsim_text_put(e->a, &e->out, "))\n{\n");
    for (int i = 0; i < p->parameters; i++)
        fsim_text_put(e->a, &e->out, "    FS_ARGUMENT(%d, %s%s, %s)\n", i, p->parameter[i].written ? "" : "const ",
                      p->parameter[i].type, p->parameter[i].name);
    fsim_text_put(e->a, &e->out, "    FS_BLOCKS(%d)\n", block);
}

void fsim_begin_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes)
{
    begin_entry(e, grid, block, shared_bytes, false);
}

void fsim_begin_held_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes, int registers, bool stated)
{
    e->program->registers = e->program->schedule.registers = registers;
    begin_entry(e, grid, block, shared_bytes, stated);
}

void fsim_end_entry(fsim_emitter *e) { fsim_text_put(e->a, &e->out, "    FS_BLOCKS_END\n}\n"); }
