/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: keys in the order of the tree; tensors and operators one a line, in flow style; all else of a line's length
 * too. */
#include "import/write.h"

#include <ctype.h>
#include <string.h>

/* Scalars. */

/* May the text stand without quotes, in flow style too? Only what surely may: letters, digits, and what expressions,
 * numbers and names have. */
static bool is_plain(const char *text)
{
    static const char within[] = "_./+-*%()<>|@ ", first[] = "_./(<+";
    const size_t length = strlen(text);
    if (length == 0 || text[length - 1] == ' ')
        return false;
    if (!isalnum((unsigned char)*text) && !strchr(first, *text) && !(*text == '-' && isdigit((unsigned char)text[1])))
        return false;
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(within, *c))
            return false;
    return true;
}

/* Bytes of the UTF-8 character at text that YAML may show; 0: it is none, or a control character. */
static int shown_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const int more = *c < 0x80                 ? 0
                     : *c >= 0xc2 && *c < 0xe0 ? 1
                     : *c >= 0xe0 && *c < 0xf0 ? 2
                     : *c >= 0xf0 && *c < 0xf5 ? 3
                                               : -1;
    if (more < 0 || *c < 0x20 || *c == 0x7f)
        return 0;
    for (int i = 1; i <= more; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    const bool c1 = *c == 0xc2 && c[1] < 0xa0, surrogate = *c == 0xed && c[1] >= 0xa0,
               overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90),
               beyond = (*c == 0xf4 && c[1] >= 0x90) || (*c == 0xef && c[1] == 0xbf && c[2] >= 0xbe),
               separator = (*c == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9)) ||
                           (*c == 0xef && c[1] == 0xbb && c[2] == 0xbf);
    return c1 || surrogate || overlong || beyond || separator ? 0 : more + 1;
}

/* In double quotes; a byte that is no character becomes a question mark. */
static void put_escaped(FILE *out, const char *text)
{
    fputc('"', out);
    for (int bytes; *text; text += bytes) {
        bytes = shown_bytes(text);
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (*text == '\n' || *text == '\t')
            fputs(*text == '\n' ? "\\n" : "\\t", out);
        else if (bytes > 0)
            fwrite(text, 1, (size_t)bytes, out);
        else if ((unsigned char)*text < 0x80)
            fprintf(out, "\\x%02x", (unsigned char)*text);
        else
            fputc('?', out);
        bytes = bytes > 0 ? bytes : 1;
    }
    fputc('"', out);
}

static void put_scalar(FILE *out, const char *text)
{
    if (is_plain(text))
        fputs(text, out);
    else
        put_escaped(out, text);
}

/* Text on a line of its own, where spaces, commas and the like need no quotes: "name: a model, for text". */
static void put_line(FILE *out, const char *text)
{
    static const char within[] = "_./+-*%()<>|@ ,;'=&!?";
    bool plain = isalpha((unsigned char)*text);
    for (const char *c = text; *c; c++)
        plain = plain && (isalnum((unsigned char)*c) || strchr(within, *c));
    if (plain && text[strlen(text) - 1] != ' ')
        fputs(text, out);
    else
        put_escaped(out, text);
}

/* Trees. */

static void put_flow(FILE *out, const fsim_yaml *y)
{
    if (y->kind == FSIM_YAML_SCALAR) {
        put_scalar(out, y->text);
        return;
    }
    const bool map = y->kind == FSIM_YAML_MAPPING;
    fputc(map ? '{' : '[', out);
    for (int i = 0; i < y->count; i++) {
        fputs(i ? ", " : "", out);
        if (map) {
            put_scalar(out, y->key[i]->text);
            fputs(": ", out);
        }
        put_flow(out, y->item[i]);
    }
    fputc(map ? '}' : ']', out);
}

static void put_indent(FILE *out, int by) { fprintf(out, "%*s", by, ""); }

/* A mapping, a line for each pair. */
static void put_pairs(FILE *out, const fsim_yaml *y, int indent)
{
    for (int i = 0; i < y->count; i++) {
        put_indent(out, indent);
        put_scalar(out, y->key[i]->text);
        fputs(": ", out);
        put_flow(out, y->item[i]);
        fputc('\n', out);
    }
}

static void put_operators(FILE *out, const fsim_yaml *list, int indent);

/* A repeat block: its first key stands behind the dash. */
static void put_repeat(FILE *out, const fsim_yaml *y, int indent)
{
    for (int i = 0; i < y->count; i++) {
        const char *key = y->key[i]->text;
        const fsim_yaml *item = y->item[i];
        put_indent(out, indent);
        fprintf(out, "%s%s:", i == 0 ? "- " : "  ", key);
        if (strcmp(key, "operators") == 0 && item->kind == FSIM_YAML_SEQUENCE && item->count > 0) {
            fputc('\n', out);
            put_operators(out, item, indent + 4);
        } else if (strcmp(key, "tensors") == 0 && item->kind == FSIM_YAML_MAPPING && item->count > 0) {
            fputc('\n', out);
            put_pairs(out, item, indent + 4);
        } else {
            fputc(' ', out);
            put_flow(out, item);
            fputc('\n', out);
        }
    }
}

static void put_operators(FILE *out, const fsim_yaml *list, int indent)
{
    for (int i = 0; i < list->count; i++) {
        if (fsim_yaml_get(list->item[i], "repeat")) {
            put_repeat(out, list->item[i], indent);
            continue;
        }
        put_indent(out, indent);
        fputs("- ", out);
        put_flow(out, list->item[i]);
        fputc('\n', out);
    }
}

static void put_comment(FILE *out, const char *comment)
{
    bool start = true;
    for (; *comment; comment++) {
        fputs(start ? "# " : "", out);
        start = *comment == '\n';
        fputc(*comment == '\n' || shown_bytes(comment) == 1 ? *comment : '?', out);
    }
    fputs(start ? "" : "\n", out);
}

void fsim_write_workload(FILE *out, const fsim_yaml *y, const char *comment)
{
    if (comment)
        put_comment(out, comment);
    for (int i = 0; i < y->count && y->kind == FSIM_YAML_MAPPING; i++) {
        const fsim_yaml *item = y->item[i];
        const char *key = y->key[i]->text;
        const bool block = item->kind != FSIM_YAML_SCALAR && item->count > 0;
        put_scalar(out, key);
        fputc(':', out);
        if (block && strcmp(key, "tensors") == 0) {
            fputc('\n', out);
            put_pairs(out, item, 2);
        } else if (block && strcmp(key, "operators") == 0) {
            fputc('\n', out);
            put_operators(out, item, 2);
        } else {
            fputc(' ', out);
            item->kind == FSIM_YAML_SCALAR ? put_line(out, item->text) : put_flow(out, item);
            fputc('\n', out);
        }
    }
}
