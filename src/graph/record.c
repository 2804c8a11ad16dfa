/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: each primitive as its rule saw it, so that it can be differentiated when the graph is complete. */
#include "graph/gradient.h"

#include <string.h>

void fsim_record_call(fsim_build *b, const fsim_call *call, const fsim_shape *shape, int result)
{
    fsim_record *r = FSIM_PUSH(b->arena, b->record, b->records, b->record_room);
    *r = (fsim_record){.op = call->op,
                       .at = call->at,
                       .source = call->source,
                       .args = call->args,
                       .result = result,
                       .shape = *shape,
                       .attrs = call->attrs,
                       .equation = call->equation};
    r->arg = fsim_new(b->arena, int, call->args + 1);
    for (int i = 0; i < call->args; i++)
        r->arg[i] = call->arg[i];
    for (int i = 0; i < FSIM_ATTR_COUNT; i++)
        r->lists += call->list[i].present;
    r->list = fsim_new(b->arena, struct fsim_record_list, r->lists + 1);
    for (int i = 0, k = 0; i < FSIM_ATTR_COUNT; i++)
        if (call->list[i].present)
            r->list[k++] = (struct fsim_record_list){(fsim_attr)i, call->list[i]};
}

fsim_list fsim_record_list(const fsim_record *r, fsim_attr attr)
{
    for (int i = 0; i < r->lists; i++)
        if (r->list[i].attr == attr)
            return r->list[i].list;
    return (fsim_list){.present = false};
}
