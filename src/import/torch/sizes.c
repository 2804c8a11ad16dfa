/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c: a value is a fraction p/q in lowest terms, as Rational(1, 2) and true division make them; sizes end as
 * integers. */
#include "import/torch/sizes.h"

#include <ctype.h>
#include <string.h>

enum { MOST_DEPTH = 64, MOST_TERMS = 256 };

typedef struct {
    int64_t p, q; /* q > 0 */
} fraction;

typedef struct {
    const char *at;
    const fsim_torch_symbols *of;
    const char *why; /* NULL: good so far */
    int depth;
} parser;

static fraction failed(parser *x, const char *why)
{
    if (!x->why)
        x->why = why;
    return (fraction){0, 1};
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static fraction lowest(parser *x, int64_t p, int64_t q)
{
    if (q == 0)
        return failed(x, "a division by zero");
    if (q == INT64_MIN || p == INT64_MIN)
        return failed(x, "a number beyond 64 bits");
    const int64_t g = gcd(p < 0 ? -p : p, q < 0 ? -q : q), sign = q < 0 ? -1 : 1;
    return (fraction){sign * p / g, sign * q / g};
}

static fraction add(parser *x, fraction a, fraction b)
{
    int64_t l, r, p, q;
    if (__builtin_mul_overflow(a.p, b.q, &l) || __builtin_mul_overflow(b.p, a.q, &r) ||
        __builtin_add_overflow(l, r, &p) || __builtin_mul_overflow(a.q, b.q, &q))
        return failed(x, "a number beyond 64 bits");
    return lowest(x, p, q);
}

static fraction multiply(parser *x, fraction a, fraction b)
{
    int64_t p, q;
    if (__builtin_mul_overflow(a.p, b.p, &p) || __builtin_mul_overflow(a.q, b.q, &q))
        return failed(x, "a number beyond 64 bits");
    return lowest(x, p, q);
}

static fraction divide(parser *x, fraction a, fraction b)
{
    return b.p == 0 ? failed(x, "a division by zero")
                    : multiply(x, a, b.p == INT64_MIN ? failed(x, "a number beyond 64 bits") : lowest(x, b.q, b.p));
}

static fraction floor_of(fraction a)
{
    const int64_t down = a.p / a.q;
    return (fraction){down - (a.p % a.q < 0), 1};
}

static fraction ceil_of(fraction a)
{
    const int64_t down = a.p / a.q;
    return (fraction){down + (a.p % a.q > 0), 1};
}

static fraction trunc_of(fraction a) { return (fraction){a.p / a.q, 1}; }

static fraction minus(fraction a) { return (fraction){-a.p, a.q}; } /* p is never INT64_MIN */

/* Is a less than b? */
static bool less(parser *x, fraction a, fraction b) { return add(x, a, minus(b)).p < 0; }

static fraction power(parser *x, fraction base, fraction exponent)
{
    fraction y = {1, 1};
    if (exponent.q != 1 || exponent.p > 64 || exponent.p < -64)
        return failed(x, "a power that is no small integer");
    for (int64_t i = exponent.p < 0 ? -exponent.p : exponent.p; i > 0 && !x->why; i--)
        y = multiply(x, y, base);
    return exponent.p < 0 ? divide(x, (fraction){1, 1}, y) : y;
}

/* What functions of any number of arguments do with two of them. */
static fraction smaller(parser *x, fraction a, fraction b) { return less(x, a, b) ? a : b; }
static fraction larger(parser *x, fraction a, fraction b) { return less(x, a, b) ? b : a; }
static fraction floor_div(parser *x, fraction a, fraction b) { return floor_of(divide(x, a, b)); }
static fraction ceil_div(parser *x, fraction a, fraction b) { return ceil_of(divide(x, a, b)); }
static fraction modulo(parser *x, fraction a, fraction b)
{
    return add(x, a, minus(multiply(x, floor_div(x, a, b), b)));
}
static fraction truth(bool holds) { return (fraction){holds, 1}; }
static fraction equal(parser *x, fraction a, fraction b) { return truth(add(x, a, minus(b)).p == 0); }
static fraction unequal(parser *x, fraction a, fraction b) { return truth(add(x, a, minus(b)).p != 0); }
static fraction below(parser *x, fraction a, fraction b) { return truth(less(x, a, b)); }
static fraction above(parser *x, fraction a, fraction b) { return truth(less(x, b, a)); }
static fraction at_most(parser *x, fraction a, fraction b) { return truth(!less(x, b, a)); }
static fraction at_least(parser *x, fraction a, fraction b) { return truth(!less(x, a, b)); }
static fraction both(parser *x, fraction a, fraction b)
{
    (void)x;
    return truth(a.p && b.p);
}
static fraction either(parser *x, fraction a, fraction b)
{
    (void)x;
    return truth(a.p || b.p);
}

static const struct {
    const char *name;
    int least, most;
    fraction (*fold)(parser *x, fraction a, fraction b);
} folds[] = {
    {"Add", 1, MOST_TERMS, add},    {"Mul", 1, MOST_TERMS, multiply}, {"Pow", 2, 2, power},
    {"PowByNatural", 2, 2, power},  {"Min", 1, MOST_TERMS, smaller},  {"Max", 1, MOST_TERMS, larger},
    {"FloorDiv", 2, 2, floor_div},  {"CleanDiv", 2, 2, floor_div},    {"CeilDiv", 2, 2, ceil_div},
    {"Mod", 2, 2, modulo},          {"PythonMod", 2, 2, modulo},      {"IntTrueDiv", 2, 2, divide},
    {"FloatTrueDiv", 2, 2, divide}, {"Rational", 2, 2, divide},       {"Equality", 2, 2, equal},
    {"Unequality", 2, 2, unequal},  {"StrictLessThan", 2, 2, below},  {"StrictGreaterThan", 2, 2, above},
    {"LessThan", 2, 2, at_most},    {"GreaterThan", 2, 2, at_least},  {"And", 1, MOST_TERMS, both},
    {"Or", 1, MOST_TERMS, either},
};

static const struct {
    const char *name;
    fraction (*of)(fraction a);
} unaries[] = {
    {"floor", floor_of},    {"FloorToInt", floor_of}, {"ceiling", ceil_of},
    {"CeilToInt", ceil_of}, {"TruncToInt", trunc_of}, {"RoundToInt", floor_of},
    {"ToFloat", NULL},      {"Identity", NULL},       {"TruncToFloat", trunc_of},
};

static bool eat(parser *x, char c)
{
    while (*x->at == ' ')
        x->at++;
    if (*x->at != c)
        return false;
    x->at++;
    return true;
}

static bool is(const char *word, int length, const char *name)
{
    return strlen(name) == (size_t)length && memcmp(word, name, (size_t)length) == 0;
}

static fraction integer(parser *x)
{
    int64_t value = 0;
    while (*x->at == ' ')
        x->at++;
    const bool below_zero = *x->at == '-';
    x->at += below_zero;
    if (!isdigit((unsigned char)*x->at))
        return failed(x, "a number that is no integer");
    for (; isdigit((unsigned char)*x->at); x->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *x->at - '0', &value))
            return failed(x, "a number beyond 64 bits");
    return (fraction){below_zero ? -value : value, 1};
}

/* 'NAME', then assumptions up to the bracket: "positive=True, integer=True". */
static fraction symbol(parser *x)
{
    if (!eat(x, '\''))
        return failed(x, "a symbol without a name");
    const char *name = x->at, *end = strchr(name, '\'');
    int64_t value = 1;
    if (!end || end - name > 255)
        return failed(x, "a symbol without a name");
    x->at = end + 1 + strcspn(end + 1, "()");
    if (!x->of->value(x->of->what, name, (int)(end - name), &value))
        return failed(x, "a symbol without a value");
    return value == INT64_MIN ? failed(x, "a number beyond 64 bits") : (fraction){value, 1};
}

static fraction expression(parser *x);

/* The arguments of a fold, joined two by two. */
static fraction folded(parser *x, size_t which)
{
    fraction y = expression(x);
    int count = 1;
    while (!x->why && eat(x, ',')) {
        const fraction next = expression(x);
        if (++count > folds[which].most)
            return failed(x, "too many operands");
        y = x->why ? y : folds[which].fold(x, y, next);
    }
    return count < folds[which].least ? failed(x, "too few operands") : y;
}

/* ModularIndexing(x, divisor, modulus): x // divisor % modulus. */
static fraction modular(parser *x)
{
    const fraction of = expression(x);
    if (!eat(x, ','))
        return failed(x, "too few operands");
    const fraction divisor = expression(x);
    if (!eat(x, ','))
        return failed(x, "too few operands");
    return modulo(x, floor_div(x, of, divisor), expression(x));
}

/* ExprCondPair(value, condition), ...: the first whose condition holds. */
static fraction piecewise(parser *x)
{
    fraction y = {0, 1};
    bool found = false;
    do {
        while (*x->at == ' ')
            x->at++;
        if (strncmp(x->at, "ExprCondPair(", 13) != 0)
            return failed(x, "a case without a condition");
        x->at += 13;
        const fraction value = expression(x);
        if (!eat(x, ','))
            return failed(x, "a case without a condition");
        const fraction holds = expression(x);
        if (!eat(x, ')'))
            return failed(x, "a bracket that is not closed");
        y = !found && holds.p ? value : y;
        found = found || holds.p;
    } while (!x->why && eat(x, ','));
    return found ? y : failed(x, "no case that holds");
}

static fraction call(parser *x, const char *word, int length)
{
    if (is(word, length, "Symbol"))
        return symbol(x);
    if (is(word, length, "Integer"))
        return integer(x);
    if (is(word, length, "ModularIndexing"))
        return modular(x);
    if (is(word, length, "Piecewise"))
        return piecewise(x);
    if (is(word, length, "Not"))
        return truth(!expression(x).p);
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        if (is(word, length, unaries[i].name)) {
            const fraction y = expression(x);
            return unaries[i].of && !x->why ? unaries[i].of(y) : y;
        }
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (is(word, length, folds[i].name))
            return folded(x, i);
    return failed(x, "a function that sizes do not have");
}

static fraction expression(parser *x)
{
    if (x->why)
        return (fraction){0, 1};
    while (*x->at == ' ')
        x->at++;
    if (isdigit((unsigned char)*x->at) || *x->at == '-')
        return integer(x);
    const char *word = x->at;
    while (isalnum((unsigned char)*x->at) || *x->at == '_' || *x->at == '.')
        x->at++;
    const int length = (int)(x->at - word);
    if (is(word, length, "true") || is(word, length, "false"))
        return truth(*word == 't');
    if (length == 0 || !eat(x, '('))
        return failed(x, "no expression");
    if (++x->depth > MOST_DEPTH)
        return failed(x, "brackets nested too deep");
    const fraction y = call(x, word, length);
    x->depth--;
    if (!x->why && !eat(x, ')'))
        return failed(x, "a bracket that is not closed");
    return y;
}

bool fsim_torch_size(const char *text, const fsim_torch_symbols *of, int64_t *value, const char **why)
{
    parser x = {text, of, NULL, 0};
    const fraction y = expression(&x);
    while (*x.at == ' ')
        x.at++;
    if (!x.why && *x.at)
        failed(&x, "something behind the expression");
    if (!x.why && y.q != 1)
        failed(&x, "a fraction where an integer is wanted");
    *why = x.why;
    *value = y.p;
    return !x.why;
}
