/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/do_bench.h"

#include "cost/costing.h"
#include "evidence/constants.h"
#include "vendor/liger.h"
#include <string.h>

typedef enum { NONE, WEIGHTS, ALL } sums;
typedef enum { PLAIN, SOFTMAX, LOG_SOFTMAX } behind;

typedef struct {
    const char *name;
    sums sums;
    bool draws;
    behind behind;
    int workspaces, modules; /* of cuBLAS; with weights of their own, beside that which is measured */
    bool whole;
} benchmark;

static const char prefix[] = "Liger ";

/* The benchmark that the row's source names; NULL: none, or one that is not known. */
static const benchmark *benchmark_of(const fsim_measured *row)
{
    static const benchmark all[] = {
#define FSIM_BENCHMARK(name, sums, draws, behind, workspaces, modules, whole)                                          \
    {#name, sums, draws, behind, workspaces, modules, whole},
#define FSIM_BENCH_HOST(...)
#include "evidence/benchmark.def"
#undef FSIM_BENCHMARK
#undef FSIM_BENCH_HOST
    };
    if (!row->source || strncmp(row->source, prefix, strlen(prefix)) != 0)
        return NULL;
    const char *name = row->source + strlen(prefix);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].name) == strcspn(name, " ") && strncmp(all[i].name, name, strlen(all[i].name)) == 0)
            return &all[i];
    return NULL;
}

bool fsim_is_benched(const fsim_measured *row)
{
    return benchmark_of(row) && !row->of_memory && !(row->kernel && *row->kernel) &&
           (row->mode == FSIM_MODE_NONE || row->mode == FSIM_MODE_BACKWARD || row->mode == FSIM_MODE_FULL);
}

static bool measures_memory(const fsim_measured *row)
{
    return benchmark_of(row) && row->of_memory &&
           (row->mode == FSIM_MODE_FORWARD || row->mode == FSIM_MODE_BACKWARD || row->mode == FSIM_MODE_FULL);
}

bool fsim_ran_liger(const fsim_measured *row)
{
    if (!(fsim_is_benched(row) || measures_memory(row)) || row->strategy != FSIM_STRATEGY_OPTIMAL ||
        !fsim_liger_has(row->workload))
        return false;
    const char *provider = strchr(row->source + strlen(prefix), ' ');
    return provider && strncmp(provider + 1, "liger", 5) == 0;
}

fsim_measured_part fsim_bench_memory_mode(const fsim_measured *row)
{
    return measures_memory(row) && benchmark_of(row)->whole ? FSIM_MODE_FULL : row->mode;
}

/* What a thread of PyTorch's reserves for cuBLAS. */
static double workspace_bytes(const fsim_hw *hw)
{
    const fsim_design design = hw->arch->design;
    return design == FSIM_HOPPER || design == FSIM_BLACKWELL ? PYTORCH_WIDE_WORKSPACE
           : hw->arch->sm > 0                                ? PYTORCH_WORKSPACE
                                                             : 0;
}

double fsim_bench_memory(const fsim_measured *row, const fsim_graph *g, const fsim_hw *hw, double bytes)
{
    const benchmark *of = benchmark_of(row);
    if (!measures_memory(row))
        return bytes;
    if (fsim_ran_liger(row))
        bytes = fsim_liger_peak(row->workload, g, hw, fsim_bench_memory_mode(row) != FSIM_MODE_FORWARD);
    else if (of->sums == NONE && row->strategy == FSIM_STRATEGY_EAGER) /* none are there of the run before */
        for (int i = 0; i < g->gradients; i++)
            bytes -= (double)g->tensor[g->gradient[i].of].bytes;
    bytes += of->workspaces * workspace_bytes(hw);
    for (int i = 0; i < g->gradients; i++) {
        const fsim_tensor *t = &g->tensor[g->gradient[i].of];
        bytes += t->role == FSIM_WEIGHT ? of->modules * (double)t->bytes : of->behind != PLAIN ? (double)t->bytes : 0;
    }
    return bytes;
}

/* Kernels of PyTorch's that a benchmark runs beside. */
typedef struct {
    double read_bytes, write_bytes;
    int kernels;
} extra_work;

static void add(extra_work *b, double read_bytes, double write_bytes)
{
    b->read_bytes += read_bytes;
    b->write_bytes += write_bytes;
    b->kernels++;
}

/* in_place: the gradient of the input is the memory that it is added to. */
static extra_work extra_work_of(const benchmark *of, const fsim_measured *row, const fsim_graph *g, bool in_place)
{
    extra_work b = {0};
    const bool full = row->mode == FSIM_MODE_FULL;
    if (row->mode == FSIM_MODE_NONE)
        return b;
    for (int i = 0; i < g->gradients; i++) {
        const fsim_tensor *t = &g->tensor[g->gradient[i].of];
        const double bytes = (double)t->bytes;
        const bool weight = t->role == FSIM_WEIGHT;
        if (of->behind == SOFTMAX) /* the gradient times the result, first */
            add(&b, 2 * bytes, bytes);
        if (of->behind != PLAIN)
            add(&b, 2 * bytes, bytes);
        if (weight ? of->sums != NONE : of->sums == ALL && (full || of->behind != PLAIN))
            add(&b, (in_place && !weight ? 1 : 2) * bytes, bytes);
    }
    for (int i = 0; i < g->own_tensors && full && of->draws; i++)
        if (g->tensor[i].forward_output)
            add(&b, 0, (double)g->tensor[i].bytes);
    return b;
}

/* What the host launches for a run. */
typedef struct {
    int calls, arguments, operators; /* arguments: of all calls */
} launches;

static double host_factor(const fsim_hw *hw)
{
    static const struct {
        const char *gpu;
        double factor;
    } all[] = {
#define FSIM_BENCHMARK(...)
#define FSIM_BENCH_HOST(gpu, factor) {gpu, factor},
#include "evidence/benchmark.def"
#undef FSIM_BENCHMARK
#undef FSIM_BENCH_HOST
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].gpu, hw->name) == 0)
            return all[i].factor;
    return 1;
}

/* Seconds of the host for a run. Each kernel of PyTorch's is an operator that autograd records or plays back; Triton's
 * are launched from Python, as is what torch.compile has made: forward and backward. */
static double host_s(const fsim_measured *row, const fsim_hw *hw, const launches *l)
{
    const double back = row->mode == FSIM_MODE_NONE ? 0 : autograd_call_s;
    return (back + l->calls * triton_call_s + l->arguments * triton_argument_s + l->operators * autograd_operator_s) *
           host_factor(hw);
}

fsim_benched fsim_bench_seconds(const fsim_measured *row, const fsim_graph *g, const fsim_hw *hw, const fsim_plan *plan)
{
    const benchmark *of = benchmark_of(row);
    const bool forward = row->mode != FSIM_MODE_BACKWARD, backward = row->mode != FSIM_MODE_NONE,
               liger = fsim_ran_liger(row), compiled = row->strategy == FSIM_STRATEGY_INDUCTOR;
    fsim_benched out = {.kernels = plan->kernels};
    launches l = {.calls = compiled ? forward + backward : 0};
    l.arguments = l.calls * COMPILED_ARGUMENTS;
    bool in_place = false;
    double products_s[2] = {0};
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_template t = plan->kernel[k].template;
        if (t == FSIM_LIBRARY_CONTRACTION || t == FSIM_TILED_CONTRACTION)
            products_s[g->node[plan->kernel[k].group->member[0].node].phase == FSIM_BACKWARD] += plan->kernel[k].time_s;
        out.device_s += plan->kernel[k].time_s;
        out.dram_s += plan->kernel[k].time[FSIM_DRAM];
        l.operators += compiled ? 0 : plan->kernel[k].launches;
    }
    out.read_bytes = (double)plan->dram_read_bytes;
    out.write_bytes = (double)plan->dram_write_bytes;
    fsim_liger_run run;
    if (liger && fsim_liger_run_of(row->workload, g, hw, products_s, &run)) {
        const fsim_liger_pass *const pass[2] = {forward ? &run.forward : NULL, backward ? &run.backward : NULL};
        out = (fsim_benched){0};
        l = (launches){0};
        in_place = run.in_place;
        for (int i = 0; i < 2; i++)
            if (pass[i]) {
                out.device_s += pass[i]->s;
                out.dram_s += fsim_dram_seconds(hw, pass[i]->read_bytes, pass[i]->write_bytes);
                out.read_bytes += pass[i]->read_bytes;
                out.write_bytes += pass[i]->write_bytes;
                out.kernels += pass[i]->calls + pass[i]->operators;
                l.calls += pass[i]->calls;
                l.arguments += pass[i]->calls * pass[i]->arguments;
                l.operators += pass[i]->operators;
            }
    }
    const extra_work more = extra_work_of(of, row, g, in_place);
    const double more_s = fsim_dram_seconds(hw, more.read_bytes, more.write_bytes);
    out.device_s += more_s + more.kernels * fsim_least_launch_s(hw, FSIM_REGIME_KERNEL);
    out.dram_s += more_s;
    out.read_bytes += more.read_bytes;
    out.write_bytes += more.write_bytes;
    out.kernels += more.kernels;
    l.operators += more.kernels;
    /* of kernels that follow one another in a stream */
    out.device_s += fmax(0, out.kernels - 1) *
                    fmax(0, fsim_least_launch_s(hw, FSIM_REGIME_STREAM) - fsim_least_launch_s(hw, FSIM_REGIME_KERNEL));
    const double ahead_s = fsim_dram_seconds(hw, 0, do_bench_bytes);
    out.s = fmax(out.device_s, host_s(row, hw, &l) - ahead_s);
    return out;
}
