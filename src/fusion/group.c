/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/group.h"

#define FSIM_TEMPLATE(id, name, price, emit, residual, compile, line) [FSIM_##id] = name,
const char *const fsim_template_names[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE
#define FSIM_TEMPLATE(id, name, price, emit, residual, compile, line) [FSIM_##id] = line,
const char *const fsim_template_lines[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE
