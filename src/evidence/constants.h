/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h: the rows of evidence/constants.def as constants; cost/constants.h says how they are read. */
#ifndef FUSESIM_EVIDENCE_CONSTANTS_H
#define FUSESIM_EVIDENCE_CONSTANTS_H

#define FSIM_CONSTANT(name, value, unit, source) static const double name = value;
#define FSIM_COUNT(name, value, unit, source)    enum { name = value };
#include "evidence/constants.def"
#undef FSIM_CONSTANT
#undef FSIM_COUNT

#endif
