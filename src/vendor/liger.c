/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/liger.h"

#include "cost/costing.h"
#include "vendor/constants.h"
#include <string.h>

typedef enum { PLAIN, ROWS, LOOPS, COLUMNS, SCATTER, LOSS, CHUNKS } way;

typedef struct {
    const char *name;
    way way;
    double reads, writes, back_reads, back_writes; /* of tensors */
    int calls, arguments, operators, back_calls, back_arguments, back_operators;
} row;

static const row rows[] = {
#define FSIM_LIGER(name, way, r, w, br, bw, calls, arguments, operators, back_calls, back_arguments, back_operators)   \
    {#name, way, r, w, br, bw, calls, arguments, operators, back_calls, back_arguments, back_operators},
#include "vendor/liger.def"
#undef FSIM_LIGER
};

/* What the kernels work on. */
typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    double bytes, weight_bytes;  /* of the inputs, or of one where they are several of a size; of all weights */
    double elems, points, width; /* elements of the inputs; rows, and elements of a row that is reduced */
    double element_bytes, weights;
    double indices; /* of a table's rows that are looked up */
    double products_s;
} work;

static const row *row_of(const char *workload)
{
    const char *slash = strrchr(workload, '/'), *name = slash ? slash + 1 : workload;
    const size_t length = strcspn(name, ".");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

bool fsim_liger_has(const char *workload) { return row_of(workload) != NULL; }

/* Those of the workload itself come first. */
static int tensors_of(const fsim_graph *g) { return g->own_tensors > 0 ? g->own_tensors : g->tensors; }

static bool is_floating(const fsim_tensor *t)
{
    return t->dtype == FSIM_F32 || t->dtype == FSIM_F16 || t->dtype == FSIM_BF16;
}

static work work_of(const fsim_graph *g, const fsim_hw *hw, double products_s)
{
    work w = {.g = g, .hw = hw, .products_s = products_s};
    double largest = 0;
    for (int i = 0; i < tensors_of(g); i++) {
        const fsim_tensor *t = &g->tensor[i];
        if (t->producer >= 0 || t->storage != i || t->after_outputs || t->buffer)
            continue;
        if (t->role == FSIM_WEIGHT) {
            w.weight_bytes += (double)t->bytes;
            w.weights++;
        } else if (!is_floating(t))
            w.indices = fmax(w.indices, (double)t->elems);
        else {
            w.bytes += (double)t->elems == largest ? 0 : (double)t->bytes; /* two of a size: bytes of one */
            w.elems += (double)t->elems == largest ? 0 : (double)t->elems;
            largest = fmax(largest, (double)t->elems);
            w.element_bytes = (double)t->bytes / (double)t->elems;
        }
    }
    for (int n = 0; n < g->nodes && w.width == 0; n++)
        if (fsim_ops[g->node[n].op].class == FSIM_REDUCE) {
            w.points = (double)g->node[n].points;
            w.width = (double)g->node[n].reduced;
        }
    return w;
}

static double sms_of(const work *w) { return fsim_hw_get(w->hw, FSIM_HW_SMS); }
static double clock_of(const work *w) { return fsim_hw_get(w->hw, FSIM_HW_SM_CLOCK); }

/* Warps of a program whose block has so many elements, and the elements of a block: Liger's calculate_settings. */
static double warps_of(double block) { return block >= 32768 ? 32 : block >= 8192 ? 16 : block >= 2048 ? 8 : 4; }

static double block_of(double width) { return exp2(ceil(log2(fmax(1, width)))); }

/* Programs of a row that an SM has at a time. */
static double resident(const work *w)
{
    const double threads = warps_of(block_of(w->width)) * 32;
    return fmax(1, floor(fsim_hw_get(w->hw, FSIM_HW_THREADS_PER_SM) / threads));
}

/* Adds the seconds of DRAM for so many tensors. */
static void stream(const work *w, fsim_liger_pass *p, double reads, double writes)
{
    p->read_bytes += reads * w->bytes;
    p->write_bytes += writes * w->bytes;
    p->s += fsim_dram_seconds(w->hw, reads * w->bytes, writes * w->bytes);
}

static void also(const work *w, fsim_liger_pass *p, double read_bytes, double write_bytes)
{
    p->read_bytes += read_bytes;
    p->write_bytes += write_bytes;
    p->s += fsim_dram_seconds(w->hw, read_bytes, write_bytes);
}

/* One program an SM: what it loads for a row has to be there before it sums up, and the next row waits for that. Where
 * its registers do not hold a row with the sums of the weights' gradients, the compiler spills them. */
static void walk_rows(const work *w, fsim_liger_pass *p)
{
    const double turns = ceil(w->points / sms_of(w)), block = block_of(w->width),
                 a_thread = block / (warps_of(block) * 32), registers = a_thread * (liger_row_arrays + w->weights),
                 room = fmin(fsim_hw_get(w->hw, FSIM_HW_REGISTERS_PER_THREAD),
                             fsim_hw_get(w->hw, FSIM_HW_REGISTERS_PER_SM) / (warps_of(block) * 32));
    p->s += turns * liger_turn_s;
    if (registers > room)
        p->s += turns * w->width * w->weights * liger_spill_cycles / clock_of(w);
    also(w, p, 0, w->weights * sms_of(w) * w->width * sizeof(float));
    also(w, p, w->weights * sms_of(w) * w->width * sizeof(float), 0);
}

/* The share of what the programs under way have loaded that L2 has lost when they load it again. */
static double lost(const work *w, double tensors)
{
    const double under_way = fmin(w->points, sms_of(w) * resident(w)) * w->width * w->element_bytes * tensors;
    return fmin(1, under_way / fsim_l2_effective(w->hw));
}

/* Each access of a warp takes as many sectors as it has lanes. */
static void by_columns(const work *w, fsim_liger_pass *p, double accesses)
{
    p->s = fmax(p->s, accesses * w->elems * liger_sector_cycles / (sms_of(w) * clock_of(w)));
}

static void look_up(const work *w, fsim_liger_run *run)
{
    double columns = 1, out = 0;
    for (int i = 0; i < tensors_of(w->g); i++) {
        const fsim_tensor *t = &w->g->tensor[i];
        if (t->role == FSIM_WEIGHT && t->storage == i && t->producer < 0)
            columns = (double)t->shape.dim[t->shape.rank - 1];
    }
    out = w->indices * columns * sizeof(float);
    also(w, &run->forward, fmin(out, w->weight_bytes), out);
    also(w, &run->backward, out, w->weight_bytes); /* the zeros; the sums are in L2 or come and go with the additions */
    run->backward.s += w->indices * columns / ((w->hw->arch->sm > 0 ? liger_atomics : liger_atomics_hip) * clock_of(w));
}

/* inc = ceil(V / H) parts; each reads the weight for the logits and for the gradient of x, and the weight's gradient is
 * read and written. The logits of a part are read twice and written twice more. */
static void by_chunks(const work *w, fsim_liger_run *run)
{
    const fsim_graph *g = w->g;
    double hidden = 1, vocabulary = 1, tokens = w->indices;
    for (int i = 0; i < tensors_of(g); i++)
        if (g->tensor[i].role == FSIM_WEIGHT && g->tensor[i].producer < 0 && g->tensor[i].shape.rank == 2) {
            vocabulary = (double)g->tensor[i].shape.dim[0];
            hidden = (double)g->tensor[i].shape.dim[1];
        }
    const double chunk = block_of(ceil(tokens / ceil(vocabulary / hidden))), chunks = ceil(tokens / chunk),
                 logits = tokens * vocabulary * w->element_bytes;
    run->forward.s += w->products_s;
    also(w, &run->forward, chunks * 3 * w->weight_bytes, chunks * w->weight_bytes);
    also(w, &run->forward, 2 * logits, logits);
    run->forward.calls = (int)chunks;
    run->forward.operators += (int)(3 * chunks);
}

bool fsim_liger_run_of(const char *workload, const fsim_graph *g, const fsim_hw *hw, double products_s,
                       fsim_liger_run *out)
{
    const row *r = row_of(workload);
    if (!r)
        return false;
    const work w = work_of(g, hw, products_s);
    const double start_s = fsim_least_launch_s(hw, FSIM_REGIME_KERNEL);
    fsim_liger_pass *forward = &out->forward, *backward = &out->backward;
    *out = (fsim_liger_run){{.calls = r->calls, .arguments = r->arguments, .operators = r->operators},
                            {.calls = r->back_calls, .arguments = r->back_arguments, .operators = r->back_operators},
                            r->way == LOSS};
    if (r->way != SCATTER && r->way != CHUNKS) {
        stream(&w, forward, r->reads, r->writes);
        stream(&w, backward, r->back_reads, r->back_writes);
    }
    switch (r->way) {
    case ROWS:
        walk_rows(&w, backward);
        break;
    case LOOPS:
        stream(&w, forward, lost(&w, 1), 0);
        stream(&w, backward, 2 * lost(&w, 2), 0);
        break;
    case LOSS:
        stream(&w, forward, lost(&w, 1), 0);
        break;
    case COLUMNS:
        by_columns(&w, forward, r->reads + r->writes);
        by_columns(&w, backward, r->back_reads + r->back_writes);
        break;
    case SCATTER:
        look_up(&w, out);
        break;
    case CHUNKS:
        by_chunks(&w, out);
        break;
    case PLAIN:
        break;
    }
    forward->s += start_s * (forward->calls + forward->operators);
    backward->s += start_s * (backward->calls + backward->operators);
    return true;
}
