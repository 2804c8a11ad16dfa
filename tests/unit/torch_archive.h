/* SPDX-License-Identifier: Apache-2.0 */
/* torch_archive.h: torch.export archives made by tests, and the graphs that they become. */
#ifndef FUSESIM_TESTS_UNIT_TORCH_ARCHIVE_H
#define FUSESIM_TESTS_UNIT_TORCH_ARCHIVE_H

#include "import/load.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include <cmocka.h> /* needs those above */

#include "printed.h"

typedef struct {
    char *text;
    size_t bytes;
} archive;

typedef struct {
    const char *name, *text;
} entry;

/* A zip of these entries; the caller frees its text. */
static inline archive zipped(int count, const entry *e, bool packed)
{
    zip_error_t why;
    zip_error_init(&why);
    zip_source_t *into = zip_source_buffer_create(NULL, 0, 0, &why);
    zip_source_keep(into);
    zip_t *zip = zip_open_from_source(into, ZIP_TRUNCATE, &why);
    assert_non_null(zip);
    for (int i = 0; i < count; i++) {
        zip_source_t *text = zip_source_buffer(zip, e[i].text, strlen(e[i].text), 0);
        const zip_int64_t at = zip_file_add(zip, e[i].name, text, 0);
        assert_true(at >= 0);
        zip_set_file_compression(zip, (zip_uint64_t)at, packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    assert_int_equal(zip_close(zip), 0);
    zip_stat_t s;
    assert_int_equal(zip_source_stat(into, &s), 0);
    archive made = {malloc(s.size), s.size};
    assert_int_equal(zip_source_open(into), 0);
    assert_int_equal(zip_source_read(into, made.text, s.size), (zip_int64_t)s.size);
    zip_source_close(into);
    zip_source_free(into);
    return made;
}

static inline archive of_program(const char *json)
{
    return zipped(3, (entry[]){{"m/archive_format", "pt2"}, {"m/models/model.json", json}, {"m/byteorder", "little"}},
                  false);
}

typedef struct {
    fsim_arena *a;
    fsim_graph *g;
    const char *said;
    fsim_status status;
} outcome;

/* The graph of an archive with these dimensions, "s1=4 s2=3". */
static inline outcome load(archive from, const char *dims)
{
    outcome o = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(o.a);
    fsim_binding set[8];
    fsim_workload_wanted how = {.set = set};
    char *text = fsim_strdup(o.a, dims), *rest = NULL;
    for (char *one = strtok_r(text, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(one, '=');
        *equals = 0;
        set[how.sets++] = (fsim_binding){one, equals + 1};
    }
    char *exact = malloc(from.bytes); /* of this size: a file in memory has no NUL behind it */
    memcpy(exact, from.text, from.bytes);
    o.g = fsim_graph_load_text(o.a, d, "m.pt2", exact, from.bytes, &how);
    o.status = fsim_diag_status(d);
    o.said = printed(o.a, d);
    free(exact);
    return o;
}

static inline outcome load_program(const char *json, const char *dims)
{
    archive made = of_program(json);
    const outcome o = load(made, dims);
    free(made.text);
    return o;
}

static inline const fsim_tensor *tensor_of(const outcome *o, const char *name)
{
    for (int i = 0; i < o->g->tensors; i++)
        if (strcmp(o->g->tensor[i].name, name) == 0)
            return &o->g->tensor[i];
    fail_msg("no tensor '%s'", name);
    return NULL;
}

/* A program whose translation succeeds without a word. */
static inline outcome loaded(const char *json, const char *dims)
{
    const outcome o = load_program(json, dims);
    if (!o.g || *o.said)
        fail_msg("%s", o.said);
    return o;
}

#endif
