/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h: values of a JSON document, by key; NULL for the key adds to a list. */
#ifndef FUSESIM_REPORT_JSON_WRITER_H
#define FUSESIM_REPORT_JSON_WRITER_H

#include "base/arena.h"
#include "base/sum.h"
#include <cjson/cJSON.h>

/* A document under construction. cJSON answers exhaustion with NULL; `failed` remembers it, so that no field is lost in
 * silence. */
typedef struct {
    fsim_arena *a;
    bool failed;
} fsim_writer;

/* Adds an object or a list, which is returned; NULL after a failure, which cJSON takes for an object and does nothing.
 */
cJSON *fsim_put_new(fsim_writer *w, cJSON *object, const char *key, cJSON *item);
/* With the fewest digits that read back as x. */
void fsim_put_number(fsim_writer *w, cJSON *object, const char *key, double x);
/* A whole number. */
void fsim_put_count(fsim_writer *w, cJSON *object, const char *key, fsim_sum count);
/* A count that the model keeps as a double: a whole number all the same. */
void fsim_put_rounded(fsim_writer *w, cJSON *object, const char *key, double count);
/* true or false. */
void fsim_put_bool(fsim_writer *w, cJSON *object, const char *key, bool yes);
/* NULL gives null. */
void fsim_put_text(fsim_writer *w, cJSON *object, const char *key, const char *text);

#endif
