/* SPDX-License-Identifier: Apache-2.0 */
/* ncu.c: reads the tables of `ncu --csv`. Every field is quoted. The profiler's own messages (==PROF== ...) and the
 * program's output may be around the table and between its lines; such lines do not begin with a quote. Metrics have
 * Nsight Compute's names; the details page has other titles for some. Both forms are read: one row for each metric,
 * or (--page raw) one row for each kernel with a line of units under the header. Metrics: gpu__time_duration,
 * dram__bytes_read and _write (or sectors), lts__t_bytes, launch__registers_per_thread; "n/a" is not measured. */
#include "evidence/profile.h"

#include "base/unit.h"
#include "input/csv.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { DURATION, DRAM_READ, DRAM_WRITE, L2_BYTES, REGISTERS, METRICS } metric;

static const struct {
    const char *name;
    metric sets;
    double scale; /* of a count without a unit */
} metrics[] = {
    {"gpu__time_duration.sum", DURATION, 1},
    {"gpu__time_duration.avg", DURATION, 1},
    {"gpu__time_duration.max", DURATION, 1},
    {"gpu__time_duration_measured_user.sum", DURATION, 1},
    {"Duration", DURATION, 1},
    {"dram__bytes_read.sum", DRAM_READ, 1},
    {"dram__bytes_op_read.sum", DRAM_READ, 1},
    {"dram__sectors_read.sum", DRAM_READ, 32},
    {"dram__sectors_op_read.sum", DRAM_READ, 32},
    {"dram__bytes_write.sum", DRAM_WRITE, 1},
    {"dram__bytes_op_write.sum", DRAM_WRITE, 1},
    {"dram__sectors_write.sum", DRAM_WRITE, 32},
    {"dram__sectors_op_write.sum", DRAM_WRITE, 32},
    {"lts__t_bytes.sum", L2_BYTES, 1},
    {"lts__t_sectors.sum", L2_BYTES, 32},
    {"launch__registers_per_thread", REGISTERS, 1},
    {"Registers Per Thread", REGISTERS, 1},
};
enum { METRIC_NAMES = sizeof metrics / sizeof *metrics };

typedef enum {
    ID,
    PROCESS,
    KERNEL,
    STREAM,
    BLOCK,
    GRID,
    DEVICE,
    METRIC_NAME,
    METRIC_UNIT,
    METRIC_VALUE,
    COLUMNS
} column;
static const char *const titles[COLUMNS] = {"ID",        "Process ID", "Kernel Name", "Stream",      "Block Size",
                                            "Grid Size", "Device",     "Metric Name", "Metric Unit", "Metric Value"};

typedef struct {
    fsim_csv csv;
    fsim_arena *a;
    fsim_diag *d;
    fsim_profile *out;
    fsim_names names;
    int name_room, room;
    int place[COLUMNS];       /* field of each column; -1 */
    int fields;               /* of the header */
    bool wide;                /* one line for each kernel; otherwise one for each metric */
    bool quoted;              /* the header is quoted, so lines without a quote are not part of the table */
    int *metric_of;           /* wide: per field, an index into metrics; -1 */
    double *factor;           /* wide: per field, of its unit */
    bool comma_decimal;       /* in the file's numbers */
    char id[64], process[64]; /* of the launch that rows add to */
} reader;

static int metric_named(const char *name)
{
    for (int i = 0; i < METRIC_NAMES; i++)
        if (strcmp(name, metrics[i].name) == 0)
            return i;
    return -1;
}

static const char *text_of(const reader *r, column c) { return r->place[c] >= 0 ? r->csv.field[r->place[c]].text : ""; }

/* Does a number show that the file has decimal commas: "65,77", "1.205,50", "27.595.520"? One such number decides
 * for the whole file, because "117.344" alone is ambiguous. */
static bool comma_is_decimal(const char *text)
{
    const char *comma = strrchr(text, ','), *point = strchr(text, '.');
    if (text[strspn(text, "0123456789., '\xC2\xA0\xE2\x80\xAF")] != '\0')
        return false;
    if (comma)
        return comma == strchr(text, ',') && (point ? point < comma : strlen(comma) != 4);
    return point && strrchr(text, '.') != point;
}

/* Parses a profiler's number: digits in groups ("1,205.00", "1 205", "1'205"), an exponent, "12 (3 instances)".
 * False where it is none. *measured: is there a number at all? Not for "n/a", "nan" or nothing. */
static bool read_number(const char *text, bool comma_decimal, double *value, bool *measured)
{
    static const char *const spaces[] = {" ", "'", "\xC2\xA0",
                                         "\xE2\x80\xAF"}; /* the last two are non-breaking spaces */
    const char decimal = comma_decimal ? ',' : '.', group = comma_decimal ? '.' : ',', *p = text;
    char plain[64], *end;
    size_t n = 0;
    *measured = false;
    if (!*text || strcasecmp(text, "n/a") == 0 || strcasecmp(text, "nan") == 0 || strcasecmp(text, "(!) n/a") == 0)
        return true;
    while (*p && *p != '(' && n + 1 < sizeof plain) {
        size_t skip = *p == group;
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces && !skip; i++)
            skip = strncmp(p, spaces[i], strlen(spaces[i])) == 0 ? strlen(spaces[i]) : 0;
        if (!skip)
            plain[n++] = *p == decimal ? '.' : *p;
        p += skip ? skip : 1;
    }
    plain[n] = '\0';
    *value = strtod(plain, &end);
    *measured = true;
    return n > 0 && *end == '\0' && (*p == '\0' || *p == '(') && isfinite(*value) && *value >= 0 &&
           !strpbrk(plain, "xXnN");
}

/* "(16384, 1, 1)" */
static void read_size(const char *text, int64_t size[3])
{
    const char *p = text + strcspn(text, "0123456789");
    for (int i = 0; i < 3 && *p; i++) {
        char *end;
        const long long x = strtoll(p, &end, 10);
        size[i] = x > 0 ? x : 0;
        p = end + strcspn(end, "0123456789");
    }
    for (int i = 1; i < 3 && size[0] > 0; i++)
        size[i] = size[i] > 0 ? size[i] : 1;
}

static bool is_header(const fsim_csv *c)
{
    bool kernel = false, id = false;
    for (int i = 0; i < c->fields; i++) {
        kernel = kernel || strcmp(c->field[i].text, titles[KERNEL]) == 0;
        id = id || strcmp(c->field[i].text, titles[ID]) == 0;
    }
    return kernel && id;
}

/* Finds the columns. The table of another process may have others. */
static void use_header(reader *r)
{
    const fsim_csv *c = &r->csv;
    r->fields = c->fields;
    r->metric_of = fsim_new(r->a, int, c->fields);
    r->factor = fsim_new(r->a, double, c->fields);
    for (int k = 0; k < COLUMNS; k++) {
        r->place[k] = -1;
        for (int i = 0; i < c->fields; i++)
            if (strcmp(c->field[i].text, titles[k]) == 0)
                r->place[k] = i;
    }
    for (int i = 0; i < c->fields; i++) {
        r->metric_of[i] = metric_named(c->field[i].text);
        r->factor[i] = r->metric_of[i] >= 0 ? metrics[r->metric_of[i]].scale : 1;
    }
}

static bool looks_like_header(const fsim_csv *c)
{
    const char *end = memchr(c->next, '\n', (size_t)(c->end - c->next));
    const size_t bytes = (size_t)((end ? end : c->end) - c->next);
    return memmem(c->next, bytes, titles[KERNEL], strlen(titles[KERNEL])) &&
           memmem(c->next, bytes, titles[ID], strlen(titles[ID]));
}

static bool check_header(reader *r)
{
    const column lacks = r->place[METRIC_VALUE] < 0 ? METRIC_VALUE : METRIC_UNIT;
    r->wide = r->place[METRIC_NAME] < 0;
    if (r->wide || r->place[lacks] >= 0)
        return true;
    fsim_error(r->d, fsim_csv_place(&r->csv, 0), "the header has '%s' but no '%s'", titles[METRIC_NAME], titles[lacks]);
    return false;
}

/* Finds the next table and its columns. */
static bool find_header(reader *r)
{
    fsim_csv *c = &r->csv;
    bool found = false;
    while (!found && c->next < c->end) {
        if (looks_like_header(c) && fsim_csv_next(c))
            found = is_header(c);
        else if (fsim_errors(r->d) > 0)
            return false;
        else if (!fsim_csv_skip_line(c))
            break; /* that line began with a carriage return: it was no record */
    }
    if (!found) {
        fsim_error(r->d, (fsim_loc){c->path, 1, 1},
                   "this is no profile: wanted %s, which has a line with the columns \"ID\" and \"Kernel Name\"",
                   fsim_profile_kinds(r->a));
        return false;
    }
    r->quoted = c->field[0].quoted;
    use_header(r);
    return check_header(r);
}

/* Reads the next line of the table. */
static bool next_row(reader *r)
{
    fsim_csv *c = &r->csv;
    for (;;) {
        while (c->next < c->end && (r->quoted ? *c->next != '"' : *c->next == '='))
            fsim_csv_skip_line(c);
        if (!fsim_csv_next(c))
            return false;
        if (is_header(c)) {
            use_header(r);
            if (!check_header(r))
                return false;
        } else if (c->fields == r->fields) {
            return true;
        } else {
            fsim_error(r->d, fsim_csv_place(c, 0), "%d fields, the header has %d%s", c->fields, r->fields,
                       c->fields < r->fields && c->next == c->end ? ": is the file cut short?" : "");
        }
    }
}

static double unit_factor(reader *r, int which, const char *unit, int field)
{
    static const fsim_dim dims[METRICS] = {[DURATION] = FSIM_DIM_SECONDS,
                                           [DRAM_READ] = FSIM_DIM_BYTES,
                                           [DRAM_WRITE] = FSIM_DIM_BYTES,
                                           [L2_BYTES] = FSIM_DIM_BYTES};
    double factor = 1;
    if (metrics[which].sets == REGISTERS)
        return 1;
    if (*unit == '\0' && metrics[which].sets != DURATION)
        return metrics[which].scale;
    if (!fsim_profiler_unit(unit, dims[metrics[which].sets], &factor))
        fsim_error(r->d, fsim_csv_place(&r->csv, field), "'%s' is in '%s': wanted %s", metrics[which].name, unit,
                   metrics[which].sets == DURATION ? "ns, us, ms or s" : "byte, Kbyte, Mbyte or Gbyte");
    return factor;
}

static fsim_profiled_launch *new_launch(reader *r)
{
    fsim_profiled_launch l = {.name = fsim_profile_name(r->a, r->out, &r->names, &r->name_room, text_of(r, KERNEL)),
                              .device = atoi(text_of(r, DEVICE)),
                              .stream = atoi(text_of(r, STREAM)),
                              .start_s = NAN,
                              .time_s = NAN,
                              .dram_read_bytes = NAN,
                              .dram_write_bytes = NAN,
                              .l2_bytes = NAN,
                              .call = -1,
                              .step = -1};
    read_size(text_of(r, GRID), l.grid);
    read_size(text_of(r, BLOCK), l.block);
    snprintf(r->id, sizeof r->id, "%s", text_of(r, ID));
    snprintf(r->process, sizeof r->process, "%s", text_of(r, PROCESS));
    fsim_profiled_launch *at = FSIM_PUSH(r->a, r->out->launch, r->out->launches, r->room);
    *at = l;
    return at;
}

static void set_metric(reader *r, fsim_profiled_launch *l, int which, double factor, int field)
{
    double *const at[METRICS] = {&l->time_s, &l->dram_read_bytes, &l->dram_write_bytes, &l->l2_bytes, NULL}, value = 0;
    bool measured;
    const char *text = r->csv.field[field].text;
    if (!read_number(text, r->comma_decimal, &value, &measured))
        fsim_error(r->d, fsim_csv_place(&r->csv, field), "'%s' of '%s' is no number", text, metrics[which].name);
    else if (measured && metrics[which].sets == REGISTERS)
        l->registers = value < 1e6 ? (int)value : 0;
    else if (measured &&
             isnan(*at[metrics[which].sets])) /* of several names for the same metric the first one counts */
        *at[metrics[which].sets] = value * factor;
}

static bool same_launch(const reader *r)
{
    return strcmp(text_of(r, ID), r->id) == 0 && strcmp(text_of(r, PROCESS), r->process) == 0;
}

/* Reads a line of a table with one line for each metric. */
static void read_metric(reader *r)
{
    if (r->out->launches == 0 || !same_launch(r))
        new_launch(r);
    const int which = metric_named(text_of(r, METRIC_NAME));
    if (which >= 0)
        set_metric(r, &r->out->launch[r->out->launches - 1], which,
                   unit_factor(r, which, text_of(r, METRIC_UNIT), r->place[METRIC_UNIT]), r->place[METRIC_VALUE]);
}

/* Reads a line of a table with one line for each kernel; the line without a kernel has the units. */
static void read_kernel(reader *r, bool units)
{
    fsim_profiled_launch *l = units ? NULL : new_launch(r);
    for (int i = 0; i < r->fields; i++) {
        const int which = r->metric_of[i];
        if (which >= 0 && units)
            r->factor[i] = unit_factor(r, which, r->csv.field[i].text, i);
        else if (which >= 0)
            set_metric(r, l, which, r->factor[i], i);
    }
}

/* Is there a number in the table that is only valid with decimal commas? */
static bool finds_comma_decimal(const reader *from, fsim_arena *scratch)
{
    reader r = *from; /* errors are reported when the table is read */
    r.a = r.csv.arena = scratch;
    r.d = r.csv.diag = fsim_diag_new(scratch);
    r.csv.field = NULL;
    r.csv.field_room = 0;
    while (next_row(&r))
        for (int i = 0; i < r.fields; i++)
            if ((r.wide ? r.metric_of[i] >= 0 : i == r.place[METRIC_VALUE]) && comma_is_decimal(r.csv.field[i].text))
                return true;
    return false;
}

bool fsim_ncu_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_profile *out)
{
    const int errors = fsim_errors(d);
    reader r = {.csv = fsim_csv_open(a, d, path, text, bytes), .a = a, .d = d, .out = out};
    *out = (fsim_profile){.path = path};
    if (!find_header(&r))
        return false;
    const fsim_loc header = fsim_csv_place(&r.csv, 0);
    fsim_arena *scratch = fsim_arena_new();
    r.comma_decimal = finds_comma_decimal(&r, scratch);
    fsim_arena_free(scratch);
    while (next_row(&r)) {
        const bool nameless = !*text_of(&r, ID) && !*text_of(&r, KERNEL);
        if (r.wide)
            read_kernel(&r, nameless);
        else if (!nameless) /* else a rule's */
            read_metric(&r);
    }
    bool timed = false;
    for (int i = 0; i < out->launches; i++)
        timed = timed || !isnan(out->launch[i].time_s);
    if (fsim_errors(d) == errors && out->launches == 0)
        fsim_error(d, header, "a header and no kernels: did ncu profile anything?");
    else if (fsim_errors(d) == errors && !timed)
        fsim_error(d, header,
                   "no kernel has a duration: profile with --metrics "
                   "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum");
    return fsim_errors(d) == errors;
}
