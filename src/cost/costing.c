/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"

#include "cost/constants.h"
#include "kernel/layout.h"

#include <math.h>

const char *const fsim_unit_names[FSIM_UNIT_COUNT] = {"launch",  "dram",    "l2",    "shared",
                                                      "compute", "special", "issue", "latency"};
const char *const fsim_unit_words[FSIM_UNIT_COUNT] = {
    "launching", "DRAM", "L2", "shared memory", "compute", "special functions", "instruction issue", "latency"};
const char *const fsim_regime_names[FSIM_REGIME_COUNT] = {"eager", "stream", "graph", "kernel"};
const char *const fsim_regime_counts[FSIM_REGIME_COUNT] = {"time as Python launches", "GPU time",
                                                           "GPU time in a recorded graph", "kernels alone"};
const char *const fsim_regime_says[FSIM_REGIME_COUNT] = {
    "a kernel that is shorter than its launch waits for the host", "the host is not waited for",
    "the host is not waited for, and kernels follow each other sooner",
    "as a profiler lists them, without the time between"};

/* Results per second of all SMs, from a rate per clock and SM; `otherwise` where the file lacks `key`. */
static double rate_of(const fsim_costing *c, fsim_hw_key key, fsim_hw_key otherwise)
{
    return c->sms * c->clock * fsim_or_else(fsim_hw_get(c->hw, key), fsim_hw_get(c->hw, otherwise));
}

/* Results per second of the pipe that computes in this dtype. */
double fsim_pipe_rate(const fsim_costing *c, fsim_dtype t)
{
    if (t == FSIM_F64)
        return rate_of(c, FSIM_HW_FP64_RATE, FSIM_HW_FP32_RATE);
    return fsim_dtype_floating(t) ? rate_of(c, FSIM_HW_FP32_RATE, FSIM_HW_FP32_RATE)
                                  : rate_of(c, FSIM_HW_INT32_RATE, FSIM_HW_FP32_RATE);
}

/* How many of a member's `count` instructions are executed at each of its points, given its form. */
static double left(const fsim_costing *c, const fsim_member *m, double count)
{
    switch (m->form) {
    case FSIM_DEFERRED: /* once for each result instead of each element of the intermediate */
        return count * (double)c->group->points / ((double)c->group->rows * (double)c->group->width);
    case FSIM_BASE_TWO:
        return fmin(count, 2);
    default:
        return count;
    }
}

/* Arithmetic of every member but the contraction itself. loads[i]: how often each element of a contraction's operand i
 * is loaded, and its prologue computed; NULL where there is none. kept: rows stay on chip; else they are walked once a
 * stage. */
void fsim_add_arithmetic(const fsim_costing *c, fsim_kernel *k, const double *loads, bool kept)
{
    double special = 0, issued = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_member *m = &c->group->member[i];
        const fsim_node *n = &c->g->node[m->node];
        if (n->gemm.k)
            continue;
        double evaluations = (double)m->evaluations * ((m->prologue || m->middle) && loads ? loads[m->operand] : 1);
        if (!kept && m->full && fsim_bits(m->stages) > 1)
            evaluations *= fsim_bits(m->stages);
        k->flops += evaluations * n->flops;
        evaluations *= m->divergence;
        k->penalised = k->penalised || m->divergence > 1;
        k->unit[FSIM_COMPUTE] += evaluations * left(c, m, n->instructions) / fsim_pipe_rate(c, n->dtype);
        special += evaluations * left(c, m, n->specials);
        issued += evaluations * left(c, m, n->instructions);
    }
    k->unit[FSIM_SPECIAL] += special / rate_of(c, FSIM_HW_SPECIAL_RATE, FSIM_HW_SPECIAL_RATE);
    k->unit[FSIM_ISSUE] += issued / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
}

/* Elements of read r that threads load one by one. */
static double loads_of(const fsim_costing *c, const fsim_read *r)
{
    const double points = (double)c->group->points * (r->full ? (double)c->group->reduced : 1);
    double unmapped = 0, pieces = 0;
    if (r->unmapped && (r->maps == 0 || r->operand < 0))
        unmapped = r->access->how == FSIM_READ_INDIRECT ? (double)r->access->rows * (double)r->access->run : points;
    if (!r->place && r->repeats == 0)
        return unmapped + points * r->maps;
    for (int i = 0; i < r->maps; i++)
        pieces += (double)fsim_map_points(&r->map[i]) * (r->full ? (double)fsim_map_reduced(&r->map[i]) : 1);
    return unmapped + pieces * fmax(1, r->repeats);
}

/* Where a kernel computes with an element of a concatenation, each part asks whether it has it: so many questions of
 * read r. A copy alone and lists of tensors are taken to have blocks for each part. */
static double questions_of(const fsim_costing *c, const fsim_read *r, int passes)
{
    const fsim_group *o = c->group;
    double parts = 0;
    if (!r->place || o->listed > 0 || o->template == FSIM_COPY || o->contractions > 0 || c->hw->host ||
        c->hw->arch->plain)
        return 0;
    for (int i = 0; i < r->maps; i++)
        parts += r->place[i].offset >= 0;
    return parts * (double)o->points * (r->full ? (double)o->reduced : 1) * fmax(1, r->repeats) *
           fmin(passes, fsim_bits(r->stages));
}

/* Loads and stores as instructions: for each `vector` elements one, and one for the address. */
void fsim_add_access_issue(const fsim_costing *c, fsim_kernel *k)
{
    double accesses = 0, questions = 0;
    for (int i = 0; i < c->group->reads; i++) {
        const fsim_read *r = &c->group->read[i];
        accesses += loads_of(c, r) * (k->passes > 1 ? fsim_bits(r->stages) : 1);
        questions += questions_of(c, r, k->passes);
    }
    for (int i = 0; i < c->group->writes; i++) {
        const fsim_write *x = &c->group->write[i];
        accesses += (double)fsim_map_points(&x->map) * (x->full ? (double)fsim_map_reduced(&x->map) : 1);
    }
    k->penalised = k->penalised || questions > 0;
    k->unit[FSIM_ISSUE] +=
        (2 * accesses / k->vector + PART_INSTRUCTIONS * questions) / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
}

void fsim_add_operand_loads(const fsim_costing *c, fsim_kernel *k, double products, int bytes)
{
    if (!c->hw->host)
        k->shared_bytes_moved += 2 * products * bytes;
}

/* Bytes of stream i that DRAM moves: the share of it, if one is set. */
static int64_t from_dram(const double *share, int i, const fsim_traffic *t, int64_t otherwise)
{
    return share ? (int64_t)(fmax(1, (double)t->compulsory_bytes) * share[i]) : otherwise;
}

double fsim_found_in_l2(const fsim_residency *l2, int read)
{
    return !l2 ? 0 : l2->found ? l2->found[read] : l2->hit && l2->hit[read] ? 1 : 0;
}

double fsim_stays_in_l2(const fsim_residency *l2, int write)
{
    return !l2 ? 0 : l2->stays ? l2->stays[write] : l2->absorbed && l2->absorbed[write] ? 1 : 0;
}

/* DRAM and L2 traffic of all reads and writes; extra[i] multiplies what read i fetches (tiles, passes), from DRAM where
 * extra_dram says so. */
void fsim_add_memory(const fsim_costing *c, fsim_kernel *k, const double *extra, const double *extra_dram)
{
    const fsim_group *o = c->group;
    int tile = 0;
    k->coalescing = 1;
    for (int i = 0; i < o->reads; i++) {
        const fsim_traffic *t = &c->read[i];
        const double times = extra_dram ? extra_dram[i] : 1;
        const double fetched = (double)t->sector_bytes * t->reread * times * (1 - fsim_found_in_l2(c->l2, i));
        k->input[i] = (fsim_input){
            .tensor = o->read[i].tensor,
            .bytes = t->compulsory_bytes,
            .read_bytes = from_dram(c->l2 ? c->l2->read_share : NULL, i, t, (int64_t)fmin(fetched, 0x1p60)),
            .l2_bytes = t->request_bytes * (extra ? extra[i] : 1)};
        k->dram_read_bytes += k->input[i].read_bytes;
        k->l2_bytes += k->input[i].l2_bytes;
        k->shared_bytes_moved += 2 * t->staged_bytes;
        k->coalescing = fmin(k->coalescing, t->coalescing);
        k->penalised = k->penalised || t->reread * times > 1 ||
                       t->sector_bytes > c->g->tensor[o->read[i].tensor].bytes + 2 * FSIM_SECTOR_BYTES;
        const int own = t->staged_bytes > 0 ? FSIM_TRANSPOSE_TILE * (FSIM_TRANSPOSE_TILE + 1) *
                                                  fsim_dtype_bytes(c->g->tensor[o->read[i].tensor].dtype)
                                            : 0;
        tile = own > tile ? own : tile;
    }
    if (o->anchor < 0)
        k->shared_bytes += tile; /* in addition to a row that is kept there */
    else
        k->shared_bytes =
            tile > k->shared_bytes ? tile : k->shared_bytes; /* operand tiles are not used any more by then */
    for (int i = 0; i < o->writes; i++) {
        const fsim_traffic *t = &c->write[i];
        const int64_t written = (int64_t)((double)t->sector_bytes * (1 - fsim_stays_in_l2(c->l2, i)));
        k->output[i] = (fsim_result){.tensor = o->write[i].tensor,
                                     .bytes = t->compulsory_bytes,
                                     .write_bytes = from_dram(c->l2 ? c->l2->write_share : NULL, i, t, written)};
        k->dram_write_bytes += k->output[i].write_bytes;
        k->l2_bytes += t->request_bytes;
        k->shared_bytes_moved += 2 * t->staged_bytes;
        k->coalescing = fmin(k->coalescing, t->coalescing);
    }
}

/* Little's law: bandwidth is at most bytes in flight / latency. `waits` dependent trips to memory, for each of
 * `waves` sets of resident threads, take waits x waves x latency however wide the memory is. A thread requests in
 * one trip as much as the compiler can issue ahead. So low occupancy alone does not cost bandwidth (Volkov, GTC
 * 2010), but few bytes per thread at low occupancy do. */
static double in_flight_seconds(const fsim_costing *c, double waves, double waits)
{
    return ceil(waves) * waits * c->latency_s;
}

/* Trips of a thread that loads its operands once. */
double fsim_trips(const fsim_costing *c)
{
    double loads = 0;
    for (int i = 0; i < c->group->reads; i++)
        loads += c->group->read[i].place ? 1 : fmax(1, c->group->read[i].maps) * fmax(1, c->group->read[i].repeats);
    return fmax(1, ceil(loads / LOADS_AHEAD));
}

/* Where a write costs more than a read (dram_write_cost), an equal number of both reaches the achieved bandwidth. */
double fsim_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes)
{
    const double write_cost = fsim_hw_get(hw, FSIM_HW_DRAM_WRITE_COST);
    return (read_bytes + write_cost * write_bytes) * 2 / (1 + write_cost) / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
}

double fsim_reading_gain(const fsim_hw *hw)
{
    return fmax(1, fsim_or_else(fsim_hw_get(hw, FSIM_HW_DRAM_READ) / fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH), 1));
}

/* How many times as fast as copies products on tensor units move bytes, at most. */
static double product_gain(const fsim_hw *hw)
{
    const double copies = fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH),
                 most =
                     fmin(copies * fsim_hw_get(hw, FSIM_HW_GEMM_TENSOR_DRAM), fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH));
    return hw->arch->plain ? 1 : fmax(1, fsim_or_else(most / copies, 1));
}

double fsim_read_seconds(const fsim_hw *hw, double read_bytes, double write_bytes)
{
    const double write_cost = fsim_hw_get(hw, FSIM_HW_DRAM_WRITE_COST),
                 most = (1 + write_cost) / 2; /* the most that a byte counts for */
    return fsim_dram_seconds(hw, read_bytes * fmin(1, most), write_bytes * fmin(1, most / write_cost)) /
           fsim_reading_gain(hw);
}

double fsim_least_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes, bool products)
{
    return products ? fsim_read_seconds(hw, read_bytes, write_bytes) / product_gain(hw)
                    : fsim_dram_seconds(hw, read_bytes, write_bytes);
}

/* On a host, cores share l2_bandwidth evenly, and DRAM bandwidth was measured from a core, through its caches: bytes
 * from DRAM cost no additional time on the way. */
static double host_cache_seconds(const fsim_costing *c, const fsim_kernel *k)
{
    const double passing = (double)(k->dram_read_bytes + k->dram_write_bytes),
                 rate = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH) * fmin(1, (double)k->grid / c->sms);
    return fmax(0, k->l2_bytes - passing) / rate;
}

static double cache_seconds(const fsim_costing *c, const fsim_kernel *k)
{
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH),
                 ports = fmin((double)k->grid, c->sms) * c->clock * SM_PORT_BYTES;
    if (isnan(l2))
        return 0;
    return c->hw->host ? host_cache_seconds(c, k)
                       : k->l2_bytes / (c->group->anchor < 0 && !c->hw->arch->plain ? fmin(l2, ports) : l2);
}

static void memory_seconds(const fsim_costing *c, fsim_kernel *k, double resident)
{
    const double spilled = (double)k->spilled_bytes / fmax(1, (double)k->grid) / 2 *
                           fmin((double)k->grid, resident); /* of all threads at once */
    k->unit[FSIM_DRAM] = fsim_dram_seconds(c->hw, (double)k->dram_read_bytes, (double)k->dram_write_bytes);
    if (spilled > c->l2_bytes) /* what does not fit L2 goes to DRAM and returns */
        k->unit[FSIM_DRAM] +=
            (double)k->spilled_bytes * (1 - c->l2_bytes / spilled) / fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    k->unit[FSIM_L2] = cache_seconds(c, k);
    k->unit[FSIM_SHARED] = k->shared_bytes_moved / (c->sms * c->clock * fsim_hw_get(c->hw, FSIM_HW_SHARED_BANDWIDTH));
}

/* Occupancy, waves, spills, and the derating of a grid that leaves SMs idle. steps: dependent trips to memory of one
 * block. False when the block does not fit an SM. */
bool fsim_settle(const fsim_costing *c, fsim_kernel *k, double steps)
{
    const int most = (int)fsim_hw_get(c->hw, FSIM_HW_REGISTERS_PER_THREAD);
    if (k->registers > most && !c->hw->host) {
        k->spilled_bytes = (int64_t)(k->registers - most) * 4 * 2 * k->grid * k->block;
        k->l2_bytes += (double)k->spilled_bytes;
        k->registers = most;
        k->penalised = true;
    }
    const int blocks = fsim_fit_on_sm(c->hw, &k->schedule);
    if (blocks == 0 || k->block > fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_BLOCK))
        return false;
    const double resident = blocks * c->sms, threads = fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_SM);
    k->occupancy =
        c->hw->host ? 1 : fmin(1, blocks * ceil(k->block / c->warp) * c->warp / threads); /* one block fills a core */
    k->waves = (double)k->grid / resident;
    memory_seconds(c, k, resident);
    const double grid = (double)k->grid,
                 busy = grid / (c->sms * ceil(grid / c->sms)); /* SMs are idle in the last round of blocks */
    const double share = grid < resident ? busy : 1;
    k->penalised =
        k->penalised || share < 1; /* in a kernel with more blocks, as after a split, the same work is faster */
    static const fsim_unit on_sm[] = {FSIM_SHARED, FSIM_COMPUTE, FSIM_SPECIAL, FSIM_ISSUE};
    for (size_t i = 0; i < sizeof on_sm / sizeof on_sm[0]; i++)
        k->unit[on_sm[i]] /= share;
    k->unit[FSIM_LATENCY] +=
        in_flight_seconds(c, k->waves, steps) + (c->hw->host ? 0 : ceil(k->waves) * (c->group->stages - 1) * barrier_s);
    return true;
}

double fsim_least_launch_s(const fsim_hw *hw, fsim_regime regime)
{
    if (regime == FSIM_REGIME_GRAPH)
        return fsim_hw_get(hw, FSIM_HW_LAUNCH_GRAPH);
    const double stream = fsim_hw_get(hw, FSIM_HW_LAUNCH_STREAM);
    if (regime == FSIM_REGIME_STREAM)
        return stream;
    const double floor = fsim_hw_get(hw, FSIM_HW_KERNEL_FLOOR);
    return regime == FSIM_REGIME_EAGER ? fmax(floor, stream) : fmin(floor, stream);
}

/* Computes time_s and its shares, from the units' total and the weight of each unit. */
static void share_out(const fsim_costing *c, fsim_kernel *k, double overlapped, const double *weight, double weights)
{
    double launch = fsim_least_launch_s(c->hw, c->regime) * k->launches, shares = 0;
    int largest = FSIM_DRAM;
    if (c->regime == FSIM_REGIME_EAGER) /* the host launches ahead: the kernel's own time hides the next launch */
        launch = fmax(launch, fsim_hw_get(c->hw, FSIM_HW_LAUNCH_EAGER) * k->launches - overlapped);
    k->unit[FSIM_LAUNCH] = k->time[FSIM_LAUNCH] = launch;
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++) {
        k->time[u] = weights > 0 ? overlapped * (weight[u] / weights) : 0;
        largest = k->time[u] > k->time[largest] ? u : largest;
    }
    k->time_s = rint((launch + overlapped) / FSIM_TICK_S) * FSIM_TICK_S;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        shares += u == largest ? 0 : k->time[u];
    k->time[largest] = k->time_s - shares;
    k->bound = k->time[FSIM_LAUNCH] > k->time[largest] ? FSIM_LAUNCH : (fsim_unit)largest;
}

/* Of another kind of accelerator only peaks and bytes are known, and not what bounds a kernel inside of a core. */
static void drop_inner_units(const fsim_costing *c, fsim_kernel *k)
{
    static const fsim_unit inner[] = {FSIM_SHARED, FSIM_ISSUE, FSIM_LATENCY};
    for (size_t i = 0; i < sizeof inner / sizeof *inner && c->hw->arch->plain; i++)
        k->unit[inner[i]] = 0;
}

void fsim_sum_up(const fsim_costing *c, fsim_kernel *k)
{
    drop_inner_units(c, k);
    _Static_assert(KERNEL_EXPONENT == 3, "cubes, and their root");
    double cube[FSIM_UNIT_COUNT] = {0}, cubes = 0;
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++)
        cubes += cube[u] = k->unit[u] * k->unit[u] * k->unit[u];
    share_out(c, k, cbrt(cubes), cube, cubes);
}

void fsim_add_after(fsim_kernel *k, fsim_unit unit, double seconds)
{
    const double before = k->time_s;
    k->time_s = rint((before + seconds) / FSIM_TICK_S) * FSIM_TICK_S;
    k->unit[unit] += seconds;
    k->time[unit] += k->time_s - before;
    if (k->time[unit] > k->time[k->bound])
        k->bound = unit;
}

void fsim_sum_up_by(const fsim_costing *c, fsim_kernel *k, double exponent)
{
    double power[FSIM_UNIT_COUNT] = {0}, powers = 0;
    drop_inner_units(c, k);
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++)
        powers += power[u] = k->unit[u] > 0 ? pow(k->unit[u], exponent) : 0;
    share_out(c, k, pow(powers, 1 / exponent), power, powers);
}

void fsim_sum_up_to(const fsim_costing *c, fsim_kernel *k, double seconds)
{
    double sum = 0;
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++)
        sum += k->unit[u];
    share_out(c, k, seconds, k->unit, sum);
}

fsim_kernel fsim_blank_kernel(const fsim_costing *c, fsim_arena *a)
{
    const fsim_group *o = c->group;
    fsim_kernel k = {.group = o,
                     .template = o->template,
                     .launches = 1,
                     .block = FSIM_BLOCK,
                     .vector = 1,
                     .passes = 1,
                     .split_k = 1,
                     .pieces = 1};
    k.inputs = o->reads;
    k.outputs = o->writes;
    k.input = fsim_new(a, fsim_input, o->reads + 1);
    k.output = fsim_new(a, fsim_result, o->writes + 1);
    k.penalised = o->recomputes;
    return k;
}

bool fsim_lay_out(const fsim_costing *c, fsim_schedule *s)
{
    fsim_turning t;
    const bool turns = fsim_find_turning(c->group, c->read, c->write, c->group->points, &t);
    fsim_layout l = {.g = c->g, .hw = c->hw, .group = c->group, .turning = turns ? &t : NULL};
    return fsim_schedule_of(&l, s);
}

fsim_hw_key fsim_tensor_key(const fsim_hw *hw, fsim_dtype arithmetic)
{
    static const struct {
        fsim_dtype t;
        fsim_hw_key key;
    } unit[] = {{FSIM_F16, FSIM_HW_TENSOR_F16},
                {FSIM_BF16, FSIM_HW_TENSOR_BF16},
                {FSIM_TF32, FSIM_HW_TENSOR_TF32},
                {FSIM_F8E4M3, FSIM_HW_TENSOR_F8},
                {FSIM_F8E5M2, FSIM_HW_TENSOR_F8},
                {FSIM_I8, FSIM_HW_TENSOR_I8},
                {FSIM_U8, FSIM_HW_TENSOR_I8},
                {FSIM_F64, FSIM_HW_TENSOR_F64},
                {FSIM_F32, FSIM_HW_TENSOR_F32},
                /* widened, which loses nothing: */ {FSIM_F16, FSIM_HW_TENSOR_F32},
                {FSIM_BF16, FSIM_HW_TENSOR_F32},
                {FSIM_TF32, FSIM_HW_TENSOR_F32}};
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        if (unit[i].t == arithmetic && fsim_hw_has(hw, unit[i].key))
            return unit[i].key;
    return FSIM_HW_COUNT;
}

bool fsim_is_tensor_arithmetic(fsim_dtype t) { return t != FSIM_F32 && t != FSIM_F64; }

/* Without tensor units GPUs' libraries and our kernels multiply f16 in FP32, because they add in FP32 (PyTorch:
 * CUBLAS_COMPUTE_32F). What compilers of other devices do is not known; they are taken to use what is there. */
static bool adds_in_f16(const fsim_hw *hw, fsim_dtype arithmetic)
{
    return arithmetic == FSIM_F16 && (hw->host || hw->arch->plain);
}

/* The units' figure for this arithmetic, as `read` reads it. */
static double dense(const fsim_hw *hw, fsim_dtype arithmetic, double (*read)(const fsim_hw *, fsim_hw_key))
{
    const fsim_hw_key tensor = fsim_tensor_key(hw, arithmetic);
    if (tensor != FSIM_HW_COUNT)
        return read(hw, tensor);
    const double fp32 = read(hw, FSIM_HW_FP32_PEAK);
    return arithmetic == FSIM_F64        ? fsim_or_else(read(hw, FSIM_HW_FP64_PEAK), fp32 / 32)
           : adds_in_f16(hw, arithmetic) ? fsim_or_else(read(hw, FSIM_HW_FP16_PEAK), fp32)
                                         : fp32;
}

double fsim_dense_peak(const fsim_hw *hw, fsim_dtype arithmetic) { return dense(hw, arithmetic, fsim_hw_peak); }
double fsim_dense_rate(const fsim_hw *hw, fsim_dtype arithmetic) { return dense(hw, arithmetic, fsim_hw_get); }

double fsim_l2_effective(const fsim_hw *hw)
{
    const double share = fsim_hw_get(hw, FSIM_HW_L2_EFFECTIVE);
    return fsim_hw_get(hw, FSIM_HW_L2_CAPACITY) * (isnan(share) ? 1 : share);
}

double fsim_bytes_in_flight(const fsim_graph *g, const fsim_group *o)
{
    double all = 0;
    for (int i = 0; i < o->writes; i++)
        all += (double)g->tensor[o->write[i].tensor].written_bytes;
    for (int i = 0; i < o->reads; i++)
        all += (double)(o->read[i].whole ? g->tensor[o->read[i].tensor].bytes : o->read[i].bytes);
    return all;
}

fsim_costing fsim_costing_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                             const fsim_residency *l2, fsim_arena *a)
{
    fsim_costing c = {.g = g, .hw = hw, .regime = regime, .group = group, .l2 = l2};
    c.sms = fsim_hw_get(hw, FSIM_HW_SMS);
    c.clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    c.warp = fsim_hw_get(hw, FSIM_HW_WARP_SIZE);
    c.l2_bytes = fsim_l2_effective(hw);
    c.latency_s = hw->host ? 0
                           : fsim_or_else(fsim_hw_get(hw, FSIM_HW_DRAM_LATENCY),
                                          default_latency_s); /* a core's prefetchers load ahead */
    c.read = fsim_new(a, fsim_traffic, group->reads + 1);
    c.write = fsim_new(a, fsim_traffic, group->writes + 1);
    for (int i = 0; i < group->writes; i++) {
        c.write[i] = fsim_write_traffic(g, &group->write[i], (int)c.warp);
        c.total_bytes += (double)c.write[i].sector_bytes;
    }
    for (int i = 0; i < group->reads; i++) {
        const int warp = fsim_read_ways(&group->read[i]) > 1 ? 0 : (int)c.warp;
        c.read[i] = fsim_read_traffic(g, &group->read[i], warp, 0, 1);
        c.total_bytes += (double)c.read[i].sector_bytes;
    }
    for (int i = 0; i < group->reads; i++) /* now that the bytes of all streams are known */
        if (fsim_read_ways(&group->read[i]) > 1)
            c.read[i] = fsim_read_traffic(g, &group->read[i], (int)c.warp, c.total_bytes, c.l2_bytes);
        else
            c.read[i].reread = fsim_read_rereads(g, &group->read[i], c.total_bytes, c.l2_bytes);
    return c;
}
