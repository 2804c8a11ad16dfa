/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/json_scan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 60 };

static fsim_loc place(const fsim_scan *s, const char *at)
{
    fsim_loc l = {s->path, 1, 1};
    const char *line = s->text;
    for (const char *p = line; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; line = ++p)
        l.line++;
    l.col = at - line < INT_MAX ? (int)(at - line) + 1 : INT_MAX; /* a whole trace may be on one line */
    return l;
}

bool fsim_scan_fail(const fsim_scan *s, const char *at, const char *what)
{
    fsim_error(s->d, place(s, at), "%s", what);
    return false;
}

bool fsim_scan_cut_short(const fsim_scan *s)
{
    return fsim_scan_fail(s, s->end,
                          "the trace ends here, unfinished: was the profiler stopped, or the copy cut short?");
}

void fsim_scan_space(fsim_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

bool fsim_scan_string(fsim_scan *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        if (*s->at == '\\')
            s->at++;
    if (s->at >= s->end)
        return fsim_scan_cut_short(s);
    s->at++;
    return true;
}

bool fsim_scan_value(fsim_scan *s)
{
    char open[MOST_DEPTH];
    int depth = 0;
    do {
        fsim_scan_space(s);
        if (s->at == s->end)
            return fsim_scan_cut_short(s);
        const char c = *s->at;
        if (c == '"') {
            if (!fsim_scan_string(s))
                return false;
        } else if (c == '{' || c == '[') {
            if (depth == MOST_DEPTH)
                return fsim_scan_fail(s, s->at, "nested too deeply for a trace");
            open[depth++] = c == '{' ? '}' : ']';
            s->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[depth - 1] != c)
                return fsim_scan_fail(s, s->at,
                                      depth ? "this bracket does not match the one that was opened"
                                            : "a value was expected here");
            depth--;
            s->at++;
        } else if (depth == 0 && (c == ',' || c == ':')) {
            return fsim_scan_fail(s, s->at, "a value was expected here");
        } else {
            s->at++;
            while (depth == 0 && s->at < s->end && !strchr(",]} \n\t\r", *s->at))
                s->at++;
        }
    } while (depth > 0);
    return true;
}

bool fsim_scan_take(fsim_scan *s, char c)
{
    fsim_scan_space(s);
    const bool there = s->at < s->end && *s->at == c;
    s->at += there;
    if (there)
        fsim_scan_space(s);
    return there;
}

char *fsim_json_without_nan(const char *text, size_t bytes)
{
    static const char *const words[] = {"-Infinity", "Infinity", "-infinity", "infinity", "-inf",
                                        "inf",       "-nan",     "nan",       "NaN"};
    char *copy = malloc(bytes + 1);
    bool inside = false;
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    for (char *p = copy; *p; p++) {
        if (inside && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            inside = !inside;
        else if (!inside && strchr("-iInN", *p))
            for (size_t k = 0; k < sizeof words / sizeof *words; k++)
                if (strncmp(p, words[k], strlen(words[k])) == 0) {
                    memset(p, ' ', strlen(words[k]));
                    *p = '0';
                }
    }
    return copy;
}
