/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/alias.h"

#include <ctype.h>
#include <string.h>

static const fsim_alias aliases[] = {
#define FSIM_ALIAS(name, op, ranks, outs) {name, FSIM_OP_##op, ranks, outs},
#include "graph/alias.def"
};

typedef struct {
    const char *name;
    fsim_op op;
} meaning;
static const meaning meant[] = {
#define FSIM_MEANT(name, op) {name, FSIM_OP_##op},
#include "graph/alias.def"
};

static const struct {
    const char *name, *text;
} instead[] = {
#define FSIM_INSTEAD(name, text) {name, text},
#include "graph/alias.def"
};

static const struct {
    const char *name, *ops, *text;
} attr_instead[] = {
#define FSIM_ATTR_INSTEAD(name, ops, text) {name, ops, text},
#include "graph/alias.def"
};

enum {
    ALIASES = sizeof aliases / sizeof *aliases,
    MEANT = sizeof meant / sizeof *meant,
    INSTEAD = sizeof instead / sizeof *instead,
    ATTRS = sizeof attr_instead / sizeof *attr_instead
};

const fsim_alias *fsim_alias_rows(int *count)
{
    *count = ALIASES;
    return aliases;
}

bool fsim_op_named(const char *name, fsim_op *op, const fsim_alias **alias)
{
    *alias = NULL;
    if (fsim_op_parse(name, op))
        return true;
    for (int i = 0; i < ALIASES; i++)
        if (strcmp(aliases[i].name, name) == 0) {
            *alias = &aliases[i];
            *op = aliases[i].op;
            return true;
        }
    return false;
}

const char *fsim_op_aliases(fsim_arena *a, fsim_op op)
{
    const char *text = "";
    for (int i = 0; i < ALIASES; i++)
        if (aliases[i].op == op)
            text = fsim_printf(a, "%s%s%s", text, *text ? ", " : "", aliases[i].name);
    return text;
}

/* Are the names the same but for case, "_" and what is neither letter nor digit? typed: `length` characters of it. */
static bool alike(const char *typed, size_t length, const char *name)
{
    const char *end = typed + length;
    for (;; typed++, name++) {
        while (typed < end && !isalnum((unsigned char)*typed))
            typed++;
        while (*name && !isalnum((unsigned char)*name))
            name++;
        if (typed >= end || !*name)
            return typed >= end && !*name;
        if (tolower((unsigned char)*typed) != tolower((unsigned char)*name))
            return false;
    }
}

/* "; did you mean 'linear'?" by what a part of a dotted name means; NULL where it means nothing known. */
static const char *meaning_of(fsim_arena *a, const char *part, size_t length)
{
    fsim_op op;
    for (int i = 0; i < FSIM_OP_COUNT; i++)
        if (alike(part, length, fsim_ops[i].name) && fsim_op_parse(fsim_ops[i].name, &op))
            return fsim_printf(a, "; did you mean '%s'?", fsim_ops[i].name);
    for (int i = 0; i < ALIASES; i++)
        if (alike(part, length, aliases[i].name))
            return fsim_printf(a, "; did you mean '%s'?", fsim_ops[aliases[i].op].name);
    for (int i = 0; i < MEANT; i++)
        if (alike(part, length, meant[i].name))
            return fsim_printf(a, "; did you mean '%s'?", fsim_ops[meant[i].op].name);
    for (int i = 0; i < INSTEAD; i++)
        if (alike(part, length, instead[i].name))
            return fsim_printf(a, "; %s", instead[i].text);
    return NULL;
}

/* The nearest by letters among the names that a workload may use. */
static const char *nearest(fsim_arena *a, const char *name)
{
    const char *names[FSIM_OP_COUNT + ALIASES];
    int count = 0;
    fsim_op op;
    for (int i = 0; i < FSIM_OP_COUNT; i++)
        if (fsim_op_parse(fsim_ops[i].name, &op))
            names[count++] = fsim_ops[i].name;
    for (int i = 0; i < ALIASES; i++)
        names[count++] = aliases[i].name;
    return fsim_did_you_mean(a, name, names, count);
}

const char *fsim_unknown_op(fsim_arena *a, const char *name)
{
    const char *said = NULL, *letters;
    size_t end = strlen(name);
    while (end > 0 && !said) { /* "torch.nn.functional.relu", "aten::add.Tensor": its parts, from the last */
        size_t start = end;
        while (start > 0 && !strchr(".:/", name[start - 1]))
            start--;
        said = start < end ? meaning_of(a, name + start, end - start) : NULL;
        if (!said && end - start > 2 && isdigit((unsigned char)name[end - 2]) && name[end - 1] == 'd') /* BatchNorm2d */
            said = meaning_of(a, name + start, end - start - 2);
        end = start > 0 ? start - 1 : 0;
    }
    letters = said ? said : nearest(a, name);
    return fsim_printf(a, "unknown operator '%s'%s", name, *letters ? letters : "; 'fusesim ops' lists them");
}

/* Is word among the words of a list with spaces between, or the list empty? */
static bool is_for(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return !*list;
}

const char *fsim_attr_instead(fsim_op op, const char *name)
{
    for (int i = 0; i < ATTRS; i++)
        if (strcmp(attr_instead[i].name, name) == 0 && is_for(attr_instead[i].ops, fsim_ops[op].name))
            return attr_instead[i].text;
    return NULL;
}
