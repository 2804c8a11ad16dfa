/* SPDX-License-Identifier: Apache-2.0 */
/* json_stream.h: JSON written straight into a stream, for what is short or has millions of lines. */
#ifndef FUSESIM_REPORT_JSON_STREAM_H
#define FUSESIM_REPORT_JSON_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/* Bytes of the UTF-8 character that text starts with; 0 when it is none (RFC 3629). */
int fsim_utf8_bytes(const char *text);
/* text as a JSON string. A path may hold any byte; what is no UTF-8 becomes U+FFFD. */
void fsim_json_string(FILE *out, const char *text);
/* The shortest digits that read back as x; "null" for what JSON has no word for. */
const char *fsim_json_digits(char buffer[40], double x);

/* "key": value behind `before`, which is what stands between it and the last ("{", ", "). NULL and NaN give null. */
void fsim_json_text(FILE *out, const char *before, const char *key, const char *text);
/* The shortest digits that read back as the number. */
void fsim_json_number(FILE *out, const char *before, const char *key, double number);
/* true or false. */
void fsim_json_bool(FILE *out, const char *before, const char *key, bool value);

#endif
