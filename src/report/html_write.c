/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html_write.h"

#include "base/file.h"
#include "base/memory.h"
#include "report/markup.h"
#include <stdint.h>
#include <string.h>

void fsim_html(FILE *out, const char *markup, ...)
{
    va_list args;
    va_start(args, markup);
    for (const char *c = markup; *c;) {
        const size_t plain = strcspn(c, "%");
        fwrite(c, 1, plain, out);
        c += plain;
        if (*c == 0)
            break;
        if (c[1] == 's') {
            const char *text = va_arg(args, const char *);
            fsim_markup(out, text ? text : "");
        } else if (c[1] == 'd') {
            fprintf(out, "%d", va_arg(args, int));
        } else if (c[1] == 'g') {
            fprintf(out, "%g", va_arg(args, double));
        } else if (c[1] == '.') {
            fprintf(out, "%.1f", va_arg(args, double));
        } else {
            fputc('%', out);
        }
        c += c[1] == '.' ? 4 : 2;
    }
    va_end(args);
}

void fsim_html_raw(FILE *out, const char *text) { fputs(text, out); }

const char *fsim_html_hash(fsim_arena *a, const char *text)
{
    enum { DIGEST = 32 };
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                      hexes[] = "0123456789abcdef";
    char hex[65], *to = fsim_new(a, char, 64);
    uint8_t byte[DIGEST + 1] = {0};
    fsim_sha256(text, strlen(text), hex);
    for (int i = 0; i < DIGEST; i++)
        byte[i] = (uint8_t)((strchr(hexes, hex[2 * i]) - hexes) << 4 | (strchr(hexes, hex[2 * i + 1]) - hexes));
    for (int i = 0, n = 0; i < DIGEST; i += 3) {
        const unsigned three = (unsigned)byte[i] << 16 | (unsigned)byte[i + 1] << 8 | byte[i + 2];
        for (int digit = 0; digit < 4; digit++)
            to[n++] = i + digit > DIGEST ? '=' : digits[three >> (18 - 6 * digit) & 63];
    }
    return fsim_printf(a, "sha256-%s", to);
}

/* Has some row of the table something in this column? */
static bool has_cells(const fsim_table *t, int column)
{
    bool has = false;
    for (int r = 0; r < t->rows && !has; r++)
        has = t->row[r].cell[column] && *t->row[r].cell[column];
    return has;
}

static void put_row(FILE *out, const fsim_table *t, int row, const bool *shown)
{
    bool first = true;
    fsim_html(out, t->row[row].emphasis == FSIM_STRONG ? "<tr class=\"strong\">" : "<tr>");
    for (int i = 0; i < t->columns; i++) {
        if (!shown[i])
            continue;
        const char *cell = t->row[row].cell[i] ? t->row[row].cell[i] : "";
        if (first && *cell)
            fsim_html(out, t->column[i].left ? "<th scope=\"row\">%s</th>" : "<th scope=\"row\" class=\"n\">%s</th>",
                      cell);
        else
            fsim_html(out, t->column[i].left ? "<td>%s</td>" : "<td class=\"n\">%s</td>", cell);
        first = false;
    }
    fsim_html(out, "</tr>\n");
}

void fsim_html_table(FILE *out, const fsim_table *t, const char *name)
{
    const fsim_mark scratch = fsim_save(t->arena);
    bool *shown = fsim_new(t->arena, bool, t->columns + 1);
    fsim_html(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table><thead><tr>", name);
    for (int i = 0; i < t->columns; i++) {
        shown[i] = has_cells(t, i);
        if (shown[i])
            fsim_html(out, t->column[i].left ? "<th scope=\"col\">%s</th>" : "<th scope=\"col\" class=\"n\">%s</th>",
                      t->column[i].title);
    }
    fsim_html(out, "</tr></thead><tbody>\n");
    for (int r = 0; r < t->rows; r++)
        put_row(out, t, r, shown);
    fsim_html(out, "</tbody></table></div>\n");
    const char *legends = fsim_table_legends(t, t->arena);
    if (*legends)
        fsim_html(out, "<p class=\"note\">%s</p>\n", legends);
    fsim_rewind(t->arena, scratch);
}

void fsim_html_paragraphs(FILE *out, const fsim_text_page *r, void (*part)(const fsim_text_page *r),
                          const char *class_name)
{
    fsim_memory memory;
    fsim_text_page page = *r;
    page.page = (fsim_page){.out = fsim_memory_begin(&memory), .utf8 = true};
    part(&page);
    char *text = fsim_memory_end(&memory, r->a, NULL);
    while (*text) {
        const size_t bytes = strcspn(text, "\n");
        const bool more = text[bytes] != 0;
        text[bytes] = 0;
        if (*text)
            fsim_html(out, "<p class=\"%s\">%s</p>\n", class_name, text + strspn(text, " "));
        text += bytes + more;
    }
}
