/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdbool.h>

/* The character that begins at p, in *length bytes; false where that is no UTF-8 (RFC 3629). */
static bool decode(const unsigned char *p, size_t bytes, uint32_t *code, size_t *length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t wanted = p[0] < 0x80 ? 1 : p[0] < 0xC0 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] < 0xF8 ? 4 : 0;
    *code = p[0];
    *length = 1;
    if (wanted < 2 || wanted > bytes)
        return wanted == 1;
    uint32_t all = p[0] & (0x7Fu >> wanted);
    for (size_t i = 1; i < wanted; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return false;
        all = all << 6 | (p[i] & 0x3F);
    }
    if (all < least[wanted] || all > 0x10FFFF)
        return false;
    *code = all;
    *length = wanted;
    return true;
}

static bool shows(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } not [] = {{0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
                {0x2028, 0x202E}, {0x2066, 0x2069}, {0xD800, 0xDFFF}, {0xFDD0, 0xFDEF}, {0xFEFF, 0xFEFF}};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (c >= not [i].first && c <= not [i].last)
            return false;
    return (c & 0xFFFE) != 0xFFFE;
}

size_t fsim_unshowable(const char *text, size_t bytes, uint32_t *code, size_t *length)
{
    for (size_t i = 0; i < bytes; i += *length)
        if (!decode((const unsigned char *)text + i, bytes - i, code, length) || !shows(*code))
            return i;
    return bytes;
}
