/* SPDX-License-Identifier: Apache-2.0 */
/* aten_norm.c: norms. Those of core ATen also give statistics, mostly unread. */
#include "import/torch/aten.h"
#include "import/torch/import.h"

#include <string.h>

/* x's last `count` dimensions as one: [rows, rest]. */
static fsim_shape rows_and_rest(const fsim_torch_value *x, int count)
{
    fsim_shape s = {.rank = 2, .dim = {1, 1}};
    for (int i = 0; i < x->shape.rank; i++)
        s.dim[i >= x->shape.rank - count] *= x->shape.dim[i];
    return s;
}

/* The mean over the last dimension of rows[n, m], which stays. */
static fsim_torch_value *mean_of_rows(fsim_aten *c, const char *what, fsim_torch_value *x)
{
    if (!x)
        return NULL;
    const fsim_shape s = {.rank = 2, .dim = {x->shape.dim[0], 1}};
    x = fsim_aten_step(c, "mean", FSIM_AS(what, &s, x->dtype), 1, &x);
    if (x) {
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){-1});
        fsim_draft_flag(c->x, "keepdim", true);
    }
    return x;
}

static fsim_torch_value *square_of(fsim_aten *c, fsim_torch_value *x)
{
    return x ? fsim_aten_step(c, "square", FSIM_AS("square", &x->shape, x->dtype), 1, &x) : NULL;
}

/* 1 / sqrt(mean + eps) */
static fsim_torch_value *root_of(fsim_aten *c, fsim_torch_value *mean, double eps)
{
    if (!mean)
        return NULL;
    mean = fsim_aten_step(c, "add", FSIM_AS("eps", &mean->shape, mean->dtype), 1, &mean);
    if (mean)
        fsim_draft_number(c->x, "scalar", eps);
    return mean ? fsim_aten_step(c, "rsqrt", FSIM_AS("root", &mean->shape, mean->dtype), 1, &mean) : NULL;
}

/* Outputs k and k + 1: the mean and the reciprocal of the deviation, of rows that end in `count` dimensions. Nothing
 * where nobody reads them. */
static bool statistics(fsim_aten *c, int k, fsim_torch_value *x, const fsim_shape *rows, double eps)
{
    const bool mean_read = k < c->outs && c->out[k] && c->read[k];
    const bool root_read = k + 1 < c->outs && c->out[k + 1] && c->read[k + 1];
    if (!mean_read && !root_read)
        return true;
    x = fsim_aten_reshaped(c, fsim_aten_cast(c, x, c->out[mean_read ? k : k + 1]->dtype), rows);
    if (!x)
        return false;
    fsim_torch_value *mean = mean_of_rows(c, "mean", x);
    if (!mean || (mean_read && !fsim_aten_reshape(c, k, mean)))
        return false;
    if (!root_read)
        return true;
    x = fsim_aten_step(c, "sub", FSIM_AS("beside", rows, x->dtype), 2, (fsim_torch_value *[2]){x, mean});
    return fsim_aten_reshape(c, k + 1, root_of(c, mean_of_rows(c, "var", square_of(c, x)), eps));
}

/* x, then weight, then bias; a bias without a weight has one of ones. */
static int with_sides(fsim_aten *c, fsim_torch_value *x, fsim_torch_value *in[3])
{
    in[0] = x;
    in[1] = fsim_aten_tensor(c, "weight");
    in[2] = fsim_aten_tensor(c, "bias");
    if (in[2] && !in[1])
        in[1] = fsim_aten_expanded(c, fsim_aten_constant(c, 1, true, x->dtype), &in[2]->shape);
    return 1 + (in[1] != NULL) + (in[2] != NULL);
}

bool fsim_aten_op_layer_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *in[3];
    int64_t shape[16];
    const int count = fsim_aten_ints(c, "normalized_shape", shape);
    const double eps = fsim_aten_number(c, "eps", 1e-5);
    if (!x || count < 1 || count > x->shape.rank)
        return false;
    const fsim_shape rows = rows_and_rest(x, count);
    if (!fsim_aten_make(c, 0, "layer_norm", with_sides(c, x, in), in))
        return false;
    fsim_draft_ints(c->x, "normalized_shape", count, shape);
    fsim_draft_number(c->x, "eps", eps);
    return statistics(c, 1, x, &rows, eps);
}

bool fsim_aten_op_rms_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *in[2] = {x, fsim_aten_tensor(c, "weight")};
    int64_t shape[16];
    const int count = fsim_aten_ints(c, "normalized_shape", shape);
    const double eps = fsim_aten_number(c, "eps", x && x->dtype == FSIM_F64 ? 2.2e-16 : 1.2e-7);
    if (!x || count < 1 || count > x->shape.rank)
        return false;
    const fsim_shape rows = rows_and_rest(x, count);
    if (!fsim_aten_make(c, 0, "rms_norm", 1 + (in[1] != NULL), in))
        return false;
    fsim_draft_flag(c->x, "fused", true);
    fsim_draft_ints(c->x, "normalized_shape", count, shape);
    fsim_draft_number(c->x, "eps", eps);
    if (c->outs < 2 || !c->out[1] || !c->read[1])
        return true;
    x = fsim_aten_reshaped(c, fsim_aten_cast(c, x, c->out[1]->dtype), &rows);
    return fsim_aten_reshape(c, 1, root_of(c, mean_of_rows(c, "mean_square", square_of(c, x)), eps));
}

bool fsim_aten_op_group_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *in[3];
    const int64_t groups = fsim_aten_int(c, "num_groups|group", 1);
    const double eps = fsim_aten_number(c, "eps", 1e-5);
    if (!x || x->shape.rank < 2 || groups < 1 || x->shape.dim[1] % groups != 0)
        return false;
    if (!fsim_aten_make(c, 0, "group_norm", with_sides(c, x, in), in))
        return false;
    fsim_draft_int(c->x, "groups", groups);
    fsim_draft_number(c->x, "eps", eps);
    const int64_t rows = x->shape.dim[0] * groups;
    const fsim_shape flat = {.rank = 2, .dim = {rows, fsim_aten_elems(&x->shape) / rows}};
    return statistics(c, 1, x, &flat, eps);
}

bool fsim_aten_op_instance_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *in[3];
    if (!x || !fsim_aten_make(c, 0, "instance_norm", with_sides(c, x, in), in))
        return false;
    fsim_draft_number(c->x, "eps", fsim_aten_number(c, "eps", 1e-5));
    return true;
}

/* A vector of so many channels, of one number. */
static fsim_torch_value *channels_of(fsim_aten *c, double value, int64_t channels, fsim_dtype dtype)
{
    const fsim_shape s = {.rank = 1, .dim = {channels}};
    fsim_torch_value *v = fsim_aten_step(c, "fill", FSIM_AS("channels", &s, dtype), 0, NULL);
    fsim_draft_ints(c->x, "shape", 1, &channels);
    fsim_draft_number(c->x, "value", value);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[dtype]);
    return v;
}

/* The channels' statistics over the batch, as rows of a transposed x. */
static fsim_torch_value *channels_first(fsim_aten *c, fsim_torch_value *x)
{
    const fsim_shape three = {
        .rank = 3,
        .dim = {x->shape.dim[0], x->shape.dim[1], fsim_aten_elems(&x->shape) / (x->shape.dim[0] * x->shape.dim[1])}};
    const fsim_shape turned = {.rank = 3, .dim = {three.dim[1], three.dim[0], three.dim[2]}};
    x = fsim_aten_reshaped(c, x, &three);
    x = x ? fsim_aten_step(c, "permute", FSIM_AS("channels", &turned, x->dtype), 1, &x) : NULL;
    if (x)
        fsim_draft_ints(c->x, "dim", 3, (int64_t[3]){1, 0, 2});
    return x;
}

/* Does anything read output k? */
static bool is_read(const fsim_aten *c, int k) { return k < c->outs && c->out[k] && c->read[k]; }

/* The batch's own statistics, where they are saved and no running ones are kept. */
static bool saved_statistics(fsim_aten *c, fsim_torch_value *x)
{
    if (!is_read(c, 1) && !is_read(c, 2))
        return true;
    fsim_torch_value *y = channels_first(c, x), *mean, *var;
    if (!y)
        return false;
    const fsim_shape rows = {.rank = 2, .dim = {y->shape.dim[0], y->shape.dim[1] * y->shape.dim[2]}};
    y = fsim_aten_reshaped(c, y, &rows);
    mean = mean_of_rows(c, "mean", y);
    y = mean ? fsim_aten_step(c, "sub", FSIM_AS("beside", &rows, y->dtype), 2, (fsim_torch_value *[2]){y, mean}) : NULL;
    var = mean_of_rows(c, "var", square_of(c, y));
    return var && (!is_read(c, 1) || fsim_aten_reshape(c, 1, mean)) &&
           (!is_read(c, 2) || fsim_aten_reshape(c, 2, root_of(c, var, fsim_aten_number(c, "eps", 1e-5))));
}

/* A batch norm that moves its running statistics: they are results, outputs of a functional form, and otherwise what
 * the buffers hold from now on. */
static bool running_norm(fsim_aten *c, fsim_torch_value *const in[5])
{
    enum { MEAN = 1, VAR, OWN_MEAN, OWN_RSTD, MOST };
    const bool functional = strstr(c->op, "functional") != NULL, saves = is_read(c, 1) || is_read(c, 2);
    const char **name = fsim_torch_names(c, 5, in), *out[MOST], *y = fsim_torch_wanted(c, c->out[0]);
    static const char *const word[MOST] = {"", "running_mean", "running_var", "mean", "rstd"};
    const int outs = saves ? MOST : OWN_MEAN, first = c->outs - 2;
    if (!name || (functional && (first < 1 || !c->out[first] || !c->out[first + 1])))
        return false;
    for (int i = 0; i < outs; i++) {
        const bool own = i == 0 || (functional && i < OWN_MEAN);
        out[i] = own ? fsim_torch_wanted(c, c->out[i ? first + i - MEAN : 0]) : fsim_printf(c->a, "%s.%s", y, word[i]);
    }
    fsim_draft_op_outs(c->x, "batch_norm", 5, name, outs, out);
    c->out[0]->tensor = out[0];
    fsim_draft_expect(c->x, out[0], &c->out[0]->shape, c->out[0]->dtype);
    for (int i = MEAN; i <= VAR; i++) {
        fsim_torch_value *v = functional ? c->out[first + i - MEAN] : in[2 + i];
        v->tensor = out[i];
        v->reads = functional ? v->reads : 0;
        v->mutated = v->mutated || !functional;
        fsim_draft_expect(c->x, out[i], &v->shape, v->dtype);
    }
    fsim_draft_flag(c->x, "training", true);
    fsim_draft_number(c->x, "momentum", fsim_aten_number(c, "momentum", 0.1));
    fsim_draft_number(c->x, "eps", fsim_aten_number(c, "eps", 1e-5));
    for (int k = 1; k <= 2 && saves; k++) {
        fsim_torch_value *v = fsim_new(c->a, fsim_torch_value, 1);
        *v = (fsim_torch_value){
            .shape = in[3]->shape, .dtype = in[0]->dtype, .dim = -1, .tensor = out[OWN_MEAN + k - 1]};
        if (is_read(c, k) && !fsim_aten_reshape(c, k, fsim_aten_cast(c, v, c->out[k]->dtype)))
            return false;
    }
    return true;
}

bool fsim_aten_op_batch_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    fsim_torch_value *running[2] = {fsim_aten_tensor(c, "running_mean"), fsim_aten_tensor(c, "running_var")};
    if (!x || x->shape.rank < 2)
        return false;
    const bool training = (fsim_aten_flag(c, "training", strstr(c->op, "functional") != NULL) || !running[0]) &&
                          !strstr(c->op, "no_training") && !strstr(c->op, "no_update");
    const int64_t channels = x->shape.dim[1];
    fsim_torch_value *weight = fsim_aten_tensor(c, "weight"), *bias = fsim_aten_tensor(c, "bias");
    if (training && !running[0] && !running[1] && !weight && !bias) {
        if (!fsim_aten_make(c, 0, "batch_norm", 1, &x))
            return false;
        fsim_draft_flag(c->x, "training", true);
        fsim_draft_number(c->x, "eps", fsim_aten_number(c, "eps", 1e-5));
        return saved_statistics(c, x);
    }
    fsim_torch_value *in[5] = {x, weight ? weight : channels_of(c, 1, channels, x->dtype),
                               bias ? bias : channels_of(c, 0, channels, x->dtype), running[0], running[1]};
    if (training && running[0] && running[1])
        return running_norm(c, in);
    if (!fsim_aten_make(c, 0, "batch_norm", training ? 3 : 5, in))
        return false;
    if (training)
        fsim_draft_flag(c->x, "training", true);
    fsim_draft_number(c->x, "eps", fsim_aten_number(c, "eps", 1e-5));
    return !training || saved_statistics(c, x);
}

bool fsim_aten_op_normalize(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, "normalize", 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){fsim_aten_int(c, "dim", 1)});
    return true;
}
