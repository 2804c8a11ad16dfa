/* SPDX-License-Identifier: Apache-2.0 */
/* registers.c: registers of a thread of a generated kernel, as NVRTC 13.0 compiles it for sm_80, sm_90 and sm_100.
 * `fusesim validate --registers` compares; docs/GUIDE.md has its summary.
 *
 * Up to 32 registers a thread an SM holds as many threads as it ever can, so the compiler uses them freely, to issue
 * loads ahead. Above 32 it uses more only for values that must stay: live values (fsim_registers), and rows kept
 * from one loop to the next. Predictions up to 32 therefore change no time. */
#include "kernel/registers.h"
#include "cost/constants.h"
#include "cost/costing.h"

#include <math.h>

/* Registers for the temporaries of the operator with the most instructions: a power series has about one constant or
 * term for each. */
static double temporaries(const fsim_costing *c)
{
    double most = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_node *n = &c->g->node[c->group->member[i].node];
        most = fmax(most, n->gemm.k ? 0 : fsim_ops[n->op].instructions);
    }
    return temporaries_each * fmin(most, WIDEST_OPERATOR);
}

static double words(const fsim_costing *c, int tensor) { return fsim_dtype_bytes(c->g->tensor[tensor].dtype) / 4.0; }

/* Elements of a thread, in registers. Where a thread takes more of them than the price asked for, halves stay packed
 * in pairs. Windows and scattered elements are taken one by one. */
static double elements(const fsim_costing *c, int vector)
{
    const fsim_group *o = c->group;
    if (o->template == FSIM_POOLING || o->template == FSIM_OPAQUE_KERNEL)
        return 1;
    int largest = 1;
    for (int i = 0; i < o->reads + o->writes; i++) {
        const int tensor = i < o->reads ? o->read[i].tensor : o->write[i - o->reads].tensor,
                  bytes = fsim_dtype_bytes(c->g->tensor[tensor].dtype);
        largest = bytes > largest ? bytes : largest;
    }
    const int taken = fsim_stream_vector(vector, largest, o->points, o->points, FSIM_BLOCK, c->sms);
    return taken > vector ? taken * paired_halves : taken;
}

static const fsim_node *concatenation(const fsim_costing *c, int member)
{
    const fsim_node *n = &c->g->node[c->group->member[member].node];
    return n->op == FSIM_OP_CONCAT ? n : NULL;
}

static bool parts_alike(const fsim_node *x, const fsim_node *y)
{
    bool alike = x->args == y->args;
    for (int i = 0; i < x->args && alike; i++)
        alike = x->arg[i].distinct == y->arg[i].distinct;
    return alike;
}

/* Parts of two concatenations of the same lengths: the compiler tests once in which part an element is, and keeps where
 * in it, for the second. (Where nothing is computed between them, sm_80 often does not.) */
static int parts_met_again(const fsim_costing *c)
{
    int most = 0;
    for (int i = 0; i < c->group->members; i++)
        for (int k = 0; k < i && concatenation(c, i); k++)
            if (concatenation(c, k) && parts_alike(concatenation(c, i), concatenation(c, k)))
                most = concatenation(c, i)->args > most ? concatenation(c, i)->args : most;
    return most;
}

int fsim_streaming_registers(const fsim_costing *c, int vector)
{
    const fsim_group *o = c->group;
    const int parts = vector > 1 ? parts_met_again(c) : 0,
              met = parts ? (int)fmin(255, FREE_REGISTERS + each_part_met * parts) : 0,
              staying = (int)fmax(met, fsim_registers(o->live, vector));
    bool tiled = false;
    for (int i = 0; i < o->reads; i++)
        tiled = tiled || c->read[i].staged_bytes > 0;
    for (int i = 0; i < o->writes; i++)
        tiled = tiled || c->write[i].staged_bytes > 0;
    return staying > FREE_REGISTERS ? staying
           : tiled                  ? TURNED_TILE_REGISTERS
                                    : (int)fmin(FREE_REGISTERS,
                                                streaming_base + streaming_each * elements(c, vector) * o->live + temporaries(c));
}

int fsim_walk_registers(const fsim_costing *c, int vector)
{
    const fsim_group *o = c->group;
    const int staying = fsim_registers(o->live, vector);
    double loaded = 0;
    bool special = false;
    for (int i = 0; i < o->reads; i++)
        loaded += o->read[i].full ? words(c, o->read[i].tensor) : 0;
    for (int i = 0; i < o->members; i++)
        special = special || (o->member[i].full && c->g->node[o->member[i].node].specials > 0);
    const double own = o->template == FSIM_COLUMN_REDUCTION
                           ? 18
                           : 13; /* numbers of row and element; bands also have one for each step */
    return staying > FREE_REGISTERS
               ? staying
               : (int)fmin(FREE_REGISTERS, own + WALK_UNROLLED * vector * loaded + (special ? vector : 0));
}

static bool several(unsigned stages) { return (stages & (stages - 1)) != 0; }

/* Must the tensor's row stay in registers? It must where a member that is computed only in one later loop reads it;
 * readers that are computed again in every loop don't need it kept. */
static bool crosses(const fsim_costing *c, int tensor, unsigned stages)
{
    const fsim_group *o = c->group;
    const unsigned first = stages & -stages;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &c->g->node[o->member[i].node];
        for (int k = 0; k < n->args; k++)
            if (n->arg[k].tensor == tensor && !several(o->member[i].stages) && !(o->member[i].stages & first))
                return true;
    }
    return false;
}

/* Words of an element that is kept. Kernels that add up columns go through rows in turn: there the compiler keeps what
 * it converted, a float for each half. */
static double kept_words(const fsim_costing *c, int tensor)
{
    return c->group->across > 0 ? fmax(1, words(c, tensor)) : words(c, tensor);
}

/* Words that stay in registers for each element of a row, from one loop to the next: what is loaded, or what is
 * computed from it, whichever is less. Special functions are not computed twice, so their results stay. */
static double crossing_words(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    double made = 0, loaded = 0;
    bool special = false;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        if (!r->full || !several(r->stages))
            continue;
        loaded += kept_words(c, r->tensor);
        made += crosses(c, r->tensor, r->stages) ? kept_words(c, r->tensor) : 0;
    }
    for (int i = 0; i < o->members; i++) {
        const fsim_member *m = &o->member[i];
        const fsim_node *n = &c->g->node[m->node];
        if (!m->full || !several(m->stages) || fsim_ops[n->op].class == FSIM_REDUCE ||
            !crosses(c, n->result[0], m->stages))
            continue;
        made += fmax(1, words(c, n->result[0])); /* halves become floats for arithmetic */
        special = special || n->specials > 0;
    }
    return made > 0 && (special || made < loaded) ? made : loaded;
}

/* Are elements of one row contiguous? */
static bool contiguous(const fsim_read *r)
{
    return r->maps > 0 && r->map[0].modes > r->map[0].split && r->map[0].mode[r->map[0].modes - 1].stride == 1;
}

int fsim_keeping_registers(const fsim_costing *c, int vector, double elems)
{
    const fsim_group *o = c->group;
    double registers = 20 + (o->across > 0 ? IN_TURN_REGISTERS : 0) + crossing_words(c) * elems;
    for (int i = 0; i < o->reads; i++) /* tensors that only the last loop reads are loaded while the row is still in
                                          registers; pairs of halves fit in free registers */
        if (o->read[i].full && !several(o->read[i].stages) && contiguous(&o->read[i]) &&
            words(c, o->read[i].tensor) >= 1)
            registers += vector * words(c, o->read[i].tensor);
    return (int)fmin(255, fmax(registers, fmax(FREE_REGISTERS, fsim_registers(o->live, vector))));
}
