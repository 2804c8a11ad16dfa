/* SPDX-License-Identifier: Apache-2.0 */
/* serving_option.c: what an entry of `calls:` may say beside the numbers that its kernel wants: serving_option.def. */
#include "graph/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *kernels;
    int64_t most;
} row[FSIM_SERVING_OPTIONS] = {
#define FSIM_SERVING_OPTION(id, name, kernels, most, meaning) {name, kernels, most},
#include "graph/serving_option.def"
#undef FSIM_SERVING_OPTION
};

/* Lengths that stand for those of a larger batch. */
enum { MOST_LENGTHS = 256 };

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

int fsim_serving_option_names(const char *kernel, const char **name)
{
    int count = 0;
    for (int i = 0; i < FSIM_SERVING_OPTIONS; i++)
        if (has_word(row[i].kernels, kernel))
            name[count++] = row[i].name;
    return count;
}

static bool read_number(fsim_reader *r, const fsim_yaml *y, int i, int64_t least, double most, double *value)
{
    int64_t number = 0;
    if (!fsim_read_int(r, y, row[i].name, &number))
        return false;
    if (number < least || (double)number > most) {
        fsim_error(r->diag, y->at, "'%s' is %lld; wants %lld to %.0f", row[i].name, (long long)number, (long long)least,
                   most);
        return false;
    }
    *value = (double)number;
    return true;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool read_lengths(fsim_reader *r, const fsim_yaml *y, double requests, double room, fsim_serving_call *call)
{
    if (y->kind != FSIM_YAML_SEQUENCE || y->count != requests) {
        fsim_error(r->diag, y->at, "'lengths' wants a list with the cached tokens of each of %.0f requests; found %d",
                   requests, y->kind == FSIM_YAML_SEQUENCE ? y->count : 1);
        return false;
    }
    call->length = fsim_new(r->arena, double, y->count);
    call->lengths = y->count;
    for (int i = 0; i < y->count; i++)
        if (!read_number(r, y->item[i], FSIM_SERVING_LENGTHS, 1, room, &call->length[i]))
            return false;
    qsort(call->length, (size_t)call->lengths, sizeof *call->length, by_size);
    return true;
}

/* The normal distribution's quantile u, by halving. */
static double normal_quantile(double u)
{
    double low = -9, high = 9;
    for (int i = 0; i < 48; i++) {
        const double z = (low + high) / 2;
        *(erfc(-z / sqrt(2.0)) / 2 < u ? &low : &high) = z;
    }
    return (low + high) / 2;
}

/* Quantiles of the log-normal distribution of this mean and deviation, of which each request has the middle of its
 * share, scaled so that their mean is the mean. Lengths of conversations are above 0 and have a long tail upwards. */
static void draw_lengths(fsim_reader *r, double requests, double mean, fsim_serving_call *call)
{
    const int n = (int)fmin(requests, MOST_LENGTHS);
    const double ratio = call->option[FSIM_SERVING_SPREAD] / mean, width = sqrt(log1p(ratio * ratio));
    double sum = 0;
    if (n < 2) /* one request has the mean */
        return;
    call->length = fsim_new(r->arena, double, n);
    call->lengths = n;
    for (int i = 0; i < n; i++)
        sum += call->length[i] = exp(width * normal_quantile((i + 0.5) / n));
    for (int i = 0; i < n; i++)
        call->length[i] = fmax(1, call->length[i] * mean * n / sum);
}

bool fsim_read_serving_options(fsim_reader *r, const fsim_yaml *y, double requests, double length,
                               fsim_serving_call *call)
{
    const fsim_yaml *lengths = fsim_yaml_get(y, row[FSIM_SERVING_LENGTHS].name);
    for (int i = 0; i < FSIM_SERVING_OPTIONS; i++) {
        const fsim_yaml *value = fsim_yaml_get(y, row[i].name);
        if (i != FSIM_SERVING_LENGTHS && value && !read_number(r, value, i, 0, (double)row[i].most, &call->option[i]))
            return false;
    }
    if (lengths && call->option[FSIM_SERVING_SPREAD] > 0) {
        fsim_error(r->diag, lengths->at, "'lengths' has each request's tokens, 'spread' draws them: one of both");
        return false;
    }
    if (lengths)
        return read_lengths(r, lengths, requests, length, call);
    if (call->option[FSIM_SERVING_SPREAD] > 0 && length > 0)
        draw_lengths(r, requests, length, call);
    return true;
}
