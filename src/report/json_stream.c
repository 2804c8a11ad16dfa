/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_stream.h"
#include <math.h>
#include <stdlib.h>

int fsim_utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const int bytes = c[0] < 0x80                    ? 1
                      : c[0] >= 0xC2 && c[0] <= 0xDF ? 2
                      : (c[0] & 0xF0) == 0xE0        ? 3
                      : c[0] >= 0xF0 && c[0] <= 0xF4 ? 4
                                                     : 0;
    for (int i = 1; i < bytes; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    const bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    const bool beyond = (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF4 && c[1] > 0x8F);
    return overlong || beyond ? 0 : bytes;
}

void fsim_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        const int bytes = fsim_utf8_bytes(text);
        const unsigned char c = (unsigned char)*text;
        if (bytes == 0)
            fputs("\xEF\xBF\xBD", out);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else
            fwrite(text, 1, (size_t)bytes, out);
        text += bytes ? bytes : 1;
    }
    fputc('"', out);
}

const char *fsim_json_digits(char buffer[40], double x)
{
    if (!isfinite(x))
        return "null";
    if (x > 0 && x < 1e15 && x == (double)(int64_t)x) { /* what follows would write the same */
        char *at = buffer + 39;
        *at = 0;
        for (int64_t left = (int64_t)x; left > 0; left /= 10)
            *--at = (char)('0' + left % 10);
        return at;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(buffer, 40, "%.*g", precision, x);
        if (strtod(buffer, NULL) == x)
            break;
    }
    return buffer;
}

void fsim_json_text(FILE *out, const char *before, const char *key, const char *text)
{
    fprintf(out, "%s\"%s\": ", before, key);
    if (text)
        fsim_json_string(out, text);
    else
        fputs("null", out);
}

void fsim_json_number(FILE *out, const char *before, const char *key, double number)
{
    char buffer[40];
    fprintf(out, "%s\"%s\": %s", before, key, fsim_json_digits(buffer, number));
}

void fsim_json_bool(FILE *out, const char *before, const char *key, bool value)
{
    fprintf(out, "%s\"%s\": %s", before, key, value ? "true" : "false");
}
