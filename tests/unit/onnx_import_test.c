/* SPDX-License-Identifier: Apache-2.0 */
/* depends: compiler memory cost: 1
 * The translation of ONNX models, on small ones: constants, dimensions, control flow, functions, layers, refusals. */
#include "import/format.h"
#include "import/load.h"
#include "import/onnx/import.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "onnx_lines.h"
#include "printed.h"

/* An operator of the workload as text: "add x,y -> z scalar=2". */
static const char *operator_text(fsim_arena *a, const fsim_yaml *op)
{
    const char *text = "";
    for (int i = 0; i < op->count; i++) {
        const fsim_yaml *v = op->item[i];
        const char *key = op->key[i]->text, *value = v->kind == FSIM_YAML_SCALAR ? v->text : "";
        for (int k = 0; v->kind == FSIM_YAML_SEQUENCE && k < v->count; k++)
            value = fsim_printf(a, "%s%s%s", value, k ? "," : "", v->item[k]->text);
        if (strcmp(key, "op") == 0)
            text = value;
        else if (strcmp(key, "in") == 0)
            text = fsim_printf(a, "%s %s", text, value);
        else if (strcmp(key, "out") == 0)
            text = fsim_printf(a, "%s -> %s", text, value);
        else if (strcmp(key, "from") != 0)
            text = fsim_printf(a, "%s %s=%s", text, key, value);
    }
    return text;
}

/* What a model becomes: its operators, a line each; or what is said against it. dims: "n=2 m=3". */
static const char *import(fsim_arena *a, const char *text, const char *dims)
{
    const pb file = onnx_model(a, text);
    fsim_diag *d = fsim_diag_new(a);
    int count;
    char **word = ot_split(a, dims, ' ', &count);
    fsim_binding *dim = fsim_new(a, fsim_binding, count + 1);
    for (int i = 0; i < count; i++) {
        char *value = strchr(word[i], '=');
        *value++ = 0;
        dim[i] = (fsim_binding){word[i], value};
    }
    const fsim_workload_wanted how = {.set = dim, .sets = count};
    fsim_imported out = {0};
    const bool good = fsim_read_onnx(a, d, &(fsim_import_source){"m.onnx", file.at, file.bytes}, &how, &out);
    assert_int_equal(good, fsim_errors(d) == 0);
    const char *lines = printed(a, d);
    if (!good)
        return lines;
    const fsim_yaml *ops = fsim_yaml_get(out.yaml, "operators");
    for (int i = 0; i < ops->count; i++)
        lines = fsim_printf(a, "%s%s\n", lines, operator_text(a, ops->item[i]));
    const fsim_graph *g = fsim_graph_of(a, d, "m.onnx", out.yaml, &(fsim_bindings){NULL, 0, NULL});
    if (!g)
        return printed(a, d);
    if (fsim_draft_check(out.draft, g) > 0)
        lines = fsim_printf(a, "%s%s", lines, printed(a, d));
    return lines;
}

typedef struct {
    const char *model, *dims, *wanted;
} row;

static void check(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *found = import(a, rows[i].model, rows[i].dims);
        if (strcmp(found, rows[i].wanted) != 0)
            print_error("%s\n", rows[i].model);
        assert_string_equal(found, rows[i].wanted);
        fsim_arena_free(a);
    }
}
#define CHECK(rows) check((rows), sizeof(rows) / sizeof *(rows))

static void what_computes_nothing_vanishes(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"input x f32 2,3\noutput y\nnode Identity x -> a\nnode Dropout a -> b\nnode Cast b -> c to=1\n"
         "node Relu c -> y\nnode Exp x -> dead\n",
         "", "relu x -> y\n"},
        /* a number is an attribute, not an operand */
        {"input x f32 2,3\noutput y\nconst two f32 - = 2\nnode Mul x,two -> a\nnode Sub two,a -> y\n", "",
         "mul x -> a scalar=2.0\nsub two,a -> y\n"},
        /* what is made of weights alone is a weight */
        {"input x f32 2,3\noutput y\nweight w f32 4,3\nnode Transpose w -> t\nnode MatMul x,t -> y\n", "",
         "matmul x,t -> y\n"},
        /* but not a part of one, or one repeated, and one that is read as it lies, too, is no second weight turned */
        {"input x f32 2,3\noutput y\nweight w f32 8,3\nconst a i64 2 = 1,2\nnode Gather w,a -> t\nnode Add x,t -> y\n",
         "", "slice w -> t dim=0 start=1 end=3\nadd x,t -> y\n"},
        {"input x f32 2,3\noutput y\nweight w f32 1,3\nconst s i64 2 = 2,3\nnode Expand w,s -> t\nnode Add x,t -> y\n",
         "", "expand w -> t shape=2,3\nadd x,t -> y\n"},
        {"input i i64 2\noutput y\nweight w f32 9,3\nnode Gather w,i -> x\nnode Transpose w -> t\n"
         "node MatMul x,t -> y\n",
         "", "embedding i,w -> x\nlinear x,w -> y\n"},
        /* what is nothing is not read */
        {"input x f32 2,3\noutput y\nweight w f32 2,3\nconst z f32 - = 0\nnode Mul w,z -> t\nnode Add x,t -> y\n", "",
         "add x -> y scalar=0.0\n"},
        /* as PyTorch's addmm: one product with its bias, whose weight stays as it lies */
        {"input x f32 2,3\noutput y\nweight w f32 3,4\nweight b f32 4\nnode Gemm x,w,b -> y\n", "",
         "permute w -> y.weight dim=1,0\nlinear x,y.weight,b -> y\n"},
        /* arithmetic on shapes */
        {"input x f32 2,3,4\noutput y\nconst i i64 1 = 0\nconst r i64 1 = -1\nnode Shape x -> s\n"
         "node Gather s,i -> n\nnode Concat n,r -> to axis=0\nnode Reshape x,to -> y\n",
         "", "reshape x -> y shape=2,12\n"},
        /* positions */
        {"input x i64 2,5\noutput y\nweight w f32 9,4\nconst o i64 - = 1\nconst z i64 - = 0\nnode Shape x -> s\n"
         "node Gather s,o -> n\nnode Range z,n,o -> p\nnode Gather w,p -> y\n",
         "", "arange -> p start=0 end=5 step=1 dtype=i64\nembedding p,w -> y\n"},
    };
    CHECK(rows);
}

static void dimensions_have_names_and_places(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"input x f32 n,m\ninput y f32 n*m,m+1\noutput z\noutput u\nnode Relu x -> z\nnode Relu y -> u\n", "n=2 m=3",
         "relu x -> z\nrelu y -> u\n"},
        {"input x f32 n,?\noutput z f32 n,4\nnode Relu x -> z\n", "n=2 x:1=4", "relu x -> z\n"},
        {"input x f32 n,m\noutput z f32 m,n\nnode Transpose x -> z\n", "x:0=2 m=3", "permute x -> z dim=1,0\n"},
        {"input x f32 n,m\noutput z f32 n,m\nnode Transpose x -> z\n", "n=2 m=3",
         "permute x -> z dim=1,0\nm.onnx: warning: 'z' is f32 [2, 3] in the file, and f32 [3, 2] by its operator\n"},
        {"input x f32 floor(n/2),max(n;m)\noutput z f32 3,7\nnode Relu x -> z\n", "n=6 m=7", "relu x -> z\n"},
        /* a place whose size is an expression gives its name, not that length */
        {"input x f32 n*2-1,m\noutput z f32 17,4\nnode Relu x -> z\n", "x:0=17 m=4", "relu x -> z\n"},
        {"input x f32 n*m,2\ninput y f32 n\noutput z\noutput u f32 3\nnode Relu x -> z\nnode Relu y -> u\n",
         "x:0=12 m=4", "relu x -> z\nrelu y -> u\n"},
        {"input x f32 n*2-1,2\noutput z\nnode Relu x -> z\n", "x:0=12",
         "m.onnx: error: --dim x:0=12: no 'n' makes 'n*2-1' so long\n"},
        {"input x f32 n*2-1,2\noutput z\nnode Relu x -> z\n", "x:0=17 n=8",
         "fusesim: error: --dim x:0=17: it is 15, by what else is given for 'n*2-1'\n"},
        {"input x f32 n*,2\noutput z\nnode Relu x -> z\n", "n=6",
         "m.onnx: error: dimension 'n*' of input 'x' is no expression of names\n"},
        {"input x f32 -3,2\noutput z\nnode Relu x -> z\n", "", "m.onnx: error: dimension 0 of input 'x' is -3\n"},
    };
    CHECK(rows);
}

static void weights_may_be_inputs(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const pb file = onnx_model(a, "input x f32 2,3\ninput mask f32 2,4\ninput w f32 3,4\ninput b f32 4\noutput y\n"
                                  "node MatMul x,w -> p\nnode Add p,b -> q\nnode Add q,mask -> y\n");
    fsim_dims none = {0};
    fsim_diag *d = fsim_diag_new(a);
    const fsim_onnx_import *m =
        fsim_onnx_open(a, d, &(fsim_import_source){"m.onnx", file.at, file.bytes}, &none, false);
    assert_non_null(m);
    assert_int_equal(m->parameters, 16);
    assert_true(fsim_onnx_lookup(m, "b")->constant);
    assert_false(fsim_onnx_lookup(m, "mask")->constant);
    fsim_arena_free(a);
}

static void control_flow_is_unrolled(void **unused)
{
    (void)unused;
    static const char branches[] = "begin\noutput p\nnode Relu x -> p\nend then_branch\n"
                                   "begin\noutput q\nnode Exp x -> q\nend else_branch\n";
    fsim_arena *a = fsim_arena_new();
    const char *known = fsim_printf(a,
                                    "input x f32 n,3\noutput y\nconst one i64 1 = 1\nconst i i64 1 = 0\n"
                                    "node Shape x -> s\nnode Gather s,i -> k\nnode Equal k,one -> c\n"
                                    "%snode If c -> y\n",
                                    branches);
    const char *data = fsim_printf(a, "input x f32 2,3\ninput c bool 1\noutput y\n%snode If c -> y\n", branches);
    static const char loop[] = "input x f32 2,3\noutput y\noutput all\nconst n i64 - = 3\n"
                               "begin\ninput i i64\ninput c bool\ninput v f32\noutput c\noutput w\noutput t\n"
                               "node Exp v -> w\nnode Relu v -> t\nend body\nnode Loop n,,x -> y,all\n";
    static const char endless[] = "input x f32 2,3\noutput y\nconst n i64 - = 5000\n"
                                  "begin\ninput i i64\ninput c bool\ninput v f32\noutput c\noutput w\n"
                                  "node Exp v -> w\nend body\nnode Loop n,,x -> y\n";
    /* The count is data; the count is what exporters write for "until the condition fails", and the condition is data.
     */
    static const char counted[] = "input x f32 2,3\ninput n i64 -\noutput y\n"
                                  "begin\ninput i i64\ninput c bool\ninput v f32\noutput c\noutput w\n"
                                  "node Exp v -> w\nend body\nnode Loop n,,x -> y\n";
    static const char until[] = "input x f32 2,3\ninput p bool 1\noutput y\nconst n i64 - = 9223372036854775807\n"
                                "const go bool - = 1\n"
                                "begin\ninput i i64\ninput c bool\ninput v f32\noutput p\noutput w\n"
                                "node Exp v -> w\nend body\nnode Loop n,go,x -> y\n";
    static const char scan[] = "input h f32 4\ninput x f32 2,4\noutput y\noutput all\n"
                               "begin\ninput s f32\ninput e f32\noutput t\noutput u\nnode Add s,e -> t\n"
                               "node Relu t -> u\nend body\nnode Scan h,x -> y,all num_scan_inputs=1\n";
    const row rows[] = {
        {known, "n=1", "relu x -> p\n"},
        {known, "n=2", "exp x -> q\n"},
        {data, "",
         "m.onnx: node 0 'If': warning: the condition of an If is data: counted is the branch of more nodes, which is "
         "taken where it holds\nrelu x -> p\n"},
        {"input x f32 2,3\ninput c bool 1\noutput y\nbegin\noutput p\nnode Relu x -> p\nend then_branch\n"
         "begin\noutput q\nnode Exp x -> e\nnode Neg e -> q\nend else_branch\nnode If c -> y\n",
         "",
         "m.onnx: node 0 'If': warning: the condition of an If is data: counted is the branch of more nodes, which is "
         "taken where it does not hold\nexp x -> e\nneg e -> q\n"},
        {loop, "",
         "exp x -> w\nrelu x -> t\nexp w -> w_1\nrelu w -> t_1\nexp w_1 -> w_2\nrelu w_1 -> t_2\n"
         "stack t,t_1,t_2 -> all dim=0\n"},
        {counted, "",
         "m.onnx: node 0 'Loop': warning: how often a Loop runs is data: counted is one pass; --dim y:passes=N says "
         "how "
         "often\nexp x -> w\n"},
        {counted, "y:passes=2", "exp x -> w\nexp w -> w_1\n"},
        {until, "",
         "m.onnx: node 0 'Loop': warning: the condition of a Loop is data: counted is 1 pass; --dim y:passes=N says "
         "how "
         "many\nexp x -> w\n"},
        {until, "y:passes=3", "exp x -> w\nexp w -> w_1\nexp w_1 -> w_2\n"},
        {endless, "", "m.onnx: node 0 'Loop': error: Loop: it runs 5000 times; at most 4096 passes are unrolled\n"},
        {scan, "",
         "select x -> y.element dim=0 index=0\nadd h,y.element -> t\nrelu t -> u\n"
         "select x -> y.element_1 dim=0 index=1\nadd t,y.element_1 -> t_1\nrelu t_1 -> u_1\n"
         "stack u,u_1 -> all dim=0\n"},
    };
    CHECK(rows);
    fsim_arena_free(a);
}

static void functions_are_inlined(void **unused)
{
    (void)unused;
    static const row rows[] = {
        /* one in another, with attributes that are handed on, and one that it has by default */
        {"input x f32 2,3,4\noutput y\n"
         "function d Outer a -> b axis\nnode Inner a -> b in=d axis=$axis\nend\n"
         "function d Inner a -> b axis keep=0\nnode Flatten a -> t axis=$axis\nnode Relu t -> b\nend\n"
         "node Outer x -> y in=d name=/block.0/Outer axis=2\n",
         "",
         "reshape x -> block.0.Outer.Inner.t layer=block.0 shape=6,4\n"
         "relu block.0.Outer.Inner.t -> block.0.Outer.Inner.b layer=block.0\n"},
        /* an input that the call leaves out is left out inside, too */
        {"input x f32 2,3\noutput y\nfunction d F a,b -> c\nnode Clip a,b -> t\nnode Relu t -> c\nend\n"
         "node F x, -> y in=d\n",
         "", "clamp x -> F.t\nrelu F.t -> F.c\n"},
        /* a function of another domain that is called like an operator is not that operator */
        {"input x f32 2,3\noutput y\nfunction d Relu a -> b\nnode Exp a -> b\nend\nnode Relu x -> t in=d\n"
         "node Relu t -> y\n",
         "", "exp x -> Relu.b\nrelu Relu.b -> y\n"},
        {"input x f32 2,3\noutput y\nfunction d F a -> b\nnode F a -> b in=d\nend\nnode F x -> y in=d\n", "",
         "m.onnx: node 0 'F': error: F: calls of local functions nest deeper than 64\n"},
    };
    CHECK(rows);
}

static void nodes_say_their_layer(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"input x f32 2,3\noutput y\nnode Relu x -> a name=/encoder/layer.0/act/Relu\n"
         "node Relu a -> b name=/blocks/blocks.1/act/Relu\nnode Relu b -> y name=Relu_7\n",
         "", "relu x -> a layer=encoder.layer.0.act\nrelu a -> b layer=blocks.1.act\nrelu b -> y\n"},
        {"input x f32 2,3\noutput y\n"
         "node Relu x -> y layer=:~Model/stages.0:~torch.Stage/stages.0.act:~torch.GELU/gelu:~aten.gelu\n",
         "", "relu x -> y layer=stages.0.act\n"},
        /* nothing is said: the names of weights tell */
        {"input x f32 2,3\noutput y\nweight h.3.fc.weight f32 3,3\nweight norm.weight f32 3\nnode Exp x -> a\n"
         "node MatMul a,h.3.fc.weight -> b\nnode Relu b -> c\nnode Mul c,norm.weight -> d\nnode Relu d -> y\n",
         "",
         "exp x -> a\nmatmul a,h.3.fc.weight -> b layer=h.3.fc\nrelu b -> c layer=h.3\n"
         "mul c,norm.weight -> d layer=norm\nrelu d -> y\n"},
    };
    CHECK(rows);
}

static void what_exporters_write_out_is_found_again(void **unused)
{
    (void)unused;
    static const char layer_norm[] =
        "input x f32 2,8\noutput y\nweight fc.weight f32 8\nweight fc.bias f32 8\nconst two f32 - = 2\n"
        "const eps f32 - = 1\nnode ReduceMean x -> m axes=[-1]\nnode Sub x,m -> c\nnode Pow c,two -> p\n"
        "node ReduceMean p -> v axes=[-1]\nnode Add v,eps -> e\nnode Sqrt e -> s\nnode Div c,s -> n\n"
        "node Mul n,fc.weight -> w\nnode Add w,fc.bias -> y\n";
    static const char sdpa[] =
        "input q f32 1,2,8,4\ninput k f32 1,8,2,4\ninput v f32 1,2,8,4\noutput y\nconst h f32 - = 0.5\n"
        "node Transpose k -> t perm=[0,2,3,1]\nnode Mul q,h -> qs\nnode Mul t,h -> ks\nnode MatMul qs,ks -> s\n";
    static const char causal[] =
        "const one f32 - = 1\nconst none f32 - = 0\nconst inf f32 - = -inf\nconst size i64 2 = 8,8\nconst d i64 - = "
        "%d\n"
        "node Expand one,size -> ones\nnode Trilu ones,d -> low upper=0\nnode Equal low,none -> high\n"
        "node Where high,inf,none -> b\n%snode Add s,b -> m\n%s";
    static const char tail[] = "node Softmax m -> p axis=-1\nnode MatMul p,v -> y\n";
    fsim_arena *a = fsim_arena_new();
    const row rows[] = {
        {layer_norm, "", "layer_norm x,fc.weight,fc.bias -> y layer=fc eps=1\n"},
        /* somebody else reads a step: it stays as it is written */
        {fsim_printf(a, "%soutput s\n", layer_norm), "",
         "mean x -> m dim=1 keepdim=true\nsub x,m -> c\npow c -> p scalar=2.0\nmean p -> v dim=1 keepdim=true\n"
         "add v -> e scalar=1.0\nsqrt e -> s\ndiv c,s -> n\nmul n,fc.weight -> w layer=fc\n"
         "add w,fc.bias -> y layer=fc\n"},
        {"input x f32 2,8\noutput y\nconst r f32 - = 1.4142135\nconst one f32 - = 1\nconst half f32 - = 0.5\n"
         "node Div x,r -> d\nnode Erf d -> e\nnode Add e,one -> a\nnode Mul x,a -> p\nnode Mul p,half -> y\n",
         "", "gelu x -> y\n"},
        {"input q f32 1,2,8,4\ninput k f32 1,8,2,4\ninput v f32 1,2,8,4\noutput y\nconst h f32 - = 0.5\n"
         "node Transpose k -> t perm=[0,2,3,1]\nnode Mul q,h -> qs\nnode Mul t,h -> ks\nnode MatMul qs,ks -> s\n"
         "node Softmax s -> p axis=-1\nnode MatMul p,v -> y\n",
         "", "permute k -> t dim=0,2,1,3\nattention q,t,v -> y scale=0.25\n"},
        /* with a mask that is added, and with one that a bias of 0 and minus infinity was made of */
        {fsim_printf(a, "%sinput b f32 8,8\nnode Add s,b -> m\n%s", sdpa, tail), "",
         "permute k -> t dim=0,2,1,3\nattention q,t,v,b -> y scale=0.25\n"},
        {fsim_printf(a,
                     "%sinput c bool 1,1,8,8\nconst none f32 - = 0\nconst inf f32 - = -inf\n"
                     "node Where c,none,inf -> b\nnode Add s,b -> m\n%s",
                     sdpa, tail),
         "", "permute k -> t dim=0,2,1,3\nattention q,t,v,c -> y scale=0.25\n"},
        /* the mask of causal attention as the exporter makes it, and one that also shows the next key */
        {fsim_printf(a, causal, 0, sdpa, tail), "",
         "permute k -> t dim=0,2,1,3\nattention q,t,v -> y scale=0.25 causal=true\n"},
        {fsim_printf(a, causal, 1, sdpa, tail), "", "permute k -> t dim=0,2,1,3\nattention q,t,v,b -> y scale=0.25\n"},
        /* three masks for one batch: no mask of these scores */
        {fsim_printf(a, "%sinput b f32 3,2,8,8\nnode Add s,b -> m\n%s", sdpa, tail), "",
         "permute k -> t dim=0,2,3,1\nmul q -> qs scalar=0.5\nmul t -> ks scalar=0.5\nmatmul qs,ks -> s\n"
         "add s,b -> m\nsoftmax m -> p dim=-1\nmatmul p,v -> y\n"},
        {"input x f32 2,8\noutput y\nnode Sigmoid x -> s\nnode Mul x,s -> y\n", "", "silu x -> y\n"},
        {"input x f32 2,8\noutput y\nnode Sigmoid x -> s\nnode Relu x -> r\nnode Mul r,s -> y\n", "",
         "sigmoid x -> s\nrelu x -> r\nmul r,s -> y\n"},
        /* the exporter's own name of a weight: it was transposed */
        {"input x f32 2,3,8\noutput y\nweight onnx::MatMul_7 f32 8,4\nweight b f32 4\n"
         "node MatMul x,onnx::MatMul_7 -> p\nnode Add b,p -> y\n",
         "", "linear x,MatMul_7,b -> y\n"},
        {"input x f32 2,3,8\noutput y\nweight w f32 8,4\nweight b f32 4\nnode MatMul x,w -> p\nnode Add b,p -> y\n", "",
         "matmul x,w -> p\nadd b,p -> y\n"},
    };
    CHECK(rows);
    fsim_arena_free(a);
}

/* Content decides: a model whose version stands behind its graph is a model, part of one is not. */
static void fields_in_any_order(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const pb file = onnx_model(a, "input x f32 2,8\noutput y\nnode Relu x -> y\n");
    char *turned = fsim_new(a, char, file.bytes);
    assert_int_equal(file.at[0], 0x08);
    memcpy(turned, file.at + 2, file.bytes - 2);
    memcpy(turned + file.bytes - 2, file.at, 2);
    assert_int_equal(fsim_format_of(turned, file.bytes), FSIM_FORMAT_ONNX);
    assert_int_equal(fsim_format_of(turned, file.bytes - 1), FSIM_FORMAT_YAML);
    assert_int_equal(fsim_format_of(turned, file.bytes / 2), FSIM_FORMAT_YAML);
    const fsim_workload_wanted how = {0};
    assert_non_null(fsim_graph_load_text(a, fsim_diag_new(a), "m", turned, file.bytes, &how));
    static const char *const texts[] = {"", ":", "repeat: 2\n", "\"name\": x\n", "(\1:\177", "B\1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(fsim_format_of(texts[i], strlen(texts[i])), FSIM_FORMAT_YAML);
    fsim_arena_free(a);
}

static void unknown_operators_cost_a_copy(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"input x f32 2,3\noutput y f32 5\nnode Strange x -> t in=own\nnode Strange t -> y in=own\n", "",
         "m.onnx: warning: operator 'own:Strange' is not known (2 times): it costs a copy of its inputs\n"
         "m.onnx: node 0 'Strange': warning: the file has no shape for 't': taken as that of its first input, [2, 3]\n"
         "custom x -> t shape=2,3 dtype=f32\ncustom t -> y shape=5 dtype=f32\n"},
        {"input x f32 2,3\ninput s i64 2\noutput y f32 3,2\nnode Reshape x,s -> y\n", "", "reshape x -> y shape=3,2\n"},
        {"input x f32 2,3\ninput s i64 2\noutput y\nnode Tile x,s -> y\n", "",
         "m.onnx: node 0 'Tile': error: Tile: its input 's' is not known before the model runs, and the file has no "
         "shape for 'y'\n"},
        {"input x f32 7\noutput y\nnode NonZero x -> y\n", "y:1=3",
         "m.onnx: warning: operator 'NonZero' is not known: it costs a copy of its inputs\n"
         "custom x -> y shape=1,3 dtype=i64\n"},
    };
    CHECK(rows);
}

static void wrong_models_are_refused(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"input x f32 2\noutput y\nnode Add x,z -> y\n", "",
         "m.onnx: node 0 'Add': error: Add: it reads 'z', which is no input and nothing makes\n"},
        {"input x f32 2\noutput y\nnode Add x,b -> a name=one\nnode Relu a -> b\nnode Relu b -> y\n", "",
         "m.onnx: error: node 1 'Relu' needs its own result: the graph has a cycle\n"},
        {"input x f32 2\noutput y\nnode Relu x -> y\nnode Exp x -> y\n", "", "m.onnx: error: two nodes make 'y'\n"},
        {"input x f32 2\ninput x f32 2\noutput y\nnode Relu x -> y\n", "", "m.onnx: error: 'x' is made twice\n"},
        {"input x f32 2\noutput y\noutput z\nnode Relu x -> y\n", "", "m.onnx: error: nothing makes the output 'z'\n"},
        {"opset 24\ninput x f32 2\noutput y\nnode Relu x -> y\n", "",
         "m.onnx: error: operators of opset 24; supported are opsets 6 to 23\n"},
        {"input x f32 2,3\ninput y f32 4,3\noutput z\nnode Add x,y -> z\n", "",
         "m.onnx: node 0 'Add': error: Add: shapes [2, 3] and [4, 3] do not broadcast\n"},
        {"input x f32 1048576,1024\noutput y\nconst r i64 2 = 1,524288\nnode Tile x,r -> y\n", "",
         "m.onnx: node 0 'Tile': error: Tile: its result is too large: [1048576, 536870912]\n"},
        {"input x f32 2,3\noutput y\nnode Flatten x -> y axis=1.5\n", "",
         "m.onnx: node 0 'Flatten': error: Flatten: attribute 'axis' is of type 1; wanted an integer\n"},
        {"input x f32 2,3\noutput y\nconst c f32 - = 1\nnode Identity c -> y\n", "", "copy c -> y\n"},
        /* nodes may stand in any order */
        {"input x f32 2\noutput y\nnode Exp a -> y\nnode Relu x -> a\n", "", "relu x -> a\nexp a -> y\n"},
    };
    CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_computes_nothing_vanishes),
        cmocka_unit_test(dimensions_have_names_and_places),
        cmocka_unit_test(weights_may_be_inputs),
        cmocka_unit_test(control_flow_is_unrolled),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(nodes_say_their_layer),
        cmocka_unit_test(what_exporters_write_out_is_found_again),
        cmocka_unit_test(fields_in_any_order),
        cmocka_unit_test(unknown_operators_cost_a_copy),
        cmocka_unit_test(wrong_models_are_refused),
    };
    return cmocka_run_group_tests_name("onnx_import", tests, NULL, NULL);
}
