/* SPDX-License-Identifier: Apache-2.0 */
/* junit.h: JUnit XML, as Jenkins and GitLab read it, a case at a time. */
#ifndef FUSESIM_REPORT_JUNIT_H
#define FUSESIM_REPORT_JUNIT_H

#include <stdio.h>

/* Opens a suite of so many cases. */
void fsim_junit_begin(FILE *out, int cases, int failures, int skipped);
/* One test case. failure: its type, text then is the message; NULL: it passed. */
void fsim_junit_case(FILE *out, const char *class, const char *name, const char *failure, const char *text);
/* One that was not tried. */
void fsim_junit_skipped(FILE *out, const char *class, const char *name, const char *why);
/* Closes what fsim_junit_begin opened. */
void fsim_junit_end(FILE *out);

#endif
