/* SPDX-License-Identifier: Apache-2.0 */
#include "input/expr.h"

#include "input/routing.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_NESTING = 64 };
static const int64_t MOST_ROUTED = INT64_C(1) << 40; /* tokens and the like: whole numbers of a double */

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    fsim_loc at;
    const char *text, *p;
    const fsim_scope *scope;
    int nesting;
    bool up;           /* inside ceil(): divisions round up */
    bool cut;          /* some name or number was divided by another, and the rest was left: */
    int64_t cut_of[2]; /* what by what */
} parser;

static bool fail(parser *s, const char *why)
{
    fsim_error(s->diag, s->at, "expression '%s': %s", s->text, why);
    return false;
}

static char peek(parser *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
    return *s->p;
}

static bool sum(parser *s, int64_t *value);
static bool comparison(parser *s, int64_t *value);

/* min(a, b, ...) and max(a, b, ...), behind their bracket. Who takes the larger of a division and 1 knows that it may
 * not be whole. */
static bool extreme(parser *s, bool most, int64_t *value)
{
    const bool cut = s->cut;
    if (!sum(s, value))
        return false;
    while (peek(s) == ',') {
        int64_t other;
        s->p++;
        if (!sum(s, &other))
            return false;
        *value = (other > *value) == most ? other : *value;
    }
    s->cut = cut;
    return true;
}

/* routed_rows(tokens, experts, topk, ranks, skew), and routed_experts of the same: behind the bracket. */
static bool routed(parser *s, bool rows, int64_t *value)
{
    enum { TOKENS, EXPERTS, TOPK, RANKS, SKEW, NUMBERS };
    int64_t of[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        if (i > 0 && peek(s) != ',')
            return fail(s, "wants (tokens, experts, topk, ranks, skew)");
        s->p += i > 0;
        if (!sum(s, &of[i]))
            return false;
        if (of[i] < (i == SKEW ? 0 : 1) || of[i] > MOST_ROUTED)
            return fail(s, "wants tokens, experts, topk and ranks of 1 at least, a skew of 0 at least");
    }
    const fsim_routing r = {(double)of[TOKENS], (double)of[EXPERTS], (double)of[TOPK], (double)of[RANKS],
                            (double)of[SKEW]};
    const double number = rows ? ceil(fsim_routed_rows(&r)) : round(fsim_routed_experts(&r));
    if (!(number < (double)MOST_ROUTED))
        return fail(s, "overflows 64 bits");
    *value = (int64_t)number;
    return true;
}

/* A function's value, behind the bracket of its arguments. */
static bool call(parser *s, const char *word, int64_t *value)
{
    enum { FUNCTIONS = 5 };
    static const char *const functions[FUNCTIONS] = {"min", "max", "ceil", "routed_rows", "routed_experts"};
    const bool up = s->up;
    bool ok;
    if (strcmp(word, "ceil") == 0) {
        s->up = true;
        ok = sum(s, value);
        s->up = up;
    } else if (strcmp(word, "min") == 0 || strcmp(word, "max") == 0) {
        ok = extreme(s, word[1] == 'a', value);
    } else if (strcmp(word, "routed_rows") == 0 || strcmp(word, "routed_experts") == 0) {
        ok = routed(s, word[7] == 'r', value);
    } else {
        fsim_error(s->diag, s->at,
                   "expression '%s': no function '%s'%s; there are min, max, ceil, routed_rows, routed_experts",
                   s->text, word, fsim_did_you_mean(s->arena, word, functions, FUNCTIONS));
        return false;
    }
    if (!ok || (peek(s) != ')' && !fail(s, "wants ')'")))
        return false;
    s->p++;
    return true;
}

/* The name that stands here, behind which s->p is then. */
static const char *word_of(parser *s)
{
    const char *from = s->p;
    while (isalnum((unsigned char)*s->p) || *s->p == '_')
        s->p++;
    return fsim_strndup(s->arena, from, (size_t)(s->p - from));
}

static bool name(parser *s, int64_t *value)
{
    const char *word = word_of(s);
    if (peek(s) == '(') {
        s->p++;
        return call(s, word, value);
    }
    if (s->scope->value(s->scope->scope, word, value))
        return true;
    fsim_error(s->diag, s->at, "unknown symbol '%s'%s", word,
               fsim_did_you_mean(s->arena, word, s->scope->names, s->scope->count));
    return false;
}

static bool number(parser *s, int64_t *value)
{
    int64_t n = 0;
    while (isdigit((unsigned char)*s->p))
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->p++ - '0', &n))
            return fail(s, "the number is too large");
    if (isalpha((unsigned char)*s->p) || *s->p == '_' || *s->p == '.')
        return fail(s, "wants a whole number");
    *value = n;
    return true;
}

static bool factor(parser *s, int64_t *value)
{
    const char c = peek(s);
    if (++s->nesting > MAX_NESTING)
        return fail(s, "is nested too deeply");
    bool ok;
    if (c == '(') {
        s->p++;
        ok = comparison(s, value) && (peek(s) == ')' || fail(s, "wants ')'"));
        s->p += ok;
    } else if (c == '-' || c == '+') {
        s->p++;
        ok = factor(s, value);
        if (ok && c == '-' && __builtin_sub_overflow((int64_t)0, *value, value))
            ok = fail(s, "overflows 64 bits");
    } else if (isdigit((unsigned char)c)) {
        ok = number(s, value);
    } else if (isalpha((unsigned char)c) || c == '_') {
        ok = name(s, value);
    } else {
        ok = fail(s, c ? "wants a number, a symbol or '('" : "ends too early");
    }
    s->nesting--;
    return ok;
}

static bool product(parser *s, int64_t *value)
{
    bool bare = isalnum((unsigned char)peek(s)), mine = false; /* one name or number, so far; a rest was left here */
    if (!factor(s, value))
        return false;
    for (char c; c = peek(s), c == '*' || c == '/' || c == '%'; bare = false) {
        int64_t right;
        s->p++;
        const bool by_one = isalnum((unsigned char)peek(s));
        if (!factor(s, &right))
            return false;
        if (c == '*') {
            s->cut = s->cut && !(mine && right == s->cut_of[1]); /* rounded down to a multiple, as is meant */
            if (__builtin_mul_overflow(*value, right, value))
                return fail(s, "overflows 64 bits");
            continue;
        }
        if (right == 0)
            return fail(s, "divides by zero");
        if (*value == INT64_MIN && right == -1)
            return fail(s, "overflows 64 bits");
        const int64_t rest = *value % right;
        if (c == '/' && bare && by_one && !s->up && !s->cut && rest != 0) {
            s->cut = mine = true;
            s->cut_of[0] = *value;
            s->cut_of[1] = right;
        }
        *value = c == '%' ? rest : *value / right + (s->up && rest != 0 && (rest < 0) == (right < 0));
    }
    return true;
}

static bool sum(parser *s, int64_t *value)
{
    if (!product(s, value))
        return false;
    for (char c; c = peek(s), c == '+' || c == '-';) {
        int64_t right;
        s->p++;
        if (!product(s, &right))
            return false;
        if (c == '+' ? __builtin_add_overflow(*value, right, value) : __builtin_sub_overflow(*value, right, value))
            return fail(s, "overflows 64 bits");
    }
    return true;
}

typedef enum { EQUAL, UNEQUAL, AT_MOST, AT_LEAST, LESS, MORE, COMPARISONS } relation;

/* The comparison that stands here, behind which s->p is then; COMPARISONS: none. */
static relation relation_at(parser *s)
{
    static const char *const text[COMPARISONS] = {"==", "!=", "<=", ">=", "<", ">"};
    peek(s);
    for (int r = 0; r < COMPARISONS; r++)
        if (strncmp(s->p, text[r], strlen(text[r])) == 0) {
            s->p += strlen(text[r]);
            return (relation)r;
        }
    return COMPARISONS;
}

/* The dtype that stands here, behind which s->p is then; -1, and s->p as it was: none does. */
static int dtype_at(parser *s)
{
    const char c = peek(s), *from = s->p;
    const int dtype = s->scope->dtype && isalpha((unsigned char)c) ? s->scope->dtype(s->scope->scope, word_of(s)) : -1;
    s->p = dtype < 0 ? from : s->p;
    return dtype;
}

/* A dtype was read: it is, or is not, another. */
static bool dtypes(parser *s, int left, int64_t *value)
{
    const relation how = relation_at(s);
    if (how != EQUAL && how != UNEQUAL)
        return fail(s, "a dtype can only be compared with another, by == or !=");
    const int right = dtype_at(s);
    if (right < 0)
        return fail(s, "wants a dtype, or a symbol that is one, behind the comparison");
    *value = (left == right) == (how == EQUAL);
    return true;
}

static bool comparison(parser *s, int64_t *value)
{
    const int dtype = dtype_at(s);
    int64_t right;
    if (dtype >= 0)
        return dtypes(s, dtype, value);
    if (!sum(s, value))
        return false;
    const relation how = relation_at(s);
    if (how == COMPARISONS)
        return true;
    if (!sum(s, &right))
        return false;
    const bool holds[COMPARISONS] = {*value == right, *value != right, *value <= right, *value >= right,
                                     *value<right, *value> right};
    *value = holds[how];
    return true;
}

bool fsim_eval(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *text, const fsim_scope *scope, int64_t *value)
{
    parser s = {.arena = a, .diag = d, .at = at, .text = text, .p = text, .scope = scope};
    if (!comparison(&s, value) || (peek(&s) != '\0' && !fail(&s, "has something behind its end")))
        return false;
    if (s.cut)
        fsim_warning(d, at, "expression '%s': %lld / %lld is not whole, and counts as %lld; ceil() rounds up", text,
                     (long long)s.cut_of[0], (long long)s.cut_of[1], (long long)(s.cut_of[0] / s.cut_of[1]));
    return true;
}
