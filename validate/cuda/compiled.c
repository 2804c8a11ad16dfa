/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/compiled.h"

#include "hw/adopt.h"
#include "validate/device/texts.h"
#include <math.h>
#include <string.h>

typedef struct fsim_register_texts {
    fsim_texts all;
    const char **workload; /* per text: the workload that it is from, for messages */
    int workloads, room;
} texts;

fsim_register_rows *fsim_register_rows_new(fsim_arena *a)
{
    fsim_register_rows *x = fsim_new(a, fsim_register_rows, 1);
    x->a = a;
    x->of = fsim_new(a, texts, 1);
    x->of->all.a = a;
    return x;
}

static int text_of(fsim_register_rows *x, const fsim_program *p, const char *workload, int sm)
{
    texts *t = x->of;
    const int text = fsim_texts_add(&t->all, p, sm);
    if (text == t->workloads)
        *FSIM_PUSH(x->a, t->workload, t->workloads, t->room) = workload;
    x->texts = t->all.count;
    return text;
}

const fsim_hw *fsim_hw_as_architecture(const fsim_hw *hw, int sm, fsim_arena *a)
{
    if (hw->sm == sm)
        return hw;
    fsim_hw *as = fsim_new(a, fsim_hw, 1);
    *as = *hw;
    const fsim_architecture *arch = fsim_architecture_of_sm(sm);
    as->arch = arch;
    as->sm = sm;
    as->host = false;
    as->architecture = fsim_printf(a, "sm_%d", sm);
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        const double figure = fsim_architecture_figure(arch, (fsim_hw_key)k);
        if (fsim_hw_rows[k].dim != FSIM_DIM_PER_CLOCK && !isnan(figure)) /* the limits, and not the rates */
            as->q[k] = (fsim_quantity){.value = figure,
                                       .achieved = NAN,
                                       .spread = NAN,
                                       .bus_rate_bits_per_s = NAN,
                                       .source = "",
                                       .present = true,
                                       .exact = true};
    }
    return as;
}

static double occupancy_of(const fsim_hw *hw, int block, int blocks)
{
    const double warp = fsim_hw_get(hw, FSIM_HW_WARP_SIZE);
    return fmin(1, blocks * ceil(block / warp) * warp / fsim_hw_get(hw, FSIM_HW_THREADS_PER_SM));
}

static bool same_row(const fsim_register_row *x, const fsim_register_row *y)
{
    return x->graph == y->graph && x->hw->sm == y->hw->sm && x->sm == y->sm && x->text == y->text &&
           x->template == y->template && x->registers == y->registers && x->shared_bytes == y->shared_bytes &&
           x->block == y->block && x->program->launch[0].shared_bytes == y->program->launch[0].shared_bytes;
}

void fsim_register_rows_add(fsim_register_rows *x, const fsim_trial *t, int sm)
{
    const fsim_hw *hw = fsim_hw_as_architecture(t->hw, sm, x->a);
    const int first = x->rows;
    for (int p = 0; p < t->plans; p++)
        for (int k = 0; k < t->plan[p].plan.kernels; k++) {
            const fsim_program *program = &t->plan[p].program[k];
            const fsim_kernel *kernel = &t->plan[p].plan.kernel[k];
            if (program->skipped) {
                x->skipped++;
                continue;
            }
            fsim_register_row r = {.graph = t->graph,
                                   .hw = hw,
                                   .set = t->set,
                                   .name = program->name,
                                   .template = kernel->template,
                                   .strategies = 1u << t->plan[p].strategy,
                                   .uses = 1,
                                   .sm = sm,
                                   .program = program,
                                   .block = kernel->block,
                                   .registers = kernel->registers,
                                   .shared_bytes = kernel->shared_bytes,
                                   .text = -1};
            if (r.template == FSIM_LIBRARY_CONTRACTION &&
                program->registers > 0) { /* the plan predicts the vendor's kernel, but ours is compiled */
                r.stands_in = true;
                r.registers = program->registers;
                r.block = program->launch[0].block;
                r.shared_bytes = program->launch[0].shared_bytes;
            }
            r.blocks = fsim_blocks_per_sm(hw, r.block, r.registers, r.shared_bytes);
            r.occupancy = occupancy_of(hw, r.block, r.blocks);
            if (program->sm > sm)
                r.left_out = fsim_printf(x->a, "its text needs sm_%d", program->sm);
            else
                r.text = text_of(x, program, t->graph->name, sm);
            int i = first;
            while (i < x->rows && !same_row(&x->row[i], &r))
                i++;
            if (i == x->rows || r.left_out) {
                *FSIM_PUSH(x->a, x->row, x->rows, x->room) = r;
                continue;
            }
            x->row[i].uses++;
            x->row[i].strategies |= r.strategies;
        }
}

bool fsim_register_row_compare(fsim_register_row *r, const fsim_resources *entry, int entries)
{
    const fsim_program *p = r->program;
    for (int i = 0; i < p->launches; i++) {
        const fsim_resources *e = fsim_resources_find(entry, entries, p->launch[i].entry);
        if (!e || e->registers < 0)
            return false;
        r->spill_bytes += e->spill_store_bytes + e->spill_load_bytes;
        r->stack_bytes = e->stack_bytes > r->stack_bytes ? e->stack_bytes : r->stack_bytes;
        r->disagrees = r->disagrees || e->disagrees;
        if (i > 0)
            continue;
        r->compiled_registers = e->registers;
        r->compiled_shared_bytes = e->static_shared_bytes + p->launch[i].shared_bytes;
        r->compiled_block = p->launch[i].block;
        r->compiled_blocks =
            fsim_blocks_per_sm(r->hw, r->compiled_block, r->compiled_registers, r->compiled_shared_bytes);
        r->compiled_occupancy = occupancy_of(r->hw, r->compiled_block, r->compiled_blocks);
    }
    return true;
}

/* The compiler's error, with the text's own names. */
static bool report_failure(const fsim_nvrtc *n, const fsim_nameless *t, const char *workload,
                           const fsim_cubin *nameless, fsim_arena *a, fsim_fault *fault)
{
    fsim_cubin own;
    const fsim_nvrtc_source source = {
        .name = fsim_printf(a, "%s.cu", t->program->name), .source = t->program->source, .sm = t->sm};
    const bool again =
        nameless->fault.status == FSIM_FAILED && !fsim_nvrtc_compile(n, &source, fsim_dialect_text, a, &own);
    const fsim_fault *why = again ? &own.fault : &nameless->fault;
    return fsim_fail(fault, a, why->status, "%s: %s", workload, why->message);
}

bool fsim_kernel_compiler_open(fsim_arena *a, fsim_kernel_compiler *out, fsim_fault *fault)
{
    const fsim_nvrtc *n = fsim_nvrtc_open(a, 0, fault);
    if (n)
        *out = (fsim_kernel_compiler){fsim_printf(a, "NVRTC %d.%d", n->major, n->minor), n->sm, n->archs, n};
    return n != NULL;
}

bool fsim_register_rows_compile(fsim_register_rows *x, const fsim_kernel_compiler *compiler, int jobs,
                                fsim_fault *fault)
{
    const fsim_nvrtc *n = compiler->self;
    const fsim_texts *t = &x->of->all;
    fsim_nvrtc_source *source = fsim_new(x->a, fsim_nvrtc_source, t->count + 1);
    fsim_cubin *cubin = fsim_new(x->a, fsim_cubin, t->count + 1);
    for (int i = 0; i < t->count; i++)
        source[i] = (fsim_nvrtc_source){
            .name = fsim_printf(x->a, "%s.cu", t->at[i].program->name), .source = t->at[i].source, .sm = t->at[i].sm};
    const bool all =
        fsim_nvrtc_compile_all(n, source, t->count, &(fsim_nvrtc_how){fsim_dialect_text, jobs}, x->a, cubin);
    for (int i = 0; i < t->count && !all; i++)
        if (!cubin[i].cubin)
            return report_failure(n, &t->at[i], x->of->workload[i], &cubin[i], x->a, fault);
    x->cached = 0;
    for (int i = 0; i < t->count; i++)
        x->cached += cubin[i].cached;
    for (int i = 0; i < x->rows; i++) {
        fsim_register_row *r = &x->row[i];
        if (r->left_out)
            continue;
        const fsim_cubin *c = &cubin[r->text];
        r->unread = !c->checked;
        r->warnings = fsim_warnings(c->log);
        if (!fsim_register_row_compare(r, fsim_named_resources(r->program, c->entry, c->entries, x->a), c->entries))
            return fsim_fail(fault, x->a, FSIM_FAILED, "%s: NVRTC does not say what %s takes on sm_%d", r->graph->name,
                             r->name, r->sm);
    }
    return true;
}

static bool is_of(const fsim_register_row *r, int template, int sm)
{
    const bool contraction = r->template == FSIM_TILED_CONTRACTION || r->template == FSIM_LIBRARY_CONTRACTION ||
                             r->template == FSIM_CHAINED_CONTRACTION;
    const bool wanted = template == FSIM_NO_CONTRACTION
                            ? !contraction
                            : template == FSIM_EVERY_TEMPLATE || (int)r->template == template;
    return wanted && !r->left_out && (sm == 0 || r->sm == sm);
}

fsim_register_sum fsim_register_rows_sum(const fsim_register_rows *x, int template, int sm)
{
    fsim_register_sum s = {0};
    double errors = 0, bias = 0;
    for (int i = 0; i < x->rows; i++) {
        const fsim_register_row *r = &x->row[i];
        if (!is_of(r, template, sm))
            continue;
        const int apart =
            r->blocks > r->compiled_blocks ? r->blocks - r->compiled_blocks : r->compiled_blocks - r->blocks;
        const double error = (double)r->registers / r->compiled_registers - 1;
        s.kernels++;
        s.uses += r->uses;
        s.same += apart == 0;
        s.near += apart <= 1;
        errors += fabs(error);
        bias += error;
        s.spilling += r->spill_bytes > 0;
        s.stacked += r->stack_bytes > 0;
        s.disagreeing += r->disagrees;
        s.warned += r->warnings > 0;
    }
    s.class_share = s.kernels ? (double)s.same / s.kernels : NAN;
    s.near_share = s.kernels ? (double)s.near / s.kernels : NAN;
    s.registers_error = s.kernels ? errors / s.kernels : NAN;
    s.registers_bias = s.kernels ? bias / s.kernels : NAN;
    return s;
}
