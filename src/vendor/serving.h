/* SPDX-License-Identifier: Apache-2.0 */
/* serving.h: what serving stacks (vLLM, SGLang, TensorRT-LLM) run as calls of their libraries: the kinds of
 * graph/serving.def. Times are those of replayed CUDA graphs, without what a launch costs; the numbers are those of
 * serving_fit.def, by the GPU's design, times a factor of the GPU's own (its keys serving_*).
 *     serving.c            from a workload's call to a kernel
 *     serving_quantize.c   16-bit numbers to 8 bits
 *     serving_product.c    matrix products with quantised operands
 *     serving_attention.c  attention of prefill and decode, also multi-head latent attention
 *     serving_moe.c        mixtures of experts
 *     serving_reduce.c     an all-reduce with what follows it */
#ifndef FUSESIM_VENDOR_SERVING_H
#define FUSESIM_VENDOR_SERVING_H

#include "hw/refit.h"
#include "vendor/kernels.h"

/* A call to be priced. */
typedef struct {
    const fsim_hw *hw;
    fsim_maker maker;              /* whose library */
    const fsim_serving_call *call; /* kind, numbers (call->value) and types */
    double sms, clock;             /* clock: Hz, the data sheet's */
    double dram, l2;               /* B/s: the data sheet's; what L2 reaches */
    double l2_bytes;               /* capacity */
    bool replays;                  /* L2 has what the run before left there */
    double from_dram;              /* otherwise: of what the call reads and writes, the share that DRAM moves */
} fsim_serving_site;

typedef struct {
    double unit[FSIM_UNIT_COUNT]; /* seconds that each unit alone would take; that of launches is not used */
    double busy_s;                /* all together, with the kernels' floors and without their launches */
    int launches;                 /* kernels */
} fsim_serving_time;

/* The functions of graph/serving.def's column `price`: quantised products, with what quantises their activation; */
fsim_serving_time fsim_serving_product(const fsim_serving_site *s);
/* 16-bit numbers to 8 bits; */
fsim_serving_time fsim_serving_quantize(const fsim_serving_site *s);
/* causal attention, alone or with the rotary embedding and the cache write before it; */
fsim_serving_time fsim_serving_flash(const fsim_serving_site *s);
/* attention of one token of each request; */
fsim_serving_time fsim_serving_decode(const fsim_serving_site *s);
/* multi-head latent attention of a prompt; */
fsim_serving_time fsim_serving_context_mla(const fsim_serving_site *s);
/* and of one token of each request; */
fsim_serving_time fsim_serving_decode_mla(const fsim_serving_site *s);
/* a rank's share of a mixture of experts; */
fsim_serving_time fsim_serving_experts(const fsim_serving_site *s);
/* an all-reduce, the residual and the norm in one kernel. */
fsim_serving_time fsim_serving_reduced_norm(const fsim_serving_site *s);

/* serving_quantize.c: seconds of quantising m x k numbers by a known scale, floor included. */
double fsim_quantize_static_s(const fsim_serving_site *s, double m, double k);
/* The same, each row by its own largest magnitude. */
double fsim_quantize_rows_s(const fsim_serving_site *s, double m, double k);
/* FLOP/s of one SM in this arithmetic by the data sheet; that of 16 bits where the GPU has no unit for it. */
double fsim_serving_rate(const fsim_serving_site *s, fsim_dtype arithmetic);
/* The same in 4-bit floats: on Blackwell twice that of 8 bits where the file does not say; GPUs without such units turn
 * them into 16 bits first. */
double fsim_serving_rate_of_fours(const fsim_serving_site *s);
enum { FSIM_SERVING_KIN = 4 };
/* The designs whose numbers a GPU of the site's design takes, nearest first: number i of FSIM_SERVING_KIN. */
fsim_design fsim_serving_kin(const fsim_serving_site *s, int i);
/* How far x is on the way from `from` to `from` + width: 0 to 1. */
double fsim_ramp(double x, double from, double width);
/* The share of a call's operands and results that DRAM moves. In replays it grows with their bytes, from none where
 * these are `from` of L2's capacity to all at `from` + width; otherwise what L2 does not hold at the start. */
double fsim_serving_missed(const fsim_serving_site *s, double bytes, double from, double width);

/* The numbers of serving_fit.def for products with a static scale, to be fitted anew. */
fsim_refit_table fsim_static_table(void);
/* The numbers of serving_fit.def for row kernels, to be fitted anew. */
fsim_refit_table fsim_row_table(void);
/* The numbers of serving_fit.def for products, to be fitted anew. */
fsim_refit_table fsim_product_table(void);
/* The numbers of serving_fit.def for attention over a prompt, to be fitted anew. */
fsim_refit_table fsim_flash_table(void);
/* The numbers of serving_fit.def for attention of one token, to be fitted anew. */
fsim_refit_table fsim_decode_table(void);
/* The numbers of serving_fit.def for latent attention over a prompt, to be fitted anew. */
fsim_refit_table fsim_mla_context_table(void);
/* The numbers of serving_fit.def for latent attention of one token, to be fitted anew. */
fsim_refit_table fsim_mla_decode_table(void);
/* The numbers of serving_fit.def for experts, to be fitted anew. */
fsim_refit_table fsim_experts_table(void);

/* What the units alone would take, as far as they are known, beside what all take together. */
fsim_serving_time fsim_serving_sum(double compute_s, double dram_s, double busy_s, int launches);

/* The call of c->group as one kernel. maker: FSIM_BY_FUSESIM and PyTorch take TensorRT-LLM's. In a. */
fsim_kernel fsim_serving_kernel(const fsim_costing *c, fsim_maker maker, fsim_arena *a);

#endif
