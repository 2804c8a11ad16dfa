/* SPDX-License-Identifier: Apache-2.0 */
/* read.c: ONNX files to the structs of proto.h, by the table proto.def.
 *
 * A message is read twice: first its fields are counted, then arrays of that size are filled. What lies inside a field
 * is jumped over by its length. A message that should occur once but occurs several times is read as all its parts, one
 * behind the other, which is how protocol buffers define it; of a scalar the last counts.
 *
 * Hostile files: every length is checked against the message around it, messages nest at most DEPTH deep, and all
 * memory comes out of a budget that is proportional to the file. */
#include "import/onnx/proto.h"
#include "import/onnx/wire.h"

#include <limits.h>
#include <string.h>

enum {
    GRAPHS = 64,            /* graphs inside graphs */
    DEPTH = 3 * GRAPHS + 8, /* each by a node and an attribute; a tensor or a type in the innermost */
    NUMBERS = 32,           /* fields have smaller numbers */
    SHOWN = 4,              /* messages at either end of a long way, in what the user is told */
    SPARE = 8 << 20,
    EACH = 12 /* bytes of memory: so many, and so many for each byte of the file */
};

enum {
    VARINT = 1 << FSIM_WIRE_VARINT,
    FIXED64 = 1 << FSIM_WIRE_FIXED64,
    LENGTH = 1 << FSIM_WIRE_LENGTH,
    FIXED32 = 1 << FSIM_WIRE_FIXED32
};

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

typedef fsim_wire_message body;
typedef fsim_wire_field field;

typedef struct {
    fsim_wire wire;
    fsim_onnx_memory memory;
    fsim_onnx_strings strings;
    uint32_t texts[MSG_COUNT]; /* the numbers of fields that are one string, a bit each */
    int depth;
    struct {
        const char *name;
        int64_t index; /* in a list; -1: none */
    } where[DEPTH];
} reader;

/* A message on its way to a struct. */
typedef struct {
    message_id id;
    char *to;
    body in;
    uint32_t seen;          /* the numbers of its fields, a bit each */
    int64_t count[NUMBERS]; /* fields, or values, of each number; those of data together at 0 */
} target;

static bool spent(reader *r)
{
    return fsim_wire_fail(&r->wire, r->wire.now,
                          "so many tiny parts that they take more than %d bytes of memory for each byte of the file",
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
    [STRING] = {LENGTH, 0, 0},
    [INT64] = {VARINT, 0, 0},
    [INT32] = {VARINT, 0, 0},
    [FLOAT] = {FIXED32, 0, 0},
    [MESSAGE] = {LENGTH, 0, 0},
    [PART] = {LENGTH, 0, 0},
    [BYTES] = {LENGTH, 0, 0},
    [STRINGS] = {LENGTH, 0, sizeof(const char *)},
    [BLOBS] = {LENGTH, 0, sizeof(const char *)},
    [INT64S] = {VARINT | LENGTH, 1, sizeof(int64_t)},
    [FLOATS] = {FIXED32 | LENGTH, 4, sizeof(float)},
    [MESSAGES] = {LENGTH, 0, 0},
    [FLOATDATA] = {FIXED32 | LENGTH, 0, sizeof(fsim_onnx_data)},
    [INTDATA] = {VARINT | LENGTH, 0, sizeof(fsim_onnx_data)},
    [DOUBLEDATA] = {FIXED64 | LENGTH, 0, sizeof(fsim_onnx_data)},
    [BYTEDATA] = {LENGTH, 0, sizeof(fsim_onnx_data)},
};

/* How many values a field has. */
static int64_t values_in(reader *r, const row *x, const field *f)
{
    const size_t packed = kinds[x->kind].packed, bytes = (size_t)(f->bytes.end - f->bytes.at);
    if (packed == 0 || f->type != FSIM_WIRE_LENGTH)
        return 1;
    if (packed == 1) {
        int64_t n = 0;
        for (const uint8_t *p = f->bytes.at; p < f->bytes.end; p++)
            n += *p < 0x80;
        return n;
    }
    if (bytes % packed)
        fsim_wire_fail(&r->wire, f->at, "'%s' is a list of numbers of %zu bytes, and has %zu bytes", x->name, packed,
                       bytes);
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
    field f;
    while (fsim_wire_next(&r->wire, &in, &f)) {
        const row *x = row_of(t->id, &f);
        if (x && !(kinds[x->kind].wires >> f.type & 1))
            return fsim_wire_fail(&r->wire, f.at,
                                  "'%s' is of wire type %d, not of its own: not an ONNX model, or damaged", x->name,
                                  f.type);
        if (!x)
            continue;
        t->seen |= (uint32_t)1 << f.number;
        t->count[slot_of(x, &f)] += values_in(r, x, &f);
    }
    return !r->wire.why;
}

/* An array for a list that has n values. */
static bool make_list(reader *r, const target *t, const row *x, int64_t n)
{
    const size_t item = x->kind == MESSAGES ? struct_bytes[x->of] : kinds[x->kind].item;
    if (item == 0 || (is_data(x->kind) && pointer_at(t, x)))
        return true;
    if (n > INT_MAX)
        return fsim_wire_fail(&r->wire, r->wire.now, "'%s' has %lld values", x->name, (long long)n);
    point_to(t, x, take(r, n, item));
    *(int *)(t->to + x->count) = 0;
    return !r->wire.why;
}

/* Arrays for lists; "" for strings, which may be absent. */
static bool make_room(reader *r, target *t)
{
    for (uint32_t left = t->seen | r->texts[t->id]; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        const row *x = &rows[t->id][i];
        const int64_t n = t->count[is_data(x->kind) ? 0 : i];
        if (x->kind == STRING || x->kind == BYTES)
            *(const char **)(t->to + x->member) = "";
        else if (n > 0 && !make_list(r, t, x, n))
            return false;
    }
    return true;
}

/* The place for the next item of a list; NULL where it is full, which it is only if the file changed meanwhile. */
static void *item_of(reader *r, const target *t, const row *x, const field *f, size_t size)
{
    int *count = (int *)(t->to + x->count);
    if (*count >= t->count[slot_of(x, f)]) {
        fsim_wire_fail(&r->wire, f->at, "the file changed while it was read");
        return NULL;
    }
    return (char *)pointer_at(t, x) + size * (size_t)(*count)++;
}

static bool decode(reader *r, message_id id, void *to, body in);

/* Decodes a message that is part of another: x's, number `index` of its list. */
static bool decode_in(reader *r, const row *x, void *to, body in, int64_t index)
{
    if (r->depth == DEPTH)
        return fsim_wire_fail(&r->wire, in.part->at, "messages nest more than %d deep", DEPTH);
    r->where[r->depth].name = x->name;
    r->where[r->depth++].index = index;
    if (!decode(r, x->of, to, in))
        return false; /* with the way there, for the message */
    r->depth--;
    return true;
}

/* All parts of the field's message. */
static body parts_of(reader *r, const target *t, const row *x, const field *first)
{
    body in = t->in;
    span *part = take(r, t->count[first->number], sizeof *part);
    int64_t parts = 0;
    field f;
    while (part && parts < t->count[first->number] && fsim_wire_next(&r->wire, &in, &f))
        if (row_of(t->id, &f) == x)
            part[parts++] = f.bytes;
    return (body){part, parts, {NULL, NULL}};
}

static bool fill_message(reader *r, target *t, const row *x, const field *f)
{
    int64_t *left = &t->count[f->number];
    if (*left == 0)
        return true; /* read with the first part */
    const body in = *left == 1 ? (body){&f->bytes, 1, {NULL, NULL}} : parts_of(r, t, x, f);
    *left = 0;
    if (r->wire.why)
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
    return item && decode_in(r, x, item, (body){&f->bytes, 1, {NULL, NULL}}, *(int *)(t->to + x->count) - 1);
}

static bool fill_string(reader *r, target *t, const row *x, const field *f)
{
    const char *text = fsim_onnx_intern(&r->strings, f->bytes);
    if (!text && !r->memory.spent)
        return fsim_wire_fail(&r->wire, f->at, "'%s' is no text: it has bytes that are not UTF-8", x->name);
    const char **to = x->kind == STRING ? (const char **)(t->to + x->member) : item_of(r, t, x, f, sizeof *to);
    if (!to || !text)
        return spent(r);
    *to = text;
    return true;
}

static bool fill_bytes(reader *r, target *t, const row *x, const field *f)
{
    if (f->bytes.end - f->bytes.at > INT_MAX)
        return fsim_wire_fail(&r->wire, f->at, "'%s' has %lld bytes", x->name, (long long)(f->bytes.end - f->bytes.at));
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
        if (!fsim_wire_varint(&r->wire, &in, &value))
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
            return fsim_wire_fail(&r->wire, t->in.part->at, "the tensor has a dimension of %lld", (long long)dim[i]);
        none |= dim[i] == 0;
    }
    for (int i = 0; i < dims && !none; i++)
        if (__builtin_mul_overflow(*elems, dim[i], elems))
            return fsim_wire_fail(&r->wire, t->in.part->at, "the tensor has more than 2^63 elements");
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
    return *x->op || fsim_wire_fail(&r->wire, t->in.part->at, "a node without an op_type");
}

/* Files of IR version 1 and 2 do not say the type. */
static bool finish_attribute(reader *r, const target *t)
{
    fsim_onnx_attribute *x = (fsim_onnx_attribute *)t->to;
    if (!*x->name)
        return fsim_wire_fail(&r->wire, t->in.part->at, "an attribute without a name");
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
    target t = {.id = id, .to = to, .in = in};
    if (!count_fields(r, &t) || !make_room(r, &t))
        return false;
    body rest = in;
    field f;
    while (fsim_wire_next(&r->wire, &rest, &f)) {
        const row *x = row_of(id, &f);
        if (x && !fill[x->kind](r, &t, x, &f))
            return false;
        if (x && x->value)
            *(int *)(t.to + x->mark) = x->value;
    }
    return !r->wire.why && (!finish[id] || finish[id](r, &t));
}

/* "graph.node[17].attribute[2]"; of a long way, both ends. */
static const char *where_text(const reader *r)
{
    const char *text = r->depth ? "" : "the model";
    for (int i = 0; i < r->depth; i++) {
        if (i == SHOWN && r->depth > 2 * SHOWN) {
            text = fsim_printf(r->wire.a, "%s. ... ", text);
            i = r->depth - SHOWN;
        }
        const char *index = r->where[i].index < 0 ? "" : fsim_printf(r->wire.a, "[%lld]", (long long)r->where[i].index);
        text = fsim_printf(r->wire.a, "%s%s%s%s", text, i ? "." : "", r->where[i].name, index);
    }
    return text;
}

static bool decode_file(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, message_id id, void *to)
{
    const span all = {(const uint8_t *)from->text, (const uint8_t *)from->text + from->bytes};
    const size_t most = from->bytes < (SIZE_MAX - SPARE) / EACH ? SPARE + EACH * from->bytes : SIZE_MAX;
    reader r = {.wire = {.a = a, .now = all.at}, .memory = {a, most, false}};
    for (int m = 0; m < MSG_COUNT; m++)
        for (int i = 0; i < NUMBERS; i++)
            r.texts[m] |= (uint32_t)(rows[m][i].kind == STRING || rows[m][i].kind == BYTES) << i;
    r.strings = (fsim_onnx_strings){.memory = &r.memory, .seed = (uint64_t)(uintptr_t)&r};
    if (decode(&r, id, to, (body){&all, 1, {NULL, NULL}}))
        return true;
    fsim_error(d, (fsim_loc){from->path, 0, 0}, "%s, byte %zu: %s", where_text(&r), (size_t)(r.wire.bad - all.at),
               r.wire.why);
    return false;
}

const fsim_onnx_model *fsim_onnx_read(fsim_arena *a, fsim_diag *d, const fsim_import_source *from)
{
    fsim_onnx_model *m = fsim_new(a, fsim_onnx_model, 1);
    if (!decode_file(a, d, from, MSG_model, m))
        return NULL;
    if (m->graph)
        return m;
    fsim_error(d, (fsim_loc){from->path, 0, 0}, "%s",
               from->bytes ? "an ONNX model without a graph: the file is cut short, or of another format"
                           : "the file is empty");
    return NULL;
}

const fsim_onnx_tensor *fsim_onnx_read_tensor(fsim_arena *a, fsim_diag *d, const fsim_import_source *from)
{
    fsim_onnx_tensor *t = fsim_new(a, fsim_onnx_tensor, 1);
    return decode_file(a, d, from, MSG_tensor, t) ? t : NULL;
}
