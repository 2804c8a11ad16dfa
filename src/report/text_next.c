/* SPDX-License-Identifier: Apache-2.0 */
/* What to try next, by what it saves. */
#include "report/text_parts.h"

#include "report/next.h"
#include <math.h>

enum { SHOWN = 3 };

/* "saves at most 5.2 us: one kernel for 'a' and 'y', written by hand" */
static const char *step_text(const fsim_step *s, fsim_arena *a)
{
    return isnan(s->saves_s) ? s->what
                             : fsim_printf(a, "saves %s%s: %s", s->at_most ? "at most " : "",
                                           fsim_seconds_text(a, s->saves_s), s->what);
}

void fsim_text_next(const fsim_text_page *r)
{
    fsim_step step[FSIM_MOST_STEPS];
    const int count = fsim_next_steps(r->p, r->a, step), shown = r->verbose || count < SHOWN ? count : SHOWN;
    if (count > 0)
        fsim_text_title(r, "next steps, by what they save");
    for (int i = 0; i < shown; i++) {
        const char *text = step_text(&step[i], r->a), *command = step[i].command;
        const char *line = command ? fsim_printf(r->a, "%s   %s", text, command) : text;
        const bool fits = r->page.width == 0 || fsim_text_width(line) + 2 <= r->page.width;
        fsim_paragraph(&r->page, FSIM_PLAIN, 2, 4, fits ? line : text);
        if (command && !fits)
            fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6, command);
    }
}

/* A command as code, between more backticks than it has in a row. */
static void put_code(FILE *out, const char *text)
{
    int most = 0, row = 0;
    for (const char *c = text; *c; c++) {
        row = *c == '`' ? row + 1 : 0;
        most = row > most ? row : most;
    }
    for (int side = 0; side < 2; side++) {
        if (side == 1)
            fprintf(out, most ? " %s " : "%s", text);
        for (int i = 0; i <= most; i++)
            putc('`', out);
    }
}

void fsim_markdown_next(FILE *out, const fsim_prediction *p, fsim_arena *a)
{
    fsim_step step[FSIM_MOST_STEPS];
    const int count = fsim_next_steps(p, a, step);
    fputs(count > 0 ? "Next:\n\n" : "", out);
    for (int i = 0; i < count; i++) {
        fputs("- ", out);
        fsim_markdown_text(out, step_text(&step[i], a));
        if (step[i].command) {
            fputs(": ", out);
            put_code(out, step[i].command);
        }
        fputc('\n', out);
    }
    fputs(count > 0 ? "\n" : "", out);
}
