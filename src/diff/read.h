/* SPDX-License-Identifier: Apache-2.0 */
/* read.h: values of the JSON that fusesim wrote. What is missing or of another kind is an error with its place. */
#ifndef FUSESIM_DIFF_READ_H
#define FUSESIM_DIFF_READ_H

#include "base/sum.h"
#include "input/yaml.h"

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *writer; /* "'fusesim plan --json'", for messages */
} fsim_filed_reader;

/* A value of map, of that kind. NULL after an error. */
const fsim_yaml *fsim_filed_get(const fsim_filed_reader *r, const fsim_yaml *map, const char *key, fsim_yaml_kind kind);
/* Its text; "" after an error. */
const char *fsim_filed_text(const fsim_filed_reader *r, const fsim_yaml *map, const char *key);
/* A number that is not negative; 0 after an error. */
double fsim_filed_number(const fsim_filed_reader *r, const fsim_yaml *map, const char *key);
/* The same, or NaN where it is null or missing. */
double fsim_filed_maybe(const fsim_filed_reader *r, const fsim_yaml *map, const char *key);
/* A whole number that is not negative; 0 after an error. */
fsim_sum fsim_filed_count(const fsim_filed_reader *r, const fsim_yaml *map, const char *key);
/* The texts of a list, *count of them. In r->a. */
const char **fsim_filed_names(const fsim_filed_reader *r, const fsim_yaml *map, const char *key, int *count);
/* A text; NULL where it is null or missing. */
const char *fsim_filed_word(const fsim_yaml *map, const char *key);

#endif
