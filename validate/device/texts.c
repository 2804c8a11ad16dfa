/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/device/texts.h"

#include <ctype.h>
#include <string.h>

const char *fsim_nameless_entry(int launch, fsim_arena *a) { return fsim_printf(a, "fs_entry_%d", launch); }

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The end of a comment that starts at p; p where there is none. */
static const char *behind_comment(const char *p)
{
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    return p[0] == '/' && p[1] == '/' ? p + strcspn(p, "\n") : p;
}

/* The end of a string that starts at p, or of the line where the string does not end; p where there is none. */
static const char *behind_string(const char *p)
{
    if (*p != '"')
        return p;
    for (p++; *p && *p != '"' && *p != '\n'; p++)
        p += *p == '\\' && p[1];
    return p + (*p == '"');
}

static bool is_name(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

static const char *name_of(const fsim_program *p, const char *word, size_t length, fsim_arena *a)
{
    for (int i = 0; i < p->launches; i++)
        if (is_name(p->launch[i].entry, word, length))
            return fsim_nameless_entry(i, a);
    for (int i = 0; i < p->parameters; i++)
        if (is_name(p->parameter[i].name, word, length))
            return fsim_printf(a, "fs_parameter_%d", i);
    return NULL;
}

const char *fsim_nameless_text(const fsim_program *p, fsim_arena *a)
{
    enum { LONGEST_NAME = 24 }; /* fs_parameter_ and a number */
    const char *at = p->source;
    size_t words = 1;
    for (const char *c = at; *c; c++)
        words += is_word(*c) && (c == at || !is_word(c[-1]));
    char *out = fsim_new(a, char, strlen(at) + words * LONGEST_NAME), *to = out;
    while (*at) {
        const char *comment = behind_comment(at), *string = behind_string(at);
        size_t length = 0;
        while (is_word(at[length]))
            length++;
        const char *name = length ? name_of(p, at, length, a) : NULL;
        const size_t takes = comment != at  ? (size_t)(comment - at)
                             : string != at ? (size_t)(string - at)
                             : length       ? length
                                            : 1,
                     bytes = name ? strlen(name) : takes;
        if (comment == at)
            memcpy(to, name ? name : at, bytes);
        to += comment == at ? bytes : 0;
        for (const char *c = at; c < comment; c++)
            if (*c == '\n')
                *to++ = '\n'; /* keep the line numbers */
        at += takes;
    }
    *to = 0;
    return out;
}

static uint64_t hash_of(const char *s, int sm)
{
    uint64_t h = 0xcbf29ce484222325u + (uint64_t)sm;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

int fsim_texts_add(fsim_texts *t, const fsim_program *p, int sm)
{
    const fsim_mark before = fsim_save(t->a);
    const char *source = fsim_nameless_text(p, t->a);
    const uint64_t hash = hash_of(source, sm);
    for (int i = 0; i < t->count; i++)
        if (t->at[i].hash == hash && t->at[i].sm == sm && t->at[i].program->launches == p->launches &&
            strcmp(t->at[i].source, source) == 0) {
            fsim_rewind(t->a, before);
            return i;
        }
    *FSIM_PUSH(t->a, t->at, t->count, t->room) = (fsim_nameless){hash, source, p, sm};
    return t->count - 1;
}
