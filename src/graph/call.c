/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: the attributes of a call, set by a workload or by their table. */
#include "graph/build.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_field(fsim_attrs *attrs, int field, double value)
{
    void *at = (char *)attrs + fsim_attr_fields[field].offset;
    switch (fsim_attr_fields[field].type) {
    case FSIM_TYPE_NUMBER:
        *(double *)at = value;
        break;
    case FSIM_TYPE_INT:
        *(int64_t *)at = (int64_t)value;
        break;
    case FSIM_TYPE_FLAG:
        *(bool *)at = value != 0;
        break;
    case FSIM_TYPE_WORD:
        *(int *)at = (int)value;
        break;
    case FSIM_TYPE_DTYPE:
        *(fsim_dtype *)at = (fsim_dtype)value;
        break;
    default:
        assert(false);
    }
}

void fsim_set_attr(fsim_call *call, fsim_attr attr, double value)
{
    if (fsim_attr_rows[attr].field < 0)
        return;
    put_field(&call->attrs, fsim_attr_rows[attr].field, value);
    call->attrs.has_scalar = call->attrs.has_scalar || attr == FSIM_ATTR_SCALAR;
    call->attrs.has_work = call->attrs.has_work || attr == FSIM_ATTR_INSTRUCTIONS;
    const bool promotes = attr == FSIM_ATTR_SCALAR || attr == FSIM_ATTR_MIN || attr == FSIM_ATTR_MAX ||
                          attr == FSIM_ATTR_INPUT || attr == FSIM_ATTR_OTHER;
    if (promotes && isfinite(value) && call->number != FSIM_FRACTION)
        call->number = value == floor(value) ? FSIM_WHOLE_NUMBER : FSIM_FRACTION;
}

/* The number that a literal of op.def stands for. */
static double literal(const fsim_attr_row *row, const char *text)
{
    fsim_dtype t = FSIM_DTYPE_NONE;
    if (row->type == FSIM_TYPE_WORD)
        return fsim_word_index(row->words, text);
    if (row->type == FSIM_TYPE_FLAG)
        return strcmp(text, "true") == 0;
    if (row->type == FSIM_TYPE_DTYPE)
        return fsim_dtype_parse(text, &t) ? t : FSIM_DTYPE_NONE;
    return strtod(text, NULL);
}

void fsim_default_attrs(fsim_call *call)
{
    fsim_taken taken[FSIM_MAX_TAKEN];
    const int count = fsim_taken_of(call->op, taken);
    for (int i = 0; i < count; i++) {
        const fsim_attr_row *row = &fsim_attr_rows[taken[i].attr];
        fsim_list *list = &call->list[taken[i].attr];
        if (list->present || !*taken[i].otherwise)
            continue;
        list->present = true;
        const double value = literal(row, taken[i].otherwise);
        if (row->type == FSIM_TYPE_DIMS || row->type == FSIM_TYPE_INTS) {
            list->whole = true;
            list->count = 1;
            list->at[0] = (int64_t)value;
        } else {
            fsim_set_attr(call, taken[i].attr, value);
        }
    }
}
