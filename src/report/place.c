/* SPDX-License-Identifier: Apache-2.0 */
#include "report/place.h"

#include <math.h>

bool fsim_place_is_free(const fsim_places *p, const fsim_area *b)
{
    if (b->left < p->in.left || b->right > p->in.right || b->top < p->in.top || b->bottom > p->in.bottom)
        return false;
    for (int i = 0; i < p->count; i++)
        if (b->left < p->taken[i].right && b->right > p->taken[i].left && b->top < p->taken[i].bottom &&
            b->bottom > p->taken[i].top)
            return false;
    return true;
}

void fsim_place_take(fsim_places *p, fsim_area b) { *FSIM_PUSH(p->c->a, p->taken, p->count, p->room) = b; }

fsim_area fsim_place_of_words(double x, double y, const char *text, double size)
{
    const double half = fsim_words_px(text, size) / 2 + 2;
    return (fsim_area){x - half, y - size * 0.6, x + half, y + size * 0.6};
}

/* Does a line from the mark to its label avoid all other marks and labels? Those that it touches itself don't count. */
static bool is_clear(const fsim_places *p, const fsim_labelled *m, double to_x, double to_y)
{
    const double length = hypot(to_x - m->x, to_y - m->y), r = m->radius;
    for (int i = p->marks_from; i < p->count; i++) {
        const fsim_area *b = &p->taken[i];
        if (m->x + r > b->left && m->x - r < b->right && m->y + r > b->top && m->y - r < b->bottom)
            continue;
        for (double at = 0; at <= length; at += 2) {
            const double x = m->x + (to_x - m->x) * at / length, y = m->y + (to_y - m->y) * at / length;
            if (x > b->left && x < b->right && y > b->top && y < b->bottom)
                return false;
        }
    }
    return true;
}

enum { DIRECTIONS = 16 };

static bool put_at(fsim_places *p, const fsim_labelled *m, const char *text, int ring, int direction)
{
    /* right, left, above, below, then the directions between them */
    static const int order[DIRECTIONS] = {0, 8, 4, 12, 2, 6, 10, 14, 1, 7, 9, 15, 3, 5, 11, 13};
    const double half = fsim_words_px(text, m->size) / 2 + 2, line = m->size * 0.6;
    const double turn = 2 * acos(-1) * order[direction] / DIRECTIONS, away = m->radius + 1 + 11 * ring;
    const double x = m->x + cos(turn) * (away + half), y = m->y - sin(turn) * (away + line);
    const double end_x = x - cos(turn) * half, end_y = y + sin(turn) * line;
    const fsim_area b = fsim_place_of_words(x, y, text, m->size);
    if (!fsim_place_is_free(p, &b) || !is_clear(p, m, end_x, end_y))
        return false;
    fsim_place_take(p, b);
    fsim_put_words(p->c, &(fsim_words_at){x, y, FSIM_WORDS_CENTER, m->size, m->ink, 0}, text);
    if (ring > 0)
        fsim_put_line(p->c, (fsim_area){m->x, m->y, end_x, end_y}, (fsim_pen){0.8, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    return true;
}

bool fsim_place_label(fsim_places *p, const fsim_labelled *at, const char *text, int rings)
{
    for (int ring = 0; ring < rings; ring++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            if (put_at(p, at, text, ring, direction))
                return true;
    return false;
}
