/* SPDX-License-Identifier: Apache-2.0 */
#include "report/arrange.h"

#include <math.h>
#include <stdlib.h>

enum { SWEEPS = 8, PASS_WIDTH = 10 };

/* What takes a place in a row: a box, or a line that passes. */
typedef struct {
    double width, x, wish;                          /* x: of its middle */
    int row, at;                                    /* at: its place in the row */
    int box;                                        /* -1: a line passes */
    int *up, *down, ups, downs, up_room, down_room; /* items of the rows above and below that it is tied to */
} item;

typedef struct {
    fsim_arrangement *x;
    fsim_arena *a;
    item *item;
    int items, room;
    int **row, *in_row, *row_room, rows; /* items of each row, from left to right */
    int **passes;                        /* per line: the items by which it passes rows */
} work;

/* The row of each box: the first below all that lead to it that has room. */
static void choose_rows(work *w)
{
    fsim_arrangement *x = w->x;
    int *least = fsim_new(w->a, int, x->boxes + 1), *held = fsim_new(w->a, int, x->boxes + 1),
        *first = fsim_new(w->a, int, x->boxes + 1), *next = fsim_new(w->a, int, x->lines + 1);
    for (int i = 0; i < x->lines; i++) { /* lists of the lines that leave a box, numbered from 1 */
        next[i] = first[x->line[i].from];
        first[x->line[i].from] = i + 1;
    }
    for (int b = 0; b < x->boxes; b++) {
        int row = least[b];
        while (held[row] >= x->most_in_row)
            row++;
        held[row]++;
        x->box[b].row = row;
        w->rows = row + 1 > w->rows ? row + 1 : w->rows;
        for (int i = first[b]; i > 0; i = next[i - 1])
            least[x->line[i - 1].to] = row + 1 > least[x->line[i - 1].to] ? row + 1 : least[x->line[i - 1].to];
    }
    /* What nothing leads to moves down to what it leads to. */
    for (int b = x->boxes - 1; b >= 0; b--) {
        int nearest = w->rows;
        for (int i = first[b]; i > 0; i = next[i - 1])
            nearest = x->box[x->line[i - 1].to].row < nearest ? x->box[x->line[i - 1].to].row : nearest;
        if (least[b] > 0 || nearest == w->rows)
            continue;
        int row = nearest - 1;
        while (row > x->box[b].row && held[row] >= x->most_in_row)
            row--;
        held[x->box[b].row]--;
        held[row]++;
        x->box[b].row = row;
    }
}

static int add_item(work *w, item one)
{
    *FSIM_PUSH(w->a, w->item, w->items, w->room) = one;
    const int i = w->items - 1, row = one.row;
    w->item[i].at = w->in_row[row];
    *FSIM_PUSH(w->a, w->row[row], w->in_row[row], w->row_room[row]) = i;
    return i;
}

static void tie(work *w, int upper, int lower)
{
    item *u = &w->item[upper], *l = &w->item[lower];
    *FSIM_PUSH(w->a, u->down, u->downs, u->down_room) = lower;
    *FSIM_PUSH(w->a, l->up, l->ups, l->up_room) = upper;
}

static void make_items(work *w)
{
    fsim_arrangement *x = w->x;
    w->row = fsim_new(w->a, int *, w->rows + 1);
    w->in_row = fsim_new(w->a, int, w->rows + 1);
    w->row_room = fsim_new(w->a, int, w->rows + 1);
    w->passes = fsim_new(w->a, int *, x->lines + 1);
    for (int b = 0; b < x->boxes; b++)
        add_item(w, (item){.width = x->box[b].width, .row = x->box[b].row, .box = b});
    for (int i = 0; i < x->lines; i++) {
        fsim_line *l = &x->line[i];
        const int from = x->box[l->from].row, passed = x->box[l->to].row - from - 1;
        l->far = passed > x->most_passed;
        if (l->far)
            continue;
        w->passes[i] = fsim_new(w->a, int, passed + 1);
        int last = l->from;
        for (int k = 0; k < passed; k++) {
            w->passes[i][k] = add_item(w, (item){.width = PASS_WIDTH, .row = from + 1 + k, .box = -1});
            tie(w, last, w->passes[i][k]);
            last = w->passes[i][k];
        }
        tie(w, last, l->to);
    }
}

/* What qsort compares: the place that an item would like. */
typedef struct {
    double wish;
    int at, item;
} rank;

static int by_wish(const void *a, const void *b)
{
    const rank *x = a, *y = b;
    return x->wish != y->wish ? (x->wish > y->wish) - (x->wish < y->wish) : x->at - y->at;
}

/* Orders a row by the mean place of what its items are tied to above or below. */
static void order_row(work *w, int row, bool by_upper)
{
    const fsim_mark scratch = fsim_save(w->a);
    const int count = w->in_row[row];
    rank *order = fsim_new(w->a, rank, count + 1);
    for (int i = 0; i < count; i++) {
        const item *it = &w->item[w->row[row][i]];
        const int ties = by_upper ? it->ups : it->downs, *to = by_upper ? it->up : it->down;
        double sum = 0;
        for (int k = 0; k < ties; k++)
            sum += (w->item[to[k]].at + 0.5) / w->in_row[w->item[to[k]].row];
        order[i] = (rank){ties ? sum / ties : (i + 0.5) / count, i, w->row[row][i]};
    }
    qsort(order, (size_t)count, sizeof *order, by_wish);
    for (int i = 0; i < count; i++) {
        w->row[row][i] = order[i].item;
        w->item[order[i].item].at = i;
    }
    fsim_rewind(w->a, scratch);
}

static double distance(const work *w, const item *left, const item *right)
{
    const bool boxes = left->box >= 0 && right->box >= 0;
    return (left->width + right->width) / 2 + (boxes ? w->x->gap_x : w->x->gap_x / 2);
}

/* Puts the items of a row where they would like to be, as far as they have room: the mean of pushing all to the right
 * and pushing all to the left. */
static void place_row(work *w, int row)
{
    const fsim_mark scratch = fsim_save(w->a);
    const int count = w->in_row[row], *in = w->row[row];
    double *right = fsim_new(w->a, double, count + 1);
    for (int i = 0; i < count; i++) {
        right[i] = w->item[in[i]].wish;
        if (i > 0)
            right[i] = fmax(right[i], right[i - 1] + distance(w, &w->item[in[i - 1]], &w->item[in[i]]));
    }
    double left = 0;
    for (int i = count - 1; i >= 0; i--) {
        const double wish = w->item[in[i]].wish;
        left = i + 1 < count ? fmin(wish, left - distance(w, &w->item[in[i]], &w->item[in[i + 1]])) : wish;
        w->item[in[i]].x = (left + right[i]) / 2;
    }
    fsim_rewind(w->a, scratch);
}

/* Each item would like to be in the middle of what it is tied to, and a box a little in the middle of the picture:
 * without that, long graphs drift aside. */
static void wish_for(work *w, int row, bool by_upper)
{
    static const double to_the_middle = 0.05;
    for (int i = 0; i < w->in_row[row]; i++) {
        item *it = &w->item[w->row[row][i]];
        const int ties = by_upper ? it->ups : it->downs, *to = by_upper ? it->up : it->down;
        double sum = 0;
        for (int k = 0; k < ties; k++)
            sum += w->item[to[k]].x;
        it->wish = ties ? sum / (ties + (it->box >= 0 ? to_the_middle : 0)) : it->x;
    }
    place_row(w, row);
}

static void place(work *w)
{
    for (int s = 0; s < SWEEPS; s++)
        for (int r = 0; r < w->rows; r++)
            order_row(w, s % 2 ? w->rows - 1 - r : r, s % 2 == 0);
    for (int r = 0; r < w->rows; r++)
        place_row(w, r);
    for (int s = 0; s <= SWEEPS; s++)
        for (int r = 0; r < w->rows; r++)
            wish_for(w, s % 2 ? w->rows - 1 - r : r, s % 2 == 0);
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < w->items; i++) {
        least = fmin(least, w->item[i].x - w->item[i].width / 2);
        most = fmax(most, w->item[i].x + w->item[i].width / 2);
    }
    for (int i = 0; i < w->items; i++)
        w->item[i].x -= least;
    w->x->width = w->items > 0 ? most - least : 0;
}

/* The top and the height of each row. */
static void stack_rows(work *w, double *top, double *height)
{
    fsim_arrangement *x = w->x;
    for (int b = 0; b < x->boxes; b++)
        height[x->box[b].row] = fmax(height[x->box[b].row], x->box[b].height);
    double y = 0;
    for (int r = 0; r < w->rows; r++) {
        top[r] = y;
        y += height[r] + x->gap_y;
    }
    x->height = w->rows > 0 ? y - x->gap_y : 0;
    for (int b = 0; b < x->boxes; b++) {
        x->box[b].x = w->item[b].x - x->box[b].width / 2;
        x->box[b].y = top[x->box[b].row];
    }
}

/* A line at a box, and the direction that it comes from. */
typedef struct {
    int box, line;
    double towards;
} port;

static int by_direction(const void *a, const void *b)
{
    const port *x = a, *y = b;
    return x->box != y->box           ? x->box - y->box
           : x->towards != y->towards ? (x->towards > y->towards) - (x->towards < y->towards)
                                      : x->line - y->line;
}

/* Lines that end at a box, or those that begin there, are spread over its width. */
static void spread(work *w, bool at_end)
{
    fsim_arrangement *x = w->x;
    port *ports = fsim_new(w->a, port, x->lines + 1);
    int count = 0;
    for (int i = 0; i < x->lines; i++) {
        const fsim_line *l = &x->line[i];
        if (l->far)
            continue;
        const int passed = x->box[l->to].row - x->box[l->from].row - 1;
        const int other = passed > 0 ? w->passes[i][at_end ? passed - 1 : 0] : at_end ? l->from : l->to;
        ports[count++] = (port){at_end ? l->to : l->from, i, w->item[other].x};
    }
    if (count > 0)
        qsort(ports, (size_t)count, sizeof *ports, by_direction);
    for (int i = 0, end; i < count; i = end) {
        for (end = i; end < count && ports[end].box == ports[i].box;)
            end++;
        const fsim_box *b = &x->box[ports[i].box];
        for (int k = i; k < end; k++) {
            fsim_line *l = &x->line[ports[k].line];
            const double at = b->x + b->width * (k - i + 1) / (end - i + 1);
            l->at[at_end ? l->places - 1 : 0] = (fsim_place){at, at_end ? b->y : b->y + b->height};
            if (!at_end)
                l->at[1].x = at;
        }
    }
}

static void draw_lines(work *w, const double *top, const double *height)
{
    fsim_arrangement *x = w->x;
    for (int i = 0; i < x->lines; i++) {
        fsim_line *l = &x->line[i];
        const int from = x->box[l->from].row, passed = l->far ? 0 : x->box[l->to].row - from - 1;
        l->places = l->far ? 0 : 3 + 2 * passed;
        l->at = fsim_new(w->a, fsim_place, l->places + 1);
        if (!l->far)
            l->at[1].y = top[from] + height[from];
        for (int k = 0; k < passed; k++) {
            const double at = w->item[w->passes[i][k]].x;
            l->at[2 + 2 * k] = (fsim_place){at, top[from + 1 + k]};
            l->at[3 + 2 * k] = (fsim_place){at, top[from + 1 + k] + height[from + 1 + k]};
        }
    }
    spread(w, false);
    spread(w, true);
}

void fsim_arrange(fsim_arrangement *x, fsim_arena *a)
{
    work w = {.x = x, .a = a};
    choose_rows(&w);
    make_items(&w);
    place(&w);
    double *top = fsim_new(a, double, w.rows + 1), *height = fsim_new(a, double, w.rows + 1);
    stack_rows(&w, top, height);
    draw_lines(&w, top, height);
}
