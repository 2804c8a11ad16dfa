/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* The words in reports/schema are those of the program's tables. Every list of words there is marked with the table it
 * follows: `"$comment": "words: TABLE", "enum": [...]`, or `"required": [...]` where keys are meant, or `"minItems": N`
 * where there are so many. SCHEMA_WRITE=1 writes the lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "command/format.h"
#include "diff/diff.h"
#include "evidence/evaluate.h"
#include "evidence/gates.h"
#include "evidence/pairs.h"
#include "graph/attribute.h"
#include "plan/price/parallel.h"
#include "plan/price/phases.h"
#include "plan/price/timeline.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/plan_gates.h"
#include "report/trial.h"
#include "report/versus.h"
#include "serving/verdicts.h"
#include "validate/cpu/probes.h"
#include "validate/cuda/probes.h"
#include "validate/device/kinds.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 400, MOST_TABLES = 60 };

typedef struct {
    const char *name;
    const char *word[MOST_WORDS];
    int words;
    int used;
} words;

static words tables[MOST_TABLES];
static int table_count;

static words *new_table(const char *name)
{
    assert_true(table_count < MOST_TABLES);
    tables[table_count].name = name;
    return &tables[table_count++];
}

static void add(words *t, const char *word)
{
    for (int i = 0; i < t->words; i++)
        if (word && strcmp(t->word[i], word) == 0)
            return;
    assert_true(t->words < MOST_WORDS);
    if (word)
        t->word[t->words++] = word;
}

static void add_table(const char *name, const char *const *word, int count)
{
    words *t = new_table(name);
    for (int i = 0; i < count; i++)
        add(t, word[i]);
}

static void add_gates(const char *name, const fsim_gate_table *gates)
{
    words *t = new_table(name);
    for (int i = 0; i < gates->metrics; i++)
        add(t, gates->metric[i].name);
}

/* Of all back ends. */
static void add_probes(words *t, const char *const *cpu, const char *const *cuda)
{
    for (int i = 0; i < FSIM_PROBES; i++)
        add(t, cpu[i]);
    for (int i = 0; i < FSIM_GPU_PROBES; i++)
        add(t, cuda[i]);
}

static void collect_named_tables(void)
{
    add_table("strategies", fsim_strategy_names, FSIM_STRATEGY_COUNT);
    add_table("plans", fsim_strategy_names, FSIM_PLAN_COUNT);
    add_table("templates", fsim_template_names, FSIM_TEMPLATE_COUNT);
    add_table("time units", fsim_unit_names, FSIM_UNIT_COUNT);
    add_table("rules", &fsim_rule_names[FSIM_RULE_NONE + 1], FSIM_RULE_COUNT - 1);
    add_table("refusal units", fsim_refusal_units, FSIM_REFUSAL_UNITS);
    add_table("launches", fsim_regime_names, FSIM_REGIME_COUNT);
    add_table("objectives", fsim_objective_names, FSIM_OBJECTIVES);
    add_table("l2 states", fsim_l2_words, 2);
    add_table("l2 states of rows", fsim_l2_names, FSIM_L2_UNKNOWN + 1);
    add_table("numerics", fsim_numerics_words, 2);
    add_table("recomputation", fsim_recompute_words, 2);
    add_table("targets", fsim_target_words, 2);
    add_table("collectives", fsim_collective_names, FSIM_COLLECTIVES);
    add_table("roles", fsim_role_names, FSIM_ROLES);
    add_table("dtypes", fsim_dtype_names, FSIM_DTYPE_COUNT);
    add_table("origins", fsim_origin_names, FSIM_ORIGINS);
    add_table("figures", fsim_hw_from_names, FSIM_HW_FROMS);
    add_table("phases", fsim_phase_names, FSIM_PHASES);
    add_table("ways", fsim_way_names, FSIM_WAYS);
    add_table("streams", fsim_lane_names, FSIM_LANE_COUNT);
    add_table("work classes", fsim_work_class_names, FSIM_WORK_COUNT);
    add_table("versus", fsim_versus_names, FSIM_VERSUS_COUNT);
    add_table("verdicts", fsim_verdict_names, FSIM_VERDICTS);
    add_table("modes", fsim_mode_names + 1, FSIM_MODES - 1);
    add_table("system modes", fsim_system_mode_names, FSIM_SYSTEM_MODES);
    add_table("system groups", fsim_systems_grouping_names, FSIM_SYSTEMS_GROUPINGS);
    add_table("exclusions", fsim_exclusions, FSIM_EXCLUSIONS);
    add_table("devices", fsim_device_names, FSIM_DEVICE_COUNT);
    add_probes(new_table("probes"), fsim_probe_names, fsim_gpu_probe_names);
    add_probes(new_table("probe units"), fsim_probe_units, fsim_gpu_probe_units);
    add_table("makers", fsim_maker_words, FSIM_MAKERS);
    add_table("row verdicts", fsim_row_verdict_names, FSIM_ROW_VERDICTS);
    add_table("kinds of rows", fsim_rows_kind_names, FSIM_ROWS_KINDS);
    add_table("part kinds", fsim_part_kind_names, FSIM_PART_KINDS);
    add_table("diff causes", fsim_diff_cause_names, FSIM_DIFF_CAUSES);
    add_table("attribute types", fsim_attr_type_names, FSIM_TYPE_COUNT);
}

static void collect_tables(void)
{
    collect_named_tables();
    add_gates("plan gates", &fsim_plan_gates);
    add_gates("diff gates", &fsim_diff_gates);
    add_gates("rows diff gates", &fsim_rows_diff_gates);
    add_gates("row gates", &fsim_row_gates);
    add_gates("trial gates", &fsim_trial_gates);
    add_gates("register gates", &fsim_register_gates);
    words *classes = new_table("operator classes"), *always = new_table("strategies always priced");
    for (int i = 0; i < FSIM_CLASS_COUNT; i++)
        add(classes, fsim_classes[i].name);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        if (!fsim_strategies[i].asked)
            add(always, fsim_strategy_names[i]);
}

static words *table_named(const char *name, size_t length)
{
    for (int i = 0; i < table_count; i++)
        if (strlen(tables[i].name) == length && strncmp(tables[i].name, name, length) == 0)
            return &tables[i];
    return NULL;
}

/* The list of a table as JSON: with the suffix, and null where the list at hand has it. In a. */
static const char *list_of(const words *t, const char *suffix, size_t length, bool null, fsim_arena *a)
{
    const char *text = "[";
    for (int i = 0; i < t->words; i++)
        text = fsim_printf(a, "%s%s\"%s%.*s\"", text, i ? ", " : "", t->word[i], (int)length, suffix);
    return fsim_printf(a, "%s%s]", text, null ? ", null" : "");
}

/* What should stand behind the mark, whose table's name starts at name, in place of [*from, *to). NULL: no such table.
 */
static const char *wanted_behind(const char *name, const char **from, const char **to, fsim_arena *a)
{
    const char *end = strchr(name, '"'), *plus = memchr(name, '+', (size_t)(end - name));
    words *t = table_named(name, (size_t)((plus ? plus - 1 : end) - name));
    if (!t)
        return NULL;
    t->used++;
    const char *key = end + strspn(end, "\", \n");
    if (strncmp(key, "minItems\": ", 11) == 0) {
        *from = key + 11;
        const char *rest = strstr(*from, "maxItems\": ");
        *to = *from + strspn(*from, "0123456789");
        if (rest && rest - *to < 5)
            *to = rest + 11 + strspn(rest + 11, "0123456789");
        /* beside those always priced: one that is asked for, and serving where a workload has calls */
        return rest && rest - *from < 8 ? fsim_printf(a, "%d, \"maxItems\": %d", t->words, t->words + 2)
                                        : fsim_printf(a, "%d", t->words);
    }
    *from = strchr(key, '[');
    *to = strchr(key, ']') + 1;
    const bool null = strncmp(*to - 5, "null]", 5) == 0;
    return plus ? list_of(t, plus + 2, (size_t)(end - plus - 2), null, a) : list_of(t, "", 0, null, a);
}

/* The file with every list as it should be. */
static const char *corrected(const char *text, const char *file, fsim_arena *a)
{
    static const char mark[] = "\"$comment\": \"words: ";
    const char *out = "", *from = text, *to = text;
    for (const char *at; (at = strstr(text, mark)); text = to) {
        const char *list = wanted_behind(at + sizeof mark - 1, &from, &to, a);
        if (!list)
            fail_msg("%s: no table for '%.40s'", file, at + sizeof mark - 1);
        out = fsim_printf(a, "%s%.*s%s", out, (int)(from - text), text, list);
    }
    return fsim_printf(a, "%s%s", out, text);
}

/* An enum that no table is named for. */
static void check_marks(const char *text, const char *file)
{
    static const char behind[] = "\", ";
    for (const char *at = text; (at = strstr(at, "\"enum\": [")); at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        const char *mark = strstr(line, "\"$comment\": \"");
        while (mark && strstr(mark + 1, "\"$comment\": \"") && strstr(mark + 1, "\"$comment\": \"") < at)
            mark = strstr(mark + 1, "\"$comment\": \"");
        const char *end = mark && mark < at ? strstr(mark + 13, behind) : NULL;
        if (!end || end + sizeof behind - 1 != at)
            fail_msg("%s: no table is named for %.60s", file, at);
    }
}

static void compare(const char *file, fsim_arena *a)
{
    const char *path = fsim_printf(a, FUSESIM_SOURCE_DIR "/reports/schema/%s", file), *why = "";
    size_t bytes = 0;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text)
        fail_msg("%s: %s", path, why);
    check_marks(text, file);
    const char *right = corrected(text, file, a);
    if (strcmp(text, right) == 0)
        return;
    if (!getenv("SCHEMA_WRITE")) {
        size_t at = 0;
        while (text[at] == right[at])
            at++;
        fail_msg("%s is not what the tables say (SCHEMA_WRITE=1 ctest -R unit.schema mends it): found ...%.80s, wanted "
                 "...%.80s",
                 file, text + (at > 40 ? at - 40 : 0), right + (at > 40 ? at - 40 : 0));
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(right, out);
    assert_int_equal(fclose(out), 0);
}

static const char *const schemas[FSIM_RESULT_KINDS] = {
#define FSIM_RESULT(id, show, schema, words) [FSIM_RESULT_##id] = schema,
#include "command/results.def"
#undef FSIM_RESULT
};

static void schemas_have_the_words_of_the_tables(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    collect_tables();
    DIR *folder = opendir(FUSESIM_SOURCE_DIR "/reports/schema");
    assert_non_null(folder);
    int files = 0;
    for (const struct dirent *e; (e = readdir(folder));)
        if (strstr(e->d_name, ".schema.json")) {
            compare(e->d_name, a);
            files++;
            bool known =
                strcmp(e->d_name, fsim_printf(a, "%s.schema.json", fsim_format_option(FSIM_AS_PROOF) + 2)) == 0;
            for (int i = 0; i < FSIM_RESULT_KINDS; i++)
                known = known || strcmp(e->d_name, fsim_printf(a, "%s.schema.json", schemas[i])) == 0;
            if (!known)
                fail_msg("%s: of no row of results.def", e->d_name);
        }
    closedir(folder);
    assert_true(files > 10);
    for (int i = 0; i < table_count; i++)
        if (!tables[i].used)
            fail_msg("no schema has the words of '%s'", tables[i].name);
    fsim_arena_free(a);
}

static void what_json_shows_has_a_schema(void **unused)
{
    (void)unused;
    for (int i = 0; i < FSIM_RESULT_KINDS; i++) {
        char path[400];
        snprintf(path, sizeof path, FUSESIM_SOURCE_DIR "/reports/schema/%s.schema.json", schemas[i]);
        FILE *file = *schemas[i] ? fopen(path, "r") : NULL;
        if ((fsim_renderer_of(FSIM_AS_JSON, (fsim_result_kind)i) != NULL) != (file != NULL))
            fail_msg("%s: JSON or a schema, but not both", fsim_result_names[i]);
        if (file)
            fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_have_the_words_of_the_tables),
        cmocka_unit_test(what_json_shows_has_a_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
