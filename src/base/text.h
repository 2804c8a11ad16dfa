/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: characters that no output of ours may hold. */
#ifndef FUSESIM_BASE_TEXT_H
#define FUSESIM_BASE_TEXT_H

#include <stdint.h>
#include <stdlib.h>

/* Where text[0, bytes) first has a character that a terminal would obey, that turns the text around it, or that XML
 * cannot hold: a control character other than tab and line feed, DEL, a mark of direction (U+061C, U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069), a line or paragraph separator, a byte-order mark, a noncharacter, a surrogate,
 * or a byte that is no UTF-8; `bytes` where there is none. *code is the character, of a byte that is no UTF-8 the
 * byte; *length the bytes that it takes. (Unicode 15, UAX 9 and 23.7; XML 1.0, 2.2.) */
size_t fsim_unshowable(const char *text, size_t bytes, uint32_t *code, size_t *length);

#endif
