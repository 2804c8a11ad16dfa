/* SPDX-License-Identifier: Apache-2.0 */
#include "command/exit.h"

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
