/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: sessions, their diagnostics, and how a call runs. */
#include "api/handles.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *fsim_version(void) { return FSIM_VERSION; }

const char *fsim_status_text(fsim_status status)
{
    static const char *const text[] = {[FSIM_OK] = "ok",
                                       [FSIM_INCONCLUSIVE] = "inconclusive",
                                       [FSIM_BAD_ARGUMENT] = "bad argument",
                                       [FSIM_BAD_INPUT] = "bad input",
                                       [FSIM_NO_INPUT] = "no input",
                                       [FSIM_UNAVAILABLE] = "unavailable",
                                       [FSIM_FAILED] = "failed",
                                       [FSIM_NO_MEMORY] = "out of memory"};
    const size_t at = (size_t)status;
    return at < sizeof text / sizeof *text ? text[at] : "unknown status";
}

/* Structs that the caller allocates begin with `size`. */

void fsim_fill_struct(void *to, const void *from, size_t bytes)
{
    size_t known;
    memcpy(&known, to, sizeof known);
    if (known > bytes)
        known = bytes;
    if (known > sizeof known)
        memcpy((char *)to + sizeof known, (const char *)from + sizeof known, known - sizeof known);
}

void fsim_take(void *to, const void *from, size_t bytes)
{
    size_t known = 0;
    memset(to, 0, bytes);
    if (from)
        memcpy(&known, from, sizeof known);
    memcpy(to, from ? from : to, known < bytes ? known : bytes);
}

/* The shipped data. */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The file that contains this function: the shared library, or the program it was linked into. NULL: unknown. */
static char *own_file(void)
{
    Dl_info here;
    char *path = dladdr((const void *)(uintptr_t)fsim_version, &here) ? realpath(here.dli_fname, NULL) : NULL;
    return path ? path : realpath("/proc/self/exe", NULL);
}

const char *fsim_data_folder(fsim_arena *a)
{
    enum { DEEPEST = 4 }; /* PREFIX/lib/x86_64-linux-gnu/libfusesim.so */
    char *const path = own_file();
    fsim_resource resource;
    fsim_guard(&resource, free, path);
    char *folder = fsim_strdup(a, path ? path : "");
    fsim_release(&resource);
    for (int up = 0; up < DEEPEST; up++) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            break;
        *slash = 0;
        const char *data = fsim_printf(a, "%s/share/fusesim", folder);
        if (is_folder(data))
            return data;
    }
    return FSIM_DATA_FOLDER;
}

typedef struct {
    const fsim_session_options *options;
    fsim_session *session;
} opening;

static void open_session(void *what)
{
    opening *o = what;
    fsim_arena *a = fsim_arena_new();
    fsim_session *s = fsim_new(a, fsim_session, 1);
    const char *data = o->options->data_folder;
    if (!data)
        data = fsim_data_folder(a);
    s->arena = a;
    s->hw_folders =
        (fsim_hw_folders){.own = o->options->hardware_folder ? fsim_strdup(a, o->options->hardware_folder) : NULL,
                          .shipped = fsim_printf(a, "%s/hwmodels", data)};
    s->workload_folder = fsim_printf(a, "%s/workloads", data);
    o->session = s;
}

fsim_status fsim_session_open(const fsim_session_options *options, fsim_session **session)
{
    fsim_session_options known;
    opening o = {.options = &known};
    if (!session)
        return FSIM_BAD_ARGUMENT;
    *session = NULL;
    fsim_take(&known, options, sizeof known);
    const locale_t numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (numbers == (locale_t)0)
        return FSIM_NO_MEMORY;
    if (!fsim_attempt(open_session, &o)) {
        freelocale(numbers);
        return FSIM_NO_MEMORY;
    }
    o.session->numbers = numbers;
    *session = o.session;
    return FSIM_OK;
}

void fsim_session_close(fsim_session *session)
{
    if (!session)
        return;
    freelocale(session->numbers);
    fsim_arena_free(session->arena);
}

bool fsim_session_attempt(const fsim_session *session, void (*work)(void *what), void *what)
{
    const locale_t before = uselocale(session->numbers);
    const bool done = fsim_attempt(work, what);
    uselocale(before);
    return done;
}

/* Calls. */

/* Copies the messages: what they point to may be freed with the failed call. */
static void keep_diagnostics(fsim_session *s, fsim_diag *d)
{
    fsim_arena *a = fsim_arena_child(s->arena);
    s->messages = a;
    fsim_diagnostic *list;
    const int count = fsim_diag_list(d, a, &list);
    for (int i = 0; i < count; i++) {
        const char **note = fsim_new(a, const char *, list[i].note_count + 1);
        for (int n = 0; n < list[i].note_count; n++)
            note[n] = fsim_strdup(a, list[i].notes[n]);
        list[i].notes = note;
        list[i].message = fsim_strdup(a, list[i].message);
        list[i].file = list[i].file ? fsim_strdup(a, list[i].file) : NULL;
    }
    s->diagnostic = list;
    s->diagnostics = count;
}

static void forget_diagnostics(fsim_session *s)
{
    fsim_arena_free(s->messages);
    s->messages = NULL;
    s->diagnostic = NULL;
    s->diagnostics = 0;
}

static void work_through(void *what)
{
    fsim_call *c = what;
    c->arena = fsim_arena_child(c->session->arena);
    c->diag = fsim_diag_new(c->arena);
    c->result = c->work(c, c->arguments);
    c->status = c->result ? FSIM_OK : fsim_diag_status(c->diag) ? fsim_diag_status(c->diag) : FSIM_FAILED;
    keep_diagnostics(c->session, c->diag);
}

fsim_status fsim_call_run(fsim_session *session, void *(*work)(fsim_call *call, const void *arguments),
                          const void *arguments, void **result)
{
    fsim_call c = {.session = session, .work = work, .arguments = arguments};
    *result = NULL;
    forget_diagnostics(session);
    if (!fsim_session_attempt(session, work_through, &c)) {
        forget_diagnostics(session);
        c.status = FSIM_NO_MEMORY;
    }
    if (c.status)
        fsim_arena_free(c.arena);
    else
        *result = c.result;
    return c.status;
}

static void *refuse_arguments(fsim_call *c, const void *why)
{
    fsim_failure(c->diag, FSIM_BAD_ARGUMENT, (fsim_loc){NULL, 0, 0}, "%s", (const char *)why);
    return NULL;
}

fsim_status fsim_call_refuse(fsim_session *session, const char *why)
{
    void *result;
    return session ? fsim_call_run(session, refuse_arguments, why, &result) : FSIM_BAD_ARGUMENT;
}

int fsim_diagnostic_count(const fsim_session *session) { return session ? session->diagnostics : 0; }

fsim_status fsim_diagnostic_get(const fsim_session *session, int index, fsim_diagnostic *diagnostic)
{
    if (!session || !diagnostic || index < 0 || index >= session->diagnostics)
        return FSIM_BAD_ARGUMENT;
    fsim_fill_struct(diagnostic, &session->diagnostic[index], sizeof *diagnostic);
    return FSIM_OK;
}
