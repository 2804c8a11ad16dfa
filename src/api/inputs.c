/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c: workloads and hardware, from files and from text. */
#include "api/handles.h"
#include "hw/like.h"
#include "import/load.h"

#include <math.h>
#include <string.h>

/* Arguments of a load. text NULL: read the file that name stands for. */
typedef struct {
    const char *name;
    const fsim_document *text;
    const fsim_setting *setting; /* of a workload */
    const char *const *change;   /* of hardware */
    int count;
} request;

static bool sound(const fsim_session *session, const request *r, bool named)
{
    if (!session || !r->name || (r->text && !r->text->text) || r->count < 0 ||
        (r->count > 0 && !(named ? (const void *)r->setting : r->change)))
        return false;
    for (int i = 0; i < r->count; i++)
        if (named ? !r->setting[i].name || !r->setting[i].value : !r->change[i])
            return false;
    return true;
}

static void *load_workload(fsim_call *c, const void *arguments)
{
    const request *r = arguments;
    const char *name = fsim_strdup(c->arena, r->name);
    fsim_binding *set = fsim_new(c->arena, fsim_binding, r->count + 1);
    for (int i = 0; i < r->count; i++)
        set[i] = (fsim_binding){fsim_strdup(c->arena, r->setting[i].name), fsim_strdup(c->arena, r->setting[i].value)};
    const fsim_workload_wanted how = {.shipped = c->session->workload_folder, .set = set, .sets = r->count};
    const fsim_document *t = r->text;
    fsim_graph *g =
        t ? fsim_graph_load_text(c->arena, c->diag, name, fsim_strndup(c->arena, t->text, t->bytes), t->bytes, &how)
          : fsim_graph_load(c->arena, c->diag, name, &how);
    if (!g)
        return NULL;
    fsim_workload *w = fsim_new(c->arena, fsim_workload, 1);
    *w = (fsim_workload){c->arena, c->session, g};
    return w;
}

static fsim_status workload_of(fsim_session *session, const request *r, fsim_workload **workload)
{
    void *result = NULL;
    if (workload)
        *workload = NULL;
    if (!workload || !sound(session, r, true))
        return fsim_call_refuse(session, "a workload wants a name or a text that has one, settings that have a name "
                                         "and a value, and a place for the result: one of them is NULL");
    const fsim_status status = fsim_call_run(session, load_workload, r, &result);
    *workload = result;
    return status;
}

fsim_status fsim_workload_load(fsim_session *session, const char *name, const fsim_setting *settings, int setting_count,
                               fsim_workload **workload)
{
    return workload_of(session, &(request){.name = name, .setting = settings, .count = setting_count}, workload);
}

fsim_status fsim_workload_parse(fsim_session *session, const fsim_document *text, const fsim_setting *settings,
                                int setting_count, fsim_workload **workload)
{
    const char *name = text ? text->name : NULL;
    return workload_of(session, &(request){name, text, .setting = settings, .count = setting_count}, workload);
}

void fsim_workload_free(fsim_workload *workload)
{
    if (workload)
        fsim_arena_free(workload->arena);
}

const char *fsim_workload_name(const fsim_workload *workload) { return workload ? workload->graph->name : NULL; }

int fsim_workload_operators(const fsim_workload *workload) { return workload ? workload->graph->sources : 0; }

int fsim_workload_primitives(const fsim_workload *workload) { return workload ? workload->graph->nodes : 0; }

static void *load_hardware(fsim_call *c, const void *arguments)
{
    const request *r = arguments;
    const char *name = fsim_strdup(c->arena, r->name);
    const fsim_hw_wanted how = {.folders = c->session->hw_folders, .change = r->change, .changes = r->count};
    fsim_hw *hw = r->text
                      ? fsim_hw_parse_in(c->arena, c->diag,
                                         &(fsim_hw_text){name, fsim_strndup(c->arena, r->text->text, r->text->bytes),
                                                         r->text->bytes},
                                         &how.folders)
                      : fsim_hw_open(c->arena, c->diag, name, &how.folders);
    if (!hw || !fsim_hw_complete(c->arena, c->diag, hw, &how))
        return NULL;
    fsim_hardware *h = fsim_new(c->arena, fsim_hardware, 1);
    *h = (fsim_hardware){c->arena, c->session, hw};
    return h;
}

static fsim_status hardware_of(fsim_session *session, const request *r, fsim_hardware **hardware)
{
    void *result = NULL;
    if (hardware)
        *hardware = NULL;
    if (!hardware || !sound(session, r, false))
        return fsim_call_refuse(session, "hardware wants a name or a text that has one, changes, and a place for the "
                                         "result: one of them is NULL");
    const fsim_status status = fsim_call_run(session, load_hardware, r, &result);
    *hardware = result;
    return status;
}

fsim_status fsim_hardware_load(fsim_session *session, const char *name, const char *const *changes, int change_count,
                               fsim_hardware **hardware)
{
    return hardware_of(session, &(request){.name = name, .change = changes, .count = change_count}, hardware);
}

fsim_status fsim_hardware_parse(fsim_session *session, const fsim_document *text, const char *const *changes,
                                int change_count, fsim_hardware **hardware)
{
    const char *name = text ? text->name : NULL;
    return hardware_of(session, &(request){name, text, .change = changes, .count = change_count}, hardware);
}

void fsim_hardware_free(fsim_hardware *hardware)
{
    if (hardware)
        fsim_arena_free(hardware->arena);
}

const char *fsim_hardware_name(const fsim_hardware *hardware) { return hardware ? hardware->hw->name : NULL; }

double fsim_hardware_value(const fsim_hardware *hardware, const char *key)
{
    for (int i = 0; hardware && key && i < FSIM_HW_COUNT; i++)
        if (strcmp(fsim_hw_rows[i].key, key) == 0)
            return fsim_hw_get(hardware->hw, (fsim_hw_key)i);
    return NAN;
}
