/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/emit.h"

#include <stdio.h>
#include <string.h>

void fsim_text_put_v(fsim_arena *a, fsim_text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int bytes = vsnprintf(NULL, 0, format, args);
    while (t->used + (size_t)bytes + 1 > t->room) {
        const size_t room = t->room ? t->room * 2 : 4096;
        char *grown = fsim_new(a, char, room);
        if (t->used)
            memcpy(grown, t->at, t->used);
        t->at = grown;
        t->room = room;
    }
    vsnprintf(t->at + t->used, t->room - t->used, format, again);
    va_end(again);
    t->used += (size_t)bytes;
}

void fsim_text_put(fsim_arena *a, fsim_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fsim_text_put_v(a, t, format, args);
    va_end(args);
}

void fsim_text_clear(fsim_text *t)
{
    t->used = 0;
    if (t->room)
        t->at[0] = 0;
}

void fsim_begin_loop(fsim_emitter *e)
{
    fsim_text_clear(&e->head);
    fsim_text_clear(&e->before);
    fsim_text_clear(&e->body);
    fsim_text_clear(&e->after);
    e->knowns = e->hoists = e->bases = 0;
    e->depth = 1;
}

const char *fsim_text_of(const fsim_text *t) { return t->used ? t->at : ""; }

static void indent(fsim_emitter *e, fsim_text *t, int depth)
{
    for (int i = 0; i <= depth; i++)
        fsim_text_put(e->a, t, "    ");
}

void fsim_say(fsim_emitter *e, int depth, const char *format, ...)
{
    fsim_text *t = depth == 0 ? &e->head : &e->body;
    va_list args;
    indent(e, t, depth);
    va_start(args, format);
    fsim_text_put_v(e->a, t, format, args);
    va_end(args);
    fsim_text_put(e->a, t, "\n");
}

void fsim_open(fsim_emitter *e, const char *format, ...)
{
    fsim_text *t = e->depth == 0 ? &e->head : &e->body;
    va_list args;
    indent(e, t, e->depth);
    va_start(args, format);
    fsim_text_put_v(e->a, t, format, args);
    va_end(args);
    fsim_text_put(e->a, t, "\n");
    e->depth++;
}

void fsim_close(fsim_emitter *e)
{
    while (e->knowns > 0 && e->known[e->knowns - 1].depth >= e->depth)
        e->knowns--;
    int kept = 0;
    for (int i = 0; i < e->knowns; i++)
        if (e->known[i].depth < e->depth)
            e->known[kept++] = e->known[i];
    e->knowns = kept;
    e->depth--;
    fsim_say(e, e->depth, "}");
}

const char *fsim_fresh(fsim_emitter *e, const char *letter) { return fsim_printf(e->a, "%s%d", letter, e->next++); }
