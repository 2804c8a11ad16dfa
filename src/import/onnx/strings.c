/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/strings.h"

#include <string.h>

void *fsim_onnx_take(fsim_onnx_memory *m, int64_t count, size_t size)
{
    if (m->spent || (uint64_t)count > m->left / size) {
        m->spent = true;
        return NULL;
    }
    m->left -= (size_t)count * size;
    return fsim_alloc(m->a, (size_t)count, size);
}

static size_t bytes_of(fsim_onnx_span s) { return (size_t)(s.end - s.at); }

static uint64_t mixed(uint64_t x, uint64_t y)
{
    __extension__ const unsigned __int128 product = (unsigned __int128)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const fsim_onnx_strings *t, fsim_onnx_span s)
{
    uint64_t h = t->seed ^ bytes_of(s);
    while (s.at < s.end) {
        uint64_t word = 0;
        const size_t bytes = bytes_of(s) < 8 ? bytes_of(s) : 8;
        memcpy(&word, s.at, bytes);
        h = mixed(h ^ word, 0x9e3779b97f4a7c15) ^ t->seed;
        s.at += bytes;
    }
    return h;
}

/* The slot of a string, or the empty one where it belongs. */
static fsim_onnx_string *slot_for(fsim_onnx_string *table, size_t slots, uint64_t hash, fsim_onnx_span s)
{
    size_t i = hash & (slots - 1);
    while (table[i].text &&
           !(table[i].hash == hash && table[i].bytes == bytes_of(s) && memcmp(table[i].text, s.at, bytes_of(s)) == 0))
        i = (i + 1) & (slots - 1);
    return &table[i];
}

static bool more_slots(fsim_onnx_strings *t)
{
    const size_t slots = t->slots ? 2 * t->slots : 256;
    fsim_onnx_string *table = fsim_onnx_take(t->memory, (int64_t)slots, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < t->slots; i++)
        if (t->at[i].text) {
            const uint8_t *text = (const uint8_t *)t->at[i].text;
            *slot_for(table, slots, t->at[i].hash, (fsim_onnx_span){text, text + t->at[i].bytes}) = t->at[i];
        }
    t->at = table;
    t->slots = slots;
    return true;
}

const char *fsim_onnx_copy(fsim_onnx_memory *m, fsim_onnx_span s)
{
    char *text = fsim_onnx_take(m, (int64_t)bytes_of(s) + 1, 1);
    if (text && s.at < s.end)
        memcpy(text, s.at, bytes_of(s));
    return text;
}

/* Is a character of several bytes well formed (Unicode, table 3-7)? *s moves behind it. */
static bool is_character(fsim_onnx_span *s)
{
    const uint8_t lead = *s->at++;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    const uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0xc2 || lead > 0xf4 || s->end - s->at < more || s->at[0] < least || s->at[0] > most)
        return false;
    for (int i = 1; i < more; i++)
        if (s->at[i] >> 6 != 2)
            return false;
    s->at += more;
    return true;
}

/* Is it UTF-8 without a NUL? Eight plain characters are seen at once. */
static bool is_text(fsim_onnx_span s)
{
    for (uint64_t word; bytes_of(s) >= sizeof word; s.at += sizeof word) {
        memcpy(&word, s.at, sizeof word);
        if ((word | (word - 0x0101010101010101)) & 0x8080808080808080)
            break;
    }
    while (s.at < s.end)
        if (*s.at == 0)
            return false;
        else if (*s.at < 0x80)
            s.at++;
        else if (!is_character(&s))
            return false;
    return true;
}

const char *fsim_onnx_intern(fsim_onnx_strings *t, fsim_onnx_span s)
{
    if (s.at == s.end)
        return "";
    if (2 * t->count >= t->slots && !more_slots(t))
        return NULL;
    const uint64_t hash = hash_of(t, s);
    fsim_onnx_string *slot = slot_for(t->at, t->slots, hash, s);
    if (!slot->text && is_text(s)) {
        *slot = (fsim_onnx_string){hash, fsim_onnx_copy(t->memory, s), bytes_of(s)};
        t->count++;
    }
    return slot->text;
}
