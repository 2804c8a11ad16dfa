/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h: the rows of serving/constants.def as constants. */
#ifndef FUSESIM_SERVING_CONSTANTS_H
#define FUSESIM_SERVING_CONSTANTS_H

#define FSIM_CONSTANT(name, value, unit, source) static const double name = value;
#define FSIM_COUNT(name, value, unit, source)    enum { name = value };
#include "serving/constants.def"
#undef FSIM_CONSTANT
#undef FSIM_COUNT

#endif
