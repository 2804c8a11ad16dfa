/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of generated texts, of each operator's example and of random workloads, by every strategy: a name is declared
 * before it is used, once, and used; what is opened is closed; each parameter is read or written, as its kernel says.
 * depends: once cost: 1 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/generate.h"
#include "graph/example.h"
#include "predict.h"
#include "random_rows.h"
#include "small_example.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { GRAPHS = 8 };
#else
enum { GRAPHS = 40 };
#endif

typedef struct {
    int texts, names, parameters, unused, idle, odd;
} tally;

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The text without comments. */
static char *code_of(const char *text, fsim_arena *a)
{
    char *out = fsim_new(a, char, strlen(text) + 1);
    size_t n = 0;
    for (const char *at = text; *at;) {
        if (strncmp(at, "/*", 2) == 0)
            at = strstr(at, "*/") + 2;
        else if (strncmp(at, "//", 2) == 0)
            at += strcspn(at, "\n");
        else
            out[n++] = *at++;
    }
    return out;
}

/* How often the name stands in the text, from `from` on. */
static int times(const char *from, const char *name, size_t length)
{
    int n = 0;
    for (const char *at = from; (at = strstr(at, name)); at += length)
        n += !in_name(at[length]) && (at == from || !in_name(at[-1]));
    return n;
}

/* Names that are made for a text: a lower letter, or `kept`, and a number. */
static bool is_made(const char *at, size_t length)
{
    const size_t letters = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    return (letters == 1 || (letters == 4 && strncmp(at, "kept", 4) == 0)) && letters < length &&
           strspn(at + letters, "0123456789") == length - letters;
}

static void check_names(const char *code, const char *text, tally *sums, fsim_arena *a)
{
    const char *met[512];
    int count = 0;
    for (const char *at = code; *at;) {
        size_t length = 0;
        while (in_name(at[length]))
            length++;
        if (length == 0) {
            at++;
            continue;
        }
        if (is_made(at, length)) {
            const char *name = fsim_strndup(a, at, length);
            bool known = false;
            for (int i = 0; i < count; i++)
                known = known || strcmp(met[i], name) == 0;
            if (!known && count < 512) {
                met[count++] = name;
                const int n = times(at, name, length);
                sums->names++;
                sums->unused += n < 2;
                if (n < 2 && getenv("DECLARED_TEST_VERBOSE"))
                    fprintf(stderr, "%s is not used:\n%s\n", name, text);
                /* it is declared where it stands first: behind a type, or as what a macro makes */
                const char *before = at;
                while (before > code && (before[-1] == ' ' || before[-1] == '*'))
                    before--;
                const bool typed = before > code && before < at && (in_name(before[-1]));
                const char *line = at;
                while (line > code && line[-1] != '\n')
                    line--;
                const bool macro = strncmp(line + strspn(line, " "), "FS_", 3) == 0;
                const bool next = before > code && before[-1] == ',' && strncmp(at + length, " = ", 3) == 0;
                sums->odd += !typed && !macro && !next;
                if (!typed && !macro && !next && getenv("DECLARED_TEST_VERBOSE"))
                    fprintf(stderr, "%s is not declared where it stands first:\n%s\n", name, text);
            }
        }
        at += length;
    }
}

static void check_text(const fsim_program *p, tally *sums, fsim_arena *a)
{
    char *code = code_of(p->source, a), *body = strstr(code, "FS_ENTRY(");
    int depth[3] = {0};
    assert_non_null(body);
    for (const char *c = code; *c; c++) {
        static const char open[] = "({[", shut[] = ")}]";
        for (int i = 0; i < 3; i++)
            depth[i] += (*c == open[i]) - (*c == shut[i]);
        assert_true(depth[0] >= 0 && depth[1] >= 0 && depth[2] >= 0);
    }
    assert_true(depth[0] == 0 && depth[1] == 0 && depth[2] == 0);
    check_names(body, p->source, sums, a);
    for (int i = 0; i < p->parameters; i++) { /* as a parameter, as an argument, and at least once in use */
        sums->parameters++;
        const bool used = times(body, p->parameter[i].name, strlen(p->parameter[i].name)) >= 3;
        sums->idle += !used;
        if (!used && getenv("DECLARED_TEST_VERBOSE"))
            fprintf(stderr, "%s is not used:\n%s\n", p->parameter[i].name, p->source);
    }
    sums->texts++;
}

static void check_graph(const char *text, const fsim_hw *hw, fsim_arena *a, tally *sums)
{
    static const fsim_strategy list[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_MAXIMAL};
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "declared.yaml", text, strlen(text), NULL);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 2000};
    if (!g) /* some examples have no shorter lengths */
        return;
    const fsim_prediction p = fsim_predict(g, hw, &options, a);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const fsim_plan *plan = &p.plan[list[i]];
        const fsim_program *w = fsim_programs_of(p.graph, hw, plan, 1, a);
        for (int k = 0; k < plan->kernels; k++)
            if (w[k].source && !w[k].skipped)
                check_text(&w[k], sums, a);
    }
}

static void names_are_declared_and_used(void **unused)
{
    (void)unused;
    tally sums = {0};
    fsim_arena *all = fsim_arena_new();
    const fsim_hw *hw[2];
    for (int i = 0; i < 2; i++)
        hw[i] = fsim_hw_read(all, fsim_diag_new(all),
                             i ? FUSESIM_SOURCE_DIR "/hwmodels/h100-sxm5-80gb.yaml"
                               : FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        if (!fsim_op_parse(fsim_ops[op].name, &named))
            continue;
        fsim_arena *a = fsim_arena_new();
        check_graph(op % 3 ? made_small(a, fsim_example(a, (fsim_op)op)) : fsim_example(a, (fsim_op)op), hw[op % 2], a,
                    &sums);
        fsim_arena_free(a);
    }
    for (int seed = 1; seed <= GRAPHS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        check_graph(random_rows(a, 4 + (int)draw(8)), hw[seed % 2], a, &sums);
        fsim_arena_free(a);
    }
    printf("%d texts, %d names, %d of them not used, %d parameters, %d of them idle\n", sums.texts, sums.names,
           sums.unused, sums.parameters, sums.idle);
    /* the mean where moments give it and nobody reads it (var); what is written into (index_copy) */
    assert_true(sums.unused <= 4 && sums.idle <= 9 && sums.odd <= 2 && sums.texts > 10 * GRAPHS);
    fsim_arena_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_declared_and_used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
