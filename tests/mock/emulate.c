/* SPDX-License-Identifier: Apache-2.0 */
#include "emulate.h"
#include "emulated.h"
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(from, to) 0
#endif

#ifdef UNDER_ASAN /* the kernels that run have the sanitizer */
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum {
    LANES = 32,
    MAX_THREADS = 1024,
    MAX_STATICS = 64,
    STACK_BYTES = 128 << 10,
    FENCE_BYTES = 64 << 10, /* not to be touched, below each stack */
    PAGE_BYTES = 4096,
    GUARD_BYTES = 4096, /* before and behind the dynamic array, filled with GUARD */
    GAP_BYTES = 256,    /* behind each static one */
    MAX_STATIC_BYTES = 48 << 10,
    DEFAULT_LIMIT_BYTES = 227 << 10,
};
#define GUARD 0x7fa6c3c3u

typedef enum { READY, AT_BARRIER, IN_WARP, ENDED } fiber_state;

typedef struct {
    char *shared;
    const char *global;
    int bytes, group;
} copy;

typedef struct {
    void *sp;
    ucontext_t slow;
    char *stack; /* NULL: it has not begun, or has ended */
    fiber_state state;
    int line; /* of the barrier it waits at */
    fs_collective what;
    const void *in;
    void *out;
    int from;
    copy *pending; /* asynchronous copies that have not arrived, oldest first */
    int copies, room;
    int group; /* of the next copy */
} fiber;

typedef struct {
    const fs_shared_site *site;
    char *at;
    size_t bytes;
} shared_array;

/* One launch. */
typedef struct {
    const mock_grid *grid;
    enum { ASCENDING, REVERSE, RANDOM } order;
    uint64_t seed, stride; /* RANDOM: the i-th block is (i stride) mod grid, the grid below 2^31 */
    bool slow, strict;
    size_t limit_bytes;
    atomic_llong next;
    atomic_int outcome;
    pthread_mutex_t lock; /* of why */
    char *why;
    size_t room;
} launch;

/* A thread of the operating system with the block it runs. */
typedef struct worker {
    struct worker *next; /* in the list of idle ones */
    launch *run;
    fiber *fibers; /* MAX_THREADS */
    char **stacks; /* as many as were ever needed at once; free are those of [taken, stack_count) */
    int stack_count, taken;
    int threads, live, current;
    int at_barrier, in_warp[MAX_THREADS / LANES];
    long long block, time_ns;
    uint64_t random;
    bool failed;
    bool guarded;           /* the guards are as the launch's last block found them */
    char *shared, *dynamic; /* guard, dynamic array, guard, static arrays with gaps */
    size_t shared_room, shared_used, static_bytes;
    shared_array statics[MAX_STATICS];
    int static_count;
    void *sp;
    ucontext_t slow;
    char *signal_stack;
#ifdef UNDER_ASAN
    const void *stack_bottom;
    size_t stack_bytes;
#endif
} worker;

/* While it runs a block. */
static _Thread_local worker *self __attribute__((tls_model("initial-exec")));

/* Switching */

#if defined __x86_64__
#define FAST_SWITCH
/* Saves what a called function must keep on the stack, leaves its pointer in *from, goes on at `to`. */
void mock_switch(void **from, void *to);
__asm__(".text\n"
        ".globl mock_switch\n"
        ".hidden mock_switch\n"
        ".type mock_switch, @function\n"
        "mock_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size mock_switch, .-mock_switch\n");
#endif

static void prepare(worker *w, fiber *f);

/* To the fiber and back, in the worker. Fibers that do not wait have the same stack, one after the other. */
static void resume(worker *w, int thread)
{
    fiber *const f = &w->fibers[thread];
    w->current = thread;
    if (!f->stack)
        prepare(w, f);
#ifdef UNDER_ASAN
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, f->stack, STACK_BYTES);
#endif
#ifdef FAST_SWITCH
    if (!w->run->slow)
        mock_switch(&w->sp, f->sp);
    else
#endif
        swapcontext(&w->slow, &f->slow);
#ifdef UNDER_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
    if (f->state != ENDED)
        return;
    w->stacks[--w->taken] = f->stack;
    f->stack = NULL;
}

/* Back to the worker, in a fiber; returns when it is resumed. */
static void leave(worker *w, bool for_good)
{
    fiber *const f = &w->fibers[w->current];
#ifdef UNDER_ASAN
    void *fake = NULL;
    __sanitizer_start_switch_fiber(for_good ? NULL : &fake, w->stack_bottom, w->stack_bytes);
#else
    (void)for_good;
#endif
#ifdef FAST_SWITCH
    if (!w->run->slow)
        mock_switch(&f->sp, w->sp);
    else
#endif
        swapcontext(&f->slow, &w->slow);
#ifdef UNDER_ASAN
    __sanitizer_finish_switch_fiber(fake, &w->stack_bottom, &w->stack_bytes);
#endif
}

/* Faults */

/* The first one of the launch is kept; the block ends. */
static void vfail(worker *w, mock_outcome outcome, const char *format, va_list args)
{
    launch *const run = w->run;
    pthread_mutex_lock(&run->lock);
    if (run->outcome == MOCK_RAN) {
        run->outcome = outcome;
        const int used = snprintf(run->why, run->room, "block %lld: ", w->block);
        if (used >= 0 && (size_t)used < run->room)
            vsnprintf(run->why + used, run->room - (size_t)used, format, args);
    }
    pthread_mutex_unlock(&run->lock);
    w->failed = true;
}

__attribute__((format(printf, 3, 4))) static void fail(worker *w, mock_outcome outcome, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfail(w, outcome, format, args);
    va_end(args);
}

/* fail, in a fiber, which does not go on. */
__attribute__((format(printf, 3, 4), noreturn)) static void fault(worker *w, mock_outcome outcome, const char *format,
                                                                  ...)
{
    va_list args;
    va_start(args, format);
    vfail(w, outcome, format, args);
    va_end(args);
    leave(w, true);
    abort();
}

static const char *const collective_names[] = {
    [FS_SHUFFLE] = "fs_shfl",
    [FS_SHUFFLE_AMONG] = "fs_shfl_xor_among",
    [FS_WARP_BARRIER] = "fs_warp_barrier",
    [FS_LDMATRIX2] = "fs_ldmatrix2",
    [FS_LDMATRIX2_TRANS] = "fs_ldmatrix2_trans",
    [FS_LDMATRIX4] = "fs_ldmatrix4",
    [FS_LDMATRIX4_TRANS] = "fs_ldmatrix4_trans",
    [FS_MMA_F16] = "fs_mma_f16",
    [FS_MMA_BF16] = "fs_mma_bf16",
    [FS_MMA_TF32] = "fs_mma_tf32",
    [FS_MMA_F8E4M3] = "fs_mma_f8e4m3",
    [FS_MMA_F8E5M2] = "fs_mma_f8e5m2",
    [FS_MMA_I8] = "fs_mma_i8",
    [FS_MMA_U8] = "fs_mma_u8",
};

/* What a thread is doing, for messages. */
static const char *doing(const fiber *f, char *text, size_t room)
{
    if (f->state == AT_BARRIER)
        snprintf(text, room, "waits at the barrier of line %d", f->line);
    else if (f->state == IN_WARP)
        snprintf(text, room, "waits in %s", collective_names[f->what]);
    else
        snprintf(text, room, f->state == ENDED ? "has ended" : "runs");
    return text;
}

/* No thread can go on: why, by the first warp whose collective lacks lanes. Else one thread waits at a barrier, another
 * does not. */
static void explain_deadlock(worker *w)
{
    char mine[80], other[80];
    for (int warp = 0; warp * LANES < w->threads; warp++) {
        if (w->in_warp[warp] == 0)
            continue;
        uint32_t came = 0;
        int first = -1, missing = -1;
        for (int lane = 0; lane < LANES; lane++) {
            const int thread = warp * LANES + lane;
            const bool here = thread < w->threads && w->fibers[thread].state == IN_WARP;
            came |= (uint32_t)here << lane;
            if (here && first < 0)
                first = thread;
            if (!here && missing < 0)
                missing = thread;
        }
        fail(w, MOCK_BROKEN, "a collective lacks lanes: of warp %d lanes 0x%08x came, thread %d %s, thread %d %s", warp,
             came, first, doing(&w->fibers[first], mine, sizeof mine), missing,
             missing < w->threads ? doing(&w->fibers[missing], other, sizeof other) : "does not exist");
        return;
    }
    int waiting = 0, absent = 0;
    while (w->fibers[waiting].state != AT_BARRIER)
        waiting++;
    while (absent < w->threads - 1 && w->fibers[absent].state == AT_BARRIER)
        absent++;
    fail(w, MOCK_BROKEN, "a barrier that some threads never reach: thread %d %s, thread %d %s", waiting,
         doing(&w->fibers[waiting], mine, sizeof mine), absent, doing(&w->fibers[absent], other, sizeof other));
}

/* What threads call. All run in fibers, but for open_barrier. */

static int thread_index(void) { return self->current; }

static long long block_index(void) { return self->block; }

static long long time_ns(void) { return self->time_ns += 32; }

/* Lets all go that wait, once all came that have not ended. */
static void open_barrier(worker *w)
{
    if (w->at_barrier == 0 || w->at_barrier < (w->run->strict ? w->threads : w->live))
        return;
    int first = -1;
    for (int i = 0; i < w->threads; i++) {
        fiber *const f = &w->fibers[i];
        if (f->state != AT_BARRIER)
            continue;
        if (first < 0)
            first = i;
        if (f->line != w->fibers[first].line) {
            fail(w, MOCK_BROKEN, "divergent barrier: thread %d waits at line %d, thread %d at line %d", first,
                 w->fibers[first].line, i, f->line);
            return;
        }
        f->state = READY;
    }
    w->at_barrier = 0;
}

static void barrier(int line)
{
    worker *const w = self;
    fiber *const f = &w->fibers[w->current];
    f->line = line;
    f->state = AT_BARRIER;
    w->at_barrier++;
    open_barrier(w);
    if (w->failed || f->state == AT_BARRIER)
        leave(w, w->failed);
}

static bool in_shared(const worker *w, const void *p, size_t bytes)
{
    const uintptr_t at = (uintptr_t)p, dynamic = (uintptr_t)w->dynamic;
    if (at >= dynamic && at + bytes <= dynamic + (size_t)w->run->grid->shared_bytes)
        return true;
    for (int i = 0; i < w->static_count; i++)
        if (at >= (uintptr_t)w->statics[i].at && at + bytes <= (uintptr_t)w->statics[i].at + w->statics[i].bytes)
            return true;
    return false;
}

static void fill(void *at, uint32_t word, size_t bytes)
{
    char *const to = at;
    memcpy(to, &word, bytes < sizeof word ? bytes : sizeof word);
    for (size_t done = sizeof word; done < bytes; done *= 2)
        memcpy(to + done, to, bytes - done < done ? bytes - done : done);
}

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

static void *static_shared(const fs_shared_site *site)
{
    worker *const w = self;
    for (int i = 0; i < w->static_count; i++)
        if (w->statics[i].site == site)
            return w->statics[i].at;
    w->static_bytes += round_up(site->bytes, 16);
    if (w->static_count == MAX_STATICS)
        fault(w, MOCK_BROKEN, "more than %d arrays in shared memory", MAX_STATICS);
    if (w->static_bytes > MAX_STATIC_BYTES)
        fault(w, MOCK_BROKEN, "%zu bytes of static shared memory, at most %d", w->static_bytes, MAX_STATIC_BYTES);
    if (w->static_bytes + (size_t)w->run->grid->shared_bytes > w->run->limit_bytes)
        fault(w, MOCK_BROKEN, "%zu bytes of static and %d of dynamic shared memory, at most %zu", w->static_bytes,
              w->run->grid->shared_bytes, w->run->limit_bytes);
    shared_array *const array = &w->statics[w->static_count++];
    *array = (shared_array){site, w->shared + w->shared_used, site->bytes};
    const size_t body = round_up(site->bytes, 16);
    fill(array->at, MOCK_POISON, site->bytes);
    fill(array->at + site->bytes, GUARD, body - site->bytes + GAP_BYTES);
    w->shared_used += body + GAP_BYTES;
    return array->at;
}

static void *dynamic_shared(void) { return self->dynamic; }

static void start_copy(void *shared, const void *global, int bytes)
{
    worker *const w = self;
    fiber *const f = &w->fibers[w->current];
    if ((uintptr_t)shared % (uintptr_t)bytes != 0 || (uintptr_t)global % (uintptr_t)bytes != 0)
        fault(w, MOCK_MISALIGNED, "thread %d: misaligned asynchronous copy of %d bytes from %p to %p", w->current,
              bytes, global, shared);
    if (!in_shared(w, shared, (size_t)bytes))
        fault(w, MOCK_BAD_ADDRESS, "thread %d: asynchronous copy to %p, which is not in shared memory", w->current,
              shared);
    if (f->copies == f->room) {
        f->room = f->room ? 2 * f->room : 16;
        f->pending = realloc(f->pending, (size_t)f->room * sizeof *f->pending);
        if (!f->pending)
            abort();
    }
    f->pending[f->copies++] = (copy){shared, global, bytes, f->group};
    fill(shared, MOCK_POISON, (size_t)bytes);
}

static void commit(void) { self->fibers[self->current].group++; }

static void wait_for_copies(int pending)
{
    worker *const w = self;
    fiber *const f = &w->fibers[w->current];
    if (pending < 0)
        fault(w, MOCK_BROKEN, "thread %d: fs_copy_wait(%d)", w->current, pending);
    int done = 0;
    while (done < f->copies && f->pending[done].group < f->group - pending) {
        memcpy(f->pending[done].shared, f->pending[done].global, (size_t)f->pending[done].bytes);
        done++;
    }
    f->copies -= done;
    if (done > 0 && f->copies > 0)
        memmove(f->pending, f->pending + done, (size_t)f->copies * sizeof *f->pending);
}

float mock_of_f16(unsigned bits)
{
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    float value = (float)fraction * 0x1p-24f;
    if (exponent > 0)
        value = fs_float((unsigned)(exponent == 31 ? 255 : exponent + 112) << 23 | (unsigned)fraction << 13);
    return bits & 0x8000 ? -value : value;
}

static float of_e4m3(unsigned bits)
{
    const int exponent = (int)(bits & 0x7f) >> 3, fraction = (int)bits & 7;
    const float size = exponent == 0 ? (float)fraction * 0x1p-9f
                                     : fs_float((unsigned)(exponent + 120) << 23 | (unsigned)fraction << 20);
    return bits & 0x80 ? -size : size;
}

/* Element i of those in 32 bits. */
static float part_of(fs_collective what, unsigned word, int i)
{
    const unsigned pair = word >> 16 * i & 0xffff, byte = word >> 8 * i & 0xff;
    return what == FS_MMA_TF32     ? fs_float(word & 0xffffe000u)
           : what == FS_MMA_F16    ? mock_of_f16(pair)
           : what == FS_MMA_BF16   ? fs_float(pair << 16)
           : what == FS_MMA_F8E5M2 ? mock_of_f16(byte << 8)
           : what == FS_MMA_I8     ? (float)(signed char)byte
           : what == FS_MMA_U8     ? (float)byte
           : (byte & 0x7f) == 0x7f ? fs_float(0x7fc00000)
                                   : of_e4m3(byte);
}

/* PTX ISA, "Matrix Fragments for mma.m16n8k32", "... m16n8k16 with floating point type" and "... m16n8k8": g = lane /
 * 4, t = lane % 4. */
static void multiply(fs_collective what, fiber *lanes)
{
    const int each = what == FS_MMA_TF32 ? 1 : what == FS_MMA_F16 || what == FS_MMA_BF16 ? 2 : 4, k = 8 * each;
    float a[16][32], b[32][8];
    for (int lane = 0; lane < LANES; lane++) {
        unsigned in[6];
        memcpy(in, lanes[lane].in, sizeof in);
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 6; r++) {
            const int row = g + r % 2 * 8, far = r < 4 ? r / 2 : r - 4; /* far: the second half of k */
            for (int i = 0; i < each; i++) {
                const float value = part_of(what, in[r], i);
                const int at = each * (t + 4 * far) + i;
                if (r < 4)
                    a[row][at] = value;
                else
                    b[at][g] = value;
            }
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        float *const c = lanes[lane].out;
        int *const whole = what == FS_MMA_I8 || what == FS_MMA_U8 ? lanes[lane].out : NULL;
        for (int r = 0; r < 4; r++) {
            const int row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
            double sum = whole ? (double)whole[r] : (double)c[r];
            for (int i = 0; i < k; i++)
                sum += (double)a[row][i] * (double)b[i][column];
            if (whole)
                whole[r] = (int)sum;
            else
                c[r] = (float)sum;
        }
    }
}

/* Register i of lane l: elements 2 (l % 4) and the next one of row l / 4 of matrix i; transposed: rows for elements. */
static void load_matrices(int matrices, bool transposed, fiber *lanes)
{
    for (int lane = 0; lane < LANES; lane++) {
        unsigned *const out = lanes[lane].out;
        for (int i = 0; i < matrices; i++) {
            unsigned element[2];
            for (int half = 0; half < 2; half++) {
                const int along = lane % 4 * 2 + half, across = lane / 4;
                const int row = transposed ? along : across, column = transposed ? across : along;
                uint16_t bits;
                memcpy(&bits, (const char *)lanes[i * 8 + row].in + column * 2, sizeof bits);
                element[half] = bits;
            }
            out[i] = element[0] | element[1] << 16;
        }
    }
}

/* Neighbouring lanes, of which the last has come: each gets its value. False where some are missing. */
static bool exchange_among(worker *w, fiber *lanes, int lane)
{
    const int count = lanes[lane].from / 256, first = lane / count * count;
    for (int i = first; i < first + count; i++)
        if (lanes[i].state != IN_WARP || lanes[i].what != FS_SHUFFLE_AMONG || lanes[i].from / 256 != count)
            return false;
    for (int i = first; i < first + count; i++) {
        if (lanes[i].from % 256 / count != first / count)
            fault(w, MOCK_BROKEN, "thread %d: a shuffle from lane %d, which is not among its %d", w->current,
                  lanes[i].from % 256, count);
        memcpy(lanes[i].out, lanes[lanes[i].from % 256].in, sizeof(unsigned long long));
    }
    for (int i = first; i < first + count; i++)
        lanes[i].state = READY;
    return true;
}

static void collective(fs_collective what, const void *in, void *out, int from)
{
    worker *const w = self;
    const int warp = w->current / LANES, lane = w->current % LANES;
    fiber *const lanes = &w->fibers[warp * LANES], *const f = &lanes[lane];
    const bool of_two = what == FS_LDMATRIX2 || what == FS_LDMATRIX2_TRANS;
    const bool loads = of_two || what == FS_LDMATRIX4 || what == FS_LDMATRIX4_TRANS;
    if (loads && (!of_two || lane < 16)) {
        if ((uintptr_t)in % 16 != 0)
            fault(w, MOCK_MISALIGNED, "thread %d: %s of a misaligned row", w->current, collective_names[what]);
        if (!in_shared(w, in, 16))
            fault(w, MOCK_BAD_ADDRESS, "thread %d: %s of a row that is not in shared memory", w->current,
                  collective_names[what]);
    }
    if (what == FS_SHUFFLE && (from < 0 || from >= LANES))
        fault(w, MOCK_BROKEN, "thread %d: fs_shfl from lane %d", w->current, from);
    f->what = what;
    f->in = in;
    f->out = out;
    f->from = from;
    f->state = IN_WARP;
    if (what == FS_SHUFFLE_AMONG) {
        w->in_warp[warp]++;
        if (exchange_among(w, lanes, lane))
            w->in_warp[warp] -= f->from / 256;
        else
            leave(w, false);
        return;
    }
    if (++w->in_warp[warp] < LANES) {
        leave(w, false);
        return;
    }
    for (int i = 0; i < LANES; i++)
        if (lanes[i].what != what)
            fault(w, MOCK_BROKEN, "lanes of a warp in different collectives: thread %d in %s, thread %d in %s",
                  warp * LANES + i, collective_names[lanes[i].what], w->current, collective_names[what]);
    if (what == FS_SHUFFLE)
        for (int i = 0; i < LANES; i++)
            memcpy(lanes[i].out, lanes[lanes[i].from].in, sizeof(unsigned long long));
    else if (loads)
        load_matrices(of_two ? 2 : 4, what == FS_LDMATRIX2_TRANS || what == FS_LDMATRIX4_TRANS, lanes);
    else if (what != FS_WARP_BARRIER)
        multiply(what, lanes);
    for (int i = 0; i < LANES; i++)
        lanes[i].state = READY;
    w->in_warp[warp] = 0;
}

const void *mock_calls(void)
{
    static const fs_emulator_calls calls = {
        .thread = thread_index,
        .block = block_index,
        .barrier = barrier,
        .collective = collective,
        .static_shared = static_shared,
        .dynamic_shared = dynamic_shared,
        .copy = start_copy,
        .commit = commit,
        .wait = wait_for_copies,
        .time_ns = time_ns,
    };
    return &calls;
}

/* Running */

static void fiber_main(void)
{
    worker *const w = self;
#ifdef UNDER_ASAN
    __sanitizer_finish_switch_fiber(NULL, &w->stack_bottom, &w->stack_bytes);
#endif
    w->run->grid->entry(w->run->grid->params);
    w->fibers[w->current].state = ENDED;
    w->live--;
    open_barrier(w);
    leave(w, true);
    abort();
}

/* Stacks begin at different lines of a page, for the sake of the cache. */
static char *new_stack(int index)
{
    const size_t bytes = STACK_BYTES + PAGE_BYTES;
    char *const map =
        mmap(NULL, FENCE_BYTES + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, FENCE_BYTES, PROT_NONE) != 0)
        abort();
    (void)VALGRIND_STACK_REGISTER(map + FENCE_BYTES, map + FENCE_BYTES + bytes);
    return map + FENCE_BYTES + index % 32 * 128;
}

/* To begin with fiber_main, on a stack of its own. */
static void prepare(worker *w, fiber *f)
{
    if (w->taken == w->stack_count) {
        w->stacks[w->stack_count] = new_stack(w->stack_count);
        w->stack_count++;
    }
    f->stack = w->stacks[w->taken++];
#ifdef UNDER_ASAN
    __asan_unpoison_memory_region(f->stack + STACK_BYTES - PAGE_BYTES, PAGE_BYTES); /* from the frames of leave */
#endif
#ifdef FAST_SWITCH
    if (!w->run->slow) {
        /* As mock_switch leaves it: six registers, where it returns to, and where that would return to. */
        uintptr_t *const top = (uintptr_t *)(void *)(f->stack + STACK_BYTES) - 8;
        memset(top, 0, 8 * sizeof *top);
        top[6] = (uintptr_t)fiber_main;
        f->sp = top;
        return;
    }
#endif
    getcontext(&f->slow);
    f->slow.uc_stack.ss_sp = f->stack;
    f->slow.uc_stack.ss_size = STACK_BYTES;
    f->slow.uc_link = NULL;
    makecontext(&f->slow, fiber_main, 0);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* 0 to count - 1 in the order in which warps, or the lanes of one, run. */
static void arrange(worker *w, int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = w->run->order == REVERSE ? count - 1 - i : i;
    for (int i = count - 1; w->run->order == RANDOM && i > 0; i--) {
        const int other = (int)(next_random(&w->random) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Until all its lanes wait or have ended: ahead of the other warps, as far as barriers let it. False: no lane could
 * run. */
static bool run_warp(worker *w, int warp)
{
    int order[LANES];
    bool any = false;
    for (bool moved = true; moved && !w->failed;) {
        moved = false;
        arrange(w, order, LANES);
        for (int i = 0; i < LANES && !w->failed; i++) {
            const int thread = warp * LANES + order[i];
            if (thread >= w->threads || w->fibers[thread].state != READY)
                continue;
            any = moved = true;
            resume(w, thread);
        }
    }
    return any;
}

/* A loop of our own: most of a small block's time, and the sanitizers look at what memcmp is given. */
static bool holds(const char *from, uint32_t word, size_t bytes)
{
    uint32_t differs = 0, found;
    for (size_t i = 0; i < bytes / sizeof word; i++) {
        memcpy(&found, from + i * sizeof word, sizeof found);
        differs |= found ^ word;
    }
    return !differs;
}

static void check_guards(worker *w)
{
    const size_t dynamic_bytes = (size_t)w->run->grid->shared_bytes, body = round_up(dynamic_bytes, 16);
    if (!holds(w->shared, GUARD, GUARD_BYTES))
        fail(w, MOCK_BAD_ADDRESS, "a write before the start of dynamic shared memory");
    char *const behind = w->dynamic + dynamic_bytes;
    if (!holds(behind, GUARD, body - dynamic_bytes + GUARD_BYTES))
        fail(w, MOCK_BAD_ADDRESS, "a write beyond the %zu bytes of dynamic shared memory", dynamic_bytes);
    for (int i = 0; i < w->static_count; i++) {
        const shared_array *const array = &w->statics[i];
        if (!holds(array->at + array->bytes, GUARD, round_up(array->bytes, 16) - array->bytes + GAP_BYTES))
            fail(w, MOCK_BAD_ADDRESS, "a write beyond the %zu bytes of an array in shared memory of %s", array->bytes,
                 array->site->function);
    }
}

/* The fibers that a fault left where they were. */
static void forget(worker *w)
{
    for (int i = 0; i < w->threads; i++)
        if (w->fibers[i].stack)
            w->stacks[--w->taken] = w->fibers[i].stack;
#ifdef UNDER_ASAN
    for (int i = 0; i < w->stack_count; i++)
        __asan_unpoison_memory_region(w->stacks[i], STACK_BYTES);
#endif
}

static void run_block(worker *w, long long block)
{
    const mock_grid *const grid = w->run->grid;
    const size_t dynamic_bytes = (size_t)grid->shared_bytes, body = round_up(dynamic_bytes, 16);
    if (w->failed)
        forget(w);
    w->failed = false;
    w->block = block;
    w->time_ns = grid->start_ns;
    w->threads = w->live = grid->block;
    w->at_barrier = 0;
    memset(w->in_warp, 0, sizeof w->in_warp);
    for (int i = 0; i < w->threads; i++) {
        fiber *const f = &w->fibers[i];
        f->state = READY;
        f->stack = NULL;
        f->copies = f->group = 0;
    }
    w->static_count = 0;
    w->static_bytes = 0;
    if (!w->guarded) {
        fill(w->shared, GUARD, GUARD_BYTES);
        fill(w->dynamic + dynamic_bytes, GUARD, body - dynamic_bytes + GUARD_BYTES);
    }
    w->guarded = false;
    fill(w->dynamic, MOCK_POISON, dynamic_bytes);
    w->shared_used = GUARD_BYTES + body + GUARD_BYTES;
    w->random = w->run->seed * 0x9e3779b97f4a7c15u + (uint64_t)block + 1;
    const int warps = (w->threads + LANES - 1) / LANES;
    while (w->live > 0) {
        int order[MAX_THREADS / LANES];
        bool moved = false;
        arrange(w, order, warps);
        for (int i = 0; i < warps && !w->failed; i++)
            moved = run_warp(w, order[i]) || moved;
        if (!moved && !w->failed)
            explain_deadlock(w);
        if (w->failed)
            return;
    }
    check_guards(w);
    w->guarded = !w->failed;
}

#ifdef FAST_SWITCH
static struct sigaction previous_actions[3];
static const int caught_signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static int catching;
static _Thread_local uintptr_t bad_address;
static _Thread_local int bad_signal;

/* Where a fiber that did what it may not goes on, its stack empty. */
static void landing(void)
{
    worker *const w = self;
    const fiber *const f = &w->fibers[w->current];
    const uintptr_t below = (uintptr_t)f->stack - bad_address;
    if (bad_signal == SIGFPE)
        fault(w, MOCK_BROKEN, "thread %d: an integer divided by zero", w->current);
    if (below <= FENCE_BYTES + PAGE_BYTES)
        fault(w, MOCK_BROKEN, "thread %d: more than %d bytes of stack", w->current, STACK_BYTES);
    fault(w, MOCK_BAD_ADDRESS, "thread %d: invalid address %#llx", w->current, (unsigned long long)bad_address);
}

static void caught(int number, siginfo_t *info, void *context)
{
    if (!self) {
        for (size_t i = 0; i < sizeof caught_signals / sizeof *caught_signals; i++)
            if (caught_signals[i] == number)
                sigaction(number, &previous_actions[i], NULL); /* and it happens again */
        return;
    }
#ifdef UNDER_ASAN
    __asan_unpoison_memory_region(self->fibers[self->current].stack, STACK_BYTES);
#endif
    bad_signal = number;
    bad_address = (uintptr_t)info->si_addr;
    ucontext_t *const at = context;
    at->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)landing;
    at->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)(self->fibers[self->current].stack + STACK_BYTES - 8);
}

static void catch_signals(bool on)
{
    pthread_mutex_lock(&signal_lock);
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    if (on ? catching++ == 0 : --catching == 0)
        for (size_t i = 0; i < sizeof caught_signals / sizeof *caught_signals; i++)
            sigaction(caught_signals[i], on ? &action : &previous_actions[i], on ? &previous_actions[i] : NULL);
    pthread_mutex_unlock(&signal_lock);
}
#else
static void catch_signals(bool on) { (void)on; }
#endif

/* Workers keep their stacks from launch to launch. */
static worker *idle;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

static worker *take_worker(launch *run)
{
    pthread_mutex_lock(&idle_lock);
    worker *w = idle;
    if (w)
        idle = w->next;
    pthread_mutex_unlock(&idle_lock);
    if (!w && (w = calloc(1, sizeof *w))) {
        w->fibers = calloc(MAX_THREADS, sizeof *w->fibers);
        w->stacks = calloc(MAX_THREADS, sizeof *w->stacks);
        w->signal_stack = malloc(STACK_BYTES);
    }
    if (!w || !w->fibers || !w->stacks || !w->signal_stack)
        abort();
    const size_t room =
        3 * GUARD_BYTES + (size_t)run->grid->shared_bytes + MAX_STATIC_BYTES + MAX_STATICS * (size_t)(GAP_BYTES + 16);
    if (w->shared_room < room) {
        free(w->shared);
        w->shared = aligned_alloc(PAGE_BYTES, round_up(room, PAGE_BYTES));
        if (!w->shared)
            abort();
        w->shared_room = room;
    }
    w->dynamic = w->shared + GUARD_BYTES;
    w->run = run;
    w->guarded = false;
    return w;
}

static void *work(void *data)
{
    launch *const run = data;
    worker *const w = take_worker(run);
    const stack_t mine = {.ss_sp = w->signal_stack, .ss_size = STACK_BYTES};
    stack_t previous;
    sigaltstack(&mine, &previous);
    self = w;
    const long long grid = run->grid->grid;
    for (long long i; run->outcome == MOCK_RAN && (i = run->next++) < grid;) {
        long long block = run->order == REVERSE ? grid - 1 - i : i;
        if (run->order == RANDOM)
            block = (long long)((uint64_t)i * run->stride % (uint64_t)grid);
        run_block(w, block);
    }
    self = NULL;
    sigaltstack(&previous, NULL);
    pthread_mutex_lock(&idle_lock);
    w->next = idle;
    idle = w;
    pthread_mutex_unlock(&idle_lock);
    return NULL;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool set_in_environment(const char *name)
{
    const char *const value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

mock_outcome mock_run(const mock_grid *grid, char *why, size_t room)
{
    if (room > 0)
        *why = '\0';
    launch run = {.grid = grid,
                  .slow = set_in_environment("MOCK_UCONTEXT"),
                  .strict = set_in_environment("MOCK_STRICT"),
                  .limit_bytes = grid->shared_limit_bytes ? (size_t)grid->shared_limit_bytes : DEFAULT_LIMIT_BYTES,
                  .why = why,
                  .room = room};
    if (grid->grid < 1 || grid->grid > INT32_MAX || grid->block < 1 || grid->block > MAX_THREADS ||
        grid->shared_bytes < 0 || (size_t)grid->shared_bytes > run.limit_bytes) {
        snprintf(why, room, "%lld blocks of %d threads and %d bytes of dynamic shared memory (at most %d and %zu)",
                 grid->grid, grid->block, grid->shared_bytes, MAX_THREADS, run.limit_bytes);
        return MOCK_BROKEN;
    }
    const char *const order = getenv("MOCK_ORDER"), *const jobs = getenv("MOCK_JOBS");
    if (order && strcmp(order, "reverse") == 0)
        run.order = REVERSE;
    if (order && strncmp(order, "random:", 7) == 0) {
        run.order = RANDOM;
        run.seed = strtoull(order + 7, NULL, 10);
        run.stride = (run.seed + (uint64_t)grid->grid / 2) % (uint64_t)grid->grid + 1;
        while (common_divisor(run.stride, (uint64_t)grid->grid) != 1)
            run.stride++;
    }
    pthread_mutex_init(&run.lock, NULL);
    catch_signals(true);
    pthread_t threads[64];
    const long wanted = jobs ? strtol(jobs, NULL, 10) : 1;
    const int count = (int)(wanted < 1 ? 1 : wanted > 64 ? 64 : wanted > grid->grid ? grid->grid : wanted);
    int started = 0;
    while (started < count - 1 && pthread_create(&threads[started], NULL, work, &run) == 0)
        started++;
    work(&run);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    catch_signals(false);
    pthread_mutex_destroy(&run.lock);
    return (mock_outcome)run.outcome;
}
