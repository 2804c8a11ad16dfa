/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: what the vendors' libraries can do in one call. */
#ifndef FUSESIM_VENDOR_LIBRARY_H
#define FUSESIM_VENDOR_LIBRARY_H

#include "cost/costing.h"

/* Is the group one call of the library: a contraction, a bias vector, a unary activation, nothing else? */
bool fsim_library_can(const fsim_costing *c);

#endif
