/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h: properties of stdout and stderr. */
#ifndef FUSESIM_REPORT_TERMINAL_H
#define FUSESIM_REPORT_TERMINAL_H

#include <stdbool.h>

/* What $COLUMNS says (NULL: nothing), else the terminal's width, 80 where it is not known, within reason; 0 where
 * stdout is no terminal: what goes to a pipe or a file is not cut. */
int fsim_terminal_columns(const char *columns);
/* Whether stderr is a terminal on which a line can be written over. $TERM: NULL where it is not set. */
bool fsim_terminal_shows_progress(const char *term);
/* The width of that terminal, 80 where it is not known. */
int fsim_terminal_width(void);
/* Whether stdout is a terminal that shows colours. $NO_COLOR and $TERM: NULL where they are not set; the first, and
 * TERM=dumb, forbid it. */
bool fsim_terminal_color(const char *no_color, const char *term);

#endif
