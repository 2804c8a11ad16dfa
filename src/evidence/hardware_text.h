/* SPDX-License-Identifier: Apache-2.0 */
/* hardware_text.h: changes single lines in the text of a hardware file, and leaves all others as they were. Results
 * in a. */
#ifndef FUSESIM_EVIDENCE_HARDWARE_TEXT_H
#define FUSESIM_EVIDENCE_HARDWARE_TEXT_H

#include "hw/hw.h"

/* The figures of a key in SI units; NaN: none. For a key with a peak, value is the peak. */
typedef struct {
    fsim_hw_key key;
    double value, achieved, spread;
    const char *source;
} fsim_hw_entry;

/* "key: {value: ..., spread: ..., source: ...}"; four significant digits, sizes in full. */
const char *fsim_hw_entry_line(fsim_arena *a, const fsim_hw_entry *e);
/* The text with the lines of this top-level key replaced, or with this line at its end where it lacks the key. */
const char *fsim_hw_text_line(fsim_arena *a, const char *text, const char *key, const char *line);
/* The text with the comment "# LABEL COMMAND" in its head, in place of one with the same command of another day.
 * label: "Fitted by: ". */
const char *fsim_hw_text_head(fsim_arena *a, const char *text, const char *label, const char *command);

#endif
