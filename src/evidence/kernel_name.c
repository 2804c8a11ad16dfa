/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/kernel_name.h"

#include <ctype.h>
#include <string.h>

enum {
    GEMM = FSIM_DOES_GEMM,
    CONV = FSIM_DOES_CONVOLUTION,
    ATTENTION = FSIM_DOES_ATTENTION,
    POINT = FSIM_DOES_POINTWISE,
    REDUCE = FSIM_DOES_REDUCTION,
    POOL = FSIM_DOES_POOLING,
    SCAN = FSIM_DOES_SCAN,
    SORT = FSIM_DOES_SORT,
    GATHER = FSIM_DOES_GATHER,
    SCATTER = FSIM_DOES_SCATTER,
    COMMUNICATION = FSIM_DOES_COMMUNICATION
};

static const struct {
    const char *part;
    unsigned kinds;
    fsim_helps helps;
} kernels[] = {
#define FSIM_KERNEL_KIND(part, kinds, helps) {part, kinds, FSIM_HELPS_##helps},
#include "evidence/kernel_name.def"
#undef FSIM_KERNEL_KIND
};

static const struct {
    const char *part;
    fsim_op op;
} functors[] = {
#define FSIM_KERNEL_FUNCTOR(part, op) {part, FSIM_OP_##op},
#include "evidence/kernel_name.def"
#undef FSIM_KERNEL_FUNCTOR
};

static const struct {
    const char *name;
    fsim_op op;
} operators[] = {
#define FSIM_ATEN_NAME(name, op) {name, FSIM_OP_##op},
#include "evidence/kernel_name.def"
#undef FSIM_ATEN_NAME
};
/* makers: prefixes of ATen's operator names that only say which library computes them. nothing: operators that
 * Inductor lists although they move no data. */
static const char *const makers[] = {"cudnn_", "miopen_", "native_", "mkldnn_", "thnn_"};
static const char *const nothing[] = {"view",
                                      "unsqueeze",
                                      "squeeze",
                                      "t",
                                      "detach",
                                      "alias",
                                      "reshape",
                                      "as_strided",
                                      "lift_fresh",
                                      "unsafe_view",
                                      "prims",
                                      "arange",
                                      "iota",
                                      "select",
                                      "unbind",
                                      "fused",
                                      "convert_element_type",
                                      "broadcast_in_dim",
                                      "collapse_view",
                                      "getitem",
                                      "functional",
                                      "forward",
                                      "default",
                                      "wait_tensor"};

int fsim_op_common(const fsim_op_set *x, const fsim_op_set *y)
{
    int n = 0;
    for (int i = 0; i < FSIM_OP_WORDS; i++)
        n += __builtin_popcountll(x->word[i] & y->word[i]);
    return n;
}

static bool is_name(const char *at, size_t bytes, const char *name)
{
    return strlen(name) == bytes && strncmp(at, name, bytes) == 0;
}

/* Adds the operators that ATen's operator name[0, bytes) may be. False where the name is not known. */
static bool add_operator(fsim_op_set *ops, const char *name, size_t bytes)
{
    char plain[64];
    while (bytes > 0 && name[0] == '_') {
        name++;
        bytes--;
    }
    while (bytes > 0 && name[bytes - 1] == '_')
        bytes--;
    bool known = false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is_name(name, bytes, operators[i].name)) {
            fsim_op_add(ops, operators[i].op);
            known = true;
        }
    fsim_op op;
    if (bytes > 0 && bytes < sizeof plain) {
        memcpy(plain, name, bytes);
        plain[bytes] = '\0';
        if (fsim_op_parse(plain, &op)) {
            fsim_op_add(ops, op);
            known = true;
        }
    }
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !known; i++) {
        const size_t skip = strlen(makers[i]);
        if (bytes > skip && strncmp(name, makers[i], skip) == 0)
            known = add_operator(ops, name + skip, bytes - skip);
    }
    return known;
}

/* Adds the operators in a name of Inductor's such as "add_native_layer_norm_0". Longer names are tried first, since
 * names contain underscores. Returns how many of them move data. */
static int add_fused(fsim_op_set *ops, const char *list)
{
    int fused = 0;
    for (const char *at = list; *at;) {
        at += strspn(at, "_");
        size_t take = strcspn(at, "_");
        bool known = false;
        for (size_t end = strlen(at); end > 0 && !known; end--) {
            if (at[end] != '\0' && at[end] != '_')
                continue;
            bool idle = false;
            for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
                idle = idle || is_name(at, end, nothing[i]);
            known = idle || add_operator(ops, at, end);
            fused += known && !idle;
            take = known ? end : take;
        }
        at += take;
    }
    return fused;
}

static const struct {
    const char *prefix;
    unsigned kinds;
} generated[] = {{"triton_poi_fused", POINT},
                 {"triton_red_fused", REDUCE},
                 {"triton_per_fused", REDUCE},
                 {"triton_tem_fused", GEMM},
                 {"triton_for_fused", POINT | REDUCE},
                 {"triton_split_scan_fused", SCAN},
                 {"triton_mm", GEMM},
                 {"triton_bmm", GEMM}};

static bool says_fused(const char *kernel, fsim_says *out)
{
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (strncmp(kernel, generated[i].prefix, strlen(generated[i].prefix)) == 0) {
            out->kinds = generated[i].kinds;
            out->fused = add_fused(&out->ops, kernel + strlen(generated[i].prefix));
            return true;
        }
    return false;
}

/* Adds the operators that ATen's functors name. They are template arguments of ATen's own kernels only. */
static void add_functors(fsim_op_set *ops, const char *kernel)
{
    for (size_t i = 0; i < sizeof functors / sizeof *functors; i++)
        if (strcasestr(kernel, functors[i].part))
            fsim_op_add(ops, functors[i].op);
}

fsim_says fsim_kernel_says(const char *kernel, const char *operator)
{
    fsim_says s = {0};
    if (says_fused(kernel, &s))
        return s;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && s.kinds == 0; i++)
        if (strcasestr(kernel, kernels[i].part)) {
            s.kinds = kernels[i].kinds;
            s.helps = kernels[i].helps;
        }
    const char *colons = operator? strstr(operator, "::") : NULL;
    if (!(colons && add_operator(&s.ops, colons + 2, strlen(colons + 2))) && !(s.kinds & (GEMM | CONV | ATTENTION)))
        add_functors(&s.ops, kernel);
    return s;
}

/* The functor among the template arguments of one of ATen's generic kernels, and its length in *bytes; NULL where
 * there is none. */
static const char *functor_of(const char *arguments, size_t *bytes)
{
    static const char scope[] = "at::native::", hidden[] = "(anonymous namespace)::";
    static const char *const wrappers[] = {"gpu_kernel_impl",
                                           "gpu_kernel_impl_nocast",
                                           "AUnaryFunctor",
                                           "BUnaryFunctor",
                                           "BinaryFunctor",
                                           "binary_internal",
                                           "ReduceOp",
                                           "func_wrapper_t",
                                           "detail",
                                           "memory",
                                           "reduce_kernel",
                                           "opmath_symmetric_gpu_kernel_with_scalars",
                                           "elementwise_kernel_helper"};
    for (const char *at = arguments; (at = strstr(at, scope)) != NULL;) {
        at += sizeof scope - 1;
        at += strncmp(at, hidden, sizeof hidden - 1) == 0 ? sizeof hidden - 1 : 0;
        size_t n = 0;
        while (isalnum((unsigned char)at[n]) || at[n] == '_')
            n++;
        bool wraps = n == 0;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
            wraps = wraps || is_name(at, n, wrappers[i]);
        if (!wraps) {
            *bytes = n;
            return at;
        }
        if (strncmp(at, "binary_internal::", 17) == 0) {
            at += 17;
            for (n = 0; isalnum((unsigned char)at[n]) || at[n] == '_'; n++)
                ;
            *bytes = n;
            return n ? at : NULL;
        }
    }
    return NULL;
}

char *fsim_kernel_short(fsim_arena *a, const char *kernel)
{
    static const char hidden[] = "(anonymous namespace)::"; /* its parenthesis starts no argument list */
    const char *from = strncmp(kernel, "void ", 5) == 0 ? kernel + 5 : kernel, *end = from;
    while (*end && *end != '<') {
        const bool scope = strncmp(end, "::", 2) == 0, nameless = strncmp(end, hidden, sizeof hidden - 1) == 0;
        if (*end == '(' && !nameless)
            break;
        end += nameless ? sizeof hidden - 1 : scope ? 2 : 1;
        from = nameless || scope ? end : from;
    }
    static const char *const launchers[] = {
        "Kernel", "Kernel2", "device_kernel"}; /* CUTLASS's kernels: the template argument says what they compute */
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (*end == '<' && is_name(from, (size_t)(end - from), launchers[i]) && end[1 + strcspn(end + 1, "<>(),")])
            return fsim_kernel_short(a, fsim_strndup(a, end + 1, strcspn(end + 1, "<>(),")));
    size_t bytes = 0;
    const bool generic =
        strncmp(end, "<", 1) == 0 && (strstr(kernel, "elementwise_kernel<") || strstr(kernel, "::reduce_kernel<"));
    const char *functor = generic ? functor_of(end, &bytes) : NULL;
    if (functor)
        return fsim_printf(a, "%.*s<%.*s>", (int)(end - from), from, (int)bytes, functor);
    return end > from ? fsim_strndup(a, from, (size_t)(end - from)) : fsim_strdup(a, kernel);
}
