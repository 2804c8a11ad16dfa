/* SPDX-License-Identifier: Apache-2.0 */
/* codegen: the kernels of a plan as source files, with what it takes to launch them. */
#include "command/command.h"
#include "emit/program.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* One file of the folder, whole or not at all. */
static bool put_file(fsim_context *c, const char *name, const char *text)
{
    fsim_output *o = fsim_open_file(c, "-o", fsim_printf(c->arena, "%s/%s", c->set.output, name));
    const char *why = "";
    if (!o)
        return false;
    fputs(text, fsim_stream(o));
    if (fsim_commit(o, &why))
        return true;
    fsim_error(c->diag, fsim_command_line, "cannot write '%s/%s': %s", c->set.output, name, why);
    return false;
}

int fsim_run_codegen(fsim_context *c)
{
    fsim_inputs in;
    if (!c->set.output) {
        fsim_error(c->diag, fsim_command_line, "codegen wants -o DIR");
        return fsim_usage_status(c);
    }
    int status = fsim_begin(c, &in);
    if (status)
        return status;
    if (mkdir(c->set.output, 0777) != 0 && errno != EEXIST) {
        fsim_error(c->diag, fsim_command_line, "-o: cannot make folder '%s': %s", c->set.output, strerror(errno));
        return fsim_give_up_outputs(c, FSIM_EXIT_NO_INPUT);
    }
    const fsim_prediction p = fsim_predict(in.graph, in.hw[0], &in.how, c->arena);
    const fsim_plan *plan = &p.plan[p.chosen];
    fsim_program *program = fsim_programs_of(in.graph, in.hw[0], plan, c->arena);
    const bool host = c->set.target == 1;
    bool good = put_file(c, "fusesim_dialect.h", fsim_dialect_text);
    for (int i = 0; i < plan->kernels && good; i++) {
        if (program[i].skipped)
            printf("%s: not generated: %s\n", program[i].name, program[i].skipped);
        else
            good = put_file(c, fsim_printf(c->arena, "%s.%s", program[i].name, host ? "c" : "cu"), program[i].source);
    }
    if (!good || !fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    return FSIM_EXIT_OK;
}
