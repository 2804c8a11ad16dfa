/* SPDX-License-Identifier: Apache-2.0 */
#include "report/junit.h"

#include "report/markup.h"

static void put_attribute(FILE *out, const char *name, const char *text)
{
    fprintf(out, " %s=\"", name);
    fsim_markup(out, text);
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
        fsim_markup(out, text);
        fputs("</system-out></testcase>\n", out);
        return;
    }
    fputs("><failure", out);
    put_attribute(out, "type", failure);
    put_attribute(out, "message", text);
    fputs("/></testcase>\n", out);
}

void fsim_junit_skipped(FILE *out, const char *class, const char *name, const char *why)
{
    put_case(out, class, name);
    fputs("><skipped", out);
    put_attribute(out, "message", why);
    fputs("/></testcase>\n", out);
}

void fsim_junit_end(FILE *out) { fputs("  </testsuite>\n</testsuites>\n", out); }
