/* SPDX-License-Identifier: Apache-2.0 */
/* junit.c: accuracy as JUnit XML, as Jenkins and GitLab read it. */
#include "report/accuracy.h"
#include "report/report.h"

#include "report/json_stream.h"
#include <string.h>

/* text, inside an attribute or not. XML 1.0 has no place for most control characters, nor for what is no UTF-8. */
static void put_text(FILE *out, const char *text)
{
    static const char special[] = "<>&\"'";
    static const char *const entity[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (int bytes; *text; text += bytes ? bytes : 1) {
        const char *s = strchr(special, *text);
        bytes = fsim_utf8_bytes(text);
        if (s)
            fputs(entity[s - special], out);
        else if (bytes == 0 || (unsigned char)*text < ' ' || *text == 127)
            putc('?', out);
        else
            fwrite(text, 1, (size_t)bytes, out);
    }
}

static void put_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    put_text(out, text);
    putc('"', out);
}

static void put_case(FILE *out, const char *class, const char *name)
{
    fputs("    <testcase", out);
    put_attribute(out, "classname", class);
    put_attribute(out, "name", name);
    fputs(" time=\"0\"", out);
}

void fsim_junit_begin(FILE *out, int cases, int failures, int skipped)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"fusesim\" "
            "tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\" time=\"0\">\n",
            cases, failures, skipped);
}

void fsim_junit_case(FILE *out, const char *class, const char *name, const char *failure, const char *text)
{
    put_case(out, class, name);
    if (!failure) {
        fputs("><system-out>", out);
        put_text(out, text);
        fputs("</system-out></testcase>\n", out);
        return;
    }
    fputs("><failure", out);
    put_attribute(out, "type", failure);
    put_attribute(out, "message", text);
    fputs("/></testcase>\n", out);
}

void fsim_junit_end(FILE *out) { fputs("  </testsuite>\n</testsuites>\n", out); }

static void put_group(FILE *out, const fsim_accuracy *x, const fsim_stat_group *g, fsim_arena *a)
{
    const char *name = "";
    for (int k = 0; k < x->keys; k++) {
        const char *part = x->by[k] == FSIM_BY_ALL ? "all" : fsim_group_name(g, x->by[k]);
        name = k ? fsim_printf(a, "%s/%s", name, part) : part;
    }
    put_case(out, "fusesim.accuracy", name);
    if (g->stats.rows == 0)
        fputs("><skipped message=\"all rows are excluded\"/></testcase>\n", out);
    else
        fprintf(out, "><system-out>rows %d, mape %.4f, median %.4f, p90 %.4f, bias %.4f</system-out></testcase>\n",
                g->stats.rows, g->stats.mape, g->stats.median, g->stats.p90, g->stats.bias);
}

void fsim_junit_accuracy(FILE *out, const fsim_accuracy *x)
{
    fsim_arena *a = fsim_arena_new();
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, x->by, x->keys, a, &group);
    int skipped = 0;
    for (int i = 0; i < groups; i++)
        skipped += group[i].stats.rows == 0;
    fsim_junit_begin(out, x->gates + groups, fsim_gates_failed(x->gate, x->gates), skipped);
    fsim_junit_gates(out, "", x->gate, x->gates);
    for (int i = 0; i < groups; i++)
        put_group(out, x, &group[i], a);
    fsim_junit_end(out);
    fsim_arena_free(a);
}
