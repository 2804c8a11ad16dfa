/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, a word a line, as a command line: options of all kinds, --gate's limits, --over's values, --load's words.
 * What is read is within its bounds, and an error is said. */
#include "input/args.h"
#include "input/gate.h"
#include "input/over.h"
#include "serving/load.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40 };

typedef struct {
    bool flag;
    const char *text;
    fsim_words item, items, gate, over, zip, load;
    int choice;
    int64_t count, size;
    double seconds, number;
} settings;

static const char *const words[] = {"cold", "warm"};
static const fsim_choices choices = {words, 2, "hot"};
#define ROW(name, argument, kind, field)                                                                               \
    {                                                                                                                  \
        name, argument, kind, offsetof(settings, field), &choices, 1, "help"                                           \
    }
static const fsim_arg option[] = {
    ROW("flag", NULL, FSIM_ARG_FLAG, flag),       ROW("text", "FILE", FSIM_ARG_TEXT, text),
    ROW("item", "WORD", FSIM_ARG_ITEM, item),     ROW("items", "LIST", FSIM_ARG_ITEMS, items),
    ROW("l2", NULL, FSIM_ARG_CHOICE, choice),     ROW("count", "N", FSIM_ARG_COUNT, count),
    ROW("limit", "T", FSIM_ARG_SECONDS, seconds), ROW("factor", "X", FSIM_ARG_NUMBER, number),
    ROW("memory", "SIZE", FSIM_ARG_SIZE, size),   ROW("gate", "LIMIT", FSIM_ARG_ITEM, gate),
    ROW("over", "AXIS", FSIM_ARG_ITEM, over),     ROW("zip", "AXES", FSIM_ARG_ITEMS, zip),
    ROW("load", "WORDS", FSIM_ARG_ITEMS, load),
};
enum { OPTIONS = sizeof option / sizeof *option };

static const fsim_gate_metric metric[] = {
    {"time", FSIM_GATE_SECONDS, false, "."},  {"memory", FSIM_GATE_BYTES, false, "."},
    {"median", FSIM_GATE_SHARE, false, "."},  {"in80", FSIM_GATE_PART, true, "."},
    {"kernels", FSIM_GATE_COUNT, false, "."}, {"rows", FSIM_GATE_ROWS, true, "."},
    {"tau", FSIM_GATE_NUMBER, true, "."},     {"speedup", FSIM_GATE_FACTOR, true, "."},
    {"proven", FSIM_GATE_YES, true, "."},
};
static const fsim_gate_table gates = {"fuzz", metric, sizeof metric / sizeof *metric, "a group", NULL};

static void read_gates(const fsim_words *w, fsim_arena *a)
{
    for (int i = 0; i < w->count; i++) {
        fsim_diag *d = fsim_diag_new(a);
        fsim_gate g;
        if (fsim_gate_read(a, d, w->at[i], &gates, &g) != (fsim_errors(d) == 0))
            abort();
        if (fsim_errors(d) > 0)
            continue;
        if (g.metric < 0 || g.metric >= gates.metrics || !isfinite(g.limit))
            abort();
        fsim_gate_judge(&g, 0.5, "", NULL, a);
    }
}

static void read_grid(const settings *s, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_grid g;
    const fsim_grid_texts texts = {s->over.at, s->zip.at, s->over.count, s->zip.count};
    if (fsim_grid_read(a, d, &texts, &g) != (fsim_errors(d) == 0))
        abort();
    if (fsim_errors(d) > 0)
        return;
    if (g.axes > FSIM_MOST_AXES || g.combinations > FSIM_MOST_POINTS || g.combinations < 0)
        abort();
    const char *value[FSIM_MOST_AXES];
    for (int i = 0; i < g.combinations && i < 8; i++)
        fsim_grid_values(a, d, &g, i, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *text = fsim_strndup(a, (const char *)data, size), *argv[MOST + 1];
    settings s = {0};
    bool used[OPTIONS] = {false};
    const fsim_args args = {.at = option, .count = OPTIONS, .used = used};
    int argc = 0;
    for (char *line = text; *line && argc < MOST; argc++) {
        const size_t length = strcspn(line, "\n");
        const bool last = !line[length];
        line[length] = '\0';
        argv[argc] = line;
        line += length + !last;
    }
    argv[argc] = NULL;
    const fsim_words rest = fsim_args_read(&args, a, d, argc, argv, &s);
    if (rest.count > argc || s.choice < 0 || s.choice > 1 || s.count < 0 || s.size < 0 || !isfinite(s.seconds))
        abort();
    read_gates(&s.gate, a);
    read_grid(&s, a);
    fsim_load load;
    bool file = false; /* a trace is a file of its own */
    for (int i = 0; i < s.load.count; i++)
        file = file || strncmp(s.load.at[i], "trace", 5) == 0;
    fsim_diag *of_load = fsim_diag_new(a);
    if (!file && s.load.count &&
        fsim_load_read(a, of_load, s.load.at, s.load.count, &load) != (fsim_errors(of_load) == 0))
        abort();
    fsim_arena_free(a);
    return 0;
}
