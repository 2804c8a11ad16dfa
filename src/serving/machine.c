/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/machine.h"

#include "base/file.h"
#include "base/names.h"
#include "base/unit.h"
#include "input/yaml.h"
#include "serving/constants.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME, DESCRIPTION, GPU, GPUS, NETWORK, POWER, RENT, KEYS };
static const char *const keys[KEYS] = {"name", "description", "gpu", "gpus", "network", "power", "rent"};

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

int fsim_cluster_names(fsim_arena *a, const char *folder, const char ***out)
{
    const char **known = NULL;
    int count = 0, room = 0;
    DIR *dir = fsim_open_folder(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *end = strrchr(e->d_name, '.');
        if (end && strcmp(end, ".yaml") == 0)
            *FSIM_PUSH(a, known, count, room) = fsim_strndup(a, e->d_name, (size_t)(end - e->d_name));
    }
    if (dir)
        closedir(dir);
    if (count)
        qsort(known, (size_t)count, sizeof *known, by_name);
    *out = known;
    return count;
}

/* That there is no such system, with the name that is near, and those that there are. */
static void refuse_name(fsim_arena *a, fsim_diag *d, const char *name, const char *folder, const char *why)
{
    static const fsim_loc command_line = {NULL, 0, 0};
    const char **known, *all = "";
    const int count = fsim_cluster_names(a, folder, &known);
    for (int i = 0; i < count; i++)
        all = fsim_printf(a, "%s%s%s", all, i ? ", " : "", known[i]);
    fsim_failure(d, FSIM_NO_INPUT, command_line, "no system '%s': %s%s", name, why,
                 fsim_did_you_mean(a, name, known, count));
    if (count)
        fsim_note(d, "shipped are %s", all);
}

/* A text that must be there. "" after an error. */
static const char *text_of(fsim_diag *d, const fsim_yaml *root, const char *key)
{
    const fsim_yaml *x = fsim_yaml_get(root, key);
    if (x && x->kind == FSIM_YAML_SCALAR && *x->text)
        return x->text;
    fsim_error(d, x ? x->at : root->at, "'%s' is missing: a word", key);
    return "";
}

/* "KEY: {value: 50 GB/s, source: ...}". */
static fsim_stated figure_of(fsim_arena *a, fsim_diag *d, const fsim_yaml *root, const char *key, fsim_dim dim)
{
    static const char *const inside[] = {"value", "source"};
    fsim_stated f = {NAN, NULL};
    const char *why = "is missing";
    const fsim_yaml *x = fsim_yaml_get(root, key);
    if (!x)
        return f;
    if (x->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, x->at, "'%s' is a mapping: {value: %s, source: \"where it is from\"}", key,
                   fsim_dim_example(dim));
        return f;
    }
    fsim_yaml_check_keys(a, d, x, fsim_printf(a, "'%s'", key), inside, 2);
    const fsim_yaml *value = fsim_yaml_get(x, "value");
    f.source = text_of(d, x, "source");
    if (!value || value->kind != FSIM_YAML_SCALAR || !fsim_parse_unit(value->text, dim, &f.value, &why))
        fsim_error(d, value ? value->at : x->at, "the value of '%s' %s", key, why);
    else if (!(f.value > 0))
        fsim_error(d, value->at, "the value of '%s' is not above 0", key);
    return f;
}

double fsim_machine_network(const fsim_machine *m) { return m->node ? m->node->network.value * network_share : NAN; }

double fsim_machine_rest_w(const fsim_machine *m)
{
    const double limit = fsim_hw_get(m->hw, FSIM_HW_POWER_LIMIT);
    const double rest = m->node ? m->node->power.value / (double)m->gpus - limit : NAN;
    return rest > 0 ? rest : 0;
}

const fsim_cluster *fsim_cluster_load(fsim_arena *a, fsim_diag *d, const char *name, const char *folder)
{
    enum { MOST_GPUS = 1024 };
    const char *why = "", *path = name;
    const char *shipped = fsim_printf(a, "%s/%s.yaml", folder, name);
    size_t bytes;
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        path = shipped;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text) {
        refuse_name(a, d, name, folder, why);
        return NULL;
    }
    fsim_diag_source(d, path, text, bytes);
    const int errors = fsim_errors(d);
    const fsim_yaml *root = fsim_yaml_parse(a, d, path, text, bytes);
    if (!root)
        return NULL;
    if (root->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, root->at, "a system is a mapping with the keys name, gpu and gpus");
        return NULL;
    }
    fsim_yaml_check_keys(a, d, root, "a system", keys, KEYS);
    fsim_cluster *n = fsim_new(a, fsim_cluster, 1);
    n->name = text_of(d, root, keys[NAME]);
    n->description = fsim_yaml_get(root, keys[DESCRIPTION]) ? text_of(d, root, keys[DESCRIPTION]) : "";
    n->gpu = text_of(d, root, keys[GPU]);
    const fsim_stated gpus = figure_of(a, d, root, keys[GPUS], FSIM_DIM_NONE);
    n->network = figure_of(a, d, root, keys[NETWORK], FSIM_DIM_BYTES_PER_S);
    n->power = figure_of(a, d, root, keys[POWER], FSIM_DIM_WATTS);
    n->rent = figure_of(a, d, root, keys[RENT], FSIM_DIM_USD_PER_H);
    if (fsim_errors(d) == errors && !(gpus.value >= 1 && gpus.value <= MOST_GPUS && gpus.value == floor(gpus.value)))
        fsim_error(d, root->at, "'gpus' is missing, or no whole number up to %d", MOST_GPUS);
    if (fsim_errors(d) > errors)
        return NULL;
    n->gpus = (int64_t)gpus.value;
    n->gpus_source = gpus.source;
    return n;
}
