/* SPDX-License-Identifier: Apache-2.0 */
/* flash_text.c: appends lines and opens scopes in the text of a chain in tiles. */
#include "emit/flash.h"

#include <string.h>

void fsim_flash_put_lines(fsim_flash *f, int deeper, const char *lines)
{
    while (*lines) {
        const char *end = strchr(lines, '\n');
        const int length = end ? (int)(end - lines) : (int)strlen(lines);
        fsim_text_put(f->e->a, &f->e->out, "%*s%.*s\n", deeper * 4, "", length, lines);
        lines += length + (end != NULL);
    }
}

void fsim_flash_put(fsim_flash *f, int depth, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fsim_text line = {0};
    fsim_text_put_v(f->e->a, &line, format, args);
    va_end(args);
    fsim_flash_put_lines(f, depth, fsim_text_of(&line));
}

void fsim_flash_begin_scope(fsim_emitter *e)
{
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->body);
    e->knowns = e->hoists = 0;
    e->depth = 1;
}

void fsim_flash_begin_pass(fsim_emitter *e)
{
    int kept = 0;
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->body);
    for (int i = 0; i < e->knowns; i++)
        if (e->known[i].depth == 0)
            e->known[kept++] = e->known[i];
    e->knowns = kept;
    e->depth = 1;
}
