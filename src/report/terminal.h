/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h: what stdout leads to. */
#ifndef FUSESIM_REPORT_TERMINAL_H
#define FUSESIM_REPORT_TERMINAL_H

#include <stdbool.h>

/* $COLUMNS, else the terminal's, within reason; 0 where there is neither. */
int fsim_terminal_columns(void);
/* Whether stdout is a terminal that shows colours; NO_COLOR and TERM=dumb are honoured. */
bool fsim_terminal_color(void);

#endif
