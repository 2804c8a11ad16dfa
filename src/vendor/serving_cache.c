/* SPDX-License-Identifier: Apache-2.0 */
#include "vendor/serving_cache.h"

#include "vendor/constants.h"
#include <math.h>

/* Request i of c's. */
static double length_of(const fsim_cache *c, int i) { return c->call->lengths > 0 ? c->call->length[i] : c->s; }
static int lengths_of(const fsim_cache *c) { return c->call->lengths > 0 ? c->call->lengths : 1; }

static double page_of(const fsim_cache *c)
{
    return c->call->option[FSIM_SERVING_PAGE] > 0 ? c->call->option[FSIM_SERVING_PAGE] : serving_page_tokens;
}

double fsim_window_steps(double window, double begin, double end, double keys)
{
    return ceil(end / keys) - (window > 0 ? floor(fmax(0, begin + 1 - window) / keys) : 0);
}

static double steps_of(const fsim_cache *c, int i)
{
    const double length = length_of(c, i);
    return fsim_window_steps(c->call->option[FSIM_SERVING_WINDOW], length - 1, length, c->keys);
}

/* Tokens of whole pages, from the one of the first key that is seen. */
static double in_pages(double length, double seen, double page)
{
    return page * (ceil(length / page) - floor((length - seen) / page));
}

double fsim_cache_tokens(const fsim_cache *c)
{
    const double window = c->call->option[FSIM_SERVING_WINDOW];
    const int n = lengths_of(c);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double length = length_of(c, i), seen = window > 0 ? fmin(window, length) : length;
        sum += seen + fmax(0, in_pages(length, seen, page_of(c)) - in_pages(length, seen, serving_page_tokens));
    }
    return sum / n;
}

double fsim_cache_table_bytes(const fsim_cache *c)
{
    enum { ENTRY = 4 };
    const int n = lengths_of(c);
    double pages = 0;
    for (int i = 0; i < n; i++)
        pages += ceil(length_of(c, i) / page_of(c)) - ceil(length_of(c, i) / serving_page_tokens);
    return ENTRY * pages / n;
}

double fsim_cache_most_steps(const fsim_cache *c)
{
    double most = 0;
    for (int i = 0; i < lengths_of(c); i++)
        most = fmax(most, steps_of(c, i));
    return most;
}

/* Requests are in order of their lengths, so that with a window, too, none has fewer steps than the one before, but for
 * where the window begins in a step. The longest of k out of n, whichever they are: number i, from 1, with the
 * probability C(i - 1, k - 1) / C(n, k). */
fsim_cache_steps fsim_cache_steps_of(const fsim_cache *c, double parts, double rounds)
{
    const int n = lengths_of(c), k = (int)fmax(1, fmin(n, floor(n / rounds + 0.5)));
    fsim_cache_steps out = {0};
    double share = (double)k / n; /* that the longest is number n */
    for (int i = n; i >= 1; i--) {
        const double steps = ceil(steps_of(c, i - 1) / parts);
        out.mean += steps / n;
        out.most = fmax(out.most, steps);
        out.last += i >= k ? share * steps : 0;
        share *= i > 1 ? fmax(0, i - k) / (i - 1) : 0;
    }
    if (n == 1)
        out.mean = out.last = out.most;
    return out;
}
