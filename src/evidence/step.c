/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/step.h"

#include "plan/price/timeline.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_step_run *run;
    double gpus;
    bool shards;
    const char *dtype; /* of autocast; NULL: none */
} reading;

static bool is_word(const char *text, const char *word) { return strcmp(text, word) == 0; }

static void read_dtype(reading *r, const char *value)
{
    r->dtype = is_word(value, "amp_bf16") ? "bf16" : "f16";
    r->run->beyond = r->run->beyond || !(is_word(value, "amp_bf16") || is_word(value, "amp_fp16"));
}

static void read_accumulate(reading *r, const char *value) { r->run->derive.micro_batches = atoll(value); }

static void read_checkpoint(reading *r, const char *value)
{
    r->run->derive.checkpoint = is_word(value, "True") || is_word(value, "full");
}

static void read_gpus(reading *r, const char *value) { r->gpus = atof(value); }

static void read_sharding(reading *r, const char *value) { r->shards = !is_word(value, "NO_SHARD"); }

static void read_parallel(reading *r, const char *value) { r->run->beyond = r->run->beyond || !is_word(value, "1"); }

static void read_nothing(reading *r, const char *value)
{
    (void)r;
    (void)value;
}

static const struct {
    const char *key, *like; /* like: values that are meant; other values are the workload's */
    void (*read)(reading *r, const char *value);
} keys[] = {{"dtype", "amp_", read_dtype},
            {"accumulate", "", read_accumulate},
            {"checkpoint", "", read_checkpoint},
            {"recompute", "", read_checkpoint},
            {"gpus", "", read_gpus},
            {"sharding", "", read_sharding},
            {"tensor", "", read_parallel},
            {"pipeline", "", read_parallel},
            {"interleave", "", read_nothing},
            {"sequence_parallel", "", read_nothing},
            {"parameters", "", read_nothing}};

static bool read_key(reading *r, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_word(name, keys[i].key) && strncmp(value, keys[i].like, strlen(keys[i].like)) == 0) {
            keys[i].read(r, value);
            return true;
        }
    return false;
}

const char *fsim_sized_model(const char *name, bool trained, const char **set)
{
    static const struct {
        const char *name, *workload, *set;
        bool trained;
    } sizes[] = {
#define FSIM_SIZE(name, workload, set)    {name, workload, set, false},
#define FSIM_TRAINED(name, workload, set) {name, workload, set, true},
#include "evidence/sizes.def"
#undef FSIM_SIZE
#undef FSIM_TRAINED
    };
    *set = "";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (is_word(name, sizes[i].name) && (trained || !sizes[i].trained)) {
            *set = sizes[i].set;
            return sizes[i].workload;
        }
    return name;
}

const char *fsim_row_model(const fsim_measured *row, const char **set)
{
    const char *other;
    return fsim_sized_model(row->workload, row->mode != FSIM_MODE_NONE, set ? set : &other);
}

int fsim_set_bindings(fsim_arena *a, const char *set, fsim_binding **out)
{
    int count = 0, room = 0;
    for (const char *p = set; *p;) {
        const size_t length = strcspn(p, ";"), name = strcspn(p, "=");
        if (name < length)
            *FSIM_PUSH(a, *out, count, room) =
                (fsim_binding){fsim_strndup(a, p, name), fsim_strndup(a, p + name + 1, length - name - 1)};
        p += length + (p[length] == ';');
    }
    return count;
}

fsim_step_run fsim_step_of(const fsim_measured *row, fsim_arena *a)
{
    fsim_step_run run = {.derive = {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .update = FSIM_ADAMW}};
    reading r = {&run, 1, false, NULL};
    fsim_binding *set = NULL;
    const char *size;
    int room = 0;
    fsim_sized_model(row->workload, true, &size);
    fsim_binding *all = NULL;
    const int count = fsim_set_bindings(a, fsim_printf(a, "%s;%s", size, row->set), &all);
    for (int i = 0; i < count; i++)
        if (!read_key(&r, all[i].name, all[i].value))
            *FSIM_PUSH(a, set, run.sets, room) = all[i];
    if (r.dtype && r.shards)
        *FSIM_PUSH(a, set, run.sets, room) = (fsim_binding){"dtype", r.dtype};
    else if (r.dtype)
        run.derive.autocast = is_word(r.dtype, "bf16") ? FSIM_AUTOCAST_BF16 : FSIM_AUTOCAST_F16;
    run.set = set;
    run.update_share = r.shards && r.gpus > 1 ? 1 / r.gpus : 1;
    return run;
}

static bool is_update(const fsim_graph *g, const fsim_kernel *k)
{
    return g->node[k->group->member[k->group->members - 1].node].phase == FSIM_OPTIMIZER;
}

double fsim_step_row_seconds(const fsim_graph *g, const fsim_plan *plan, const fsim_measured *row, const fsim_hw *hw,
                             fsim_arena *a)
{
    const fsim_step_run run = fsim_step_of(row, a);
    fsim_kernel *part[2] = {fsim_new(a, fsim_kernel, plan->kernels + 1), fsim_new(a, fsim_kernel, plan->kernels + 1)};
    int count[2] = {0};
    for (int k = 0; k < plan->kernels; k++) {
        const bool update = is_update(g, &plan->kernel[k]);
        part[update][count[update]++] = plan->kernel[k];
    }
    const fsim_maker maker = fsim_maker_named(row->source, fsim_maker_of(row->strategy));
    double seconds[2];
    for (int i = 0; i < 2; i++)
        seconds[i] = fsim_call_seconds(part[i], count[i], maker, row->launch, hw);
    return seconds[0] * (g->micro_batches > 1 ? (double)g->micro_batches : 1) + seconds[1] * run.update_share;
}
