/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "model/model.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name, *fields, *source;
} shipped[] = {
#define FSIM_MODEL(name, fields, source) {name, "{" fields "}", source},
#include "model/models.def"
#undef FSIM_MODEL
};
enum { SHIPPED = sizeof shipped / sizeof *shipped };

static const char *const names[] = {
#define FSIM_MODEL(name, fields, source) name,
#include "model/models.def"
#undef FSIM_MODEL
};

int fsim_model_names(const char *const **out)
{
    *out = names;
    return SHIPPED;
}

const char *fsim_model_key(fsim_arena *a, const char *name)
{
    char *key = fsim_strdup(a, name);
    for (char *c = key; *c; c++)
        *c = *c == ' ' || *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    return key;
}

/* The model of this name, or of this repository. */
static int find(fsim_arena *a, const char *name)
{
    const char *key = fsim_model_key(a, name);
    for (int i = 0; i < SHIPPED; i++)
        if (strcmp(shipped[i].name, key) == 0 || strcmp(fsim_model_key(a, shipped[i].source), key) == 0)
            return i;
    return -1;
}

/* "models/qwen/config.json" is "qwen", "llama.json" is "llama". */
static const char *name_of(fsim_arena *a, const char *path)
{
    const char *file = strrchr(path, '/');
    if (file && strcmp(file, "/config.json") == 0) {
        const char *folder = file;
        while (folder > path && folder[-1] != '/')
            folder--;
        if (folder < file)
            return fsim_printf(a, "%.*s", (int)(file - folder), folder);
    }
    file = file ? file + 1 : path;
    const char *dot = strrchr(file, '.');
    return dot && dot > file ? fsim_printf(a, "%.*s", (int)(dot - file), file) : file;
}

/* The longest name that a repository's begins with: "llama-3.1-70b" of "meta-llama/llama-3.1-70b-instruct"; NULL. */
static const char *begin_of(const char *key)
{
    static const char maker[] = "meta-";
    const char *slash = strrchr(key, '/'), *best = NULL;
    if (!slash)
        return NULL;
    const char *own = slash + 1;
    own += strncmp(own, maker, sizeof maker - 1) == 0 ? sizeof maker - 1 : 0;
    for (int i = 0; i < SHIPPED; i++) {
        const size_t length = strlen(names[i]);
        if (strncmp(own, names[i], length) == 0 && (own[length] == '\0' || own[length] == '-') &&
            (!best || length > strlen(best)))
            best = names[i];
    }
    return best ? best : fsim_nearest(own, names, SHIPPED);
}

/* The names that begin like it; otherwise the nearest. */
static void note_alike(fsim_arena *a, fsim_diag *d, const char *key)
{
    const char *begin = begin_of(key);
    if (begin) {
        fsim_note(d, "did you mean '%s'? If its sizes are others, give its config.json", begin);
        return;
    }
    const char *alike = "", *nearest = fsim_nearest(key, names, SHIPPED);
    for (int i = 0; i < SHIPPED; i++)
        if (strncmp(names[i], key, strlen(key)) == 0)
            alike = fsim_printf(a, "%s%s%s", alike, *alike ? ", " : "", names[i]);
    if (*alike)
        fsim_note(d, "names that begin so: %s", alike);
    else if (nearest)
        fsim_note(d, "did you mean '%s'?", nearest);
}

const fsim_model *fsim_model_load(fsim_arena *a, fsim_diag *d, const char *name)
{
    const int at = find(a, name);
    const char *why;
    size_t bytes;
    if (at >= 0) {
        fsim_model *m = (fsim_model *)fsim_model_parse(a, d, shipped[at].name, shipped[at].name, shipped[at].fields,
                                                       strlen(shipped[at].fields));
        if (m)
            m->source = fsim_printf(a, "config.json of %s", shipped[at].source);
        return m;
    }
    const char *text = fsim_read_file(a, name, &bytes, &why);
    if (!text) {
        fsim_failure(d, FSIM_NO_INPUT, (fsim_loc){.file = name}, "%s%s", why,
                     strchr(name, '/') ? "" : "; 'fusesim models' lists the models that have a name");
        note_alike(a, d, fsim_model_key(a, name));
        return NULL;
    }
    return fsim_model_parse(a, d, name_of(a, name), name, text, bytes);
}

const char *fsim_model_attention(const fsim_model *m)
{
    return m->kv_lora ? "MLA" : m->kv_heads == m->heads ? "MHA" : m->kv_heads == 1 ? "MQA" : "GQA";
}
