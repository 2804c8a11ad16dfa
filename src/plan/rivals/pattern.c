/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: engines that fuse by fixed rules: ONNX Runtime's graph transformers and TensorRT's layer fusions, the rows
 * of `rules`. Each rule is applied everywhere before the next one, until nothing matches. The result of a rule can be
 * matched by later rules. A composite that is one operator of ONNX is one kernel. What no rule has a name for stays as
 * PyTorch launches it (eager.c), but for views: these engines have no strided tensors, so that a permute, an expand or
 * a slice is a kernel, if no rule takes it. A match that is no legal kernel, a product that the generator has no tiles
 * or no tensor units for, a contraction that would be no library's call and take longer than its parts, a composite
 * that takes longer than the kernels that PyTorch has for it, and a layout that is read or made for more than a kernel
 * of its own takes, is skipped.
 *
 * A pattern is a list of words. Each word is connected to an earlier word by a tensor: it reads what that one computes,
 * computes what that one reads (< in front), or, with :same, reads what that one reads. A word is a list of
 * alternatives, any of
 *     an operator            a primitive; a composite stands for all its primitives (with -: all but the last) and is
 *                            the only word
 *     a class                conv gemm pointwise activation reduce shuffle
 *     a name with a capital  the result of that rule
 * An alternative may have conditions:
 *     :vector   the other operand is a parameter that is broadcast, or a number
 *     :scalar   the other operand is a number
 *     :tensor   the other operand is as large as the result
 *     :square   both operands are the same
 *     :same     its operands are computed or read by earlier words
 *     :matrix   the result has two dimensions
 *     :swap     it swaps the last two dimensions
 *     :library  the vendor's library has it behind the contraction that is the first word (vendor/library.def)
 *     :shared   primitives outside the match may read it too
 * ? behind a word makes it optional. At most one value of a match may be read outside of it.
 *
 * Not modelled: rules that change numbers or layouts (constant folding, quantisation, NCHWc), rules whose kernel
 * fusesim can't generate, and Myelin. */
#include "plan/rivals/pattern.h"
#include "plan/rivals/rivals.h"

#include "cost/costing.h"
#include "plan/price/deadline.h"
#include "vendor/library.h"

#include <string.h>

/* becomes: the name that later rules match; NULL: the rule's name. */
static const struct {
    const char *engine, *name, *becomes, *pattern;
} rules[] = {
    /* one operator of ONNX, or one fused operator of ONNX Runtime */
    {"ONNX Runtime", "Attention", NULL, "attention"},
    {"ONNX", "Softmax", NULL, "softmax"},
    {"ONNX", "LogSoftmax", NULL, "log_softmax"},
    {"ONNX Runtime", "LayerNorm", NULL, "layer_norm"},
    {"ONNX Runtime", "SimplifiedLayerNorm", NULL, "rms_norm"},
    {"ONNX", "BatchNorm", NULL, "batch_norm"},
    {"ONNX", "GroupNorm", NULL, "group_norm"},
    {"ONNX", "InstanceNorm", NULL, "instance_norm"},
    {"ONNX", "LpNorm", NULL, "normalize"},
    {"ONNX", "LogSumExp", NULL, "logsumexp"},
    {"ONNX", "Mish", NULL, "mish"},
    {"ONNX Runtime", "RotaryEmbedding", NULL, "rotary_embedding"},
    {"ONNX", "SoftmaxCrossEntropy", NULL, "cross_entropy-"},
    /* the same, as separate operators */
    {"ONNX Runtime", "Softmax", NULL, "max sub:same exp sum div:same"},
    {"ONNX Runtime", "LayerNorm", NULL,
     "mean sub:same mul:square|pow:scalar mean add:scalar? rsqrt mul:same mul:vector? add:vector?"},
    {"ONNX Runtime", "LayerNorm", NULL,
     "mean sub:same mul:square|pow:scalar mean add:scalar? sqrt div:same mul:vector? add:vector?"},
    {"ONNX Runtime", "SimplifiedLayerNorm", NULL, "mul:square|pow:scalar mean add:scalar? rsqrt mul:same mul:vector?"},
    {"ONNX Runtime", "RotaryEmbedding", NULL, "neg concat <slice <slice mul add <mul"},
    {"ONNX Runtime", "Gelu", NULL, "erf <mul:scalar|div:scalar add:scalar mul:same mul:same"},
    {"ONNX Runtime", "FastGelu", NULL, "tanh <mul:scalar <add <mul:scalar <pow:scalar add:scalar mul:same mul:same"},
    {"ONNX Runtime", "QuickGelu", NULL, "sigmoid <mul:scalar mul:same"},
    {"ONNX Runtime", "Swish", NULL, "sigmoid mul:same"},
    {"ONNX Runtime", "Attention", NULL,
     "gemm <mul:scalar|div:scalar? <mul:scalar|div:scalar? mul:scalar|div:scalar? add|causal_mask|masked_fill|where? "
     "Softmax gemm"},
    /* reads and writes [batch, tokens, heads x width] */
    {"ONNX Runtime", "MultiHeadAttention", "Attention",
     "Attention <shuffle <shuffle? <shuffle? <shuffle? <shuffle? <shuffle?"},
    {"ONNX Runtime", "MultiHeadAttention", "Attention", "Attention shuffle copy?"},
    /* basic */
    {"TensorRT", "ConvBias", "conv", "conv add:vector"},
    {"ONNX Runtime", "ConvBn", "conv", "conv BatchNorm"},
    {"ONNX Runtime", "ConvMul", "conv", "conv mul:vector"},
    {"ONNX Runtime", "ConvAdd", "conv", "conv add:vector|sub:vector"},
    {"ONNX Runtime", "MatMulBn", "gemm", "gemm BatchNorm"},
    {"ONNX Runtime", "MatMulAdd", "gemm", "gemm:matrix add:vector"},
    {"ONNX Runtime", "GemmSum", "gemm", "gemm:matrix add:tensor"},
    {"ONNX Runtime", "MatMulScale", "gemm", "gemm mul:scalar|div:scalar"},
    {"ONNX Runtime", "MatMulTranspose", "gemm", "gemm <transpose:swap|permute:swap"},
    {"ONNX Runtime", "ReluClip", "Clip", "relu clamp|relu6|hardtanh"},
    {"ONNX Runtime", "DivMul", NULL, "reciprocal mul"},
    /* extended */
    {"ONNX Runtime", "ConvAddActivation", NULL, "conv add:tensor relu"},
    {"ONNX Runtime", "ConvActivation", NULL, "conv activation:library"},
    {"ONNX Runtime", "EmbedLayerNorm", NULL,
     "embedding|gather add <embedding|gather? add? <embedding|gather? LayerNorm"},
    {"ONNX Runtime", "SkipLayerNorm", NULL, "add:tensor:shared LayerNorm"},
    {"ONNX Runtime", "SkipSimplifiedLayerNorm", NULL, "add:tensor:shared SimplifiedLayerNorm"},
    {"ONNX Runtime", "BiasSkipLayerNorm", NULL, "add:vector SkipLayerNorm"},
    {"ONNX Runtime", "SkipGroupNorm", NULL, "add:tensor:shared GroupNorm"},
    {"ONNX Runtime", "GroupNormSwish", NULL, "GroupNorm Swish"},
    {"ONNX Runtime", "BiasGelu", NULL, "add:vector Gelu|FastGelu|QuickGelu"},
    {"ONNX Runtime", "BiasDropout", NULL, "add:vector dropout add:tensor?"},
    {"ONNX Runtime", "BiasSoftmax", NULL, "add Softmax"},
    {"ONNX Runtime", "MaskedSoftmax", NULL, "causal_mask|masked_fill|where Softmax"},
    /* TensorRT's layers */
    {"TensorRT", "FullyConnectedBias", "gemm", "gemm add:vector"},
    {"ONNX Runtime", "GemmActivation", NULL, "gemm activation:library"},
    {"TensorRT", "ScaleOffsetPower", "Scale", "mul:vector add:vector pow:scalar?"},
    {"TensorRT", "ScaleActivation", NULL, "Scale activation"},
    {"TensorRT", "SumOfSquares", NULL, "mul:square sum"},
    {"TensorRT", "L2Norm", NULL, "SumOfSquares sqrt"},
    {"TensorRT", "L1Norm", NULL, "abs sum"},
    {"TensorRT", "LogSumExp", NULL, "exp sum log"},
    {"TensorRT", "LogSum", NULL, "sum log"},
    {"ONNX Runtime", "EliminateIdentity", "shuffle", "shuffle copy"}, /* what a transpose makes is contiguous */
    {"TensorRT", "ShuffleShuffle", "shuffle", "shuffle shuffle"},
    {"TensorRT", "ShuffleReduce", NULL, "shuffle reduce"},
    {"TensorRT", "PointwiseFusion", "pointwise", "pointwise pointwise"},
};
enum {
    RULES = sizeof rules / sizeof *rules,
    WORDS = 12,
    MOST_LABELS = 2 * RULES,
    LABELS = FSIM_OP_COUNT + MOST_LABELS,
    MOST_PARTS = 96,
    MOST_TRIES = 500
};

enum {
    VECTOR = 1,
    SCALAR = 2,
    TENSOR = 4,
    SQUARE = 8,
    MATRIX = 16,
    SHARED = 32,
    SWAP = 64,
    SAME = 128,
    FITS = 256,
    LIBRARY = 512
};
static const struct {
    const char *name;
    int bit;
} conditions[] = {{"vector", VECTOR}, {"scalar", SCALAR}, {"tensor", TENSOR}, {"square", SQUARE},  {"matrix", MATRIX},
                  {"shared", SHARED}, {"swap", SWAP},     {"same", SAME},     {"library", LIBRARY}};

typedef struct {
    bool optional;
    int (*connected)(fsim_clusters *c, int x, int **list); /* the parts that it may be, seen from an earlier word's */
    unsigned short fits[LABELS]; /* per label: which conditions it needs, and whether it fits */
} word;

typedef struct {
    fsim_clusters *c;
    int *label; /* per part: its operator, or FSIM_OP_COUNT + the rule whose result it is */
    const char *label_name[MOST_LABELS];
    int label_names;
    word word[WORDS];
    int words, tries;
    int match[MOST_PARTS], as[MOST_PARTS], matches; /* the matched parts, and the conditions that they met */
    bool *touched;                                  /* per part: created in this pass */
} matcher;

/* Rules as words. */

static bool is_product(fsim_op op)
{
    return op == FSIM_OP_MATMUL || op == FSIM_OP_BMM || op == FSIM_OP_LINEAR || op == FSIM_OP_EINSUM;
}

static bool is_convolution(fsim_op op) { return fsim_ops[op].class == FSIM_CONTRACTION && !is_product(op); }

static bool is_activation(fsim_op op)
{
    static const fsim_op activations[] = {FSIM_OP_RELU,    FSIM_OP_RELU6,    FSIM_OP_CLAMP,       FSIM_OP_HARDTANH,
                                          FSIM_OP_SIGMOID, FSIM_OP_TANH,     FSIM_OP_LEAKY_RELU,  FSIM_OP_ELU,
                                          FSIM_OP_SELU,    FSIM_OP_SOFTPLUS, FSIM_OP_HARDSIGMOID, FSIM_OP_HARDSWISH};
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (op == activations[i])
            return true;
    return false;
}

static bool is_reduction(fsim_op op) { return fsim_ops[op].class == FSIM_REDUCE; }

static bool is_shuffle(fsim_op op) { return fsim_ops[op].class == FSIM_PERMUTE; }

/* Marks the operators that a name of a word (a class or an operator) stands for as fitting, with these conditions. */
static void add_operators(word *w, const char *name, unsigned short bits)
{
    static const struct {
        const char *name;
        bool (*contains)(fsim_op op);
    } class[] = {{"conv", is_convolution},      {"gemm", is_product},     {"pointwise", fsim_is_pointwise},
                 {"activation", is_activation}, {"reduce", is_reduction}, {"shuffle", is_shuffle}};
    fsim_op one;
    for (size_t i = 0; i < sizeof class / sizeof *class; i++)
        if (strcmp(name, class[i].name) == 0) {
            for (int op = 0; op < FSIM_OP_COUNT; op++)
                if (class[i].contains((fsim_op)op))
                    w->fits[op] = bits;
            return;
        }
    if (fsim_op_parse(name, &one))
        w->fits[one] = bits;
}

/* The operator that rules name: a choice with constants is `where`, too. */
static fsim_op written_as(fsim_op op)
{
    return op == FSIM_OP_WHERE_INPUT || op == FSIM_OP_WHERE_OTHER || op == FSIM_OP_WHERE_SCALARS ? FSIM_OP_WHERE : op;
}

static int label_of(matcher *m, const char *label_name)
{
    for (int i = 0; i < m->label_names; i++)
        if (strcmp(m->label_name[i], label_name) == 0)
            return FSIM_OP_COUNT + i;
    m->label_name[m->label_names++] = label_name;
    return FSIM_OP_COUNT + m->label_names - 1;
}

static unsigned short add_alternative(matcher *m, word *w, char *text)
{
    unsigned short bits = FITS;
    char *rest, *name = strtok_r(text, ":", &rest);
    for (char *condition; (condition = strtok_r(NULL, ":", &rest));)
        for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
            bits |= strcmp(condition, conditions[i].name) == 0 ? (unsigned short)conditions[i].bit : 0;
    add_operators(w, name, bits);
    for (int r = 0; r < RULES; r++) {
        const char *label_name = rules[r].becomes ? rules[r].becomes : rules[r].name;
        const bool is_class =
            strcmp(label_name, "Clip") == 0 && (strcmp(name, "activation") == 0 || strcmp(name, "pointwise") == 0);
        if (strcmp(label_name, name) == 0 || is_class ||
            (strcmp(label_name, "Scale") == 0 && strcmp(name, "pointwise") == 0))
            w->fits[label_of(m, label_name)] = bits;
    }
    return bits;
}

static void read_pattern(matcher *m, const char *pattern)
{
    char *rest, *text = fsim_strdup(m->c->a, pattern);
    m->words = 0;
    for (char *each = strtok_r(text, " ", &rest); each; each = strtok_r(NULL, " ", &rest)) {
        word *w = &m->word[m->words++];
        char *others, *mark = strchr(each, '?');
        *w = (word){.optional = mark != NULL, .connected = *each == '<' ? fsim_makers : fsim_users};
        each += *each == '<';
        if (mark)
            *mark = '\0';
        for (char *one = strtok_r(each, "|", &others); one; one = strtok_r(NULL, "|", &others))
            if (add_alternative(m, w, one) & SAME)
                w->connected = fsim_sharers;
    }
}

/* Matching. */

static bool matched(const matcher *m, int x)
{
    for (int i = 0; i < m->matches; i++)
        if (m->match[i] == x)
            return true;
    return false;
}

static bool read_by_match(const matcher *m, const fsim_tensor *t)
{
    for (int k = 0; k < t->readers; k++)
        if (matched(m, fsim_home(m->c, t->reader[k])))
            return true;
    return false;
}

/* Does the device's library have activation x behind the contraction that is the first word of the match? */
static bool library_has(const matcher *m, int x)
{
    const fsim_graph *g = m->c->p->graph;
    const fsim_node *n = &g->node[m->c->part[x].node[0]];
    for (int i = 0; i < m->c->part[m->match[0]].count; i++) {
        const fsim_gemm *gemm = &g->node[m->c->part[m->match[0]].node[i]].gemm;
        if (gemm->k > 0)
            return fsim_library_has(m->c->p->hw, gemm,
                                    m->label[x] >= FSIM_OP_COUNT ? FSIM_EPILOGUE_CLAMP : fsim_activation_of(n->op));
    }
    return false;
}

/* Do the operands of a primitive meet the conditions? */
static bool meets(const matcher *m, int x, int bits)
{
    const fsim_graph *g = m->c->p->graph;
    const fsim_node *n = &g->node[m->c->part[x].node[0]];
    const fsim_tensor *result = &g->tensor[n->result[0]];
    bool vector = n->args == 1, tensor = false, same = true;
    if (bits == FITS || bits == (FITS | SHARED))
        return true;
    if (bits & LIBRARY)
        return library_has(m, x);
    if (m->label[x] >= FSIM_OP_COUNT)
        return !(bits & ~(FITS | SHARED | MATRIX)) && (!(bits & MATRIX) || result->shape.rank == 2);
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
        vector = vector || (t->producer < 0 && t->elems < result->elems);
        same = same && (!(bits & SAME) || (t->producer >= 0 && matched(m, fsim_home(m->c, t->producer))) ||
                        read_by_match(m, t));
        tensor = tensor || (n->args == 2 && t->elems == result->elems && n->arg[1 - k].distinct == result->elems &&
                            (t->producer < 0 || !matched(m, fsim_home(m->c, t->producer))));
    }
    return (!(bits & VECTOR) || vector) && (!(bits & SCALAR) || n->args == 1) && (!(bits & TENSOR) || tensor) &&
           (!(bits & SQUARE) || (n->args == 2 && n->arg[0].tensor == n->arg[1].tensor)) &&
           (!(bits & MATRIX) || result->shape.rank == 2) && (!(bits & SWAP) || fsim_swaps_matrix(n)) &&
           (!(bits & SAME) || same);
}

static bool read_elsewhere(matcher *m, int x)
{
    int *user;
    const int users = fsim_users(m->c, x, &user);
    bool elsewhere = fsim_must_store(m->c, x);
    for (int i = 0; i < users; i++)
        elsewhere = elsewhere || !matched(m, user[i]);
    return elsewhere;
}

static double apart_s(matcher *m)
{
    double sum = 0;
    for (int i = 0; i < m->matches; i++)
        sum += fsim_joined_like(m->c, &m->match[i], 1, -1)->time_s;
    return sum;
}

/* A product that the generator has no tiles for, though its groups are large enough, or whose integers it does not
 * multiply on tensor units, and a contraction that takes longer with what its library does not compute behind it: an
 * engine would not write such a kernel, it calls its library. */
static bool is_left_to_library(matcher *m, const fsim_kernel *k)
{
    if (k->template != FSIM_TILED_CONTRACTION)
        return false;
    const fsim_gemm *gemm = &m->c->p->graph->node[k->group->anchor].gemm;
    const bool integers = gemm->arithmetic == FSIM_I8 || gemm->arithmetic == FSIM_U8;
    if (!fsim_library_can(m->c->p->graph, m->c->p->hw, k->group) && k->time_s > apart_s(m))
        return true;
    return !gemm->convolution && ((integers && fsim_tensor_key(m->c->p->hw, gemm->arithmetic) != FSIM_HW_COUNT) ||
                                  (k->tile_m == 0 && gemm->batch == 1));
}

/* Does the match only lay out what one of its parts reads or makes? */
static bool is_layout(const matcher *m)
{
    const fsim_graph *g = m->c->p->graph;
    int others = 0;
    for (int i = 0; i < m->matches; i++)
        others += m->label[m->match[i]] >= FSIM_OP_COUNT || !is_shuffle(g->node[m->c->part[m->match[i]].node[0]].op);
    return others == 1;
}

static bool one_kernel(matcher *m)
{
    int results = 0;
    for (int i = 0; i < m->matches; i++)
        if (!(m->as[i] & SHARED) && read_elsewhere(m, m->match[i]))
            results++;
    const fsim_kernel *k = results <= 1 ? fsim_joined_like(m->c, m->match, m->matches, -1) : NULL;
    return k && !is_left_to_library(m, k) && !(is_layout(m) && k->time_s > apart_s(m)) &&
           !fsim_interlocked(m->c, m->match, m->matches);
}

/* The same for a composite, which PyTorch's kernels may be better for. */
static bool is_one_kernel(matcher *m)
{
    const fsim_kernel *k = one_kernel(m) ? fsim_joined_like(m->c, m->match, m->matches, -1) : NULL;
    return k && (m->matches == 1 || k->time_s <= apart_s(m));
}

/* Finds parts for word `at` and the words behind it. */
static bool extend(matcher *m, int at)
{
    if (at == m->words)
        return m->matches > 1 && one_kernel(m);
    for (int i = m->matches; i-- > 0;) {
        int *other;
        const int others = m->word[at].connected(m->c, m->match[i], &other);
        for (int k = 0; k < others; k++) {
            const int x = other[k], bits = m->word[at].fits[m->label[x]];
            if (!bits || m->touched[x] || matched(m, x) || !meets(m, x, bits) || m->tries-- <= 0)
                continue;
            m->as[m->matches] = bits;
            m->match[m->matches++] = x;
            if (extend(m, at + 1))
                return true;
            m->matches--;
        }
    }
    return m->word[at].optional && extend(m, at + 1);
}

/* "ConvBn + ConvActivation": the rules that created the matched parts, in order, then this one. */
static const char *history(matcher *m, const char *rule)
{
    const char *text = NULL;
    for (int i = 0; i <= m->matches; i++) {
        const char *next = i < m->matches ? m->c->rule[m->match[i]] : rule;
        if (next && !(text && strstr(text, next)))
            text = text ? fsim_printf(m->c->a, "%s + %s", text, next) : next;
    }
    return text;
}

static void fuse(matcher *m, int r)
{
    const char *label_name = rules[r].becomes ? rules[r].becomes : rules[r].name, *rule = history(m, rules[r].name);
    for (int i = 1; i < m->matches; i++) /* the part with the lowest number is kept */
        if (m->match[i] < m->match[0]) {
            const int swap = m->match[0];
            m->match[0] = m->match[i];
            m->match[i] = swap;
        }
    fsim_join(m->c, m->match, m->matches);
    m->c->rule[m->match[0]] = rule;
    m->label[m->match[0]] = label_of(m, label_name);
    m->touched[m->match[0]] = true;
}

/* Applies one rule wherever it matches. A pass does not match its own results, so that long chains are merged in
 * pairs. */
static bool apply(matcher *m, int r)
{
    fsim_clusters *c = m->c;
    bool again = false;
    memset(m->touched, 0, (size_t)c->parts * sizeof *m->touched);
    for (int x = 0; x < c->parts; x++) {
        const fsim_mark mark = fsim_save(c->a);
        const int bits = c->part[x].count && !m->touched[x] ? m->word[0].fits[m->label[x]] : 0;
        if (!bits)
            continue;
        m->matches = 0;
        if (!meets(m, x, bits))
            continue;
        m->tries = MOST_TRIES;
        m->as[0] = bits;
        m->match[m->matches++] = x;
        if (m->words > 1 && extend(m, 1)) {
            fuse(m, r);
            again = true;
        } else {
            fsim_rewind(c->a, mark);
        }
    }
    return again;
}

/* Are all primitives of part x, but for those that it computes again, of source s? */
static bool is_of(const matcher *m, int x, const fsim_source *s)
{
    for (int i = 0; i < m->c->part[x].count; i++) {
        const int n = m->c->part[x].node[i];
        if (fsim_home(m->c, n) == x && (n < s->first || n >= s->first + s->nodes))
            return false;
    }
    return true;
}

/* Applies a rule for a composite: all kernels of the operator are one. */
static void apply_to_sources(matcher *m, int r, fsim_op op, bool or_less)
{
    const fsim_graph *g = m->c->p->graph;
    for (int s = 0; s < g->sources; s++) {
        const fsim_source *source = &g->source[s];
        bool whole = source->op == op && source->nodes > 1 && source->nodes <= MOST_PARTS;
        m->matches = 0;
        memset(m->as, 0, sizeof m->as);
        for (int n = source->first; whole && n < source->first + source->nodes; n++) {
            const int x = fsim_home(m->c, n);
            whole = is_of(m, x, source) && !m->c->rule[x];
            if (!matched(m, x))
                m->match[m->matches++] = x;
        }
        bool found = whole && is_one_kernel(m);
        if (whole && !found && or_less && m->matches-- > 2)
            found = is_one_kernel(m);
        if (found)
            fuse(m, r);
    }
}

const char *fsim_pattern_rule(int i, const char **engine)
{
    *engine = i < RULES ? rules[i].engine : NULL;
    return i < RULES ? rules[i].name : NULL;
}

/* An operator of several primitives has a label that no rule names, but for elementwise ones. */
static int starting_label(matcher *m, const fsim_part *x)
{
    const fsim_graph *g = m->c->p->graph;
    if (x->count == 1)
        return (int)written_as(g->node[x->node[0]].op);
    return label_of(m, fsim_is_elementwise(g, x) ? "pointwise" : "operator");
}

fsim_partition fsim_pattern_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_partition start = fsim_pattern_start(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &start, a);
    matcher *m = fsim_new(c->a, matcher, 1);
    m->c = c;
    m->label = fsim_new(c->a, int, c->parts + 1);
    m->touched = fsim_new(c->a, bool, c->parts + 1);
    for (int x = 0; x < c->parts; x++)
        m->label[x] = starting_label(m, &c->part[x]);
    for (int r = 0; r < RULES && !fsim_late(p); r++) {
        const size_t length = strcspn(rules[r].pattern, "-");
        fsim_op op;
        if (fsim_op_parse(fsim_strndup(c->a, rules[r].pattern, length), &op) && fsim_ops[op].class == FSIM_COMPOSITE) {
            apply_to_sources(m, r, op, rules[r].pattern[length] == '-');
            continue;
        }
        read_pattern(m, rules[r].pattern);
        while (!fsim_late(p) && apply(m, r))
            ;
    }
    return fsim_partition_of(c, a, rule);
}
