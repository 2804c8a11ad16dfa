/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a hardware file, and --hw-set's assignments, as an fsim_hw. */
#include "base/file.h"
#include "hw/hw.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Every key of a file; the first four are text, the others are rows. */
enum { TEXT_KEYS = 4, ALL_KEYS = TEXT_KEYS + FSIM_HW_COUNT };
static const char *const all_keys[ALL_KEYS] = {
    "name",
    "description",
    "architecture",
    "like",
#define FSIM_HW(id, key, ...) key,
#include "hw/hw.def"
#undef FSIM_HW
};

/* What 'hw new' writes where a figure is to be put. */
static const char todo[] = "TODO";

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    fsim_hw *hw;
    fsim_status wrong; /* the status of an impossible number: FSIM_BAD_INPUT in a file, FSIM_BAD_ARGUMENT in --hw-set */
} reader;

/* The fields that a quantity may have between its braces, by form. Where the bounds are NaN, those of the row apply. */
typedef struct {
    const char *name;
    unsigned forms;    /* bits 1 << fsim_hw_form */
    size_t number, at; /* offset in fsim_quantity; NO_PLACE: not stored */
    fsim_dim dim;
    double low, high;
} field;

#define NO_PLACE      SIZE_MAX
#define FIELD(member) offsetof(fsim_quantity, member)
enum { IN_VALUE = 1 << FSIM_HW_VALUE, IN_PEAK = 1 << FSIM_HW_PEAK, IN_BUS = 1 << FSIM_HW_BUS };
static const field fields[] = {
    {"value", IN_VALUE | IN_PEAK, FIELD(value), FIELD(value_at), FSIM_DIM_COUNT, NAN, NAN},
    {"peak", IN_PEAK, FIELD(value), FIELD(value_at), FSIM_DIM_COUNT, NAN, NAN},
    {"achieved", IN_PEAK, FIELD(achieved), FIELD(achieved_at), FSIM_DIM_COUNT, NAN, NAN},
    {"width", IN_BUS, FIELD(value), FIELD(value_at), FSIM_DIM_COUNT, NAN, NAN},
    {"rate", IN_BUS, FIELD(bus_rate_bits_per_s), FIELD(achieved_at), FSIM_DIM_BITS_PER_S, 1e7, 1e12},
    {"spread", IN_VALUE | IN_PEAK, FIELD(spread), NO_PLACE, FSIM_DIM_NONE, 0, FSIM_HW_MOST_SPREAD},
    {"source", IN_VALUE | IN_PEAK | IN_BUS, NO_PLACE, NO_PLACE, FSIM_DIM_COUNT, NAN, NAN},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* The decimal unit (kB, MB, GB or TB) that text ends with, or NULL. */
static const char *decimal_size(const char *text)
{
    const size_t length = strlen(text);
    return length > 2 && text[length - 1] == 'B' && strchr("kKMGT", text[length - 2]) ? text + length - 2 : NULL;
}

/* Parses the number of a field of this row. False after an error. */
static bool read_number(const reader *r, fsim_loc at, const fsim_hw_row *row, const field *f, const char *text,
                        double *value)
{
    const bool own = f->dim == FSIM_DIM_COUNT;
    const fsim_dim dim = own ? row->dim : f->dim;
    const double low = own ? row->low : f->low, high = own ? row->high : f->high;
    const char *label = own ? row->key : fsim_printf(r->arena, "%s of %s", f->name, row->key);
    const char *why = "";
    char from[40], to[40];
    double number;
    if (!fsim_parse_unit(text, dim, &number, &why)) {
        fsim_failure(r->diag, r->wrong, at, "%s: '%s' %s", label, text, why);
        return false;
    }
    const char *unit = dim == FSIM_DIM_BYTES ? decimal_size(text) : NULL;
    if (unit) {
        fsim_failure(
            r->diag, r->wrong, at,
            "%s: '%s' is decimal, but memory comes in powers of two: write '%.*s%ciB' (%s if decimal is really meant)",
            label, text, (int)(unit - text), text, toupper((unsigned char)*unit) == 'K' ? 'K' : *unit,
            fsim_show_bytes(from, sizeof from, number));
        return false;
    }
    if (number < low || number > high) {
        fsim_failure(r->diag, r->wrong, at, "%s: '%s' is %s, wanted %s to %s", label, text,
                     number < 0 ? "negative" : "absurd", fsim_show(from, sizeof from, low, dim),
                     fsim_show(to, sizeof to, high, dim));
        return false;
    }
    /* a row without a unit is a ratio where its lower bound is below 1, otherwise a count */
    if ((dim == FSIM_DIM_NONE && own && low >= 1 && number != floor(number)) ||
        (dim == FSIM_DIM_BYTES && number != floor(number))) {
        fsim_failure(r->diag, r->wrong, at, "%s: '%s' is not a whole number", label, text);
        return false;
    }
    *value = number;
    return true;
}

static fsim_hw_key key_of(const fsim_hw_row *row) { return (fsim_hw_key)(row - fsim_hw_rows); }

static bool is_unknown(const fsim_yaml *node)
{
    return node->kind == FSIM_YAML_SCALAR && strcmp(node->text, "unknown") == 0;
}

static void read_source(const reader *r, const fsim_yaml *node, const fsim_hw_row *row, fsim_quantity *q)
{
    if (node->kind != FSIM_YAML_SCALAR || strspn(node->text, " \t\n") == strlen(node->text))
        fsim_error(r->diag, node->at, "%s: 'source' must say in words where the number is from", row->key);
    else
        q->source = node->text;
}

static void unknown_field(const reader *r, const fsim_yaml *key, const fsim_hw_row *row)
{
    const char *names[FIELDS];
    int count = 0;
    for (int i = 0; i < FIELDS; i++)
        if (fields[i].forms & 1u << row->form)
            names[count++] = fields[i].name;
    fsim_error(r->diag, key->at, "%s has no '%s', wanted %s%s", row->key, key->text,
               fsim_hw_example(r->arena, key_of(row)), fsim_did_you_mean(r->arena, key->text, names, count));
}

/* One "name: value" inside a quantity's braces. */
static void read_field(const reader *r, const fsim_yaml *key, const fsim_yaml *node, const fsim_hw_row *row,
                       fsim_quantity *q)
{
    const field *f = NULL;
    for (int i = 0; i < FIELDS && !f; i++)
        if ((fields[i].forms & 1u << row->form) && strcmp(fields[i].name, key->text) == 0)
            f = &fields[i];
    if (!f) {
        unknown_field(r, key, row);
        return;
    }
    if (f->number == NO_PLACE) {
        read_source(r, node, row, q);
        return;
    }
    double *number = (double *)(void *)((char *)q + f->number);
    q->exact = q->exact || f == &fields[0];
    if (node->kind != FSIM_YAML_SCALAR)
        fsim_error(r->diag, node->at, "%s: '%s' is %s, wanted a number such as %s", row->key, f->name,
                   fsim_yaml_kind_name(node), fsim_dim_example(row->dim));
    else if (!isnan(*number))
        fsim_error(r->diag, key->at, "%s has both 'peak' and 'value'; give one", row->key);
    else if (strcmp(node->text, todo) == 0)
        fsim_error(r->diag, node->at, "%s is still to be filled in: %s, e.g. %s%s", row->key, row->meaning,
                   fsim_hw_example(r->arena, key_of(row)), fsim_hw_range(r->arena, key_of(row)));
    else if (is_unknown(node))
        q->unknown = true;
    else
        read_number(r, node->at, row, f, node->text, number);
    if (f->at != NO_PLACE)
        *(fsim_loc *)(void *)((char *)q + f->at) = node->at;
}

static void read_quantity(const reader *r, const fsim_yaml *key, const fsim_yaml *node, fsim_hw_key id)
{
    const fsim_hw_row *row = &fsim_hw_rows[id];
    fsim_quantity *q = &r->hw->q[id];
    const int errors = fsim_errors(r->diag);
    q->present = true;
    q->at = key->at;
    q->value_at = q->achieved_at = node->at;
    if (is_unknown(node)) {
        q->unknown = true;
    } else if (node->kind != FSIM_YAML_MAPPING) {
        fsim_error(r->diag, node->at, "%s is %s%s%s, wanted %s", row->key, fsim_yaml_kind_name(node),
                   node->kind == FSIM_YAML_SCALAR ? " " : "", node->kind == FSIM_YAML_SCALAR ? "without a source" : "",
                   fsim_hw_example(r->arena, key_of(row)));
        return;
    } else {
        for (int i = 0; i < node->count; i++)
            read_field(r, node->key[i], node->item[i], row, q);
        if (!fsim_yaml_get(node, "source"))
            fsim_error(r->diag, node->at,
                       "%s has no 'source': say where the number is from, e.g. source: NVIDIA data sheet", row->key);
    }
    if (fsim_errors(r->diag) > errors)
        return;
    const bool bus = row->form == FSIM_HW_BUS;
    const bool number =
        bus ? !isnan(q->value) && !isnan(q->bus_rate_bits_per_s) : !isnan(q->value) || !isnan(q->achieved);
    if (number)
        q->unknown = false;
    else if (!q->unknown)
        fsim_error(r->diag, node->at, "%s has no number, wanted %s", row->key, fsim_hw_example(r->arena, key_of(row)));
    else if (row->required)
        fsim_error(r->diag, q->value_at, "%s is 'unknown', but no prediction can do without it", row->key);
}

static void read_text(const reader *r, const fsim_yaml *key, const fsim_yaml *node, const char **text)
{
    if (node->kind != FSIM_YAML_SCALAR || !*node->text)
        fsim_error(r->diag, node->at, "'%s' is %s, wanted text", key->text,
                   node->kind == FSIM_YAML_SCALAR ? "empty" : fsim_yaml_kind_name(node));
    else
        *text = node->text;
}

/* What people call architectures, and how a hardware file does. */
static const char *architecture_hint(const char *text)
{
    static const struct {
        const char *word, *hint;
    } known[] = {{"pascal", "sm_60 or sm_61"},
                 {"volta", "sm_70"},
                 {"turing", "sm_75"},
                 {"ampere", "sm_80 for the A100 and A30, sm_86 for the others"},
                 {"ada", "sm_89"},
                 {"hopper", "sm_90"},
                 {"blackwell", "sm_100 for the B200, sm_103 for the B300, sm_120 for GeForce and RTX PRO"},
                 {"cdna2", "gfx90a"},
                 {"cdna3", "gfx942"},
                 {"cdna4", "gfx950"},
                 {"tpu", "generic"},
                 {"gaudi", "generic"},
                 {"apple", "generic"},
                 {"metal", "generic"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncasecmp(text, known[i].word, strlen(known[i].word)) == 0)
            return known[i].hint;
    return NULL;
}

static void check_architecture(const reader *r, const fsim_yaml *node)
{
    fsim_hw *hw = r->hw;
    static const char wanted[] =
        "sm_NN (NVIDIA: sm_86 for compute capability 8.6), gfxNNN (AMD: gfx942), host or generic";
    hw->arch = fsim_architecture_like(node->text);
    if (!hw->arch && strcmp(node->text, todo) == 0) {
        fsim_error(r->diag, node->at, "architecture is still to be filled in: %s", wanted);
        return;
    }
    if (!hw->arch) {
        const char *hint = architecture_hint(node->text);
        fsim_error(r->diag, node->at, "unknown architecture '%s', wanted %s", node->text, hint ? hint : wanted);
        return;
    }
    hw->sm = fsim_sm_of_name(node->text);
    hw->host = hw->arch->design == FSIM_CPU;
}

/* FSIM_HW_COUNT for a key that no row has. */
static fsim_hw_key row_of(const char *key)
{
    int i = 0;
    while (i < FSIM_HW_COUNT && strcmp(fsim_hw_rows[i].key, key) != 0)
        i++;
    return (fsim_hw_key)i;
}

static void read_pair(const reader *r, const fsim_yaml *key, const fsim_yaml *node)
{
    fsim_hw *hw = r->hw;
    const fsim_hw_key id = row_of(key->text);
    if (id != FSIM_HW_COUNT) {
        read_quantity(r, key, node, id);
    } else if (strcmp(key->text, "name") == 0) {
        read_text(r, key, node, &hw->name);
    } else if (strcmp(key->text, "description") == 0) {
        read_text(r, key, node, &hw->description);
    } else if (strcmp(key->text, "architecture") == 0) {
        read_text(r, key, node, &hw->architecture);
        if (hw->architecture)
            check_architecture(r, node);
    } else if (strcmp(key->text, "like") == 0) {
        read_text(r, key, node, &hw->like);
        hw->like_at = node->at;
    } else {
        fsim_error(r->diag, key->at, "unknown key '%s'%s", key->text,
                   fsim_did_you_mean(r->arena, key->text, all_keys, ALL_KEYS));
    }
}

/* a100-sxm4-40gb of hwmodels/a100-sxm4-40gb.yaml */
static const char *stem(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return fsim_strndup(a, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

fsim_hw *fsim_hw_draft(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes)
{
    const int errors = fsim_errors(d);
    fsim_diag_source(d, path, text, bytes);
    const fsim_yaml *root = fsim_yaml_parse(a, d, path, text, bytes);
    if (!root)
        return NULL;
    if (root->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, root->at, "a hardware file is a mapping of keys, this is %s", fsim_yaml_kind_name(root));
        return NULL;
    }
    fsim_hw *hw = fsim_new(a, fsim_hw, 1);
    hw->path = fsim_strdup(a, path);
    hw->name = stem(a, path);
    hw->description = "";
    fsim_sha256(text, bytes, hw->hash);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        fsim_quantity *q = &hw->q[i];
        q->value = q->achieved = q->bus_rate_bits_per_s = q->spread = NAN;
        q->at = q->value_at = q->achieved_at = root->at;
    }
    const reader r = {a, d, hw, FSIM_BAD_INPUT};
    for (int i = 0; i < root->count; i++)
        read_pair(&r, root->key[i], root->item[i]);
    if (!fsim_yaml_get(root, "architecture") && !hw->like)
        fsim_error(d, root->at,
                   "missing key 'architecture', wanted sm_NN (NVIDIA: sm_86 for compute capability 8.6), gfxNNN (AMD), "
                   "host or generic; or 'like' with a GPU to inherit from");
    return fsim_errors(d) > errors ? NULL : hw;
}

fsim_hw *fsim_hw_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes)
{
    fsim_hw *hw = fsim_hw_draft(a, d, path, text, bytes);
    if (hw && hw->like) {
        fsim_error(d, hw->like_at, "'like: %s' needs the folder of the GPU's file; here there is only text", hw->like);
        return NULL;
    }
    return hw && fsim_hw_finish(a, d, hw, NULL) ? hw : NULL;
}

fsim_hw *fsim_hw_read(fsim_arena *a, fsim_diag *d, const char *path)
{
    const char *why = "";
    size_t bytes = 0;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text) {
        fsim_failure(d, FSIM_NO_INPUT, (fsim_loc){path, 0, 0}, "cannot read the hardware file: %s", why);
        return NULL;
    }
    return fsim_hw_parse(a, d, path, text, bytes);
}

/* Parses "2x" or "0.5x". False where it is no factor. */
static bool read_factor(const char *text, double *factor)
{
    const char *why;
    const size_t length = strlen(text);
    char number[64];
    if (length < 2 || length >= sizeof number || text[length - 1] != 'x')
        return false;
    memcpy(number, text, length - 1);
    number[length - 1] = '\0';
    return fsim_parse_unit(number, FSIM_DIM_NONE, factor, &why);
}

static bool scale(const reader *r, const fsim_hw_row *row, fsim_quantity *q, const char *text, double factor)
{
    const double value = q->value * factor, achieved = q->achieved * factor;
    const double main = isnan(value) ? achieved : value;
    const fsim_loc at = {NULL, 0, 0};
    char from[40], to[40], is[40];
    if (isnan(main))
        fsim_failure(r->diag, FSIM_BAD_ARGUMENT, at, "--hw-set %s=%s: %s does not give %s; set a value, e.g. %s",
                     row->key, text, r->hw->name, row->key, fsim_dim_example(row->dim));
    else if (!(factor > 0) || main < row->low || main > row->high)
        fsim_failure(r->diag, FSIM_BAD_ARGUMENT, at, "--hw-set %s=%s makes %s, wanted %s to %s", row->key, text,
                     fsim_show(is, sizeof is, main, row->dim), fsim_show(from, sizeof from, row->low, row->dim),
                     fsim_show(to, sizeof to, row->high, row->dim));
    else if (row->dim == FSIM_DIM_NONE && row->low >= 1 && main != floor(main))
        fsim_failure(r->diag, FSIM_BAD_ARGUMENT, at, "--hw-set %s=%s makes %g, which is not a whole number", row->key,
                     text, main);
    else {
        q->value = value;
        q->achieved = achieved;
        return true;
    }
    return false;
}

bool fsim_hw_set(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const char *assignment)
{
    const reader r = {a, d, hw, FSIM_BAD_ARGUMENT};
    const fsim_loc at = {NULL, 0, 0};
    const char *equals = strchr(assignment, '='), *const *rows = all_keys + TEXT_KEYS;
    if (!equals || equals == assignment || !equals[1]) {
        fsim_failure(d, FSIM_BAD_ARGUMENT, at,
                     "--hw-set '%s': wanted KEY=VALUE, e.g. dram_bandwidth=2x or dram_bandwidth='2 TB/s'", assignment);
        return false;
    }
    const char *key = fsim_strndup(a, assignment, (size_t)(equals - assignment)), *text = equals + 1;
    const fsim_hw_key id = row_of(key);
    if (id == FSIM_HW_COUNT) {
        const char *nearest = fsim_did_you_mean(a, key, rows, FSIM_HW_COUNT);
        fsim_failure(d, FSIM_BAD_ARGUMENT, at, "--hw-set: unknown key '%s'%s", key,
                     *nearest ? nearest : " ('fusesim hw keys' shows all)");
        return false;
    }
    const fsim_hw_row *row = &fsim_hw_rows[id];
    fsim_quantity *q = &hw->q[id];
    double number;
    if (row->form == FSIM_HW_BUS) {
        fsim_failure(d, FSIM_BAD_ARGUMENT, at, "--hw-set: %s only checks dram_bandwidth; set that", key);
        return false;
    }
    if (read_factor(text, &number)) {
        if (!scale(&r, row, q, text, number))
            return false;
    } else if (strcmp(text, "unknown") == 0) {
        if (row->required) {
            fsim_failure(d, FSIM_BAD_ARGUMENT, at, "--hw-set: %s is needed by every prediction, it cannot be 'unknown'",
                         key);
            return false;
        }
        q->typical = !isnan(row->otherwise); /* without the fitted value, the default of the row applies */
        q->value = row->otherwise;
        q->achieved = NAN;
        q->unknown = q->present = true;
    } else {
        if (!read_number(&r, at, row, &fields[0], text, &number))
            return false;
        q->value = number;
        q->achieved = row->form == FSIM_HW_PEAK ? number : NAN;
        q->present = true;
        q->unknown = q->typical = false;
    }
    q->from = q->typical ? FSIM_HW_FROM_SIMILAR : FSIM_HW_GIVEN;
    q->source = q->typical ? NULL : "--hw-set";
    q->changed = true;
    /* the new hash is that of the old hash and the assignment */
    const char *next = fsim_printf(a, "%s\n%s", hw->hash, assignment);
    fsim_sha256(next, strlen(next), hw->hash);
    return true;
}
