/* SPDX-License-Identifier: Apache-2.0 */
#include "base/names.h"

#include <stdint.h>
#include <string.h>

/* Eight characters at a time: names of tensors in models are long. */
static uint64_t hash_of(const char *name)
{
    size_t left = strlen(name);
    uint64_t h = left, word;
    for (; left >= sizeof word; left -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, name, left);
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static int slot_of(const fsim_names *t, const char *name)
{
    int i = (int)(hash_of(name) & (uint64_t)(t->slots - 1));
    while (t->name[i] && t->name[i] != name && strcmp(t->name[i], name) != 0)
        i = (i + 1) & (t->slots - 1);
    return i;
}

int fsim_names_get(const fsim_names *t, const char *name)
{
    if (t->slots == 0)
        return -1;
    const int i = slot_of(t, name);
    return t->name[i] ? t->value[i] : -1;
}

int fsim_names_set(fsim_arena *a, fsim_names *t, const char *name, int value)
{
    if (t->count * 2 >= t->slots) {
        const fsim_names old = *t;
        t->slots = old.slots ? old.slots * 2 : 64;
        t->name = fsim_new(a, const char *, t->slots);
        t->value = fsim_new(a, int, t->slots);
        for (int i = 0; i < old.slots; i++)
            if (old.name[i]) {
                const int to = slot_of(t, old.name[i]);
                t->name[to] = old.name[i];
                t->value[to] = old.value[i];
            }
    }
    const int i = slot_of(t, name), before = t->name[i] ? t->value[i] : -1;
    t->count += t->name[i] == NULL;
    t->name[i] = name;
    t->value[i] = value;
    return before;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_tie(char c) { return c == '_' || c == '.'; }

const char *fsim_behind_numbers(const char *text)
{
    while (is_digit(*text) || (is_tie(*text) && is_digit(text[1])))
        text++;
    return text;
}

bool fsim_same_but_numbers(const char *x, const char *y)
{
    for (;; x++, y++) {
        x = fsim_behind_numbers(x);
        y = fsim_behind_numbers(y);
        if (*x != *y || !*x)
            return *x == *y;
    }
}
