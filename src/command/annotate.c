/* SPDX-License-Identifier: Apache-2.0 */
/* --annotate github: errors, warnings and what the result says in a line, as GitHub's workflow commands on stderr:
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
#include "command/command.h"

#include "base/memory.h"
#include <string.h>

/* text with the characters escaped that would end a command; of a property, also those that end a property. */
static void put_escaped(FILE *out, const char *text, bool property)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' || (property && (*text == ':' || *text == ',')))
            fprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
        else
            putc(*text, out);
}

static const char *title_of(const fsim_context *c)
{
    return fsim_printf(c->arena, "fusesim %s", c->command ? c->command : "plan");
}

static void put_message(const fsim_context *c, const fsim_diagnostic *m)
{
    fputs(m->severity == FSIM_ERROR ? "::error " : "::warning ", stderr);
    if (m->file) {
        fputs("file=", stderr);
        put_escaped(stderr, m->file, true);
        if (m->line > 0)
            fprintf(stderr, ",line=%d,col=%d", m->line, m->column);
        putc(',', stderr);
    }
    fputs("title=", stderr);
    put_escaped(stderr, title_of(c), true);
    fputs("::", stderr);
    put_escaped(stderr, m->message, false);
    for (int i = 0; i < m->note_count; i++) {
        fputs("%0A", stderr);
        put_escaped(stderr, m->notes[i], false);
    }
    putc('\n', stderr);
}

void fsim_annotate_messages(const fsim_context *c)
{
    fsim_diagnostic *list = NULL;
    const int count = c->set.annotate ? fsim_diag_list(c->diag, c->arena, &list) : 0;
    for (int i = 0; i < count; i++)
        if (list[i].severity == FSIM_ERROR || !c->set.quiet)
            put_message(c, &list[i]);
}

void fsim_annotate_result(const fsim_context *c, const void *what)
{
    fsim_memory memory;
    if (!c->set.annotate || !fsim_has_line(c))
        return;
    const bool good = fsim_show_quietly(fsim_memory_begin(&memory), c, what);
    const char *text = fsim_memory_end(&memory, c->arena, NULL);
    for (const char *end; good && *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        fputs("::notice title=", stderr);
        put_escaped(stderr, title_of(c), true);
        fputs("::", stderr);
        put_escaped(stderr, fsim_strndup(c->arena, text, (size_t)(end - text)), false);
        putc('\n', stderr);
    }
}
