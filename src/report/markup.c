/* SPDX-License-Identifier: Apache-2.0 */
#include "report/markup.h"

#include "report/json_stream.h"
#include <string.h>

void fsim_markup(FILE *out, const char *text)
{
    static const char special[] = "<>&\"'";
    static const char *const entity[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (int bytes; *text; text += bytes ? bytes : 1) {
        const char *s = strchr(special, *text);
        bytes = fsim_utf8_bytes(text);
        if (s)
            fputs(entity[s - special], out);
        else if (bytes == 0 || *text == 127 || ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t'))
            putc('?', out);
        else
            fwrite(text, 1, (size_t)bytes, out);
    }
}
