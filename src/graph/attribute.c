/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attribute.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const fsim_attr_type_names[FSIM_TYPE_COUNT] = {[FSIM_TYPE_DIMS] = "dimension or list",
                                                           [FSIM_TYPE_SIZES] = "list of lengths",
                                                           [FSIM_TYPE_INTS] = "integer or list",
                                                           [FSIM_TYPE_INT] = "integer",
                                                           [FSIM_TYPE_NUMBER] = "number",
                                                           [FSIM_TYPE_FLAG] = "true or false",
                                                           [FSIM_TYPE_WORD] = "word",
                                                           [FSIM_TYPE_TEXT] = "text",
                                                           [FSIM_TYPE_DTYPE] = "dtype"};

const fsim_attr_field fsim_attr_fields[FSIM_FIELD_COUNT] = {
#define FSIM_ATTR(id, name, also, type, field, least, most, words, meaning)                                            \
    [FSIM_FIELD_##field] = {#field, FSIM_TYPE_##type, offsetof(fsim_attrs, field)},
#define FSIM_FIELD(type, field, meaning) [FSIM_FIELD_##field] = {#field, FSIM_TYPE_##type, offsetof(fsim_attrs, field)},
#define FSIM_SHARED(...)
#define FSIM_CALL(...)
#include "graph/attribute.def"
#undef FSIM_ATTR
};

const fsim_attr_row fsim_attr_rows[FSIM_ATTR_COUNT] = {
#define FSIM_ATTR(id, name, also, type, field, least, most, words, meaning)                                            \
    [FSIM_ATTR_##                                                                                                      \
        id] = {name, also, FSIM_TYPE_##type, FSIM_FIELD_##field, (double)(least), (double)(most), words, meaning},
#define FSIM_CALL(id, name, also, type, least, most, words, meaning)                                                   \
    [FSIM_ATTR_##id] = {name, also, FSIM_TYPE_##type, -1, (double)(least), (double)(most), words, meaning},
#include "graph/attribute.def"
#undef FSIM_ATTR
};

int fsim_word_index(const char *words, const char *text)
{
    const size_t length = strlen(text);
    for (int i = 0;; i++) {
        const char *end = strchr(words, '|');
        const size_t own = end ? (size_t)(end - words) : strlen(words);
        if (own == length && strncmp(words, text, length) == 0)
            return i;
        if (!end)
            return -1;
        words = end + 1;
    }
}

/* Is name among those with commas between, which end at `end`? */
static bool is_listed(const char *list, const char *end, const char *name)
{
    const size_t length = strlen(name);
    for (; list < end; list += strcspn(list, ", ") + 1)
        if (strncmp(list, name, length) == 0 && (list + length == end || list[length] == ','))
            return true;
    return false;
}

/* The other names of an attribute, one after the other: *at moves over the column `also`. Returns the next that op has
 * (FSIM_OP_COUNT: any operator), its length in *length; NULL behind the last. */
static const char *next_alias(const char **at, fsim_op op, size_t *length)
{
    while (*at && **at) {
        const char *name = *at, *end = name + strcspn(name, " ");
        *length = strcspn(name, " @");
        *at = end + (*end == ' ');
        if (name[*length] != '@' || op == FSIM_OP_COUNT || is_listed(name + *length + 1, end, fsim_ops[op].name))
            return name;
    }
    return NULL;
}

static bool is_alias(const fsim_attr_row *row, fsim_op op, const char *name)
{
    size_t length;
    const char *at = row->also;
    for (const char *one; (one = next_alias(&at, op, &length));)
        if (strlen(name) == length && strncmp(one, name, length) == 0)
            return true;
    return false;
}

const char *fsim_attr_aliases(fsim_arena *a, fsim_attr attr, fsim_op op)
{
    const char *at = fsim_attr_rows[attr].also, *text = "";
    size_t length;
    for (const char *one; (one = next_alias(&at, op, &length));) {
        text = fsim_printf(a, "%s%s%.*s", text, *text ? ", " : "", (int)length, one);
        if (op == FSIM_OP_COUNT && one[length] == '@')
            text = fsim_printf(a, "%s (%.*s)", text, (int)strcspn(one + length + 1, " "), one + length + 1);
    }
    return text;
}

static fsim_attr attr_named(const char *name, size_t length)
{
    int i = 0;
    while (i < FSIM_ATTR_COUNT &&
           (strlen(fsim_attr_rows[i].name) != length || strncmp(fsim_attr_rows[i].name, name, length) != 0))
        i++;
    assert(i < FSIM_ATTR_COUNT); /* otherwise op.def names an attribute that attribute.def lacks */
    return (fsim_attr)i;
}

/* Copies the text between from and to; the table keeps it short enough. */
static void copy_text(char *out, size_t room, const char *from, const char *to)
{
    const size_t length = (size_t)(to - from);
    assert(length < room);
    (void)room;
    memcpy(out, from, length);
    out[length] = '\0';
}

int fsim_taken_of(fsim_op op, fsim_taken taken[FSIM_MAX_TAKEN])
{
    int count = 0;
    for (const char *p = fsim_ops[op].takes; *p; p += *p == ' ') {
        const size_t name = strcspn(p, "!= ");
        fsim_taken *t = &taken[count++];
        assert(count <= FSIM_MAX_TAKEN);
        *t = (fsim_taken){.attr = attr_named(p, name)};
        p += name;
        if (*p == '!') {
            t->required = true;
            p++;
        } else if (*p == '=' && p[1] == '(') {
            const char *end = strchr(p, ')');
            copy_text(t->described, sizeof t->described, p + 2, end);
            p = end + 1;
        } else if (*p == '=') {
            const char *end = p + strcspn(p, " ");
            copy_text(t->otherwise, sizeof t->otherwise, p + 1, end);
            p = end;
        }
    }
    return count;
}

fsim_attr fsim_taken_named(fsim_op op, const char *name)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(op, taken);
    for (int i = 0; i < count; i++)
        if (strcmp(fsim_attr_rows[taken[i].attr].name, name) == 0)
            return taken[i].attr;
    for (int i = 0; i < count; i++)
        if (is_alias(&fsim_attr_rows[taken[i].attr], op, name))
            return taken[i].attr;
    return FSIM_ATTR_COUNT;
}

const char *fsim_attr_type_text(fsim_attr attr)
{
    const fsim_attr_row *row = &fsim_attr_rows[attr];
    return row->type == FSIM_TYPE_WORD ? row->words : fsim_attr_type_names[row->type];
}

const char *fsim_taken_default(fsim_arena *a, const fsim_taken *t)
{
    return t->required     ? "required"
           : *t->otherwise ? fsim_printf(a, "default %s", t->otherwise)
           : *t->described ? fsim_printf(a, "default: %s", t->described)
                           : "may be absent";
}

const char *fsim_taken_text(fsim_arena *a, fsim_op op)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(op, taken);
    const char *text = count ? "" : "no attributes";
    for (int i = 0; i < count; i++)
        text = fsim_printf(a, "%s%s%s (%s; %s)", text, i ? ", " : "", fsim_attr_rows[taken[i].attr].name,
                           fsim_attr_type_text(taken[i].attr), fsim_taken_default(a, &taken[i]));
    return text;
}

double fsim_attr_value(const fsim_attrs *attrs, int field)
{
    const void *at = (const char *)attrs + fsim_attr_fields[field].offset;
    switch (fsim_attr_fields[field].type) {
    case FSIM_TYPE_NUMBER:
        return *(const double *)at;
    case FSIM_TYPE_INT:
        return (double)*(const int64_t *)at;
    case FSIM_TYPE_FLAG:
        return *(const bool *)at;
    case FSIM_TYPE_WORD:
        return *(const int *)at;
    case FSIM_TYPE_DTYPE:
        return *(const fsim_dtype *)at;
    default:
        assert(false);
        return NAN;
    }
}
