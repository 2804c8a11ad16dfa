/* SPDX-License-Identifier: Apache-2.0 */
/* enumerate: every legal partition, one line of JSON each, printed as it is found. */
#include "command/command.h"

typedef struct {
    FILE *out;
    const fsim_graph *graph;
    volatile const int *interrupted;
} partition_stream;

static bool put_partition(void *to, const fsim_plan *plan)
{
    const partition_stream *s = to;
    fsim_json_partition(s->out, s->graph, &plan->partition, plan->time_s, plan->dram_read_bytes,
                        plan->dram_write_bytes);
    fflush(s->out); /* readers of a pipe get each partition at once */
    return !ferror(s->out) && !fsim_is_set(s->interrupted);
}

int fsim_run_enumerate(fsim_context *c)
{
    fsim_inputs in;
    const int status = fsim_begin(c, &in);
    if (status)
        return status;
    fsim_problem p = fsim_problem_of(in.graph, in.hw[0], &in.how, c->arena);
    if (in.how.time_limit_s > 0)
        fsim_start_clock(&p, &in.how);
    partition_stream s = {c->file[FSIM_AS_JSON] ? fsim_stream(c->file[FSIM_AS_JSON]) : stdout, in.graph,
                          in.how.interrupted};
    bool truncated = false;
    const int64_t partitions = fsim_enumerate(&p, c->set.limit, put_partition, &s, &truncated);
    if (partitions < 0) {
        fsim_failure(c->diag, FSIM_BAD_INPUT, fsim_command_line,
                     "'%s' has %d primitives; enumerate goes up to 64: there are too many partitions to list",
                     in.graph->name, in.graph->nodes);
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    fsim_json_partitions_end(s.out, partitions, truncated || fsim_is_set(s.interrupted));
    if (!fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    return fsim_interrupted_status();
}
