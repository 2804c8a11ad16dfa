/* SPDX-License-Identifier: Apache-2.0 */
#include "command/exit.h"

#define AS_TEXT(number)              #number
#define FSIM_EXIT(id, number, words) ", " AS_TEXT(number) " " words
static const char joined[] =
#include "command/exit.def"
    ;
#undef FSIM_EXIT

const char *fsim_exit_words(void) { return joined + 2; }

int fsim_exit_status(fsim_status status)
{
    switch (status) {
    case FSIM_OK:
        return FSIM_EXIT_OK;
    case FSIM_INCONCLUSIVE:
        return FSIM_EXIT_INCONCLUSIVE;
    case FSIM_BAD_ARGUMENT:
        return FSIM_EXIT_USAGE;
    case FSIM_BAD_INPUT:
        return FSIM_EXIT_BAD_INPUT;
    case FSIM_NO_INPUT:
        return FSIM_EXIT_NO_INPUT;
    case FSIM_UNAVAILABLE:
        return FSIM_EXIT_UNAVAILABLE;
    case FSIM_FAILED:
    case FSIM_NO_MEMORY:
        break;
    }
    return FSIM_EXIT_INTERNAL;
}
