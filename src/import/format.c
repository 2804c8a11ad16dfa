/* SPDX-License-Identifier: Apache-2.0 */
#include "import/format.h"

#include "import/foreign.h"
#include "import/mend.h"

#include <stdint.h>
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

/* Its first entry, or, of an empty one, its end. */
static bool is_zip(const char *text, size_t bytes)
{
    return bytes >= 4 && (memcmp(text, "PK\3\4", 4) == 0 || memcmp(text, "PK\5\6", 4) == 0);
}

/* A varint of at most 9 bytes at text[*at]; *at becomes the place behind it. */
static bool take_varint(const char *text, size_t bytes, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < bytes && shift < 63; shift += 7) {
        const unsigned char byte = (unsigned char)text[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Is text nothing but fields of ModelProto, from its first to its last byte, with a graph among them? Lengths are
 * jumped over. */
static bool is_model(const char *text, size_t bytes)
{
    enum { VARINT = 0, LENGTH = 2, VERSION = 1, MODEL_VERSION = 5, GRAPH = 7, OPSETS = 8, METADATA = 14, LAST = 25 };
    bool graph = false;
    uint64_t tag, value;
    for (size_t at = 0; at < bytes;) {
        if (!take_varint(text, bytes, &at, &tag) || !take_varint(text, bytes, &at, &value))
            return false;
        const uint64_t field = tag >> 3;
        const bool number = field == VERSION || field == MODEL_VERSION;
        if (field < VERSION || field > LAST || (field > OPSETS && field < METADATA) ||
            (tag & 7) != (number ? VARINT : LENGTH) || (!number && value > bytes - at))
            return false;
        at += number ? 0 : (size_t)value;
        graph = graph || field == GRAPH;
    }
    return graph;
}

/* A protocol buffer whose first field is the version, a small number (field 1, a varint), as all exporters write it; no
 * YAML begins with such a control character. Or one with its fields in another order, if it is whole. */
static bool is_onnx(const char *text, size_t bytes)
{
    return (bytes >= 2 && text[0] == 0x08 && (text[1] & 0x80) == 0) || is_model(text, bytes);
}

/* Is it a tree in YAML, whatever its name is? */
static bool is_mapping(fsim_arena *a, const fsim_import_source *from)
{
    const fsim_yaml *y = fsim_yaml_parse(a, fsim_diag_new(a), from->path, from->text, from->bytes);
    return y && y->kind == FSIM_YAML_MAPPING;
}

static bool read_yaml(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                      fsim_imported *out)
{
    (void)how;
    const char *other = fsim_foreign_file(a, from->text, from->bytes);
    if (other) {
        fsim_error(d, (fsim_loc){from->path, 0, 0}, "no workload: this is %s", other);
        return false;
    }
    other = fsim_foreign_name(a, from->path, from->text, from->bytes);
    if (other && !is_mapping(a, from)) {
        fsim_error(d, (fsim_loc){from->path, 0, 0}, "%s", other);
        return false;
    }
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
    if (!row->read(a, d, from, how, out))
        return false;
    if (out->draft)
        fsim_mend(a, d, from->path, &(fsim_mended){out->yaml, out->draft, out->states_shapes});
    return true;
}
