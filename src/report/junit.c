/* SPDX-License-Identifier: Apache-2.0 */
#include "report/junit.h"

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

void fsim_junit_skipped(FILE *out, const char *class, const char *name, const char *why)
{
    put_case(out, class, name);
    fputs("><skipped", out);
    put_attribute(out, "message", why);
    fputs("/></testcase>\n", out);
}

void fsim_junit_end(FILE *out) { fputs("  </testsuite>\n</testsuites>\n", out); }
