/* SPDX-License-Identifier: Apache-2.0 */
/* window.h: attributes of windows, read by window.c and window_back.c. */
#ifndef FUSESIM_GRAPH_WINDOW_H
#define FUSESIM_GRAPH_WINDOW_H

#include "graph/build.h"

/* Reads attribute `which` for each of n spatial axes; a single value applies to all. False after an error. */
bool fsim_per_axis(const fsim_call *call, fsim_attr which, int n, int64_t *out);
/* The windows of n axes. Without 'stride' they lie side by side. False after an error. */
bool fsim_window_axes(const fsim_call *call, const int64_t *extent, const int64_t *taps, int n, fsim_axis *axis);

#endif
