/* SPDX-License-Identifier: Apache-2.0 */
/* hardware_text.h: the text of a hardware file with lines put in; all else stays as someone wrote it. Results in a. */
#ifndef FUSESIM_EVIDENCE_HARDWARE_TEXT_H
#define FUSESIM_EVIDENCE_HARDWARE_TEXT_H

#include "hw/hw.h"

/* SI units; NaN: not given. A key of peaks takes value as its peak. */
typedef struct {
    fsim_hw_key key;
    double value, achieved, spread;
    const char *source;
} fsim_hw_entry;

/* "key: {value: ..., spread: ..., source: ...}", to four digits, sizes exactly. */
const char *fsim_hw_entry_line(fsim_arena *a, const fsim_hw_entry *e);
/* The text with the lines of this top-level key replaced, or, where it has none, with this line at its end. */
const char *fsim_hw_text_line(fsim_arena *a, const char *text, const char *key, const char *line);
/* The text with the comment "# LABEL COMMAND" in its head; one that names the same command, on whatever day, goes.
 * label: "Fitted by: ". */
const char *fsim_hw_text_head(fsim_arena *a, const char *text, const char *label, const char *command);

#endif
