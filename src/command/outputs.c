/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"
#include "evidence/gates.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/terminal.h"
#include "report/trial.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const fsim_loc fsim_command_line = {NULL, 0, 0};

bool fsim_is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

const char *fsim_file_asked(const fsim_settings *s, fsim_format f) { return s->format[f]; }

fsim_format fsim_on_stdout(const fsim_settings *s)
{
    fsim_format f = 0;
    while (f < FSIM_FILE_FORMATS && !fsim_is_stdout(fsim_file_asked(s, f)))
        f++;
    return f;
}

int fsim_conclude(fsim_context *c, int status)
{
    const fsim_status worst = fsim_diag_status(c->diag);
    fsim_annotate_messages(c);
    fsim_diag_print(c->diag, stderr, c->set.quiet);
    return status ? status : fsim_exit_status(worst);
}

const fsim_gate_table *const fsim_gate_tables[] = {&fsim_plan_gates,
                                                   &fsim_diff_gates,
                                                   &fsim_rows_diff_gates,
                                                   &fsim_row_gates,
                                                   &fsim_trial_gates,
                                                   &fsim_register_gates,
                                                   NULL};

fsim_gate *fsim_read_gates(fsim_context *c, const fsim_gate_table *table)
{
    fsim_gate *gate = fsim_new(c->arena, fsim_gate, c->set.gates.count + 1);
    for (int i = 0; i < c->set.gates.count; i++)
        (void)fsim_gate_read(c->arena, c->diag, c->set.gates.at[i], table, &gate[i]);
    return gate;
}

const char *fsim_shown_gpu(const fsim_context *c, const fsim_shown_plans *p, int i)
{
    return p->count > 1 ? fsim_printf(c->arena, "%s: ", p->at[i].hw->name) : "";
}

void fsim_say_failed_gates(fsim_context *c, const char *where, const fsim_gate *gate, int gates)
{
    for (int i = 0; i < gates; i++)
        if (!gate[i].passed)
            fsim_error(c->diag, fsim_command_line, "%sgate %s failed: %s", where, gate[i].text, gate[i].says);
}

int fsim_usage_status(fsim_context *c)
{
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    if (status)
        fprintf(stderr, "'fusesim %s--help' shows how it is used\n",
                c->command ? fsim_printf(c->arena, "%s ", c->command) : "");
    return status;
}

/* Opens an output. NULL where path is NULL or stdout, or after an error. option: the one that named it. */
static fsim_output *open_file(fsim_context *c, const char *option, const char *path)
{
    const char *why = "";
    if (!path || fsim_is_stdout(path))
        return NULL;
    fsim_output *o = fsim_open_output(c->arena, path, &why);
    if (!o)
        fsim_error(c->diag, fsim_command_line, "%s: cannot write '%s': %s", option, path, why);
    return o;
}

static void discard_outputs(fsim_context *c)
{
    for (int i = 0; i < FSIM_FILE_FORMATS; i++)
        fsim_discard(c->file[i]);
    fsim_discard(c->own);
    c->own = NULL;
}

int fsim_open_outputs(fsim_context *c) { return fsim_open_outputs_and(c, NULL, NULL); }

int fsim_open_outputs_and(fsim_context *c, const char *option, const char *path)
{
    c->own = open_file(c, option, path);
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++) {
        const char *asked = fsim_file_asked(&c->set, f);
        const fsim_renderer *r = asked ? fsim_renderer_of(f, c->kind) : NULL;
        if (asked && !r)
            fsim_error(c->diag, fsim_command_line, "%s does not show %s: it shows %s", fsim_format_option(f),
                       fsim_result_names[c->kind], fsim_format_kinds(f, c->arena));
        if (!r)
            continue;
        fsim_output *o = open_file(c, fsim_format_option(f), asked);
        if (r->show)
            c->file[f] = o;
        else
            fsim_discard(o); /* the renderer opens it itself */
    }
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    if (status)
        discard_outputs(c);
    return status;
}

bool fsim_show_in_files(fsim_context *c, const void *what)
{
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++) {
        errno = 0;
        if (c->file[f] && (!fsim_renderer_of(f, c->kind)->show(fsim_stream(c->file[f]), c, what) ||
                           ferror(fsim_stream(c->file[f])))) {
            fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", fsim_file_asked(&c->set, f),
                         errno ? fsim_reason(errno) : "the stream failed");
            return false;
        }
    }
    return true;
}

bool fsim_show_on(const fsim_context *c, FILE *out, fsim_format f, const void *what)
{
    return f == FSIM_AS_TEXT && c->set.quiet ? fsim_show_quietly(out, c, what)
                                             : fsim_renderer_of(f, c->kind)->show(out, c, what);
}

/* False after an error. */
static bool draw(fsim_context *c, const void *what)
{
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++) {
        const char *path = fsim_file_asked(&c->set, f);
        const fsim_renderer *r = path ? fsim_renderer_of(f, c->kind) : NULL;
        fsim_fault fault = {0};
        if (r && r->draw && !r->draw(c, path, what, &fault)) {
            fsim_failure(c->diag, fault.status, fsim_command_line, "%s: cannot draw '%s': %s", fsim_format_option(f),
                         path, fault.message);
            return false;
        }
    }
    return true;
}

bool fsim_commit_files(fsim_context *c)
{
    const char *why = "";
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++) {
        fsim_output *o = c->file[f];
        c->file[f] = NULL; /* committed or deleted */
        if (o && !fsim_commit(o, &why)) {
            fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", fsim_file_asked(&c->set, f),
                         why);
            return false;
        }
    }
    return true;
}

bool fsim_commit_own(fsim_context *c, const char *path)
{
    const char *why = "";
    fsim_output *o = c->own;
    c->own = NULL; /* committed or gone */
    if (!o || fsim_commit(o, &why))
        return true;
    fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", path, why);
    return false;
}

int fsim_give_up_outputs(fsim_context *c, int status)
{
    discard_outputs(c);
    return fsim_conclude(c, status);
}

int fsim_deliver(fsim_context *c, const void *what)
{
    if (!draw(c, what) || !fsim_show_in_files(c, what) || !fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    errno = 0;
    const bool shown = fsim_show_on(c, stdout, fsim_on_stdout(&c->set), what);
    c->stdout_errno = ferror(stdout) ? errno : 0;
    if (!shown && !ferror(stdout)) /* errors of the stream are reported by fsim_finish_stdout */
        fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "the results could not be written");
    if (shown)
        fsim_annotate_result(c, what);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

int fsim_deliver_hw(fsim_context *c, const char *text, const void *what)
{
    if (c->own)
        fputs(text, fsim_stream(c->own));
    if (!fsim_commit_own(c, c->set.output))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    if (!fsim_is_stdout(c->set.output))
        return fsim_deliver(c, what);
    if (!fsim_show_in_files(c, what) || !fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    fputs(text, stdout);
    (void)fsim_show_on(c, stderr, FSIM_AS_TEXT, what);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

bool fsim_is_shipped_hw(const fsim_context *c, const char *path)
{
    const char *slash = strrchr(path, '/'), *folder = !slash ? "."
                                                      : slash == path
                                                          ? "/"
                                                          : fsim_strndup(c->arena, path, (size_t)(slash - path));
    char *one = realpath(folder, NULL), *other = realpath(c->hw_folders.shipped, NULL);
    const bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

int fsim_answer(fsim_context *c, const void *what)
{
    const int status = fsim_open_outputs(c);
    return status ? status : fsim_deliver(c, what);
}

int fsim_finish_stdout(fsim_context *c, int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    const int error = c->stdout_errno ? c->stdout_errno : errno;
    fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write the results: %s",
                 error ? fsim_reason(error) : "the stream failed");
    return fsim_conclude(c, status);
}

bool fsim_use_color(const fsim_context *c)
{
    return c->set.color == FSIM_COLOR_AUTO ? fsim_terminal_color(c->environment.no_color, c->environment.term)
                                           : c->set.color == FSIM_COLOR_ALWAYS;
}

fsim_page fsim_table_page(FILE *out, const fsim_context *c)
{
    return (fsim_page){out, c->set.verbose ? 0 : c->width, fsim_use_color(c), fsim_utf8_locale()};
}
