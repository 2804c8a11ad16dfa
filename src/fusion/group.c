/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/group.h"

#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = name,
const char *const fsim_template_names[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = line,
const char *const fsim_template_lines[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE

#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = brief,
const char *const fsim_template_brief[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE

int fsim_member_of(const fsim_group *o, int n)
{
    int low = 0, high = o->members - 1;
    while (low <= high) {
        const int mid = low + (high - low) / 2;
        if (o->member[mid].node == n)
            return mid;
        if (o->member[mid].node < n)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return -1;
}

int fsim_member_that_makes(const fsim_graph *g, const fsim_group *o, int tensor)
{
    const int n = g->tensor[tensor].producer;
    return n < 0 ? -1 : fsim_member_of(o, n);
}
