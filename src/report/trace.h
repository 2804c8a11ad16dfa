/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: a file in the trace event format, as Perfetto and chrome://tracing read it.
 *
 * Readers cut times to whole nanoseconds and drop a slice that begins before the one in front of it ends. Every end is
 * cut here in the same way, so that slices that meet still meet there. */
#ifndef FUSESIM_REPORT_TRACE_H
#define FUSESIM_REPORT_TRACE_H

#include "base/arena.h"

#include <stdio.h>

typedef struct {
    FILE *out;
    int process; /* the last begun, from 1 on */
} fsim_trace;

/* Begins the file; fsim_trace_end ends it. */
fsim_trace fsim_trace_begin(FILE *out);
/* What follows belongs to a new process. */
void fsim_trace_process(fsim_trace *t, const char *name);
/* Names a stream of the process; from 1 on. */
void fsim_trace_stream(const fsim_trace *t, int stream, const char *name);
/* Something that takes time on a stream. The caller adds arguments (fsim_json_text with ", "). */
void fsim_trace_slice(const fsim_trace *t, int stream, const char *name, const char *kind, double start_s,
                      double end_s);
/* Ends the slice. */
void fsim_trace_close(const fsim_trace *t);
/* A note at a moment of a stream. */
void fsim_trace_note(const fsim_trace *t, int stream, const char *text, double at_s);
/* Nothing may follow. */
void fsim_trace_end(const fsim_trace *t);

#endif
