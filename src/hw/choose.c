/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/choose.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 8, LONGEST = 32 };

/* A name's words in lower case, without vendors, product lines and memory types: a100, sxm4, 80gb. */
typedef struct {
    char word[MOST_WORDS][LONGEST];
    int count;
} words;

/* Does the word tell no two GPUs apart? Drivers say "NVIDIA H100 80GB HBM3". */
static bool says_nothing(const char *word)
{
    static const char *const filler[] = {"nvidia", "tesla",      "geforce",   "amd",         "instinct", "radeon",
                                         "gpu",    "yaml",       "yml",       "hbm2",        "hbm2e",    "hbm3",
                                         "hbm3e",  "generation", "blackwell", "workstation", "server",   "edition",
                                         "grace",  "hopper",     "google"};
    for (size_t i = 0; i < sizeof filler / sizeof *filler; i++)
        if (strcmp(word, filler[i]) == 0)
            return true;
    return false;
}

static words words_of(const char *name)
{
    words w = {.count = 0};
    while (*name && w.count < MOST_WORDS) {
        size_t length = 0;
        char *word = w.word[w.count];
        for (; isalnum((unsigned char)*name); name++)
            if (length < LONGEST - 1)
                word[length++] = (char)tolower((unsigned char)*name);
        word[length] = '\0';
        w.count += length > 0 && !says_nothing(word);
        name += *name != '\0';
    }
    return w;
}

/* Is `word` a word of w without the x at its end: mi300 of mi300x? Other letters tell products apart: l40 and l40s. */
static bool is_stem(const words *w, const char *word)
{
    const size_t length = strlen(word);
    for (int i = 0; i < w->count; i++)
        if (isdigit((unsigned char)word[length - 1]) && strncmp(w->word[i], word, length) == 0 &&
            strcmp(w->word[i] + length, "x") == 0)
            return true;
    return false;
}

/* Is `word` a word of w, one without its "gb" ("80"), or several consecutive words joined ("rtx4090")? */
static bool has_word(const words *w, const char *word)
{
    const size_t length = strlen(word);
    for (int first = 0; first < w->count; first++) {
        const char *rest = word;
        if (strcmp(word, "sxm") == 0 && strncmp(w->word[first], word, length) == 0)
            return true;
        if (strncmp(w->word[first], word, length) == 0 && strcmp(w->word[first] + length, "gb") == 0)
            return true;
        for (int i = first; i < w->count && strncmp(rest, w->word[i], strlen(w->word[i])) == 0; i++) {
            rest += strlen(w->word[i]);
            if (*rest == '\0')
                return true;
        }
    }
    return false;
}

/* Do the two names differ only in case and punctuation? */
static bool same_words(const char *x, const char *y)
{
    const words pair[2] = {words_of(x), words_of(y)};
    char joined[2][MOST_WORDS * LONGEST] = {"", ""};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < pair[i].count; k++)
            strcat(joined[i], pair[i].word[k]);
    return strcmp(joined[0], joined[1]) == 0;
}

/* Does the word name a variant of a GPU: its form factor, or its memory size? */
static bool is_variant(const char *word)
{
    const size_t length = strlen(word);
    return strncmp(word, "sxm", 3) == 0 || strncmp(word, "pcie", 4) == 0 || strncmp(word, "nvl", 3) == 0 ||
           (length > 2 && strcmp(word + length - 2, "gb") == 0);
}

/* Does a word that was not typed, behind one that was, name another product: the ultra of m3-ultra, typed as m3? */
static bool is_another_product(const words *typed, const words *known)
{
    bool begun = false;
    for (int k = 0; k < known->count; k++) {
        bool said = false;
        for (int i = 0; i < typed->count && !said; i++)
            said = strstr(typed->word[i], known->word[k]) ||
                   strncmp(known->word[k], typed->word[i], strlen(typed->word[i])) == 0;
        if (begun && !said && !is_variant(known->word[k]))
            return true;
        begun = begun || said;
    }
    return false;
}

/* Does the known GPU have all typed words, and does one of them name more than a variant? stems: a word may lack the
 * x at its end. */
static bool is_meant(const words *typed, const char *known, bool stems)
{
    const words w = words_of(known);
    bool all = true, named = false;
    for (int i = 0; i < typed->count; i++) {
        all = all && (has_word(&w, typed->word[i]) || (stems && is_stem(&w, typed->word[i])));
        named = named || !is_variant(typed->word[i]);
    }
    return all && named && !is_another_product(typed, &w);
}

bool fsim_hw_means(const char *name, const char *known)
{
    const words typed = words_of(name);
    return is_meant(&typed, known, false);
}

/* Are x and y variants of the same GPU? */
static bool same_family(const char *x, const char *y)
{
    const words a = words_of(x), b = words_of(y);
    int i = 0;
    while (i < a.count && i < b.count && strcmp(a.word[i], b.word[i]) == 0)
        i++;
    return i > 0 && (i == a.count || is_variant(a.word[i])) && (i == b.count || is_variant(b.word[i]));
}

/* A variant's rank: the highest one is chosen. */
static long rank_of(const char *name)
{
    const words w = words_of(name);
    long rank = 0;
    for (int i = 0; i < w.count; i++)
        if (is_variant(w.word[i]))
            rank += strncmp(w.word[i], "sxm", 3) == 0 ? 1000000 : strtol(w.word[i], NULL, 10);
    return rank;
}

/* The known GPU that the typed words mean, and the other candidates as ", x, y". NULL: there is none, or they are of
 * several families. */
static const char *variant_among(fsim_arena *a, const words *typed, const fsim_hw_folders *where, bool stems,
                                 const char **others)
{
    int count = 0;
    const char **known = fsim_hw_list(a, where, &count, NULL), *best = NULL;
    for (int i = 0; i < count; i++) {
        if (!is_meant(typed, known[i], stems))
            continue;
        if (best && !same_family(best, known[i]))
            return NULL;
        best = !best || rank_of(known[i]) > rank_of(best) ? known[i] : best;
    }
    *others = "";
    for (int i = 0; i < count && best; i++)
        if (known[i] != best && is_meant(typed, known[i], stems))
            *others = fsim_printf(a, "%s, %s", *others, known[i]);
    return best;
}

/* variant_among for a name: by whole words if they mean any, otherwise by words without their last letter. */
static const char *variant_of(fsim_arena *a, const char *name, const fsim_hw_folders *where, const char **others)
{
    const words typed = words_of(name);
    if (strchr(name, '/') || typed.count == 0)
        return NULL;
    const char *whole = variant_among(a, &typed, where, false, others);
    return whole ? whole : variant_among(a, &typed, where, true, others);
}

const char *fsim_hw_choose(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where)
{
    const fsim_loc nowhere = {NULL, 0, 0};
    fsim_diag *aside = fsim_diag_new(a);
    const char *path = fsim_hw_find(a, aside, name, where), *others;
    if (path)
        return path;
    const char *variant = variant_of(a, name, where, &others);
    if (!variant)
        return fsim_hw_find(a, d, name, where);
    path = fsim_hw_find(a, d, variant, where);
    if (path && *others)
        fsim_warning(d, nowhere, "'%s' is taken to be %s; there are also %s", name, variant, others + 2);
    else if (path && !same_words(name, variant))
        fsim_warning(d, nowhere, "'%s' is taken to be %s", name, variant);
    return path;
}
