/* SPDX-License-Identifier: Apache-2.0 */
/* markup.h: texts inside HTML, SVG and other XML. */
#ifndef FUSESIM_REPORT_MARKUP_H
#define FUSESIM_REPORT_MARKUP_H

#include <stdio.h>

/* text, escaped for an element and for an attribute in quotes of either kind. XML 1.0 has no place for most control
 * characters, nor for what is no UTF-8: '?' stands for each. Tabs and line feeds stay. */
void fsim_markup(FILE *out, const char *text);

#endif
