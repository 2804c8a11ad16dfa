/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h: the rows of cost/constants.def as constants. Every number of the model that is not a key of a
 * hardware file is a row of a constants.def, with its unit and source; tests/cli/constants.sh checks that. */
#ifndef FUSESIM_COST_CONSTANTS_H
#define FUSESIM_COST_CONSTANTS_H

#define FSIM_CONSTANT(name, value, unit, source) static const double name = value;
#define FSIM_COUNT(name, value, unit, source)    enum { name = value };
#include "cost/constants.def"
#undef FSIM_CONSTANT
#undef FSIM_COUNT

#endif
