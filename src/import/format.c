/* SPDX-License-Identifier: Apache-2.0 */
#include "import/format.h"

#include <string.h>

typedef struct {
    const char *name;
    bool (*is)(const char *text, size_t bytes);
    fsim_importer *read;
} format_row;

static bool is_any(const char *text, size_t bytes)
{
    (void)text;
    (void)bytes;
    return true;
}

static bool is_zip(const char *text, size_t bytes) { return bytes >= 4 && memcmp(text, "PK\3\4", 4) == 0; }

/* A protocol buffer whose first field is the version, a small number (field 1, a varint), and whose next is a field of
 * ModelProto; no YAML begins with such a control character. */
static bool is_onnx(const char *text, size_t bytes) { return bytes >= 2 && text[0] == 0x08 && (text[1] & 0x80) == 0; }

static bool read_yaml(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                      fsim_imported *out)
{
    (void)how;
    fsim_diag_source(d, from->path, from->text, from->bytes);
    out->yaml = fsim_yaml_parse(a, d, from->path, from->text, from->bytes);
    return out->yaml != NULL;
}

static const format_row rows[] = {
#define FSIM_IMPORT(id, name, is, read) [FSIM_FORMAT_##id] = {name, is, read},
#include "import/format.def"
#undef FSIM_IMPORT
};

fsim_format_id fsim_format_of(const char *text, size_t bytes)
{
    fsim_format_id id = 0;
    while (!rows[id].is(text, bytes))
        id++;
    return id;
}

bool fsim_import_read(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                      fsim_imported *out)
{
    const format_row *row = &rows[fsim_format_of(from->text, from->bytes)];
    *out = (fsim_imported){.format = row->name};
    return row->read(a, d, from, how, out);
}
