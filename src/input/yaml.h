/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h: YAML as a small tree with positions. Only yaml.c includes <yaml.h>. */
#ifndef FUSESIM_INPUT_YAML_H
#define FUSESIM_INPUT_YAML_H

#include "base/diag.h"

enum { FSIM_YAML_MAX_DEPTH = 64, FSIM_YAML_MAX_NODES = 4000000 };
typedef enum { FSIM_YAML_SCALAR, FSIM_YAML_SEQUENCE, FSIM_YAML_MAPPING } fsim_yaml_kind;

typedef struct fsim_yaml {
    fsim_yaml_kind kind;
    fsim_loc at;
    const char *text;        /* scalar: its value */
    bool quoted;             /* scalar: it was in quotes */
    int count;               /* items, or pairs */
    struct fsim_yaml **item; /* sequence: items; mapping: values */
    struct fsim_yaml **key;  /* mapping: keys, always scalars */
} fsim_yaml;

/* Parses the one document in text. NULL after errors: syntax, anchors, aliases, merge keys and tags (refused by
 * name), a second document, duplicate keys, keys that are not scalars, depth, size, an embedded NUL, an empty
 * document. In a. */
const fsim_yaml *fsim_yaml_parse(fsim_arena *a, fsim_diag *d, const char *file, const char *text, size_t bytes);
/* The same for a file that its user knows as JSON, which YAML includes: messages about its syntax say so. */
const fsim_yaml *fsim_yaml_parse_json(fsim_arena *a, fsim_diag *d, const char *file, const char *text, size_t bytes);

/* The value of key, or NULL. */
const fsim_yaml *fsim_yaml_get(const fsim_yaml *map, const char *key);
/* Reports each key of map that is not among names ("unknown key 'shap' in a tensor; did you mean 'shape'? its keys
 * are ..."). what: a word for the map, "a tensor". */
void fsim_yaml_check_keys(fsim_arena *a, fsim_diag *d, const fsim_yaml *map, const char *what, const char *const *names,
                          int count);
const char *fsim_yaml_kind_name(const fsim_yaml *node); /* "a list", "a mapping", "a value" */

#endif
