/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg.h"

#include "report/markup.h"
#include <stdbool.h>
#include <string.h>

/* Copies gnuplot's markup. gnuplot leaves '>' in texts as it is, and XML forbids "]]>" there. */
static void put_markup(FILE *out, const char *from, const char *to)
{
    for (; from < to; from++)
        if (*from == '>' && from[-1] == ']' && from[-2] == ']')
            fputs("&gt;", out);
        else
            fputc(*from, out);
}

static void put_tips(FILE *out, const fsim_svg_words *words)
{
    fputs("<g id=\"tips\" fill=\"#000\" fill-opacity=\"0\">\n", out);
    for (int i = 0; i < words->tips; i++) {
        const fsim_area *b = &words->tip[i].at;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", b->left, b->top,
                b->right - b->left, b->bottom - b->top);
        fsim_markup(out, words->tip[i].text);
        fputs("</title></rect>\n", out);
    }
    fputs("</g>\n", out);
}

/* Texts within the drawing have no '<' of their own, so every "<title>" is gnuplot's. */
void fsim_svg_write(FILE *out, const char *svg, const fsim_svg_words *words)
{
    static const char begin[] = "<title>", end[] = "</title>", about[] = "</desc>";
    const char *root = strstr(svg, "<svg"), *last = strstr(svg, "</svg>");
    if (!root || !last) { /* another program's, in gnuplot's place */
        fputs(svg, out);
        return;
    }
    fprintf(out, "%.*s role=\"img\" aria-labelledby=\"chart-title chart-about\"", (int)(root + 4 - svg), svg);
    bool first = true;
    for (const char *at = root + 4; at < last;) {
        const char *from = strstr(at, begin), *to = from ? strstr(from, end) : NULL;
        if (!to) {
            put_markup(out, at, last);
            break;
        }
        put_markup(out, at, from);
        at = to + strlen(end);
        if (!first)
            continue;
        first = false;
        const char *said = strstr(at, about);
        fputs("<title id=\"chart-title\">", out);
        fsim_markup(out, words->title);
        fputs("</title>\n<desc id=\"chart-about\">", out);
        fsim_markup(out, words->about);
        fputs("</desc>", out);
        at = said ? said + strlen(about) : at;
    }
    put_tips(out, words);
    fputs(last, out);
}
