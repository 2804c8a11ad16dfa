/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c: protocol buffers to the structs of proto.h, by the table proto.def.
 *
 * A message is read twice: first its fields are counted, then arrays of that size are filled. What lies inside a field
 * is jumped over by its length. A message that should occur once but occurs several times is read as all its parts, one
 * behind the other, which is how protocol buffers define it; of a scalar the last counts.
 *
 * Hostile files: every length is checked against the message around it, messages nest at most DEPTH deep, and all
 * memory comes out of a budget that is proportional to the file. */
#include "import/onnx/proto.h"
#include "import/onnx/strings.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    GRAPHS = 64,            /* graphs inside graphs */
    DEPTH = 3 * GRAPHS + 8, /* each by a node and an attribute; a tensor or a type in the innermost */
    NUMBERS = 32,           /* fields have smaller numbers */
    SPARE = 8 << 20,
    EACH = 12 /* bytes of memory: so many, and so many for each byte of the file */
};

enum { VARINT, FIXED64, LENGTH, GROUP, GROUP_END, FIXED32 }; /* wire types */

typedef enum {
    NO_FIELD,
    STRING,
    INT64,
    INT32,
    FLOAT,
    MESSAGE,
    PART,
    BYTES,
    STRINGS,
    BLOBS,
    INT64S,
    FLOATS,
    MESSAGES,
    FLOATDATA,
    INTDATA,
    DOUBLEDATA,
    BYTEDATA,
    KINDS
} kind;

typedef enum {
#define FSIM_ONNX_MESSAGE(id, type) MSG_##id,
#define FSIM_ONNX_FIELD(...)
#define FSIM_ONNX_SETS(...)
#define FSIM_ONNX_LIST(...)
#include "import/onnx/proto.def"
#undef FSIM_ONNX_MESSAGE
    MSG_COUNT
} message_id;

#define FSIM_ONNX_MESSAGE(id, type) typedef fsim_onnx_##type struct_##id;
#include "import/onnx/proto.def"
#undef FSIM_ONNX_MESSAGE

static const size_t struct_bytes[] = {
#define FSIM_ONNX_MESSAGE(id, type) [MSG_##id] = sizeof(struct_##id),
#include "import/onnx/proto.def"
};
#undef FSIM_ONNX_MESSAGE
#undef FSIM_ONNX_FIELD
#undef FSIM_ONNX_SETS
#undef FSIM_ONNX_LIST

typedef struct {
    const char *name;
    kind kind;
    message_id of;
    size_t member, count, mark; /* offsets in the struct; mark counts where value is not 0 */
    int value;
} row;

/* By message and number. */
static const row rows[MSG_COUNT][NUMBERS] = {
#define FSIM_ONNX_MESSAGE(...)
#define FSIM_ONNX_FIELD(in, number, name, kind, member, of)                                                            \
    [MSG_##in][number] = {name, kind, MSG_##of, offsetof(struct_##in, member), 0, 0, 0},
#define FSIM_ONNX_SETS(in, number, name, kind, member, of, mark, value)                                                \
    [MSG_##in][number] = {name, kind, MSG_##of, offsetof(struct_##in, member), 0, offsetof(struct_##in, mark), value},
#define FSIM_ONNX_LIST(in, number, name, kind, member, of, count)                                                      \
    [MSG_##in][number] = {name, kind, MSG_##of, offsetof(struct_##in, member), offsetof(struct_##in, count), 0, 0},
#include "import/onnx/proto.def"
};

typedef fsim_onnx_span span;

/* The parts of a message. */
typedef struct {
    const span *part;
    int64_t parts;
} body;

/* A field as it stands in the file. bytes: its value, without the length; of a varint and a fixed number, its own. */
typedef struct {
    uint32_t number;
    int wire;
    uint64_t value; /* of a varint */
    span bytes;
    const uint8_t *at; /* where its tag is */
} field;

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *path;
    const uint8_t *start, *now; /* the file, and the newest field */
    fsim_onnx_memory memory;
    fsim_onnx_strings strings;
    bool failed;
    int depth;
    struct {
        const char *name;
        int64_t index; /* in a list; -1: none */
    } where[DEPTH + 1];
} reader;

/* A message on its way to a struct. */
typedef struct {
    message_id id;
    char *to;
    body in;
    int64_t count[NUMBERS]; /* fields, or values, of each number; those of data together at 0 */
} target;

/* "graph.node[17].attribute[2]" */
static const char *where_text(const reader *r)
{
    const char *text = "the model";
    for (int i = 0; i < r->depth; i++) {
        const char *name = r->where[i].index < 0
                               ? r->where[i].name
                               : fsim_printf(r->a, "%s[%lld]", r->where[i].name, (long long)r->where[i].index);
        text = i == 0 ? name : fsim_printf(r->a, "%s.%s", text, name);
    }
    return text;
}

__attribute__((format(printf, 3, 4))) static bool fail(reader *r, const uint8_t *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!r->failed)
        fsim_error(r->d, (fsim_loc){r->path, 0, 0}, "%s, byte %zu: %s", where_text(r), (size_t)(at - r->start),
                   fsim_vprintf(r->a, format, args));
    va_end(args);
    r->failed = true;
    return false;
}

static bool spent(reader *r)
{
    return fail(r, r->now, "so many tiny parts that they take more than %d bytes of memory for each byte of the file",
                EACH);
}

/* count x size zeroed bytes; NULL where the file may not have them. */
static void *take(reader *r, int64_t count, size_t size)
{
    void *made = fsim_onnx_take(&r->memory, count, size);
    if (!made)
        spent(r);
    return made;
}

/* A number of 7 bits a byte, lowest first; at most `most` bytes. */
static bool varint(reader *r, span *in, uint64_t *value)
{
    const uint8_t *from = in->at;
    *value = 0;
    for (int shift = 0; in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1)
            return fail(r, from, "a number is longer than 64 bits");
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return fail(r, from, "the file ends, or the message does, inside a number");
}

static bool fixed(reader *r, span *in, size_t bytes, field *f)
{
    if ((size_t)(in->end - in->at) < bytes)
        return fail(r, f->at, "the file ends, or the message does, inside a number of %zu bytes", bytes);
    f->bytes = (span){in->at, in->at + bytes};
    in->at += bytes;
    return true;
}

static bool length(reader *r, span *in, field *f)
{
    uint64_t bytes;
    if (!varint(r, in, &bytes))
        return false;
    const size_t left = (size_t)(in->end - in->at);
    if (bytes > left)
        return fail(r, f->at, "a field of %llu bytes, but only %zu are left: cut short or damaged",
                    (unsigned long long)bytes, left);
    return fixed(r, in, (size_t)bytes, f);
}

/* The next field. */
static bool next(reader *r, span *in, field *f)
{
    uint64_t tag;
    r->now = f->at = in->at;
    if (!varint(r, in, &tag))
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = (int)(tag & 7);
    f->bytes.at = in->at;
    if (tag > UINT32_MAX || f->number == 0)
        return fail(r, f->at, "a field without a number: not an ONNX model, or damaged");
    switch (f->wire) {
    case VARINT:
        if (!varint(r, in, &f->value))
            return false;
        f->bytes.end = in->at;
        return true;
    case FIXED64:
        return fixed(r, in, 8, f);
    case FIXED32:
        return fixed(r, in, 4, f);
    case LENGTH:
        return length(r, in, f);
    default:
        return fail(r, f->at, "field %u is of wire type %d, which ONNX does not use: damaged", f->number, f->wire);
    }
}

/* The next field of a message, over all its parts; *now begins as an empty span. */
static bool next_of(reader *r, body *in, span *now, field *f)
{
    while (now->at == now->end) {
        if (in->parts == 0)
            return false;
        *now = *in->part++;
        in->parts--;
    }
    return next(r, now, f);
}

static const row *row_of(message_id id, const field *f)
{
    const row *x = f->number < NUMBERS ? &rows[id][f->number] : NULL;
    return x && x->kind ? x : NULL;
}

static bool is_data(kind k) { return k >= FLOATDATA; }
static size_t slot_of(const row *x, const field *f) { return is_data(x->kind) ? 0 : f->number; }

/* Which wire types a kind may have, a bit each; values of what size a LENGTH of numbers holds, 1: varints, 0: it is no
 * list of numbers; the size of an item of its list. */
static const struct {
    unsigned wires;
    size_t packed, item;
} kinds[KINDS] = {
    [STRING] = {1 << LENGTH, 0, 0},
    [INT64] = {1 << VARINT, 0, 0},
    [INT32] = {1 << VARINT, 0, 0},
    [FLOAT] = {1 << FIXED32, 0, 0},
    [MESSAGE] = {1 << LENGTH, 0, 0},
    [PART] = {1 << LENGTH, 0, 0},
    [BYTES] = {1 << LENGTH, 0, 0},
    [STRINGS] = {1 << LENGTH, 0, sizeof(const char *)},
    [BLOBS] = {1 << LENGTH, 0, sizeof(const char *)},
    [INT64S] = {1 << VARINT | 1 << LENGTH, 1, sizeof(int64_t)},
    [FLOATS] = {1 << FIXED32 | 1 << LENGTH, 4, sizeof(float)},
    [MESSAGES] = {1 << LENGTH, 0, 0},
    [FLOATDATA] = {1 << FIXED32 | 1 << LENGTH, 0, sizeof(fsim_onnx_data)},
    [INTDATA] = {1 << VARINT | 1 << LENGTH, 0, sizeof(fsim_onnx_data)},
    [DOUBLEDATA] = {1 << FIXED64 | 1 << LENGTH, 0, sizeof(fsim_onnx_data)},
    [BYTEDATA] = {1 << LENGTH, 0, sizeof(fsim_onnx_data)},
};

/* How many values a field has. */
static int64_t values_in(reader *r, const row *x, const field *f)
{
    const size_t packed = kinds[x->kind].packed, bytes = (size_t)(f->bytes.end - f->bytes.at);
    if (packed == 0 || f->wire != LENGTH)
        return 1;
    if (packed == 1) {
        int64_t n = 0;
        for (const uint8_t *p = f->bytes.at; p < f->bytes.end; p++)
            n += *p < 0x80;
        return n;
    }
    if (bytes % packed)
        fail(r, f->at, "'%s' is a list of numbers of %zu bytes, and has %zu bytes", x->name, packed, bytes);
    return (int64_t)(bytes / packed);
}

/* A member that points to something, whatever that is. */
static void *pointer_at(const target *t, const row *x)
{
    void *value;
    memcpy(&value, t->to + x->member, sizeof value);
    return value;
}

static void point_to(const target *t, const row *x, void *value) { memcpy(t->to + x->member, &value, sizeof value); }

static bool count_fields(reader *r, target *t)
{
    body in = t->in;
    span now = {NULL, NULL};
    field f;
    while (next_of(r, &in, &now, &f)) {
        const row *x = row_of(t->id, &f);
        if (x && !(kinds[x->kind].wires >> f.wire & 1))
            return fail(r, f.at, "'%s' is of wire type %d, not of its own: not an ONNX model, or damaged", x->name,
                        f.wire);
        if (x)
            t->count[slot_of(x, &f)] += values_in(r, x, &f);
    }
    return !r->failed;
}

/* Arrays for lists; "" for strings that are absent. */
static bool make_room(reader *r, target *t)
{
    for (int i = 1; i < NUMBERS && !r->failed; i++) {
        const row *x = &rows[t->id][i];
        const size_t item = x->kind == MESSAGES ? struct_bytes[x->of] : kinds[x->kind].item;
        const int64_t n = t->count[is_data(x->kind) ? 0 : i];
        if (x->kind == STRING || x->kind == BYTES)
            *(const char **)(t->to + x->member) = "";
        if (item && n > INT_MAX)
            return fail(r, r->now, "'%s' has %lld values", x->name, (long long)n);
        if (item && n && !(is_data(x->kind) && pointer_at(t, x))) {
            point_to(t, x, take(r, n, item));
            *(int *)(t->to + x->count) = 0;
        }
    }
    return !r->failed;
}

/* The place for the next item of a list; NULL where it is full, which it is only if the file changed meanwhile. */
static void *item_of(reader *r, const target *t, const row *x, const field *f, size_t size)
{
    int *count = (int *)(t->to + x->count);
    if (*count >= t->count[slot_of(x, f)]) {
        fail(r, f->at, "the file changed while it was read");
        return NULL;
    }
    return (char *)pointer_at(t, x) + size * (size_t)(*count)++;
}

static bool decode(reader *r, message_id id, void *to, body in);

/* Decodes a message that is part of another: x's, number `index` of its list. */
static bool decode_in(reader *r, const row *x, void *to, body in, int64_t index)
{
    if (r->depth == DEPTH)
        return fail(r, in.part->at, "messages nest more than %d deep", DEPTH);
    r->where[r->depth].name = x->name;
    r->where[r->depth++].index = index;
    const bool good = decode(r, x->of, to, in);
    r->depth--;
    return good;
}

/* All parts of the field's message. */
static body parts_of(reader *r, const target *t, const row *x, const field *first)
{
    body in = t->in;
    span now = {NULL, NULL}, *part = take(r, t->count[first->number], sizeof *part);
    int64_t parts = 0;
    field f;
    while (part && parts < t->count[first->number] && next_of(r, &in, &now, &f))
        if (row_of(t->id, &f) == x)
            part[parts++] = f.bytes;
    return (body){part, parts};
}

static bool fill_message(reader *r, target *t, const row *x, const field *f)
{
    int64_t *left = &t->count[f->number];
    if (*left == 0)
        return true; /* read with the first part */
    const body in = *left == 1 ? (body){&f->bytes, 1} : parts_of(r, t, x, f);
    *left = 0;
    if (r->failed)
        return false;
    if (x->kind == PART)
        return decode_in(r, x, t->to, in, -1);
    void *made = take(r, 1, struct_bytes[x->of]);
    point_to(t, x, made);
    return made && decode_in(r, x, made, in, -1);
}

static bool fill_item(reader *r, target *t, const row *x, const field *f)
{
    void *item = item_of(r, t, x, f, struct_bytes[x->of]);
    return item && decode_in(r, x, item, (body){&f->bytes, 1}, *(int *)(t->to + x->count) - 1);
}

static bool fill_string(reader *r, target *t, const row *x, const field *f)
{
    if (!fsim_onnx_is_text(f->bytes))
        return fail(r, f->at, "'%s' is no text: it has bytes that are not UTF-8", x->name);
    const char *text = fsim_onnx_intern(&r->strings, f->bytes);
    const char **to = x->kind == STRING ? (const char **)(t->to + x->member) : item_of(r, t, x, f, sizeof *to);
    if (!to || !text)
        return spent(r);
    *to = text;
    return true;
}

static bool fill_bytes(reader *r, target *t, const row *x, const field *f)
{
    if (f->bytes.end - f->bytes.at > INT_MAX)
        return fail(r, f->at, "'%s' has %lld bytes", x->name, (long long)(f->bytes.end - f->bytes.at));
    const char *text = fsim_onnx_copy(&r->memory, f->bytes);
    const char **to = x->kind == BYTES ? (const char **)(t->to + x->member) : item_of(r, t, x, f, sizeof *to);
    if (!to || !text)
        return spent(r);
    *to = text;
    if (x->kind == BYTES)
        *(int *)(t->to + x->count) = (int)(f->bytes.end - f->bytes.at);
    return true;
}

static bool fill_number(reader *r, target *t, const row *x, const field *f)
{
    (void)r;
    if (x->kind == INT64)
        *(int64_t *)(t->to + x->member) = (int64_t)f->value;
    else if (x->kind == INT32)
        *(int *)(t->to + x->member) = (int32_t)(uint32_t)f->value;
    else
        memcpy(t->to + x->member, f->bytes.at, sizeof(float));
    return true;
}

static bool fill_ints(reader *r, target *t, const row *x, const field *f)
{
    span in = f->bytes;
    while (in.at < in.end) {
        uint64_t value;
        if (!varint(r, &in, &value))
            return false;
        int64_t *to = item_of(r, t, x, f, sizeof *to);
        if (!to)
            return false;
        *to = (int64_t)value;
    }
    return true;
}

static bool fill_floats(reader *r, target *t, const row *x, const field *f)
{
    for (const uint8_t *p = f->bytes.at; p < f->bytes.end; p += sizeof(float)) {
        void *to = item_of(r, t, x, f, sizeof(float));
        if (!to)
            return false;
        memcpy(to, p, sizeof(float));
    }
    return true;
}

static bool fill_data(reader *r, target *t, const row *x, const field *f)
{
    fsim_onnx_data *to = item_of(r, t, x, f, sizeof *to);
    if (to)
        *to = (fsim_onnx_data){f->bytes.at, (size_t)(f->bytes.end - f->bytes.at), (int)f->number};
    return to != NULL;
}

static bool (*const fill[KINDS])(reader *r, target *t, const row *x, const field *f) = {
    [STRING] = fill_string,   [INT64] = fill_number, [INT32] = fill_number,    [FLOAT] = fill_number,
    [MESSAGE] = fill_message, [PART] = fill_message, [BYTES] = fill_bytes,     [STRINGS] = fill_string,
    [BLOBS] = fill_bytes,     [INT64S] = fill_ints,  [FLOATS] = fill_floats,   [MESSAGES] = fill_item,
    [FLOATDATA] = fill_data,  [INTDATA] = fill_data, [DOUBLEDATA] = fill_data, [BYTEDATA] = fill_data,
};

/* The product of dims, checked; *elems is 1 for none. */
static bool product_of(reader *r, const target *t, int dims, const int64_t *dim, int64_t *elems)
{
    *elems = 1;
    bool none = false;
    for (int i = 0; i < dims; i++) {
        if (dim[i] < 0)
            return fail(r, t->in.part->at, "the tensor has a dimension of %lld", (long long)dim[i]);
        none |= dim[i] == 0;
    }
    for (int i = 0; i < dims && !none; i++)
        if (__builtin_mul_overflow(*elems, dim[i], elems))
            return fail(r, t->in.part->at, "the tensor has more than 2^63 elements");
    *elems = none ? 0 : *elems;
    return true;
}

static bool finish_tensor(reader *r, const target *t)
{
    fsim_onnx_tensor *x = (fsim_onnx_tensor *)t->to;
    x->external = x->location == 1 || (x->sources > 0 && x->datas == 0);
    return product_of(r, t, x->dims, x->dim, &x->elems);
}

static bool finish_sparse(reader *r, const target *t)
{
    const fsim_onnx_sparse *x = (fsim_onnx_sparse *)t->to;
    int64_t elems;
    return product_of(r, t, x->dims, x->dim, &elems);
}

static bool finish_node(reader *r, const target *t)
{
    const fsim_onnx_node *x = (fsim_onnx_node *)t->to;
    return *x->op || fail(r, t->in.part->at, "a node without an op_type");
}

/* Files of IR version 1 and 2 do not say the type. */
static bool finish_attribute(reader *r, const target *t)
{
    fsim_onnx_attribute *x = (fsim_onnx_attribute *)t->to;
    if (!*x->name)
        return fail(r, t->in.part->at, "an attribute without a name");
    if (x->type == FSIM_ONNX_ATTR_NONE && !*x->ref)
        x->type = x->t              ? FSIM_ONNX_ATTR_TENSOR
                  : x->g            ? FSIM_ONNX_ATTR_GRAPH
                  : x->sparse       ? FSIM_ONNX_ATTR_SPARSE
                  : x->float_count  ? FSIM_ONNX_ATTR_FLOATS
                  : x->int_count    ? FSIM_ONNX_ATTR_INTS
                  : x->string_count ? FSIM_ONNX_ATTR_STRINGS
                  : x->s_bytes      ? FSIM_ONNX_ATTR_STRING
                                    : x->seen;
    return true;
}

static bool (*const finish[MSG_COUNT])(reader *r, const target *t) = {
    [MSG_tensor] = finish_tensor,
    [MSG_sparse] = finish_sparse,
    [MSG_node] = finish_node,
    [MSG_attribute] = finish_attribute,
};

/* Reads a message into the struct at `to`. */
static bool decode(reader *r, message_id id, void *to, body in)
{
    target t = {id, to, in, {0}};
    if (!count_fields(r, &t) || !make_room(r, &t))
        return false;
    body rest = in;
    span now = {NULL, NULL};
    field f;
    while (next_of(r, &rest, &now, &f)) {
        const row *x = row_of(id, &f);
        if (x && !fill[x->kind](r, &t, x, &f))
            return false;
        if (x && x->value)
            *(int *)(t.to + x->mark) = x->value;
    }
    return !r->failed && (!finish[id] || finish[id](r, &t));
}

static bool decode_file(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, message_id id, void *to)
{
    reader r = {.a = a, .d = d, .path = from->path, .start = (const uint8_t *)from->text};
    r.now = r.start;
    const size_t most = from->bytes < (SIZE_MAX - SPARE) / EACH ? SPARE + EACH * from->bytes : SIZE_MAX;
    r.memory = (fsim_onnx_memory){a, most, false};
    r.strings = (fsim_onnx_strings){.memory = &r.memory, .seed = (uint64_t)(uintptr_t)&r};
    const span all = {r.start, r.start + from->bytes};
    return decode(&r, id, to, (body){&all, 1});
}

const fsim_onnx_model *fsim_onnx_read(fsim_arena *a, fsim_diag *d, const fsim_import_source *from)
{
    fsim_onnx_model *m = fsim_new(a, fsim_onnx_model, 1);
    if (!decode_file(a, d, from, MSG_model, m))
        return NULL;
    if (!m->graph) {
        fsim_error(d, (fsim_loc){from->path, 0, 0}, "an ONNX model without a graph: cut short, or of another kind");
        return NULL;
    }
    return m;
}

const fsim_onnx_tensor *fsim_onnx_read_tensor(fsim_arena *a, fsim_diag *d, const fsim_import_source *from)
{
    fsim_onnx_tensor *t = fsim_new(a, fsim_onnx_tensor, 1);
    return decode_file(a, d, from, MSG_tensor, t) ? t : NULL;
}
