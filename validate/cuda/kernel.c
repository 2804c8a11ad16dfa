/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/kernel.h"

#include "validate/cuda/blas.h"
#include "validate/cuda/blaslt.h"
#include "validate/device/texts.h"
#include <math.h>
#include <string.h>

enum { STATIC_SHARED_BYTES = 48 << 10 }; /* shared memory of a block that needs no attribute to be set */

bool fsim_gpu_load_module(fsim_gpu *g, const fsim_cubin *c, const char *name, fsim_cu_module *module, fsim_fault *fault)
{
    const int result = g->cu.cuModuleLoadDataEx(module, c->cubin, 0, NULL, NULL);
    if (result == FSIM_CU_INVALID_IMAGE || result == FSIM_CU_NO_BINARY_FOR_GPU)
        return fsim_fail(
            fault, g->a, FSIM_UNAVAILABLE,
            "the driver, of CUDA %d.%d, does not accept what NVRTC %d.%d compiled from '%s': update the driver, "
            "or set $FUSESIM_NVRTC_LIB to a libnvrtc of its version",
            g->facts.driver_version / 1000, g->facts.driver_version % 1000 / 10, g->nvrtc->major, g->nvrtc->minor,
            name);
    return fsim_gpu_ok(g, result, fsim_printf(g->a, "loading '%s'", name), fault);
}

bool fsim_gpu_function(fsim_gpu *g, fsim_cu_module module, const char *symbol, const char *name, fsim_cu_function *out,
                       fsim_fault *fault)
{
    return fsim_gpu_ok(g, g->cu.cuModuleGetFunction(out, module, symbol),
                       fsim_printf(g->a, "looking for kernel '%s'", name), fault);
}

/* Can the program's text be compiled for this device? */
static bool is_for(fsim_gpu *g, const fsim_program *p, fsim_fault *fault)
{
    return p->source &&
           (p->sm <= g->facts.sm || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "'%s' needs sm_%d, and %s is sm_%d",
                                              p->name, p->sm, g->facts.name, g->facts.sm));
}

/* The cubin of p's nameless text, for p. */
static fsim_cubin cubin_of(fsim_gpu *g, const fsim_program *p, const fsim_cubin *nameless)
{
    fsim_cubin c = *nameless;
    c.entry = fsim_named_resources(p, nameless->entry, nameless->entries, g->a);
    c.symbol = fsim_new(g->a, fsim_cubin_symbol, p->launches + 1);
    for (c.symbols = 0; c.symbols < p->launches; c.symbols++)
        c.symbol[c.symbols] = (fsim_cubin_symbol){p->launch[c.symbols].entry, fsim_nameless_entry(c.symbols, g->a)};
    return c;
}

bool fsim_gpu_compile(fsim_gpu *g, const fsim_program *program, int count, const fsim_nvrtc_how *how, fsim_cubin *cubin,
                      fsim_fault *fault)
{
    fsim_texts texts = {.a = g->a};
    int *text = fsim_new(g->a, int, count + 1);
    const fsim_fault *first = NULL;
    for (int i = 0; i < count; i++) {
        cubin[i] = (fsim_cubin){.log = ""};
        text[i] = is_for(g, &program[i], &cubin[i].fault) ? fsim_texts_add(&texts, &program[i], g->facts.sm) : -1;
    }
    fsim_nvrtc_source *source = fsim_new(g->a, fsim_nvrtc_source, texts.count + 1);
    fsim_cubin *made = fsim_new(g->a, fsim_cubin, texts.count + 1);
    for (int t = 0; t < texts.count; t++)
        source[t] = (fsim_nvrtc_source){.name = fsim_printf(g->a, "%s.cu", texts.at[t].program->name),
                                        .source = texts.at[t].source,
                                        .sm = g->facts.sm};
    (void)!fsim_nvrtc_compile_all(g->nvrtc, source, texts.count, how, g->a, made);
    for (int i = 0; i < count; i++) {
        const fsim_program *p = &program[i];
        const fsim_cubin *m = text[i] >= 0 ? &made[text[i]] : NULL;
        const fsim_nvrtc_source own = {
            .name = fsim_printf(g->a, "%s.cu", p->name), .source = p->source, .sm = g->facts.sm};
        if (m && m->cubin)
            cubin[i] = cubin_of(g, p, m);
        else if (m && m->fault.status == FSIM_FAILED) /* compile again so that the message has the kernel's own names */
            (void)!fsim_nvrtc_compile(g->nvrtc, &own, how->header, g->a, &cubin[i]);
        else if (m)
            cubin[i] = *m;
        if (p->source && !cubin[i].cubin && !first)
            first = &cubin[i].fault;
    }
    if (first && fault)
        *fault = *first;
    return !first;
}

static const char *symbol_of(const fsim_cubin *c, const char *entry)
{
    for (int i = 0; i < c->symbols; i++)
        if (strcmp(c->symbol[i].entry, entry) == 0)
            return c->symbol[i].symbol;
    return entry;
}

/* Registers, shared memory and occupancy of a launch, from the compiler's log, or from the driver where the log
 * lacks them. */
static void take_resources(fsim_gpu *g, fsim_gpu_kernel *k, int launch, const fsim_cubin *c)
{
    const fsim_launch *l = &k->program->launch[launch];
    const fsim_resources *r = fsim_resources_find(c->entry, c->entries, l->entry);
    const bool logged = r && r->registers >= 0;
    int registers = -1, shared = -1, local = -1, blocks = 0;
    if (logged) {
        registers = r->registers;
        shared = r->static_shared_bytes;
        local = r->stack_bytes;
    } else if (g->cu.cuFuncGetAttribute(&registers, FSIM_CU_FUNC_REGISTERS, k->function[launch]) != 0 ||
               g->cu.cuFuncGetAttribute(&shared, FSIM_CU_FUNC_STATIC_SHARED_BYTES, k->function[launch]) != 0 ||
               g->cu.cuFuncGetAttribute(&local, FSIM_CU_FUNC_LOCAL_BYTES, k->function[launch]) != 0) {
        registers = shared = local = -1;
    }
    k->registers = registers > k->registers ? registers : k->registers;
    k->static_shared_bytes = shared > k->static_shared_bytes ? shared : k->static_shared_bytes;
    k->local_bytes_per_thread = local > k->local_bytes_per_thread ? local : k->local_bytes_per_thread;
    bool largest = true;
    for (int i = 0; i < k->program->launches; i++)
        largest = largest && k->program->launch[i].grid <= l->grid;
    if (largest && g->facts.threads_per_sm > 0 &&
        g->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function[launch], l->block,
                                                          (size_t)l->shared_bytes) == 0)
        k->occupancy = (double)blocks * ((l->block + 31) / 32 * 32) / g->facts.threads_per_sm;
}

static bool load_launch(fsim_gpu *g, fsim_gpu_kernel *k, int launch, const fsim_cubin *c, fsim_fault *fault)
{
    const fsim_launch *l = &k->program->launch[launch];
    const fsim_resources *r = fsim_resources_find(c->entry, c->entries, l->entry);
    const int64_t shared = l->shared_bytes + (r ? r->static_shared_bytes : 0);
    if (l->grid < 1 || l->grid > INT32_MAX || l->block < 1)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s' is launched with %lld blocks of %d threads", k->name,
                         (long long)l->grid, l->block);
    if (!fsim_gpu_function(g, k->module, k->launch[launch].entry, l->entry, &k->function[launch], fault))
        return false;
    if (shared > g->facts.shared_bytes_per_block && g->facts.shared_bytes_per_block > 0)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE,
                         "'%s' needs %lld bytes of shared memory a block, and %s has %lld", k->name, (long long)shared,
                         g->facts.name, (long long)g->facts.shared_bytes_per_block);
    if (shared > STATIC_SHARED_BYTES &&
        !fsim_gpu_ok(
            g, g->cu.cuFuncSetAttribute(k->function[launch], FSIM_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, l->shared_bytes),
            fsim_printf(g->a, "giving '%s' %d bytes of shared memory", k->name, l->shared_bytes), fault))
        return false;
    take_resources(g, k, launch, c);
    return true;
}

fsim_gpu_kernel *fsim_gpu_load(fsim_gpu *g, const fsim_program *program, const fsim_cubin *cubin,
                               const fsim_gpu_buffer *argument, fsim_fault *fault)
{
    if (!fsim_gpu_usable(g, fault))
        return NULL;
    fsim_gpu_kernel *k = fsim_new(g->a, fsim_gpu_kernel, 1);
    *k = (fsim_gpu_kernel){.name = program->name,
                           .program = program,
                           .registers = -1,
                           .static_shared_bytes = -1,
                           .local_bytes_per_thread = -1,
                           .occupancy = NAN};
    k->launch = fsim_new(g->a, fsim_launch, program->launches);
    for (int l = 0; l < program->launches; l++) {
        k->launch[l] = program->launch[l];
        k->launch[l].entry = symbol_of(cubin, program->launch[l].entry);
    }
    k->function = fsim_new(g->a, fsim_cu_function, program->launches);
    k->pointer = fsim_new(g->a, fsim_cu_pointer, program->parameters);
    k->argument = fsim_new(g->a, void *, program->parameters + 1);
    for (int i = 0; i < program->parameters; i++) {
        if (argument[i].bytes < program->parameter[i].bytes) {
            fsim_fail(fault, g->a, FSIM_FAILED, "'%s': parameter '%s' has %lld bytes, its buffer %lld", k->name,
                      program->parameter[i].name, (long long)program->parameter[i].bytes, (long long)argument[i].bytes);
            return NULL;
        }
        k->pointer[i] = argument[i].at;
        k->argument[i] = &k->pointer[i];
    }
    if (!cubin->cubin) {
        fsim_fail(fault, g->a, FSIM_FAILED, "'%s' was not compiled%s%s", k->name, cubin->fault.message ? ": " : "",
                  cubin->fault.message ? cubin->fault.message : "");
        return NULL;
    }
    if (!fsim_gpu_load_module(g, cubin, k->name, &k->module, fault))
        return NULL;
    for (int l = 0; l < program->launches; l++)
        if (!load_launch(g, k, l, cubin, fault)) {
            fsim_gpu_unload(g, k);
            return NULL;
        }
    return k;
}

void fsim_gpu_unload(fsim_gpu *g, fsim_gpu_kernel *k)
{
    if (k && k->module && !g->lost)
        (void)!g->cu.cuModuleUnload(k->module);
    if (k) {
        k->module = NULL;
        fsim_blaslt_release(g, k);
    }
}

bool fsim_gpu_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault)
{
    if (!k->program)
        return k->lt ? fsim_blaslt_launch(g, k, fault) : fsim_blas_launch(g, k, fault);
    for (int i = 0; i < k->program->launches; i++) {
        const fsim_launch *l = &k->program->launch[i];
        const int result = g->cu.cuLaunchKernel(k->function[i], (unsigned)l->grid, 1, 1, (unsigned)l->block, 1, 1,
                                                (unsigned)l->shared_bytes, g->stream, k->argument, NULL);
        if (result != 0)
            return fsim_gpu_ok(
                g, result,
                fsim_printf(g->a,
                            "launching kernel '%s' of '%s' (%lld blocks of %d threads, %d bytes of shared memory)",
                            l->entry, k->name, (long long)l->grid, l->block, l->shared_bytes),
                fault);
    }
    return true;
}

bool fsim_gpu_run(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fsim_gpu_launch(g, k, fault) && fsim_gpu_wait(g, k->name, fault);
}
