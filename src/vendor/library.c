/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/library.h"

#include "fusion/chain.h"
#include <string.h>

enum {
    BITS_OF_BYTE = 8,
    ROW_OF_AUX = 8,   /* elements that divide a row of an auxiliary matrix, */
    ROW_OF_BITS = 128 /* and bits, one of a mask (cublasLt.h, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) */
};
typedef enum { PRODUCT = 1, CONVOLUTION = 2, EITHER = 3 } contraction_kinds;

#define BIT(type) (1u << FSIM_##type)
enum {
    HALVES = BIT(F16) | BIT(BF16) | BIT(F8E4M3) | BIT(F8E5M2),
    UNITS = HALVES | BIT(TF32) | BIT(I8) | BIT(U8),
    FLOATS = HALVES | BIT(TF32) | BIT(F32) | BIT(F64),
    ALL = -1
};

static const struct {
    fsim_vendor_library library;
    contraction_kinds of;
    fsim_epilogue_kind kind;
    unsigned arithmetic;
    int sm;
} rows[] = {
#define FSIM_EPILOGUE(library, contraction, epilogue, arithmetic, sm, source)                                          \
    {FSIM_LIBRARY_##library, contraction, FSIM_EPILOGUE_##epilogue, (unsigned)arithmetic, sm},
#include "vendor/library.def"
#undef FSIM_EPILOGUE
};

/* The library for products, or for convolutions, on this device. */
static fsim_vendor_library library_of(const fsim_hw *hw, bool convolution)
{
    const bool amd = hw->arch->design == FSIM_CDNA;
    return hw->host ? FSIM_LIBRARY_ONEDNN
           : amd    ? (convolution ? FSIM_LIBRARY_MIOPEN : FSIM_LIBRARY_HIPBLASLT)
                    : (convolution ? FSIM_LIBRARY_CUDNN : FSIM_LIBRARY_CUBLASLT);
}

bool fsim_library_has(const fsim_hw *hw, const fsim_gemm *contraction, fsim_epilogue_kind kind)
{
    const fsim_vendor_library library = library_of(hw, contraction->convolution);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].library == library && rows[i].kind == kind && hw->sm >= rows[i].sm &&
            (rows[i].of & (contraction->convolution ? CONVOLUTION : PRODUCT)) &&
            (rows[i].arithmetic >> contraction->arithmetic & 1))
            return true;
    return false;
}

fsim_epilogue_kind fsim_activation_of(fsim_op op)
{
    static const struct {
        fsim_op op;
        fsim_epilogue_kind kind;
    } known[] = {{FSIM_OP_RELU, FSIM_EPILOGUE_RELU},         {FSIM_OP_LEAKY_RELU, FSIM_EPILOGUE_LEAKY_RELU},
                 {FSIM_OP_RELU6, FSIM_EPILOGUE_CLAMP},       {FSIM_OP_HARDTANH, FSIM_EPILOGUE_CLAMP},
                 {FSIM_OP_CLAMP, FSIM_EPILOGUE_CLAMP},       {FSIM_OP_ELU, FSIM_EPILOGUE_ELU},
                 {FSIM_OP_SIGMOID, FSIM_EPILOGUE_SIGMOID},   {FSIM_OP_TANH, FSIM_EPILOGUE_TANH},
                 {FSIM_OP_SOFTPLUS, FSIM_EPILOGUE_SOFTPLUS}, {FSIM_OP_SILU, FSIM_EPILOGUE_SILU}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].op == op)
            return known[i].kind;
    return FSIM_EPILOGUE_COUNT;
}

/* Recognition: walks from the product along its readers, step by step. */

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_group *o;
    const fsim_gemm *gemm;
    fsim_epilogue *out;
} walk;

static bool has(const walk *w, fsim_epilogue_kind kind) { return fsim_library_has(w->hw, w->gemm, kind); }

static const fsim_member *member_of(const fsim_group *o, int node)
{
    for (int i = 0; i < o->members; i++)
        if (o->member[i].node == node)
            return &o->member[i];
    return NULL;
}

/* Does x read the tensor element by element, in its own order? */
static bool reads(const fsim_access *x, int tensor)
{
    return x->tensor == tensor && x->how == FSIM_READ_MAP && fsim_map_is_identity(&x->map);
}

/* The first member that reads the call's result so far in its own order; NULL. */
static const fsim_node *next_of(const walk *w)
{
    for (int i = 0; i < w->o->members; i++) {
        const fsim_node *n = &w->g->node[w->o->member[i].node];
        for (int k = 0; k < n->args && fsim_ops[n->op].class == FSIM_ELEMENTWISE; k++)
            if (n->results == 1 && reads(&n->arg[k], w->out->result))
                return n;
    }
    return NULL;
}

static bool same_type(const walk *w, const fsim_node *n)
{
    return w->g->tensor[n->result[0]].dtype == w->g->tensor[w->out->result].dtype;
}

static void take(walk *w, int result, int members)
{
    w->out->result = result;
    w->out->members += members;
}

/* Scales and shifts of columns were folded into the weights; what remains is at most a bias. */
static bool take_folded(walk *w)
{
    bool shifts = false;
    const fsim_node *n = NULL;
    while (w->o->folded > 0 && (n = next_of(w)) && member_of(w->o, (int)(n - w->g->node))->form == FSIM_FOLDED) {
        shifts = shifts || n->op == FSIM_OP_ADD || n->op == FSIM_OP_SUB;
        take(w, n->result[0], 0);
    }
    w->out->members += w->o->folded;
    return shifts;
}

static void take_scale(walk *w)
{
    const fsim_node *n = next_of(w);
    if (!n || (n->op != FSIM_OP_MUL && n->op != FSIM_OP_DIV) || n->args != 1 || !n->attrs.has_scalar ||
        !same_type(w, n) || !has(w, FSIM_EPILOGUE_SCALE))
        return;
    w->out->scale = n->op == FSIM_OP_MUL ? n->attrs.scalar : 1 / n->attrs.scalar;
    take(w, n->result[0], 1);
}

/* The map of a vector along the columns of a product's [batch, m, n], or along the channels of a convolution's
 * result [images, channels, pixels]. */
static fsim_map bias_map(const walk *w, const fsim_map *read, int64_t *stride)
{
    const fsim_shape *s = &w->g->tensor[w->out->result].shape;
    fsim_map m = {.offset = read->offset};
    int64_t pixels = 1;
    *stride = 0;
    if (w->gemm->convolution) {
        for (int i = 2; i < s->rank; i++)
            pixels *= s->dim[i];
        fsim_map_push(&m, s->dim[0], 0);
        fsim_map_push(&m, s->dim[1], 1);
        fsim_map_push(&m, pixels, 0);
    } else {
        const int64_t each = w->gemm->m * w->gemm->n;
        *stride = w->gemm->batch > 1 ? fsim_map_at(read, each, 0) - read->offset : 0;
        fsim_map_push(&m, w->gemm->batch, *stride);
        fsim_map_push(&m, w->gemm->m, 0);
        fsim_map_push(&m, w->gemm->n, 1);
    }
    m.split = m.modes;
    return m;
}

/* What node n adds to the call's result so far: memory of the result's type, for each of its points. NULL: nothing that
 * a call can add. */
static const fsim_access *added_by(const walk *w, const fsim_node *n)
{
    const fsim_node *product = &w->g->node[w->o->anchor];
    if (!n || n->op != FSIM_OP_ADD || n->args != 2 || !same_type(w, n))
        return NULL;
    const fsim_access *x = &n->arg[reads(&n->arg[0], w->out->result) ? 1 : 0];
    const fsim_tensor *t = &w->g->tensor[x->tensor];
    const bool memory =
        x->how == FSIM_READ_MAP && x->tensor != w->out->result && !(t->producer >= 0 && member_of(w->o, t->producer));
    return memory && t->dtype == w->g->tensor[product->result[0]].dtype && fsim_map_points(&x->map) == product->points
               ? x
               : NULL;
}

static bool take_bias(walk *w)
{
    const fsim_node *n = next_of(w);
    const fsim_access *x = added_by(w, n);
    if (!x || w->out->bias >= 0 || !has(w, FSIM_EPILOGUE_BIAS))
        return false;
    int64_t stride;
    const fsim_map wanted = bias_map(w, &x->map, &stride);
    if (!fsim_map_equal(&x->map, &wanted) || stride < 0 || (stride > 0 && stride < w->gemm->n))
        return false;
    w->out->bias = x->tensor;
    w->out->bias_offset = x->map.offset;
    w->out->bias_stride = stride;
    take(w, n->result[0], 1);
    return true;
}

/* C has the result's type, which is none of 8 bits: with results of these, libraries take C in 16 bits
 * (cublasLtMatmul(), tables of types). */
static bool take_residual(walk *w)
{
    const fsim_node *n = next_of(w);
    const fsim_access *x = added_by(w, n);
    if (!x || w->out->residual >= 0 || !reads(x, x->tensor) || !has(w, FSIM_EPILOGUE_RESIDUAL) ||
        fsim_dtype_bytes(w->g->tensor[x->tensor].dtype) == 1)
        return false;
    w->out->residual = x->tensor;
    take(w, n->result[0], 1);
    return true;
}

/* A bias and a residual, in either order: the library adds both before it rounds. */
static void take_sums(walk *w, bool biased)
{
    while ((!biased && take_bias(w)) || take_residual(w)) {
    }
}

/* Is the composite that begins at n completely in the group, and does it read only the call's result so far? */
static bool is_whole(const walk *w, const fsim_source *s)
{
    for (int i = s->first; i < s->first + s->nodes; i++) {
        const fsim_node *n = &w->g->node[i];
        if (!member_of(w->o, i))
            return false;
        for (int k = 0; k < n->args; k++) {
            const int from = w->g->tensor[n->arg[k].tensor].producer;
            if (!reads(&n->arg[k], w->out->result) &&
                !(from >= s->first && from < i && reads(&n->arg[k], n->arg[k].tensor)))
                return false;
        }
    }
    return true;
}

/* The activation that begins at node n, and its number of primitives. */
static fsim_epilogue_kind activation_at(const fsim_graph *g, const fsim_node *n, int *nodes)
{
    enum { TANH_GELU = 8 }; /* primitives of the tanh form; the other form has fewer */
    const fsim_source *s = &g->source[n->source];
    *nodes = 1;
    if (fsim_ops[s->op].class != FSIM_COMPOSITE)
        return fsim_activation_of(n->op);
    *nodes = s->nodes;
    if (s->op == FSIM_OP_GELU)
        return s->nodes == TANH_GELU ? FSIM_EPILOGUE_GELU_TANH : FSIM_EPILOGUE_GELU_ERF;
    return fsim_activation_of(s->op);
}

bool fsim_is_tanh_gelu(const fsim_graph *g, int source)
{
    const fsim_source *s = &g->source[source];
    int nodes;
    return s->nodes > 0 && activation_at(g, &g->node[s->first], &nodes) == FSIM_EPILOGUE_GELU_TANH;
}

static void take_activation(walk *w)
{
    const fsim_node *n = next_of(w);
    int nodes = 0;
    const fsim_epilogue_kind kind = n ? activation_at(w->g, n, &nodes) : FSIM_EPILOGUE_COUNT;
    if (kind == FSIM_EPILOGUE_COUNT || !has(w, kind) || !same_type(w, n))
        return;
    const fsim_source *s = &w->g->source[n->source];
    if (nodes > 1 && !is_whole(w, s))
        return;
    w->out->activation = kind;
    w->out->before = w->out->result;
    take(w, nodes > 1 ? w->g->node[s->first + s->nodes - 1].result[0] : n->result[0], nodes);
}

/* Gradients of activations: the product is the gradient of the activation's result. */

/* Does an argument come from memory, or the call's result so far, or from a member of the group, each in its own order?
 * What is read from memory must be `aux`. */
static bool is_step(const walk *w, const fsim_node *n, int aux)
{
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const int from = w->g->tensor[x->tensor].producer;
        const bool made = from >= 0 && member_of(w->o, from) && from != w->o->anchor;
        if (!reads(x, x->tensor) || !(x->tensor == aux || x->tensor == w->out->result || made))
            return false;
    }
    return fsim_ops[n->op].class == FSIM_ELEMENTWISE && n->results == 1;
}

/* Is primitive i a step of the gradient of composite `of`, or the sum of such steps? */
static bool is_gradient_of(const fsim_graph *g, int i, int of)
{
    const fsim_source *s = &g->source[g->node[i].source];
    return g->node[i].phase == FSIM_BACKWARD && s->gradient_of == of;
}

/* Does a step of the gradient of composite `of`, or of itself, read the tensor? */
static bool is_read_inside(const walk *w, int tensor, int of)
{
    const fsim_source *s = &w->g->source[of];
    for (int i = 0; i < w->o->members; i++) {
        const int node = w->o->member[i].node;
        const fsim_node *n = &w->g->node[node];
        const bool step = is_gradient_of(w->g, node, of) || (node >= s->first && node < s->first + s->nodes);
        for (int k = 0; k < n->args && step; k++)
            if (n->arg[k].tensor == tensor)
                return true;
    }
    return false;
}

/* Steps of composite `of` and of its gradient that are members, all of which read the composite's input, the call's
 * result and each other; their only end in *end. 0: they are not that, or some step of the gradient is elsewhere. */
static int gradient_steps(const walk *w, int of, int *end)
{
    const fsim_source *s = &w->g->source[of];
    const int aux = w->g->node[s->first].arg[0].tensor;
    int steps = 0, missing = 0, ends = 0;
    for (int i = 0; i < w->g->nodes; i++)
        missing += is_gradient_of(w->g, i, of);
    for (int i = 0; i < w->o->members; i++) {
        const int node = w->o->member[i].node;
        const fsim_node *n = &w->g->node[node];
        const bool gradient = is_gradient_of(w->g, node, of);
        if (!gradient && !(node >= s->first && node < s->first + s->nodes))
            continue;
        if (!is_step(w, n, aux))
            return 0;
        missing -= gradient;
        steps++;
        if (!is_read_inside(w, n->result[0], of)) {
            ends++;
            *end = n->result[0];
        }
    }
    return missing == 0 && ends == 1 ? steps : 0;
}

/* x's gradient through y = gelu(x), by the tanh form, from x: the library's auxiliary matrix is what it stored as such.
 */
static bool take_gelu_gradient(walk *w, const fsim_node *n)
{
    const int of = w->g->source[n->source].gradient_of;
    int end = -1;
    if (n->phase != FSIM_BACKWARD || of < 0 || !fsim_is_tanh_gelu(w->g, of) || !has(w, FSIM_EPILOGUE_DGELU))
        return false;
    const int aux = w->g->node[w->g->source[of].first].arg[0].tensor, steps = gradient_steps(w, of, &end);
    if (steps == 0 || w->gemm->n % ROW_OF_AUX != 0 || w->g->tensor[end].dtype != w->g->tensor[w->out->result].dtype ||
        w->g->tensor[aux].dtype != w->g->tensor[w->out->result].dtype)
        return false;
    w->out->activation = FSIM_EPILOGUE_DGELU;
    w->out->before = w->out->result;
    w->out->aux = aux;
    take(w, end, steps);
    return true;
}

/* The member that computes argument k of n, which reads it in its own order; NULL. */
static const fsim_node *maker(const walk *w, const fsim_node *n, int k)
{
    const int from = w->g->tensor[n->arg[k].tensor].producer;
    return from >= 0 && member_of(w->o, from) && reads(&n->arg[k], n->arg[k].tensor) ? &w->g->node[from] : NULL;
}

/* The product where a bit of a mask is set, else 0: the gradient of ReLU. The mask has a bit an element, as unpack
 * reads them: eight times the same byte, a field of it, its comparison with 0. */
static bool take_relu_gradient(walk *w, const fsim_node *n)
{
    if (n->op != FSIM_OP_WHERE_OTHER || n->attrs.other != 0 || !reads(&n->arg[1], w->out->result) || !same_type(w, n) ||
        !has(w, FSIM_EPILOGUE_DRELU) || w->gemm->n % ROW_OF_BITS != 0)
        return false;
    const fsim_node *flag = maker(w, n, 0), *field = flag ? maker(w, flag, 0) : NULL,
                    *each = field ? maker(w, field, 0) : NULL;
    if (!each || flag->op != FSIM_OP_NE || flag->args != 1 || flag->attrs.scalar != 0 ||
        field->op != FSIM_OP_BIT_FIELD || field->attrs.bits != 1 || each->op != FSIM_OP_EXPAND || each->args != 1)
        return false;
    const fsim_map *m = &each->arg[0].map;
    if (each->arg[0].how != FSIM_READ_MAP || m->offset != 0 || m->modes != 2 || m->split != 2 ||
        m->mode[0].stride != 1 || m->mode[1].extent != BITS_OF_BYTE || m->mode[1].stride != 0)
        return false;
    w->out->activation = FSIM_EPILOGUE_DRELU;
    w->out->before = w->out->result;
    w->out->aux = each->arg[0].tensor;
    take(w, n->result[0], 4);
    return true;
}

/* The sums of the columns of what the call writes, behind a slope. */
static void take_sums_of_columns(walk *w)
{
    const fsim_graph *g = w->g;
    const int product = w->o->anchor;
    for (int i = 0; i < w->o->members && has(w, FSIM_EPILOGUE_BGRAD); i++) {
        const fsim_node *n = &g->node[w->o->member[i].node];
        if (!w->o->member[i].across || n->op != FSIM_OP_SUM || n->arg[0].tensor != w->out->result ||
            n->arg[0].map.offset != 0 || n->points != w->gemm->n || n->points * n->reduced != g->node[product].points ||
            w->gemm->batch > 1 || g->tensor[n->result[0]].dtype != g->tensor[w->out->result].dtype)
            continue;
        w->out->sums = n->result[0];
        w->out->members++;
        return;
    }
}

static bool take_gradient(walk *w)
{
    const fsim_node *n = next_of(w);
    if (!n || !(take_gelu_gradient(w, n) || take_relu_gradient(w, n)))
        return false;
    if (w->o->across > 0)
        take_sums_of_columns(w);
    return true;
}

/* The member of this operator whose only argument is the tensor, in its own order; NULL. */
static const fsim_node *reader(const walk *w, int tensor, fsim_op op)
{
    for (int i = 0; i < w->o->members; i++) {
        const fsim_node *n = &w->g->node[w->o->member[i].node];
        if (n->op == op && n->args == 1 && n->arg[0].tensor == tensor && n->arg[0].how == FSIM_READ_MAP)
            return n;
    }
    return NULL;
}

/* Bits of ReLU's argument, or of its result, above 0: a comparison, its place in a byte, eight of these added up. */
static void take_mask(walk *w)
{
    if (w->out->activation != FSIM_EPILOGUE_RELU || !has(w, FSIM_EPILOGUE_RELU_AUX) || w->gemm->n % ROW_OF_BITS != 0)
        return;
    const fsim_node *flag = reader(w, w->out->before, FSIM_OP_GT);
    flag = flag ? flag : reader(w, w->out->result, FSIM_OP_GT);
    const fsim_node *place = flag ? reader(w, flag->result[0], FSIM_OP_BIT_PLACE) : NULL,
                    *sum = place ? reader(w, place->result[0], FSIM_OP_SUM) : NULL,
                    *bits = sum ? reader(w, sum->result[0], FSIM_OP_CAST) : NULL;
    if (!bits || flag->attrs.scalar != 0 || !reads(&flag->arg[0], flag->arg[0].tensor) ||
        !reads(&place->arg[0], flag->result[0]) || !reads(&bits->arg[0], sum->result[0]) ||
        sum->reduced != BITS_OF_BYTE || sum->points * BITS_OF_BYTE != place->points ||
        w->g->tensor[bits->result[0]].dtype != FSIM_U8)
        return;
    const fsim_map *m = &sum->arg[0].map;
    if (m->offset != 0 || m->modes != 2 || m->split != 1 || m->mode[0].stride != BITS_OF_BYTE || m->mode[1].stride != 1)
        return;
    w->out->mask = bits->result[0];
    w->out->members += 4;
}

static void take_f32(walk *w)
{
    const fsim_node *n = next_of(w);
    if (w->out->residual >= 0 && !w->gemm->convolution)
        return; /* with D in FP32, C is too */
    if (!n || n->op != FSIM_OP_CAST || w->g->tensor[n->result[0]].dtype != FSIM_F32 || !has(w, FSIM_EPILOGUE_TO_F32))
        return;
    w->out->to_f32 = true;
    take(w, n->result[0], 1);
}

fsim_epilogue fsim_epilogue_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o)
{
    fsim_epilogue out = {.scale = 1,
                         .bias = -1,
                         .residual = -1,
                         .aux = -1,
                         .mask = -1,
                         .sums = -1,
                         .activation = FSIM_EPILOGUE_COUNT,
                         .before = -1,
                         .result = g->node[o->anchor].result[0],
                         .members = 1};
    walk w = {g, hw, o, &g->node[o->anchor].gemm, &out};
    const bool biased = take_folded(&w);
    if (o->folded == 0)
        take_scale(&w);
    if (!take_gradient(&w)) {
        take_sums(&w, biased);
        take_activation(&w);
        if (o->whole_row == BITS_OF_BYTE)
            take_mask(&w);
        take_f32(&w);
    }
    return out;
}

/* Does the call write this result of the group? A second one is what the GELU reads, of the same type, a mask or
 * sums. */
static bool writes(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o, const fsim_epilogue *e, int tensor)
{
    const fsim_gemm *product = &g->node[o->anchor].gemm;
    const bool auxiliary = o->writes == 2 && e->activation == FSIM_EPILOGUE_GELU_TANH && !e->to_f32 &&
                           product->n % ROW_OF_AUX == 0 && fsim_library_has(hw, product, FSIM_EPILOGUE_GELU_AUX);
    return tensor == e->result || (auxiliary && tensor == e->before) ||
           (o->writes == 2 && (tensor == e->sums || tensor == e->mask));
}

bool fsim_library_can(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o)
{
    int operands = 0;
    if (!fsim_map_is_identity(&o->anchor_map) || o->writes > 2 || o->contractions > 1 ||
        (o->whole_row > 0 && o->whole_row != BITS_OF_BYTE) || o->across > 1)
        return false;
    for (int i = 0; i < o->members; i++)
        if (o->member[i].prologue) { /* a transposed or strided operand is an argument of the call */
            operands++;
            if (fsim_ops[g->node[o->member[i].node].op].class != FSIM_PERMUTE)
                return false;
        }
    const fsim_epilogue e = fsim_epilogue_of(g, hw, o);
    bool all = e.members + operands == o->members;
    for (int i = 0; i < o->writes && all; i++)
        all = writes(g, hw, o, &e, o->write[i].tensor);
    return all;
}
