/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sort.h"

enum {
    IN_PLACE_MOST = 4096,    /* Sort, MediumRadixSort: "for medium sizes (128 < n <= 4096)" */
    SEGMENTS_LEAST = 128,    /* SortStable: nsegments < 128 */
    EACH_LEAST = 1000000,    /* SortStable: nsort >= 1000000 */
    BLOCK_DIGIT = 4,         /* bits; CUB BlockRadixSort, RADIX_BITS */
    SEGMENT_DIGIT = 6,       /* CUB DeviceSegmentedRadixSort, SEGMENTED_RADIX_BITS */
    DEVICE_DIGIT = 8,        /* CUB DeviceRadixSort, ONESWEEP_RADIX_BITS */
    SELECT_BLOCKS_DIGIT = 8, /* TensorTopK, mbtopk: RADIX_BITS */
    SELECT_BLOCK_DIGIT = 2,  /* SortingRadixSelect: RADIX_BITS */
    DEVICE_LAUNCHES = 2,     /* CUB DeviceRadixSort: a histogram of all digits and its sum */
    DIGIT_LAUNCHES = 3,      /* CUB DeviceSegmentedRadixSort: counts, their sums, the scattering */
    SELECT_LAUNCHES = 2,     /* mbtopk: counts and their sums, for each digit */
    GATHER_LAUNCHES = 5,  /* mbtopk: desired values filled in, counts within blocks, their sums (two), the gathering */
    SORT_OF_KEPT = 1,     /* Sorting: what topk keeps is sorted */
    FILL_AND_COPY = 2,    /* Sort: indices are filled in, values copied */
    FILL_AND_FINISH = 2,  /* SortStable: indices are filled in; what the sorts leave is put in place */
    COPIES_IN_AND_OUT = 3 /* Sort: self_.copy_, values.copy_, indices.copy_ */
};

/* TensorTopK, should_use_multiblock: rows fewer than `rows` have several blocks from `width` elements on. */
static const struct {
    int64_t rows, width;
} several_blocks[] = {{21, 20000}, {41, 10000}, {81, 8000}, {200, 5000}, {800, 3000}, {4001, 800}, {INT64_MAX, 400}};

static bool has_several_blocks(int64_t rows, int64_t width)
{
    int i = 0;
    while (rows >= several_blocks[i].rows)
        i++;
    return width >= several_blocks[i].width;
}

static int digits(int bits, int digit) { return (bits + digit - 1) / digit; }

static void select(fsim_sort *s)
{
    const int bits = 8 * s->elem_bytes;
    const bool several = has_several_blocks(s->rows, s->width);
    s->form = several ? FSIM_SELECT_BLOCKS : FSIM_SELECT_BLOCK;
    s->passes = digits(bits, several ? SELECT_BLOCKS_DIGIT : SELECT_BLOCK_DIGIT);
    s->launches = (several ? SELECT_LAUNCHES * s->passes + GATHER_LAUNCHES : 1) + (s->kept > 1 ? SORT_OF_KEPT : 0);
}

static void sort(fsim_sort *s)
{
    const int bits = 8 * s->elem_bytes;
    int row_bits = 1;
    while (((int64_t)1 << row_bits) < s->rows)
        row_bits++;
    s->form = s->width <= IN_PLACE_MOST                ? FSIM_SORT_IN_PLACE
              : s->rows == 1 || s->width >= EACH_LEAST ? FSIM_SORT_EACH
              : s->rows < SEGMENTS_LEAST               ? FSIM_SORT_TWICE
                                                       : FSIM_SORT_SEGMENTS;
    switch (s->form) {
    case FSIM_SORT_IN_PLACE:
        s->passes = digits(bits, BLOCK_DIGIT);
        s->launches = FILL_AND_COPY + 1;
        break;
    case FSIM_SORT_SEGMENTS:
        s->passes = digits(bits, SEGMENT_DIGIT);
        s->launches = 1 + DIGIT_LAUNCHES * s->passes;
        break;
    case FSIM_SORT_TWICE:
        s->passes = digits(bits, DEVICE_DIGIT) + digits(row_bits, DEVICE_DIGIT);
        s->launches = FILL_AND_FINISH + 2 * DEVICE_LAUNCHES + s->passes;
        break;
    default:
        s->passes = digits(bits, DEVICE_DIGIT);
        s->launches = 1 + (int)(s->rows < EACH_LEAST ? s->rows : EACH_LEAST) * (DEVICE_LAUNCHES + s->passes);
    }
    s->launches += s->strided && s->form != FSIM_SORT_IN_PLACE ? COPIES_IN_AND_OUT : 0;
}

bool fsim_sort_of(const fsim_graph *g, int node, fsim_sort *out)
{
    const fsim_node *n = &g->node[node];
    if (n->op != FSIM_OP_SORT && n->op != FSIM_OP_TOPK)
        return false;
    const fsim_tensor *t = &g->tensor[n->arg[0].tensor];
    const int rank = t->shape.rank, dim = (int)(n->attrs.dim < 0 ? n->attrs.dim + rank : n->attrs.dim);
    const bool last = !n->attrs.has_dim || rank == 0 || dim == rank - 1;
    const int64_t width = rank == 0 ? 1 : t->shape.dim[last ? rank - 1 : dim];
    *out = (fsim_sort){.rows = width > 0 ? t->elems / width : 0,
                       .width = width,
                       .kept = n->op == FSIM_OP_TOPK ? n->attrs.k : width,
                       .elem_bytes = fsim_dtype_bytes(t->dtype),
                       .strided = !last};
    if (n->op == FSIM_OP_TOPK)
        select(out);
    else
        sort(out);
    return true;
}
