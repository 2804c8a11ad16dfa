/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sum.h"

#include <stdbool.h>

const char *fsim_sum_digits(char buffer[FSIM_SUM_DIGITS], fsim_sum x)
{
    char *at = buffer + FSIM_SUM_DIGITS - 1;
    const bool negative = x < 0;
    *at = '\0';
    do { /* the remainder of a negative number is negative */
        const int digit = (int)(x % 10);
        *--at = (char)('0' + (digit < 0 ? -digit : digit));
        x /= 10;
    } while (x != 0);
    if (negative)
        *--at = '-';
    return at;
}
