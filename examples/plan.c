/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: an example of libfusesim: loads a workload and a GPU, plans, and prints what each strategy takes and the
 * kernels of the best plan.
 *
 *     cc plan.c $(pkg-config --cflags --libs fusesim) -o plan
 *     ./plan mlp a100-sxm4-40gb [folder of the shipped data]
 *
 * Exit status: the fsim_status of what failed, or 0. */
#include <fusesim.h>
#include <stdio.h>

/* What the session says of its last call. */
static void print_diagnostics(const fsim_session *session)
{
    for (int i = 0; i < fsim_diagnostic_count(session); i++) {
        fsim_diagnostic d = {.size = sizeof d};
        fsim_diagnostic_get(session, i, &d);
        fprintf(stderr, "%s:%d:%d: %s: %s\n", d.file ? d.file : "plan", d.line, d.column,
                d.severity == FSIM_ERROR ? "error" : "warning", d.message);
        for (int n = 0; n < d.note_count; n++)
            fprintf(stderr, "    %s\n", d.notes[n]);
    }
}

static void print_plans(fsim_plans *plans)
{
    const int chosen = fsim_plans_chosen(plans);
    for (int i = 0; i < fsim_plans_count(plans); i++) {
        fsim_plan_summary s = {.size = sizeof s};
        fsim_plans_strategy(plans, i, &s);
        printf("%-10s %3d kernels %8.3f us%s\n", s.strategy, s.kernels, 1e6 * s.time_s,
               s.proven ? "  proven optimal" : "");
    }
    fsim_kernel_summary k = {.size = sizeof k};
    for (int i = 0; fsim_plans_kernel(plans, chosen, i, &k) == FSIM_OK; i++)
        printf("%d %s: %s, %.3f us, bound by %s\n", i + 1, k.operators, k.template_name, 1e6 * k.time_s, k.bound_by);
    fsim_refusal_summary r = {.size = sizeof r};
    for (int i = 0; fsim_plans_refusal(plans, i, &r) == FSIM_OK; i++)
        printf("not fused: %s, %s (%s)\n", r.first, r.second ? r.second : "-", r.rule);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: plan WORKLOAD GPU [DATA]\n");
        return FSIM_BAD_ARGUMENT;
    }
    const fsim_session_options where = {.size = sizeof where, .data_folder = argc > 3 ? argv[3] : NULL};
    fsim_session *session;
    fsim_workload *workload = NULL;
    fsim_hardware *hardware = NULL;
    fsim_plans *plans = NULL;
    fsim_status status = fsim_session_open(&where, &session);
    if (!status)
        status = fsim_workload_load(session, argv[1], NULL, 0, &workload);
    if (!status)
        status = fsim_hardware_load(session, argv[2], NULL, 0, &hardware);
    if (!status)
        status = fsim_plan_workload(session, workload, hardware, NULL, &plans);
    if (session)
        print_diagnostics(session);
    if (status)
        fprintf(stderr, "plan: %s\n", fsim_status_text(status));
    else
        print_plans(plans);
    fsim_session_close(session);
    return (int)status;
}
