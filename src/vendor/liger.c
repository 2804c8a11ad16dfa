/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/liger.h"

#include "cost/costing.h"
#include "vendor/constants.h"
#include <string.h>

typedef enum { PLAIN, ROWS, LOOPS, COLUMNS, SCATTER, LOSS, GATED, CHUNKS } way;

typedef struct {
    const char *name;
    way way;
    double reads, writes, back_reads, back_writes; /* of tensors */
    int calls, arguments, operators, back_calls, back_arguments, back_operators, peak_tensors;
} row;

static const row functions[] = {
#define FSIM_LIGER(name, way, r, w, br, bw, calls, arguments, operators, back_calls, back_arguments, back_operators,   \
                   peak_tensors)                                                                                       \
    {#name, way, r, w, br, bw, calls, arguments, operators, back_calls, back_arguments, back_operators, peak_tensors},
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
    double hidden;  /* bytes between the products of a gated feed-forward block */
    const double *products_s;
} work;

static const row *row_of(const char *workload)
{
    const char *slash = strrchr(workload, '/'), *name = slash ? slash + 1 : workload;
    const size_t length = strcspn(name, ".");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
            return &functions[i];
    return NULL;
}

bool fsim_liger_has(const char *workload) { return row_of(workload) != NULL; }

/* Those of the workload itself come first. */
static int tensors_of(const fsim_graph *g) { return g->own_tensors > 0 ? g->own_tensors : g->tensors; }

static bool is_floating(const fsim_tensor *t)
{
    return t->dtype == FSIM_F32 || t->dtype == FSIM_F16 || t->dtype == FSIM_BF16;
}

/* The matrix of the weights: rows, columns. */
static void weight_of(const work *w, double *rows, double *columns)
{
    const fsim_graph *g = w->g;
    *rows = *columns = 1;
    for (int i = 0; i < tensors_of(g); i++)
        if (g->tensor[i].role == FSIM_WEIGHT && g->tensor[i].producer < 0 && g->tensor[i].shape.rank == 2) {
            *rows = (double)g->tensor[i].shape.dim[0];
            *columns = (double)g->tensor[i].shape.dim[1];
        }
}

static work work_of(const fsim_graph *g, const fsim_hw *hw, const double products_s[2])
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
    if (w.weights > 0 && w.elems > 0) { /* of the last one, [rows of the result, elements of what it reads] */
        double rows, columns;
        weight_of(&w, &rows, &columns);
        w.hidden = w.bytes / rows * columns;
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
    double rows, columns;
    weight_of(w, &rows, &columns);
    const double out = w->indices * columns * sizeof(float);
    also(w, &run->forward, fmin(out, w->weight_bytes), out);
    also(w, &run->backward, out, w->weight_bytes); /* the zeros; the sums are in L2 or come and go with the additions */
    run->backward.s += w->indices * columns / ((w->hw->arch->sm > 0 ? liger_atomics : liger_atomics_hip) * clock_of(w));
}

/* Rows of a part: next power of 2 of what ceil(V / H) parts have. */
static double chunk_of(const work *w)
{
    double vocabulary, hidden;
    weight_of(w, &vocabulary, &hidden);
    return block_of(ceil(w->indices / ceil(vocabulary / hidden)));
}

/* inc = ceil(V / H) parts; each reads the weight for the logits and for the gradient of x, and the weight's gradient is
 * read and written. The logits of a part are read twice and written twice more. */
static void by_chunks(const work *w, fsim_liger_run *run)
{
    double vocabulary, hidden;
    weight_of(w, &vocabulary, &hidden);
    const double chunks = ceil(w->indices / chunk_of(w)), logits = w->indices * vocabulary * w->element_bytes;
    run->forward.s += w->products_s[0] + w->products_s[1];
    also(w, &run->forward, chunks * 3 * w->weight_bytes, chunks * w->weight_bytes);
    also(w, &run->forward, 2 * logits, logits);
    run->forward.calls = (int)chunks;
    run->forward.operators += (int)(3 * chunks);
}

bool fsim_liger_run_of(const char *workload, const fsim_graph *g, const fsim_hw *hw, const double products_s[2],
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
    if (r->way != SCATTER && r->way != CHUNKS && r->way != GATED) {
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
    case GATED:
        also(&w, forward, r->reads * w.hidden, r->writes * w.hidden);
        also(&w, backward, r->back_reads * w.hidden, r->back_writes * w.hidden);
        forward->s += products_s[0];
        backward->s += products_s[1];
        break;
    case PLAIN:
        break;
    }
    forward->s += start_s * (forward->calls + forward->operators);
    backward->s += start_s * (backward->calls + backward->operators);
    return true;
}

double fsim_liger_peak(const char *workload, const fsim_graph *g, const fsim_hw *hw, bool backward)
{
    const row *r = row_of(workload);
    const double none[2] = {0};
    if (!r)
        return NAN;
    const work w = work_of(g, hw, none);
    const double weights = (backward ? 3 : 1) * w.weight_bytes; /* with its gradient, and that of the run before */
    double vocabulary, hidden;
    weight_of(&w, &vocabulary, &hidden);
    switch (r->way) {
    case SCATTER: /* the rows and their gradient */
        return weights + (backward ? 2 : 1) * w.indices * hidden * sizeof(float);
    case CHUNKS: /* x, its gradients; the logits of a part, their FP32 and their gradient */
        return weights + 3 * w.bytes + 4 * chunk_of(&w) * vocabulary * w.element_bytes;
    case GATED: /* x, y, the gradient of y and x.grad beside what is between and one gradient of it; or with both
                   gradients of x and their sum */
        return backward ? 2 * w.weight_bytes + w.weight_bytes / w.weights +
                              fmax(4 * w.bytes + 4 * w.hidden, 7 * w.bytes + 3 * w.hidden)
                        : w.weight_bytes + 2 * w.bytes + 3 * w.hidden;
    default: {
        const double sums = r->way == ROWS && backward ? w.weights * sms_of(&w) * w.width * sizeof(float) : 0;
        return weights + sums + (backward ? r->peak_tensors : r->reads + r->writes) * w.bytes;
    }
    }
}
