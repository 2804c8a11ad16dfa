/* SPDX-License-Identifier: Apache-2.0 */
/* html_text.h: style and script of the HTML report, which the build compiles in. */
#ifndef FUSESIM_REPORT_HTML_TEXT_H
#define FUSESIM_REPORT_HTML_TEXT_H

extern const char fsim_html_style_text[];  /* html_style.css */
extern const char fsim_html_script_text[]; /* html_script.js */

#endif
