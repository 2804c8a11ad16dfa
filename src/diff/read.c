/* SPDX-License-Identifier: Apache-2.0 */
/* JSON is read as YAML, which includes it, so that errors have positions. */
#include "diff/read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const fsim_yaml *fsim_filed_get(const fsim_filed_reader *r, const fsim_yaml *map, const char *key, fsim_yaml_kind kind)
{
    static const char *const wanted[] = {"a value", "a list", "a mapping"};
    const fsim_yaml *found = map->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(map, key) : NULL;
    if (!found)
        fsim_error(r->d, map->at, "'%s' is missing here: this is not what %s writes", key, r->writer);
    else if (found->kind != kind)
        fsim_error(r->d, found->at, "'%s' is %s; wanted %s", key, fsim_yaml_kind_name(found), wanted[kind]);
    return found && found->kind == kind ? found : NULL;
}

const char *fsim_filed_text(const fsim_filed_reader *r, const fsim_yaml *map, const char *key)
{
    const fsim_yaml *found = fsim_filed_get(r, map, key, FSIM_YAML_SCALAR);
    return found ? found->text : "";
}

double fsim_filed_number(const fsim_filed_reader *r, const fsim_yaml *map, const char *key)
{
    const fsim_yaml *found = fsim_filed_get(r, map, key, FSIM_YAML_SCALAR);
    char *end = NULL;
    const double x = found ? strtod(found->text, &end) : 0;
    if (!found || (end != found->text && !*end && !found->quoted && isfinite(x) && x >= 0))
        return x;
    fsim_error(r->d, found->at, "'%s' is '%s'; wanted a number that is not negative", key, found->text);
    return 0;
}

fsim_sum fsim_filed_count(const fsim_filed_reader *r, const fsim_yaml *map, const char *key)
{
    const fsim_yaml *found = fsim_filed_get(r, map, key, FSIM_YAML_SCALAR);
    char *end = NULL;
    errno = 0;
    const long long x = found ? strtoll(found->text, &end, 10) : 0;
    if (!found || (end != found->text && !*end && !found->quoted && errno == 0 && x >= 0))
        return x;
    fsim_error(r->d, found->at, "'%s' is '%s'; wanted a whole number that is not negative", key, found->text);
    return 0;
}

const char **fsim_filed_names(const fsim_filed_reader *r, const fsim_yaml *map, const char *key, int *count)
{
    const fsim_yaml *list = fsim_filed_get(r, map, key, FSIM_YAML_SEQUENCE);
    const char **name = fsim_new(r->a, const char *, (list ? list->count : 0) + 1);
    *count = 0;
    for (int i = 0; list && i < list->count; i++)
        if (list->item[i]->kind == FSIM_YAML_SCALAR)
            name[(*count)++] = list->item[i]->text;
        else
            fsim_error(r->d, list->item[i]->at, "%s in '%s'; wanted names", fsim_yaml_kind_name(list->item[i]), key);
    return name;
}

double fsim_filed_maybe(const fsim_filed_reader *r, const fsim_yaml *map, const char *key)
{
    return fsim_filed_word(map, key) ? fsim_filed_number(r, map, key) : (double)NAN;
}

const char *fsim_filed_word(const fsim_yaml *map, const char *key)
{
    const fsim_yaml *found = fsim_yaml_get(map, key);
    return found && found->kind == FSIM_YAML_SCALAR && (found->quoted || strcmp(found->text, "null") != 0) ? found->text
                                                                                                           : NULL;
}
