/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/trained.h"

#include "cost/collective.h"
#include "serving/constants.h"
#include "serving/deployed.h"
#include <math.h>

const char *fsim_untrained(const fsim_model *m, fsim_arena *a)
{
    if (m->kind != FSIM_DECODER)
        return fsim_printf(a, "%s is no decoder: %s; decoders alone are priced when they are trained", m->name,
                           fsim_model_kind_names[m->kind]);
    if (m->experts || m->kv_lora)
        return fsim_printf(a, "%s has %s: only dense decoders are priced when they are trained", m->name,
                           m->experts ? "experts" : "latent attention");
    return NULL;
}

bool fsim_is_way(const fsim_training *t, const fsim_sharing *w)
{
    const fsim_model *m = t->model;
    const int64_t copies = w->dp * w->micro;
    return !fsim_unshared(m, w->tp, 1, t->arena) && m->layers >= w->pp * w->chunks && w->batch % copies == 0 &&
           (w->chunks == 1 || (w->batch / copies) % w->pp == 0);
}

fsim_layer_price fsim_layer_priced(const fsim_training *t, const fsim_hw *hw, int64_t tp, int64_t micro)
{
    enum { BACKWARD_OF_A_PRODUCT = 2 };
    const fsim_model *m = t->model;
    const int64_t columns = (m->vocab + tp - 1) / tp;
    const double logits = (double)(micro * t->length * columns);
    double both_s[2], again_s[2]; /* of one and of two layers; the same where backward computes them again */
    const char *of =
        fsim_printf(t->arena, "B=%lld;S=%lld;H=%lld;heads=%lld;kv_heads=%lld;D=%lld;F=%lld;tp=%lld", (long long)micro,
                    (long long)t->length, (long long)m->hidden, (long long)m->heads, (long long)m->kv_heads,
                    (long long)m->head_dim, (long long)fsim_priced_width(m), (long long)tp);
    for (int i = 0; i < 2; i++) { /* the first layer's input needs no gradient: the second is as all others */
        const char *set =
            fsim_printf(t->arena, "layers=%d;%s;dtype=amp_bf16;sharding=FULL_SHARD;gpus=1000000", i + 1, of);
        both_s[i] = fsim_training_step_s(t->steps, hw->name, "llm/dense_train", set);
        again_s[i] = fsim_training_step_s(t->steps, hw->name, "llm/dense_train",
                                          fsim_printf(t->arena, "%s;checkpoint=True", set));
    }
    const char *product = fsim_printf(t->arena, "M=%lld;N=%lld;K=%lld;dtype=bf16", (long long)(micro * t->length),
                                      (long long)columns, (long long)m->hidden);
    return (fsim_layer_price){.both_s = both_s[1] - both_s[0],
                              .again_s = again_s[1] - again_s[0] - (both_s[1] - both_s[0]),
                              .head_s = (1 + BACKWARD_OF_A_PRODUCT) *
                                            fsim_eager_step_s(t->steps, hw->name, "ops/matmul", product) +
                                        logits * loss_traffic / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH)};
}

/* Copies of the model that have GPUs in the same node. */
static int64_t near_copies(const fsim_machine *on, const fsim_sharing *w)
{
    const int64_t most = on->gpus / w->tp;
    return w->dp < most ? w->dp : most < 1 ? 1 : most;
}

/* Seconds of a collective of the dp copies. bytes: of the larger buffer, on each GPU. Inside a node they use its links,
 * and between nodes each of its GPUs sends a part. */
static double between_copies_s(const fsim_machine *on, const fsim_sharing *w, fsim_op op, double bytes)
{
    const double near = (double)near_copies(on, w), all = (double)w->dp;
    double time_s = near > 1 ? fsim_collective_s(on->hw, op, bytes, near, false) : 0;
    if (all > near)
        time_s = fmax(time_s,
                      bytes * (all - 1) / all / (near * fsim_machine_network(on)) + network_call_s * log2(all / near));
    return time_s;
}

/* Layers of the fullest stage: as many for each of its chunks. */
static double staged(const fsim_training *t, const fsim_sharing *w)
{
    return ceil((double)t->model->layers / (double)(w->pp * w->chunks)) * (double)w->chunks;
}

/* Parameters of a GPU before copies share them out. */
static double own_parameters(const fsim_training *t, const fsim_sharing *w)
{
    return (double)t->model->parameters / (double)w->tp * staged(t, w) / (double)t->model->layers;
}

/* Seconds of the exchange between copies that their work does not hide; slot_s: of a micro-batch. */
static double exposed_s(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w, double slot_s,
                        double slots)
{
    const double bytes = 2 * own_parameters(t, w);
    if (w->dp == 1)
        return 0;
    const double gather_s = between_copies_s(on, w, FSIM_OP_ALL_GATHER, bytes);
    const double scatter_s = between_copies_s(on, w, FSIM_OP_REDUCE_SCATTER, bytes);
    const double first_s = gather_s / staged(t, w); /* before anything can run */
    if (w->zero == 3) /* weights are gathered for forward and for backward of each micro-batch */
        return first_s + slots * fmax(0, 2 * gather_s + scatter_s - slot_s);
    return first_s + fmax(0, gather_s + scatter_s - slot_s);
}

/* Seconds in which a stage passes a micro-batch's activations on. */
static double send_s(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w)
{
    const double bytes = 2 * (double)(w->micro * t->length * t->model->hidden) / (double)w->tp;
    if (w->pp == 1)
        return 0;
    return w->tp * w->dp * w->pp > on->gpus ? network_call_s + bytes / fsim_machine_network(on)
                                            : fsim_collective_s(on->hw, FSIM_OP_SEND, bytes, 2, false);
}

fsim_trained_time fsim_trained_time_of(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w,
                                       const fsim_layer_price *price)
{
    enum { REDUCES = 4, REDUCES_AGAIN = 2 }; /* of a layer: two in each direction */
    const double layers = staged(t, w), stages = (double)w->pp;
    const double slots = (double)w->batch / (double)(w->dp * w->micro);
    const double sent = 2 * (double)(w->micro * t->length * t->model->hidden);
    const double reduce_s = w->tp > 1 ? fsim_collective_s(on->hw, FSIM_OP_ALL_REDUCE, sent, (double)w->tp, false) : 0;
    const double links_s = layers * (w->again ? REDUCES + REDUCES_AGAIN : REDUCES) * reduce_s;
    const double again_s = w->again ? layers * price->again_s : 0;
    const double slot_s = layers * price->both_s + again_s + price->head_s + links_s;
    fsim_trained_time x = {.layers = slots * layers * price->both_s,
                           .again = slots * again_s,
                           .head = slots * price->head_s,
                           .links = slots * links_s,
                           .bubble = (stages - 1) / (double)w->chunks * slot_s,
                           .sends = (slots + stages - 1) * 2 * (double)w->chunks * send_s(t, on, w),
                           .gradients = exposed_s(t, on, w, slot_s, slots),
                           .update = own_parameters(t, w) / (w->zero ? (double)w->dp : 1) * update_traffic /
                                     fsim_hw_get(on->hw, FSIM_HW_DRAM_BANDWIDTH)};
    x.step = x.layers + x.again + x.head + x.links + x.bubble + x.sends + x.gradients + x.update;
    return x;
}

/* Bytes of a layer's activations that forward keeps for a token, in 16 bits; what is between layers is spread over tp
 * (sequence parallel). */
static double kept_bytes(const fsim_model *m, const fsim_sharing *w)
{
    const double tp = (double)w->tp, between = 4 * (double)m->hidden / tp; /* inputs of both norms, and their results */
    const double keys = ceil((double)m->kv_heads / tp);
    const double heads = 2 * ((double)m->heads / tp + keys) * (double)m->head_dim; /* q, k, v, and attention's result */
    return 2 * (between + heads + (m->gated ? 3 : 2) * (double)m->ffn / tp);
}

fsim_trained_memory fsim_trained_memory_of(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w)
{
    enum { GATHERED = 2 }; /* layers whose weights are there in full, of shared ones */
    const fsim_model *m = t->model;
    const double mine = own_parameters(t, w), copies = (double)w->dp, tokens = (double)(w->micro * t->length);
    const double slots = (double)w->batch / (double)(w->dp * w->micro), pp = (double)w->pp;
    const double layers = staged(t, w), flight = fmin(slots, pp);
    const double more = w->chunks > 1 ? 1 + (pp - 1) / (pp * (double)w->chunks) : 1;
    const double kept = kept_bytes(m, w), input = 2 * (double)m->hidden / (double)w->tp;
    fsim_trained_memory x = {.weights = 2 * mine,
                             .gradients = gradient_bytes * mine,
                             .state = state_bytes * mine / (w->zero ? copies : 1),
                             .logits = tokens * ceil((double)m->vocab / (double)w->tp) * logit_bytes,
                             .framework = framework_bytes + collective_bytes,
                             .capacity = fsim_hw_get(on->hw, FSIM_HW_DRAM_CAPACITY)};
    if (w->zero == 3) {
        x.weights = 2 * mine / copies + GATHERED * 2 * mine / layers;
        x.gradients = gradient_bytes * mine / copies + 2 * mine / layers;
    }
    x.activations = tokens * (w->again ? layers * flight * more * input + kept : layers * flight * more * kept);
    x.all = x.weights + x.gradients + x.state + x.activations + x.logits + x.framework;
    x.fits = x.all <= trained_share * x.capacity;
    return x;
}

double fsim_model_flops(const fsim_training *t)
{
    const fsim_model *m = t->model;
    const double work = (double)(m->tied ? m->active : m->active - m->embedding);
    return 6 * work + 12 * (double)(m->layers * m->heads * m->head_dim) * (double)t->length;
}
